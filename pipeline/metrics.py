r"""Scores of replies. Standard library alone: this file is published beside the data as it is.

``score(row, prediction)`` takes a row (or its key) and a model's reply, and returns a number from 0 to 1.

``python metrics.py PREDICTIONS KEYS [--json] [--quirk mrcr=starts]`` prints mean scores by family, subtask and length.
PREDICTIONS is JSON Lines with ``id`` and ``prediction``; KEYS is JSON Lines of rows, or a Parquet file or a folder of
them (which needs pyarrow). Rows without a prediction score 0, and so do rows with two different ones; both forms of
a pair must be right. Exit code 2 says that something was missing or wrong; it is named on stderr.

How the answer is taken from a reply, for every scorer:

1. reasoning is dropped: all up to the last ``</think>``; an open ``<think>`` without an end leaves nothing;
2. a marked final answer wins, the last one: ``Final answer: …``, ``Answer: …``, ``Output: …`` or ``\boxed{…}``;
3. else the scorer's own rule, stated with it.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from importlib import import_module
from pathlib import Path
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


def score(row: Row, prediction: object, scorers: Mapping[str, Scorer] | None = None) -> float:
    """Return the score of a reply to a row, from 0 to 1; anything that is no text scores 0.

    `scorers` are the defaults, or what `scorers_of` returns.

    Raises:
        KeyError: if the row names a scorer that this version does not know.
    """
    scorer = (SCORERS if scorers is None else scorers)[row["scorer"]]
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
    code (as MRCR v2 has it). With `anywhere` off the very first characters must be the code, and difflib gets both
    texts the other way round, which may move the ratio a little (as openai/mrcr has it). `autojunk` is difflib's own
    default, as in both published metrics; without it chance is ten times as high. Unlike both, reasoning is dropped.
    """
    _, end, reply = prediction[-LONGEST:].rpartition("</think>")
    reply = reply.lstrip() if end else reply.partition("<think>")[0]
    code = str(row["random_string_to_prepend"])
    wanted = str(row["target"]).removeprefix(code)
    if not anywhere:
        return similarity(reply.removeprefix(code), wanted, autojunk=autojunk) if reply.startswith(code) else 0.0
    _, found, given = reply.rpartition(code)
    return similarity(wanted.strip(), given.strip(), autojunk=autojunk) if found else 0.0


def similarity(one: str, other: str, *, autojunk: bool = True) -> float:
    """Return difflib's ratio of two texts; what is junk is told from the second."""
    return SequenceMatcher(None, one, other, autojunk=autojunk).ratio()


def last_integer(row: Row, prediction: str) -> float:
    """Score a whole number: the last one of the final answer must be the target.

    Own rule: the last line. A number may be grouped by commas; one in words does not count.
    """
    text = spoken(prediction)
    final = last_line(text) if (found := marked(text)) is None else found
    numbers = INTEGER.findall(GROUPING.sub("", final[-2000:].replace("\u2212", "-")))
    return float(bool(numbers) and int(numbers[-1]) == int(row["target"]))


PART = "; "
"""What stands between the parts of an answer that has several."""
BULLET = re.compile(r"^[ \t]*(?:\(?\d{1,3}[.):]|[-*\u2022])[ \t]+|(?<![\w.])\(?\d{1,2}[.)](?=[ \t]+\D)", re.MULTILINE)
BREAKS = re.compile(r"[,;:/|+&<>()\n]|->|\b(?:and|then)\b")
MEASURES = frozenset({"year", "years", "old", "older", "younger", "aged", "age", "ages"})


def all_in_order(row: Row, prediction: str) -> float:
    """Score several values: every part of the answer in order, each worded as `exact` demands, and nothing beside them.

    Parts of an answer are separated by ``; ``; several answers of a row are other wordings of the same parts, and each
    part may follow any of them. Own rule: all text after the last mark; without a mark the last line, or, where each
    part has a line of its own, as many last lines as there are parts. The parts are looked for from left to right.
    Between them numbers, numbering, ages in years, the question's words and function words do not count; no part may
    be said again, no other value be listed, no ``or`` or ``not`` be said, and no more than three other words stand in
    one gap: listing everything scores 0, and so does any other order.
    """
    wordings = [answer.split(PART) for answer in row["answers"]]
    parts = [tuple(dict.fromkeys(forms)) for forms in zip(*wordings, strict=True)]
    asked = FUNCTION_WORDS.union(MEASURES, {"answers"}, WORD.findall(str(row.get("question") or "").lower()))
    return float(any(_lists_only(final, parts, asked) for final in _finals(prediction, len(parts))))


