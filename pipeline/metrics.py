r"""Scores of replies. Standard library alone: this file is published beside the data as it is.

``score(row, prediction)`` takes a row (or its key) and a model's reply, and returns a number from 0 to 1.

How the answer is taken from a reply, for every scorer:

1. reasoning is dropped: all up to the last ``</think>``; an open ``<think>`` without an end leaves nothing;
2. a marked final answer wins, the last one: ``Final answer: …``, ``Answer: …``, ``Output: …`` or ``\boxed{…}``;
3. else the scorer's own rule, stated with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any

Row = Mapping[str, Any]
Scorer = Callable[[Row, str], float]

LONGEST = 200_000
"""Characters of a reply that are looked at, from its end: what a reply says last is its answer."""

MARK = re.compile(
    r"(?:^|[\n*_ ])(?:final answer|answer|output)\s{0,3}[*_]{0,3}\s{0,3}[:=]\s{0,3}[*_]{0,3}", re.IGNORECASE
)
BOXED = re.compile(r"\\boxed\{([^{}\n]{0,2000})\}")
INTEGER = re.compile(r"(?<![\d.])[-+]?\d{1,30}(?![\d.]*\d)")
GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
PRINTED = re.compile(r"\[[^\[\]\n]{0,5000}\]")
WORD = re.compile(r"[a-z0-9]+(?:[-'][a-z0-9]+)*")
JOINTS = re.compile(r"[,;/|+&]|\band\b")
WRAPPING = " \t\r\n`*_\"'"

FUNCTION_WORDS = frozenset(
    re.findall(
        "[a-z]+",
        "a an and answer are as at by for from had has have he her his i in is it its known name named of on s she "
        "the their they this to was were which who with",
    )
)
"""Words that name nothing, so that an answer in a sentence is as good as the bare one."""

DENIALS = frozenset({"or", "not", "never", "isn't", "wasn't", "doesn't", "didn't"})
SLACK = 3
"""Further words that an exact answer may bring along."""


def score(row: Row, prediction: object) -> float:
    """Return the score of a reply to a row, from 0 to 1; anything that is no text scores 0.

    Raises:
        KeyError: if the row names a scorer that this version does not know.
    """
    scorer = SCORERS[row["scorer"]]
    return scorer(row, prediction) if isinstance(prediction, str) else 0.0


def spoken(prediction: str) -> str:
    """Return a reply without reasoning and code fences, from its end no longer than LONGEST characters."""
    text = prediction[-LONGEST:]
    head, end, tail = text.rpartition("</think>")
    if end:
        text = tail
    elif "<think>" in head + tail:
        text = text.partition("<think>")[0]
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("```")]
    return "\n".join(lines).strip()


def marked(text: str) -> str | None:
    """Return the last marked final answer: the rest of its line, or the next line that is not empty."""
    boxed = list(BOXED.finditer(text))
    marks = list(MARK.finditer(text))
    if boxed and (not marks or boxed[-1].start() > marks[-1].start()):
        return boxed[-1][1].strip(WRAPPING)
    if not marks:
        return None
    lines = [line.strip(WRAPPING) for line in text[marks[-1].end() :].splitlines()]
    return next((line for line in lines if line), "")


def last_line(text: str) -> str:
    """Return the last line that is not empty."""
    lines = [line.strip(WRAPPING) for line in text.splitlines()]
    return next((line for line in reversed(lines) if line), "")


def latent_list(row: Row, prediction: str) -> float:
    """Score a view of a latent list (Michelangelo, section 2.1).

    ``print``: the last ``[...]`` of the reply must be the target, character for character. Other views: the last
    integer of the final answer g against the target t, as ``1 - min(1, |t - g| / (1e-10 + |t|))``.
    """
    text = spoken(prediction)
    if row["subtask"] == "print":
        printed = PRINTED.findall(marked(text) or "") or PRINTED.findall(text)
        return float(bool(printed) and printed[-1] == row["target"])
    final = last_line(text) if (found := marked(text)) is None else found
    numbers = INTEGER.findall(GROUPING.sub("", final.replace("\u2212", "-")))
    if not numbers:
        return 0.0
    return closeness(int(row["target"]), int(numbers[-1]))


def closeness(target: int, given: int) -> float:
    """Return 1 less the error relative to the target, and no less than 0."""
    return 1.0 - min(1.0, abs(target - given) / (1e-10 + abs(target)))


def exact(row: Row, prediction: str) -> float:
    """Score one value: an accepted answer, as whole words, and nothing beside it that could be another.

    Own rule: the last line. Without the accepted answer, the question's words and function words no more than three
    words may remain, and none of them as a value of its own beside ``and``, ``or`` or a comma: listing scores 0.
    """
    text = spoken(prediction)
    final = last_line(text) if (found := marked(text)) is None else found
    if len(final) > 2000:
        return 0.0
    words = WORD.findall(final.lower())
    asked = FUNCTION_WORDS.union(WORD.findall(str(row.get("question") or "").lower()))
    return float(any(_says_only(words, final, answer, asked) for answer in row["answers"]))


def _says_only(words: list[str], final: str, answer: str, asked: frozenset[str]) -> bool:
    wanted = WORD.findall(answer.lower())
    at = next((i for i in range(len(words) - len(wanted) + 1) if words[i : i + len(wanted)] == wanted), None)
    if at is None:
        return False
    rest = words[:at] + words[at + len(wanted) :]
    others = [word for word in rest if word not in asked]
    return (
        len(others) <= SLACK
        and not DENIALS.intersection(rest)
        and not _names_rival(final.lower(), answer.lower(), asked)
    )


def _names_rival(final: str, answer: str, asked: frozenset[str]) -> bool:
    """Tell whether a reply sets another bare value beside the answer: ``golf and chess``, ``Oslo, Lima``."""
    parts = [WORD.findall(part) for part in JOINTS.split(final.replace(answer, " "))]
    return len(parts) > 1 and any(part and not asked.intersection(part) for part in parts)


LETTERS = "ABCD"
LETTER = re.compile(
    r"\(([A-Da-d])\)"
    r"|^([A-Da-d])(?=[).:;!]|\s*$|\s-)"
    r"|\b(?i:(?:answer|option|choice|choose|pick|select)(?: is| would be| must be)?:?) (A)(?! (?!because)[a-z]|[\w'])"
    r"|(?<![\w'-])(A)(?=(?:,| and| or|/| &) ?\(?[BCD]\b)"
    r"|(?<=[\[<>\"'])(A)(?=[\]<>\"'])"
    r"|(?<![A-Za-z0-9_'-])([BCD])(?![\w'-])"
)
"""A letter that is meant as one; a bare A only where it cannot be the article."""
DENIED = re.compile(r"\b(not|never|isn't|nor|or) (?:option |choice )?\(?$", re.IGNORECASE)
SETTLED = re.compile(r"\b(?:answer|choice|option) (?:is|would be|must be)\b", re.IGNORECASE)
"""Where a line comes to its answer: letters before it are only talked about."""
TOLD = "said|told|stated|mentioned|given|specified|provided|described|indicated|revealed|disclosed|known|included|clear"
TELL = "say|tell|state|mention|give|specify|provide|describe|indicate|reveal|disclose|include|contain|know|answer|find"
SURE = "determine|infer|deduce|establish|conclude|identify"
REFUSAL = re.compile(
    rf"\b(?:not|never|nowhere|(?:is|are|was|were)n't) (?:\w+ ){{0,2}}(?:{TOLD})\b"
    rf"|\b(?:not|never|nowhere|cannot|(?:do|does|did|ca|could)n'?t) (?:\w+ ){{0,2}}(?:{TELL}|{SURE})(?:e?s|e?d)?\b"
    rf"|\b(?:unable|impossible|not possible|no way) to (?:{TELL}|{SURE})\b"
    r"|\b(?:no|not enough|insufficient|lacks?) (?:\w+ ){0,2}(?:information|mention|details?|indication|answer)\b"
    r"|(?:\bnot|n't) have (?:\w+ ){0,3}(?:information|details?|context)\b"
    r"|\bno idea\b|\bnot sure\b"
    r"|\b(?:unknown|unspecified|unstated|unanswerable|undetermined)\b",
    re.IGNORECASE,
)
"""Ways to say that the text does not tell, or that one cannot answer."""
LINES, LONG_LINE = 40, 2000
"""How much of a reply is read for a choice: its last lines, and the end of each."""


def choice_or_refusal(row: Row, prediction: str) -> float:
    """Score a choice among (A) to (D), (D) being that the text does not tell (Michelangelo, section 2.3).

    Own rule: the last line that chooses or refuses. Letters go before words. A letter counts in brackets, at the
    start of the line before ``)``, ``.``, ``:`` or nothing more, after words like ``answer is``, and, but for A, as
    any capital that stands alone; behind ``the answer is`` only the letters that follow it. One letter is the answer,
    whatever is said about it, unless another choice's words follow at once. Letters after ``not`` are dropped beside
    another; several letters, one alone after ``not``, or any after ``or`` score 0. Without a letter the words of one
    choice are the answer, but not beside ``not`` or ``or``. A refusal in words, like ``the text does not say`` or ``I
    cannot answer``, is (D), unless another choice is named with it.
    """
    choices = [_bare(str(choice)) for choice in row["choices"]]
    text = spoken(prediction).replace("\u2019", "'")
    found = marked(text)
    lines = text.splitlines()[-LINES:] if found is None else [found]
    chosen = (_chosen(re.sub(r"[*_`$\\]+", "", line[-LONG_LINE:]).strip(WRAPPING), choices) for line in reversed(lines))
    return float(next(filter(None, chosen), set()) == {row["target"]})


def _chosen(line: str, choices: list[str]) -> set[str]:
    """Return the letters that a line chooses: one, or more (``?`` among them) if it does not commit, or none."""
    settled = [found.start() for found in SETTLED.finditer(line) if LETTER.search(line, found.start())]
    line = line[settled[-1] :] if settled else line
    letters = list(LETTER.finditer(line))
    if letters:
        return _lettered(line, letters, choices)
    named = _said(re.search, line.lower(), choices)
    if REFUSAL.search(line):
        return named | {LETTERS[-1]}
    denied = not DENIALS.isdisjoint(WORD.findall(line.lower()))
    return named | {"?"} if named and denied else named


def _lettered(line: str, letters: Sequence[re.Match[str]], choices: list[str]) -> set[str]:
    """Return the letters of a line, but for those it denies beside another; and what the words behind the last say."""
    named: dict[bool, set[str]] = {True: set(), False: set()}
    doubt = False
    for found in letters:
        denied = DENIED.search(line[: found.start()])
        named[bool(denied)].add(str(found[found.lastindex or 0]).upper())
        doubt = doubt or bool(denied and denied[1].lower() == "or")
    if not named[False] or doubt or named[True] & named[False]:
        return {*named[True], *named[False], "?"}
    last = next(found for found in reversed(letters) if not DENIED.search(line[: found.start()]))
    return named[False] | _said(re.match, _bare(line[last.end() :].lstrip(" ).:,-")), choices)


def _said(find: Callable[[str, str], object], text: str, choices: list[str]) -> set[str]:
    """Return the letters of the choices whose words are found in a text, as whole words."""
    return {
        letter
        for letter, choice in zip(LETTERS, choices, strict=False)
        if find(rf"(?<![\w:]){re.escape(choice)}(?![\w:])", text)
    }


def _bare(choice: str) -> str:
    """Return a choice in lower case, without its article."""
    return re.sub(r"^(?:an?|the) ", "", choice.lower().replace("\u2019", "'"))


def mrcr(row: Row, prediction: str, *, anywhere: bool = True, autojunk: bool = True) -> float:
    """Score a reply that gives a text back behind a code (Michelangelo, section 2.2).

    The difflib ratio of the text behind the last code in the reply to the text behind it in the target, 0 without the
    code. With `anywhere` off the reply must start with the code, as openai/mrcr has it. `autojunk` is difflib's own
    default, as in both published metrics; without it chance is ten times as high.
    """
    _, end, reply = prediction[-LONGEST:].rpartition("</think>")
    reply = (reply if end else reply.partition("<think>")[0]).strip()
    code = str(row["random_string_to_prepend"])
    if code not in reply or not (anywhere or reply.startswith(code)):
        return 0.0
    given = reply.rpartition(code)[2] if anywhere else reply.removeprefix(code)
    return similarity(str(row["target"]).removeprefix(code), given.strip(), autojunk=autojunk)


def similarity(wanted: str, given: str, *, autojunk: bool = True) -> float:
    """Return difflib's ratio of two texts."""
    return SequenceMatcher(None, wanted, given, autojunk=autojunk).ratio()


SCORERS: dict[str, Scorer] = {
    "latent_list": latent_list,
    "exact": exact,
    "mrcr": mrcr,
    "choice_or_refusal": choice_or_refusal,
}
