"""Solves a prompt with a register and proves a row, from the text alone, in any language.

It knows no word: a question quotes labels, and a line that begins with one gives its value after a colon.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from itertools import compress, count

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.recall.niah_solve import CODE, Needles, answer, needle_faults
from pipeline.tasks.registers import CODE as CODED
from pipeline.tasks.registers import COLON, LABEL, QUOTED, quoted
from pipeline.tasks.solving import LINES, PROMPT, Lines, ReadError

UUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
ENTRY = re.compile(rf"({LABEL}) ({CODED}|{UUID}){COLON}([0-9]{{7}}|{UUID})")
DATED = re.compile(rf"{LABEL} [0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}{COLON}[0-9]{{4,7}}")
BODY = re.compile(r"^\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)


@PROMPT.cached
def asked(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the asked label, and its keys in the order of the question."""
    parted = [label.rpartition(" ") for label in quoted(text)]
    if len({label for label, _, _ in parted}) != 1:
        raise ReadError(f"the question is about several labels: {sorted({label for label, _, _ in parted})}")
    return parted[0][0], tuple(_spelled(key) for _, _, key in parted)


@PROMPT.cached
def columns(text: str) -> Needles:
    """Return the entries of a prompt that have a key; the asked label is called a code, as in English."""
    lines, (label, _) = Lines(text), asked(text)
    stated = _stated(lines.texts)
    if not any(stated):
        return Needles(lines)
    labels, keys, values = zip(*filter(None, stated), strict=True)
    things = [CODE if each == label else each for each in labels]
    return Needles(lines, list(compress(count(), stated)), things, keys, values)


def entry(line: str) -> tuple[str, ...]:
    """Return the label, key and value of a line; empty if it is not an entry."""
    match = ENTRY.fullmatch(line)
    return (match[1], _spelled(match[2]), match[3]) if match else ()


_stated = LINES.cached_map(entry)
"""`entry` for many lines."""


@LINES.cached_map
def _is_dated(line: str) -> bool:
    return DATED.fullmatch(line) is not None


def _spelled(key: str) -> str:
    """Return a key with spaces between its parts, like keys of words; UUIDs are unchanged."""
    return key.replace("-", " ") if key[0].isupper() else key


def solve(text: str, form: str) -> str:
    """Return the values asked for: those of one key sorted, those of several in the order of the question."""
    return answer(columns(text), asked(text)[1], form, ordered=False)


def faults(row: PublishedRow, haystack: str, form: str, *, near: int, distractors: int, alike: int) -> Iterator[str]:
    """Yield what is wrong with a row, judged by its text and its marks alone; arguments are those of `niah_solve`."""
    needles, (_, keys) = columns(row.text), asked(row.text)
    yield from needle_faults(row, needles, keys, form, near=near, distractors=distractors, alike=alike)
    dated = list(compress(count(), _is_dated(needles.lines.texts)))
    filler = [needles.lines.texts[number] for number in dated]
    body = sorted([*needles.numbers, *dated])
    if body != list(range(body[0], body[0] + len(body))):
        yield "a line of the register is no entry"
    if len({VALUE.sub("", line) for line in filler}) != len(filler):
        yield "two entries have the same label and day"
    if (haystack == "register") != bool(filler):
        yield "the haystack is not the one that is promised"
    if not filler and {*needles.things} != {CODE}:
        yield "a line of the list is not of the asked kind"


def body_of(text: str) -> tuple[int, int]:
    """Return the span of a register, from its first entry to its last, or of the pairs of a JSON object."""
    if body := BODY.search(text):
        return body.start() + len("{\n"), body.end() - len("}\n")
    lines = Lines(text)
    held = [bool(stated) or dated for stated, dated in zip(_stated(lines.texts), _is_dated(lines.texts), strict=True)]
    places = list(compress(count(), held))
    return (lines.span(places[0])[0], lines.span(places[-1])[1]) if places else (0, 0)


VALUE = re.compile("[0-9]+$")
"""The value of a dated entry."""


@PROMPT.cached
def pairs(text: str) -> Sequence[tuple[str, str]]:
    """Return the pairs of the object in a prompt, in order, with duplicates."""
    body = BODY.search(text)
    if not body:
        raise ReadError("the prompt holds no JSON object")
    listed: list[tuple[str, str]] = json.loads(body[0], object_pairs_hook=list)
    return listed


def asked_key(text: str) -> str:
    """Return the key that is asked about."""
    keys = quoted(text)
    if len(keys) != 1 or not re.fullmatch(UUID, keys[0]):
        raise ReadError(f"the question is about {keys}, not about one key")
    return keys[0]


def examples(text: str) -> set[tuple[str, ...]]:
    """Return the example pairs that precede the object."""
    body = BODY.search(text)
    lines = text[: body.start() if body else 0].split("\n")
    quotes = (tuple(QUOTED.findall(line)) for line in lines)
    return {pair for pair in quotes if len(pair) == 2 and all(re.fullmatch(UUID, each) for each in pair)}
