"""Solves a prompt with needles and proves a row, from the text alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress, count, islice
from typing import NamedTuple

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.haystacks.solve import foreign_spans
from pipeline.tasks.solving import LINES, PROMPT, Lines, ReadError, Span, whole_lines

START, END = "Text:\n", "This is the end of the text."
CODE = "access code"
"""What a question is about; other things may be filed under the same key."""
STATED = re.compile(r"^(?:The|One) ([a-z]+ (?:code|number)) filed under (.+) is ([0-9a-f-]+)\.\n", re.MULTILINE)
ASKED = re.compile(
    r"^Question: What (?:is the|are the|are all the) access codes? filed under (.+?)"
    r"(, in the order in which they stand in the text)?\?$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Needle:
    """A line that states a value: the thing that is filed, its key, the value, and the line's span."""

    thing: str
    key: str
    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Needles:
    """All needles of a text in order, as parallel columns: there may be a hundred thousand."""

    lines: Lines
    numbers: Sequence[int] = ()
    things: Sequence[str] = ()
    keys: Sequence[str] = ()
    values: Sequence[str] = ()

    def __len__(self) -> int:
        """Return the number of needles."""
        return len(self.numbers)

    def span(self, place: int) -> Span:
        """Return the span of a needle."""
        return self.lines.span(self.numbers[place])

    def places(self, asked: Sequence[str]) -> list[int]:
        """Return the places of the access codes filed under some keys."""
        wanted = {*asked}
        return [place for place, key in enumerate(self.keys) if key in wanted and self.things[place] == CODE]


def read_needles(text: str) -> list[Needle]:
    """Return every needle of a text, in order."""
    needles = columns(text)
    edges = zip(*map(needles.span, range(len(needles))), strict=True) if len(needles) else ((), ())
    return list(map(Needle, needles.things, needles.keys, needles.values, *edges))


@PROMPT.cached
def columns(text: str) -> Needles:
    """Return the needles of a prompt."""
    lines = Lines(text)
    stated = _stated(lines.texts)
    if not any(stated):
        return Needles(lines)
    return Needles(lines, list(compress(count(), stated)), *zip(*filter(None, stated), strict=True))


@LINES.cached_map
def _stated(line: str) -> tuple[str, ...]:
    """Return the thing, key and value that a line without its newline states; empty if it is not a needle."""
    match = STATED.match(f"{line}\n")
    return match.groups() if match else ()


def parse_question(text: str) -> list[str]:
    """Return the keys that are asked for, in the order of the question."""
    return re.split(", | and ", _asked(text)[0])


def is_ordered(text: str) -> bool:
    """Return whether values are asked for in the order of the text."""
    return bool(_asked(text)[1])


@PROMPT.cached
def _asked(text: str) -> tuple[str, str]:
    asked = [match.groups("") for match in whole_lines(ASKED, "Question: ", text)]
    if len(asked) != 1:
        raise ReadError(f"{len(asked)} questions are asked")
    keys, ordered = asked[0]
    return keys, ordered


STEM = 8
"""Characters that near UUIDs share."""


class KeyForm(NamedTuple):
    """The form of a key: how many values it has, how many keys are near to it, and what else is filed under it.

    Near keys count up to the promised number. Only the question distinguishes keys of one form.
    """

    values: int
    near: int
    things: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Keys:
    """All keys of a text that access codes are filed under; near keys count up to `half` on either side.

    `values` is how many codes each has, `things` what else is filed under some. `firsts` and `lasts` are how many keys
    begin or end with a word, or with the first digits of a UUID.
    """

    half: int
    values: Counter[str]
    things: Mapping[str, Sequence[str]]
    firsts: Counter[str]
    lasts: Counter[str]

    @classmethod
    def of(cls, needles: Needles, half: int) -> Keys:
        """Return the keys of some needles."""
        values, things = Counter[str](), dict[str, list[str]]()
        if needles.things.count(CODE) == len(needles):
            values.update(needles.keys)
        else:
            for thing, key in zip(needles.things, needles.keys, strict=True):
                if thing == CODE:
                    values[key] += 1
                else:
                    things.setdefault(key, []).append(thing)
        parts = [key.partition(" ") for key in values]
        firsts = Counter(first if last else first[:STEM] for first, _, last in parts)
        return cls(half, values, things, firsts, Counter(last for _, _, last in parts))

    def form(self, key: str) -> KeyForm:
        """Return the form of a key."""
        things = tuple(sorted(self.things.get(key, ()))) if self.things else ()
        return KeyForm(self.values[key], self._near(key), things if key in self.values else ())

    def _near(self, key: str) -> int:
        """Return how many keys begin or end like a key, up to the limit."""
        if key not in self.values:
            return 0
        first, _, last = key.partition(" ")
        if not last:
            return min(self.firsts[first[:STEM]] - 1, 2 * self.half)
        return min(self.firsts[first] - 1, self.half) + min(self.lasts[last] - 1, self.half)


