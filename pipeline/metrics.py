r"""Scores of replies. Standard library alone: this file is published beside the data as it is.

``score(row, prediction)`` takes a row (or its key) and a model's reply, and returns a number from 0 to 1.

How the answer is taken from a reply, for every scorer:

1. reasoning is dropped: all up to the last ``</think>``; an open ``<think>`` without an end leaves nothing;
2. a marked final answer wins, the last one: ``Final answer: …``, ``Answer: …``, ``Output: …`` or ``\boxed{…}``;
3. else the scorer's own rule, stated with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
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
LETTERS = "ABCD"
LETTER = re.compile(
    r"\(([A-D])\)"
    r"|(?:^|\b(?:(?:answer|option|choice)(?: (?:is|would be|must be|should be))?|choose|pick|select) ?:? ?\(?)"
    r"([A-D])(?=\s?[).:]|\s*$|,|;| -)"
    r"|(?<![\w'-])([BCD])(?![\w'-])"
    r"|\b(?:Answer|answer|Option|option|Choice|choice) (?:is )?([A-D])\b(?! \w)"
)
SMALL_LETTER = re.compile(r"^\(?([a-d])\)?[.:]?$")
DENIED = re.compile(r"\b(?:not|never|isn't|nor|or) (?:option |choice )?\(?$", re.IGNORECASE)
LINES, LONG_LINE = 40, 1000
"""How much of a reply is read for a choice: its last lines, and the start of each."""
TOLD = "said|told|stated|mentioned|given|specified|provided|described|indicated|revealed|disclosed|known|included|clear"
TELL = "say|tell|state|mention|give|specify|provide|describe|indicate|reveal|disclose|include|contain|know|answer|find"
SURE = "determine|infer|deduce|establish|conclude|identify"
REFUSAL = re.compile(
    rf"\b(?:not|never|isn't|aren't|wasn't|weren't|nowhere) (?:\w+ ){{0,2}}(?:{TOLD})\b"
    rf"|\b(?:not|never|cannot|nowhere|n't|(?:do|does|did|ca|could)n't) (?:\w+ ){{0,2}}(?:{TELL}s?|{SURE}|be (?:\w+ )?\w+ed|be (?:known|told|said))\b"
    rf"|\b(?:unable|impossible|not possible|no way) to (?:{TELL}|{SURE})\b"
    r"|\b(?:no|not enough|insufficient|lacks?|without) (?:\w+ ){0,2}(?:information|mention|details?|indication|answer)\b"
    r"|\b(?:unknown|unspecified|unstated|unanswerable|undetermined)\b",
    re.IGNORECASE,
)
"""Ways to say that a text does not tell, or that one cannot answer."""
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


def choice_or_refusal(row: Row, prediction: str) -> float:
    """Score a choice among (A) to (D), (D) being that the text does not tell (Michelangelo, section 2.3).

    A marked final answer is read, or else the last line that chooses or refuses. Letters go before words: a letter
    counts in brackets, before ``)``, ``.`` or ``:`` at the start of the line, as all of the line, after words like
    ``answer is``, and if it is B, C or D as any capital that stands alone. One letter is the answer, whatever is said
    about it, unless another choice's words follow at once; several, or one after ``not`` or ``or``, are none. Without a
    letter, the words of one choice are the answer, unless ``not`` or ``or`` stands beside them. Saying that the text
    does not tell, or that one cannot answer, is (D) if no other choice is named.
    """
    choices = [_bare(str(choice)) for choice in row["choices"]]
    text = spoken(prediction)
    found = marked(text)
    lines = [line for line in text.splitlines() if line.strip()] if found is None else [found]
    for line in reversed(lines[-LINES:]):
        chosen = _chosen(line[:LONG_LINE], choices)
        if chosen:
            return float(chosen == {row["target"]})
    return 0.0


def _chosen(line: str, choices: list[str]) -> set[str]:
    """Return the letters that a line chooses: one, several if it cannot be told which, or none."""
    line = re.sub(r"[*_`$\\]+", "", line).replace("\u2019", "'").strip(WRAPPING)
    letters = [(next(filter(None, found.groups())).upper(), found.end()) for found in LETTER.finditer(line)]
    if letters:
        denied = any(DENIED.search(line[: found.start()]) for found in LETTER.finditer(line))
        named = {letter for letter, _ in letters}
        return named | _said_at_once(line[letters[-1][1] :], choices) | ({"?"} if denied else set())
    named = {letter for letter, choice in zip(LETTERS, choices, strict=False) if _says(line, choice)}
    refused = REFUSAL.search(line) is not None
    if named - {LETTERS[-1]} and not refused and DENIALS.intersection(WORD.findall(line.lower())):
        return {"?"}
    return named | {LETTERS[-1]} if refused else named


def _said_at_once(rest: str, choices: list[str]) -> set[str]:
    """Return the letter of the choice whose words a text starts with."""
    opening = _bare(re.sub(r"^[\s).:,-]+", "", rest))
    return {letter for letter, choice in zip(LETTERS, choices, strict=False) if re.match(_whole(choice), opening)}


def _says(line: str, choice: str) -> bool:
    return re.search(_whole(choice), line.lower()) is not None


def _whole(choice: str) -> str:
    return rf"(?<![\w:]){re.escape(choice)}(?![\w:])"


def _bare(choice: str) -> str:
    """Return a choice in lower case, without its article."""
    return re.sub(r"^(?:an?|the) ", "", choice.lower().replace("\u2019", "'"))


def mrcr(row: Row, prediction: str, *, anywhere: bool = True, autojunk: bool = True) -> float:
    """Score a reply that gives a text back behind a code (Michelangelo, section 2.2).

    The difflib ratio of the text behind the last code in the reply to the text behind it in the target, 0 without the
    code. With `anywhere` off the reply must start with the code, as openai/mrcr has it. `autojunk` is difflib's own
    default, as in both published metrics; without it chance is ten times as high.
    """
    reply = prediction[-LONGEST:].rpartition("</think>")[2].strip()
    code = str(row["random_string_to_prepend"])
    if code not in reply or not (anywhere or reply.startswith(code)):
        return 0.0
    given = reply.rpartition(code)[2] if anywhere else reply.removeprefix(code)
    return similarity(str(row["target"]).removeprefix(code), given.strip(), autojunk=autojunk)


def similarity(wanted: str, given: str, *, autojunk: bool = True) -> float:
    """Return difflib's ratio of two texts."""
    return SequenceMatcher(None, wanted, given, autojunk=autojunk).ratio()


SCORERS: dict[str, Scorer] = {"latent_list": latent_list, "exact": exact, "mrcr": mrcr, "choice_or_refusal": choice_or_refusal}