def _finals(prediction: str, lines: int) -> list[str]:
    """Return where an answer of several parts may stand: behind the last mark, else at the end of the reply."""
    text = spoken(prediction)
    boxed, marks = list(BOXED.finditer(text)), list(MARK.finditer(text))
    if boxed and (not marks or boxed[-1].start() > marks[-1].start()):
        return [boxed[-1][1]]
    if marks:
        behind = text[marks[-1].end() :].strip()
        return [behind.partition("\n\n")[0], behind]
    filled = [line for line in text.splitlines() if line.strip()]
    return ["\n".join(filled[-1:]), "\n".join(filled[-lines:])]


def _lists_only(final: str, parts: list[tuple[str, ...]], asked: frozenset[str]) -> bool:
    """Tell whether a text lists the parts in order, each in one of its forms, and no other value."""
    if len(final) > 2000 + 500 * len(parts):
        return False
    rest = BULLET.sub("\n", re.sub(r"[*_`\u2019]+", lambda found: "'" if "\u2019" in found[0] else "", final.lower()))
    gaps = []
    for forms in parts:
        found = _first_of(rest, forms)
        if found is None:
            return False
        gaps.append(rest[: found.start()])
        rest = rest[found.end() :]
    gaps.append(rest)
    said_again = any(_first_of(gap, forms) for gap in gaps for forms in parts)
    last = len(gaps) - 1
    return not said_again and all(
        _names_nothing(gap, asked, leads=place == 0, ends=place == last) for place, gap in enumerate(gaps)
    )


def _first_of(text: str, forms: tuple[str, ...]) -> re.Match[str] | None:
    """Return the first place where one of the forms stands as whole words; of two that begin there, the longer."""
    found = [
        match
        for form in forms
        if (match := re.search(r"(?<![\w'-])" + r"[^a-z0-9\n]+".join(WORD.findall(form.lower())) + r"(?![\w'-])", text))
    ]
    return min(found, key=lambda match: (match.start(), -match.end()), default=None)


def _names_nothing(gap: str, asked: frozenset[str], *, leads: bool, ends: bool) -> bool:
    """Tell whether what stands beside the parts names no value of its own.

    Next to a part, and before a colon that leads in, some words more may stand; between joints they are a value.
    """
    listed = gap.rpartition(":")[2] if leads else gap
    words = [word for word in WORD.findall(gap) if not re.fullmatch(r"\d{1,3}", word)]
    strange = [word for word in words if word not in asked]
    pieces = BREAKS.split(listed)
    beside = pieces[0 if leads else 1 : len(pieces) if ends else -1]
    values = {word for piece in beside for word in WORD.findall(piece)}.intersection(strange)
    return len(strange) <= SLACK and not values and not DENIALS.intersection(words)


PAIR = " and "
"""What stands between the two names of a pair."""


def pair(row: Row, prediction: str) -> float:
    """Score two names, in any order, of people whose ages differ as asked.

    Own rule: as `all_in_order` takes it; a name may lack its middle name, and no third person may be named. Where any
    pair that fits is right, the first answer is one, and all answers after the second are people of the text with
    their ages, ``name, age``: the two named must be among them, and as far apart as those of the first answer.
    """
    target = str(row["answers"][0]).split(PAIR)
    known = dict(entry.rsplit(", ", 1) for entry in row["answers"][2:])
    asked = FUNCTION_WORDS.union(MEASURES, {"two", "people"}, WORD.findall(str(row.get("question") or "").lower()))
    for final in _finals(prediction, 2):
        named = _named(final, known) if known else target
        fits = len(named) == 2 and (not known or _apart(named, known) == _apart(target, known))
        orders = ([_name_forms(name) for name in order] for order in (named, named[::-1]))
        if fits and any(_lists_only(final, parts, asked) for parts in orders):
            return 1.0
    return 0.0