def solve(text: str, form: str) -> str:
    """Return the values asked for: those of several keys in the order of the question.

    Those of one key are sorted, unless the question wants the order of the text.
    """
    return answer(columns(text), parse_question(text), form, ordered=is_ordered(text))


def answer(needles: Needles, asked: Sequence[str], form: str, *, ordered: bool) -> str:
    """Return the values of some keys as an answer key states them.

    Raises:
        ReadError: if a key has no value, or several where one is asked for.
    """
    values = [[needles.values[place] for place in needles.places([key])] for key in asked]
    wrong = [
        key for key, stated in zip(asked, values, strict=True) if not stated or (form != "values" and len(stated) > 1)
    ]
    if wrong or (form != "keys" and len(asked) != 1):
        raise ReadError(f"the text does not state what is asked for just once: {wrong or asked}")
    if form != "values":
        return ", ".join(stated[0] for stated in values)
    return ", ".join(values[0] if ordered else sorted(values[0]))


def faults(row: PublishedRow, haystack: str, form: str, *, near: int, distractors: int, alike: int) -> Iterator[str]:
    """Yield what is wrong with a row, judged by its text and its marks alone.

    Args:
        row: the row.
        haystack: the haystack of its needles.
        form: in which form it asks.
        near: how many keys are near to each asked one.
        distractors: how many other things are filed under it.
        alike: how many keys have the form of an asked one.
    """
    needles, asked = columns(row.text), parse_question(row.text)
    if is_ordered(row.text) != (form == "ordered"):
        yield "the question and the knob do not agree on whether the order of the text counts"
    yield from needle_faults(row, needles, asked, form, near=near, distractors=distractors, alike=alike)
    yield from _haystack(row, haystack, needles)


def needle_faults(
    row: PublishedRow, needles: Needles, asked: Sequence[str], form: str, *, near: int, distractors: int, alike: int
) -> Iterator[str]:
    """Yield what is wrong with a row's needles, given them and its question as read; the rest is as in `faults`."""
    mine = needles.places(asked)
    yield from _marks(row, needles, mine)
    yield from _uniqueness(needles, form, row.text, mine)
    if len(mine) != row.stratum.complexity:
        yield f"{len(mine)} lines answer the question, but {row.stratum.complexity} are promised"
    keys = Keys.of(needles, near // 2)
    for key in asked:
        key_form = keys.form(key)
        if len(key_form.things) != distractors:
            yield f"{len(key_form.things)} other things are filed under {key}, but {distractors} are promised"
        if key_form.near < near // 2 * 2:
            yield f"{key_form.near} keys are near to {key}, but {near} are promised"
        rivals = sum(1 for _ in islice((one for one in keys.values if keys.form(one) == key_form), alike))
        if rivals < alike:
            yield f"{rivals} keys have the form of {key}, but {alike} are promised"


def _marks(row: PublishedRow, needles: Needles, mine: Sequence[int]) -> Iterator[str]:
    marked = {role: {*row.spans(role)} for role in ("relevant", "decoy")}
    if marked["relevant"] != {needles.span(place) for place in mine}:
        yield "the marked lines are not those that answer"
    numbers = {needles.lines.number_of(span) for span in marked["decoy"] - marked["relevant"]}
    if marked["decoy"] & marked["relevant"] or not numbers.issubset(needles.numbers):
        yield "a marked decoy is not a needle"


def _uniqueness(needles: Needles, form: str, text: str, mine: Sequence[int]) -> Iterator[str]:
    if len({*needles.values}) != len(needles) or any(text.count(needles.values[place]) != 1 for place in mine):
        yield "a value stands in two places"
    keys = {*zip(needles.things, needles.keys, strict=True)} if {*needles.things} != {CODE} else {*needles.keys}
    if form not in ("values", "ordered") and len(keys) != len(needles):
        yield "two lines have the same key"


def _haystack(row: PublishedRow, haystack: str, needles: Needles) -> Iterator[str]:
    start, stop = row.text.find(f"\n{START}") + 1 + len(START), row.text.rfind(f"\n{END}") + 1
    if haystack in ("words", "uuids"):
        if sum(len(needles.lines.texts[number]) + 1 for number in needles.numbers) != stop - start:
            yield "a line of the list states no access code"
    elif {*foreign_spans(row.text, start, stop, haystack)} != {needles.span(place) for place in range(len(needles))}:
        yield "a line is neither of the haystack nor a needle"