def _named(final: str, known: Mapping[str, str]) -> list[str]:
    """Return who of the people known is named."""
    said = final.lower()
    return [name for name in known if any(form.lower() in said for form in _name_forms(name))]


def _apart(names: list[str], known: Mapping[str, str]) -> int:
    one, other = (int(known[name]) for name in names)
    return abs(one - other)


def _name_forms(name: str) -> tuple[str, ...]:
    """Return a name in full, and first and last name alone."""
    return name, f"{name.split()[0]} {name.split()[-1]}"


CITED = re.compile(r"\[[^\[\]\d]{0,12}(\d{1,6}(?:\.\d\d){0,2})\]|(?<![\w.,-])(\d{5})(?![\w-]|[.,]\d)")
"""A label: a number in square brackets, its digits maybe in pairs, or one of five digits."""
SOURCE_WORDS = frozenset({"label", "labels", "biography", "biographies", "bio", "bios", "source", "sources", "see"})


def citation(row: Row, prediction: str) -> float:
    """Score values with their sources: every value, each with the label of its biography, in order.

    Own rule: the marked or the last line; where that has fewer labels or words than the answer has parts, as many
    lines from the mark on, or at the end, as there are parts, or twice as many. A label is a number in square brackets
    or one of five digits; there must be just as many as there are parts. What stands before a label (behind it, if the
    text starts with one) is the part's value and judged as by `exact`: neither values nor labels can be listed.
    """
    answers = [[_sourced(part)[0] for part in answer.split(PART)] for answer in row["answers"]]
    asked = FUNCTION_WORDS | SOURCE_WORDS | set(WORD.findall(str(row.get("question") or "").lower()))
    given = _with_sources(prediction, len(answers[0]))
    if len(given) != len(answers[0]):
        return 0.0
    return float(all(map(_part_cited, given, zip(*answers, strict=True), [asked] * len(given))))


def _part_cited(given: tuple[str, int], wanted: tuple[tuple[str, int], ...], asked: frozenset[str]) -> bool:
    """Tell whether a part of a reply has the label, and one wording of the value, that it must have."""
    said, label = given
    words = WORD.findall(said.lower())
    right = any(_says_only(words, said, value, asked) for value, _ in wanted)
    return right and label == wanted[0][1] and len(said) <= LONG_LINE


def _with_sources(prediction: str, parts: int) -> list[tuple[str, int]]:
    """Return the values and labels of a reply's final answer."""
    text = spoken(prediction)
    found, marks = marked(text), list(MARK.finditer(text))
    first = found is not None and bool(marks)
    lines = [line for line in text[marks[-1].end() if first else 0 :].splitlines() if line.strip(WRAPPING)]
    chosen = [found] if found is not None else lines[-1:]
    given: list[tuple[str, int]] = []
    for some in (chosen, *((lines[:count] if first else lines[-count:]) for count in (parts, 2 * parts))):
        given = _sourced("\n".join(some))
        if len(given) >= parts and all(WORD.search(said.lower()) for said, _ in given):
            break
    return given


def _sourced(text: str) -> list[tuple[str, int]]:
    """Return each label of a text with what stands before it, or behind it where the text starts with a label."""
    labels = list(CITED.finditer(text))
    if not labels:
        return []
    numbers = [int((label[1] or label[2]).replace(".", "")) for label in labels]
    edges = [0, *(edge for label in labels for edge in label.span()), len(text)]
    gaps = [text[start:end] for start, end in zip(edges[::2], edges[1::2], strict=True)]
    leads = WORD.search(gaps[0].lower()) is None
    said = gaps[1:] if leads else [*gaps[:-2], f"{gaps[-2]} {gaps[-1]}"]
    return list(zip((one.strip(" \t\n;,.") for one in said), numbers, strict=True))


HEDGE = re.compile(
    r"\b(?:probably|perhaps|maybe|likely|possibly|presumably|guess|assume|might be|may be|could be|seems?)\b(?! not)",
    re.IGNORECASE,
)


def idk_pair(row: Row, prediction: str) -> float:
    """Score one form of a pair: the answer where it is stated (as `exact`), a refusal where it is not.

    Own rule: the last line, in both forms. A refusal says that the text does not tell, or that one cannot answer;
    with a guess beside it, like ``probably``, it is none. No line is an answer and a refusal at once, so that no reply
    scores in both forms. A pair is passed by who scores in both.
    """
    text = spoken(prediction).replace("\u2019", "'")
    final = last_line(text) if (found := marked(text)) is None else found
    refused = bool(REFUSAL.search(final[:LONG_LINE]))
    if REFUSAL.search(str(row["target"])):
        return float(refused and len(final) <= LONG_LINE and not HEDGE.search(final))
    return 0.0 if refused else exact(row, prediction)


CATEGORY = re.compile(
    r"(?P<denied>\b(?:not|never|isn't|nor|or) )?"
    r"\b(?:(?:categor(?:y|ies)|class|label)\b[ #:(]{0,3}|(?<=, )|(?<=and )|(?<=or ))(?P<number>\d{1,3})\b"
)
BARE_NUMBER = re.compile(r"[#(]?(\d{1,3})[).]?")
"""A number that is all of an answer."""


def label(row: Row, prediction: str) -> float:
    """Score one category, like ``Category 7`` or ``7``.

    Own rule: the last line. A number counts behind ``category``, ``class`` or ``label``, or if it is all there is.
    Exactly the target's number must be named: two numbers, or one after ``not`` or ``or``, score 0.
    """
    text = spoken(prediction)
    final = (last_line(text) if (found := marked(text)) is None else found)[-2000:].lower().replace("\u2019", "'")
    final = re.sub(r"[*_`]+", "", final).strip()
    alone = BARE_NUMBER.fullmatch(final)
    named = list(CATEGORY.finditer(final))
    numbers = {int(alone[1])} if alone else {int(found["number"]) for found in named}
    denied = any(found["denied"] for found in named)
    return float(not denied and numbers == {int(row["answers"][-1])})


SCORERS: dict[str, Scorer] = {
    "latent_list": latent_list,
    "exact": exact,
    "mrcr": mrcr,
    "choice_or_refusal": choice_or_refusal,
    "citation": citation,
    "idk_pair": idk_pair,
    "all_in_order": all_in_order,
    "last_integer": last_integer,
    "pair": pair,
    "label": label,
}


QUIRKS: dict[str, dict[str, dict[str, bool]]] = {
    "mrcr": {"anywhere": {"anywhere": True}, "starts": {"anywhere": False}, "no-autojunk": {"autojunk": False}}
}
"""Other rules of published graders, by scorer; the first is the default."""


def scorers_of(quirks: Iterable[str]) -> dict[str, Scorer]:
    """Return the scorers under quirks like ``mrcr=starts``; several of one scorer add up.

    Raises:
        ValueError: for a quirk that is not known, naming those that are.
    """
    chosen: dict[str, dict[str, bool]] = {}
    for quirk in quirks:
        name, _, value = quirk.partition("=")
        if value not in QUIRKS.get(name, {}):
            known = ", ".join(f"{scorer}={each}" for scorer, values in QUIRKS.items() for each in values)
            raise ValueError(f"unknown quirk {quirk!r} (known: {known})")
        chosen.setdefault(name, {}).update(QUIRKS[name][value])
    return {name: partial(scorer, **chosen[name]) if name in chosen else scorer for name, scorer in SCORERS.items()}


# The command. `carrara score` does more: intervals, depth, other formats.


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of scores; return 0, 1 if nothing could be scored, or 2 if something was missing or wrong."""
    parser = argparse.ArgumentParser(prog="metrics.py", description="Score predictions against keys.")
    parser.add_argument("predictions", type=Path, help="JSON Lines with id and prediction")
    parser.add_argument("keys", type=Path, help="JSON Lines or Parquet of keys, or a folder of such files")
    parser.add_argument("--json", action="store_true", help="print JSON in place of a table")
    parser.add_argument("--quirk", action="append", default=[], metavar="mrcr=starts", help="another published rule")
    given = parser.parse_args(arguments)
    try:
        scorers = scorers_of(given.quirk)
        keys = {str(row["id"]): row for row in read_keys(given.keys)}
        faults: list[str] = []
        replies = read_replies(given.predictions, keys, faults)
    except (OSError, ValueError, KeyError, ImportError) as fault:
        sys.stderr.write(f"metrics.py: {type(fault).__name__}: {fault}\n")
        return 1
    faults += [f"{row_id}: no prediction" for row_id in keys if row_id not in replies]
    sys.stderr.write("".join(f"{fault}\n" for fault in faults))
    lines = summary(keys, replies, scorers)
    sys.stdout.write(json.dumps(lines, indent=1) + "\n" if given.json else _table(lines))
    return 2 if faults else 0


def read_keys(path: Path) -> Iterator[Row]:
    """Yield the rows of a file of keys, or of all files of a folder.

    Raises:
        ValueError: if a line is no object of JSON.
        ImportError: for Parquet without pyarrow.
    """
    for file in sorted(path.rglob("*.parquet")) or sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]:
        if file.suffix == ".parquet":
            yield from import_module("pyarrow.parquet").ParquetFile(file).read().to_pylist()
        else:
            with file.open(encoding="utf-8") as lines:
                yield from map(json.loads, filter(str.strip, lines))


def read_replies(path: Path, keys: Mapping[str, Row], faults: list[str]) -> dict[str, str]:
    """Return the one text that was given for each id; all that is wrong is added to `faults`, with its line."""
    replies: dict[str, str] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if fault := _take(line, keys, replies):
                faults.append(f"{path}:{number}: {fault}")
    return {row_id: text for row_id, text in replies.items() if text != CONFLICT}


def _take(line: bytes, keys: Mapping[str, Row], replies: dict[str, str]) -> str:
    """Add a line's text to the replies; return what is wrong with the line, if anything is."""
    try:
        said = json.loads(line.strip() or b'{"error": "empty"}')
    except (ValueError, RecursionError):
        return "no line of JSON"
    row_id, text = (said.get("id"), said.get("prediction")) if isinstance(said, dict) else (None, None)
    if isinstance(said, dict) and said.get("error"):
        return ""
    if not isinstance(row_id, str) or row_id not in keys:
        return f"no row has the id {row_id!r}"
    if not isinstance(text, str):
        return f"{row_id}: the prediction is no text"
    if replies.setdefault(row_id, text) != text:
        replies[row_id] = CONFLICT
        return f"{row_id}: another answer than before, none counts"
    return ""


CONFLICT = "\0two answers"


def summary(
    keys: Mapping[str, Row], replies: Mapping[str, str], scorers: Mapping[str, Scorer]
) -> list[dict[str, str | int | float]]:
    """Return rows, answered rows and mean score, over all and by family, subtask and length."""
    scores = {row_id: score(row, replies.get(row_id), scorers) for row_id, row in keys.items()}
    for row_id, row in keys.items():
        other = _other_form(row_id) if row["scorer"] == "idk_pair" else row_id
        scores[row_id] = min(scores[row_id], scores.get(other, 1.0))
    groups: dict[tuple[str, str, int], list[str]] = {}
    for row_id, row in keys.items():
        for subtask, length in ((row["subtask"], row["length"]), (row["subtask"], 0), ("", row["length"]), ("", 0)):
            groups.setdefault((row["family"], subtask, length), []).append(row_id)
    return [
        {
            **dict(zip(("family", "subtask", "length"), (family, subtask or "all", length or "all"), strict=True)),
            "rows": len(ids),
            "answered": sum(row_id in replies for row_id in ids),
            "score": round(sum(scores[row_id] for row_id in ids) / len(ids), 6),
        }
        for (family, subtask, length), ids in sorted(groups.items())
    ]


def _other_form(row_id: str) -> str:
    """Return the id of the other form of a pair: a for b, b for a."""
    head, dash, tag = row_id.rpartition("-")
    return head[:-1] + {"a": "b", "b": "a"}.get(head[-1:], head[-1:]) + dash + tag


def _table(lines: Sequence[Mapping[str, object]]) -> str:
    head = ["family", "subtask", "length", "rows", "answered", "score"]
    cells = [head, *([f"{v:.3f}" if isinstance(v, float) else str(v) for v in line.values()] for line in lines)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(head))]
    pad = [str.ljust, str.ljust, str.rjust, str.rjust, str.rjust, str.rjust]
    return "".join("  ".join(f(c, w) for f, c, w in zip(pad, line, widths, strict=True)) + "\n" for line in cells)


if __name__ == "__main__":
    sys.exit(main())
