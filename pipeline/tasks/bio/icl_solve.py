"""Reads the examples of icl and checks them, from the text alone.

It knows that categories depend on initials, and learns the mapping from the examples.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.bio.solve import NAME, Entry, parse_biography, people_faults, question_faults
from pipeline.tasks.solving import LINES, PROMPT, ReadError

START = "Biographies:\n"
END = "\nThis is the end of the examples."
BLOCK = re.compile(
    rf"Biographies:\n(?P<people>(?:.+\n)+)Question: Which category of university did (?P<name>{NAME}) graduate from\?\n"
    r"Answer:(?: Category (?P<label>10|[1-9])\n)?"
)
ARTICLE = "the "
DIFFERENT_NAMES = 4
"""The number of different names that two people have if they share two of three."""


@dataclass(frozen=True, slots=True)
class Case:
    """An example as read: its people, the index of the one asked about, and the category (0 if not stated)."""

    people: tuple[Entry, ...]
    asked: int
    label: int

    @property
    def university(self) -> str:
        """The university that is asked about."""
        return self.people[self.asked].stated["university"]

    @property
    def initial(self) -> str:
        """The first letter of the asked university, without its article."""
        return self.university.removeprefix(ARTICLE)[0]


@dataclass(frozen=True, slots=True)
class Shown:
    """All examples of a prompt with their start and end, and the last case, which is not answered."""

    cases: tuple[tuple[int, int, Case], ...]
    last: Case
    last_start: int


@PROMPT.cached
def read_examples(text: str) -> Shown:
    """Read the examples and the last case of a prompt."""
    start, end = text.find("\n" + START) + 1, text.rfind(END) + 1
    last = text.rfind("\n" + START) + 1
    if not 0 < start < end < last:
        raise ReadError("the prompt has no examples")
    blocks = text[start:end].split(START)[1:]
    cases = []
    for block in blocks:
        stop = start + len(START) + len(block)
        cases.append((start, stop, _take_apart(START + block)))
        start = stop
    unanswered = _take_apart(text[last:])
    if unanswered.label or not all(case.label for _, _, case in cases):
        raise ReadError("not all examples are answered, or the last case is")
    return Shown(tuple(cases), unanswered, last)


@LINES.cached
def _take_apart(block: str) -> Case:
    found = BLOCK.fullmatch(block)
    if not found:
        raise ReadError(f"no example: {block[:80]!r}")
    people = tuple(Entry(0, 0, *parse_biography(line)) for line in found["people"].splitlines())
    asked = [place for place, person in enumerate(people) if person.name == found["name"]]
    if len(asked) != 1 or any("university" not in person.stated for person in people):
        raise ReadError(f"{found['name']} does not stand in the example just once, or a university is not told")
    return Case(people, asked[0], int(found["label"] or 0))


def solve(text: str) -> int:
    """Return the category of the last case."""
    shown = read_examples(text)
    categories = {case.label for _, _, case in shown.cases if case.initial == shown.last.initial}
    if len(categories) != 1:
        raise ReadError(f"the examples tell {len(categories)} categories of universities with {shown.last.initial}")
    return categories.pop()


def faults(row: PublishedRow, number: int, slack: int) -> Iterator[str]:
    """Yield what is wrong with a row of `number` categories, whose frequencies may differ by `slack`."""
    shown = read_examples(row.text)
    cases = [case for _, _, case in shown.cases]
    if solve(row.text) != int(row.key.answers[-1]):
        yield f"the examples tell category {solve(row.text)}, the key {row.key.target!r}"
    yield from question_faults(row)
    yield from people_faults([person for case in (*cases, shown.last) for person in case.people])
    if any(len(case.people) != 2 for case in (*cases, shown.last)):
        yield "an example is not about two people"
    elif any(
        len({*case.people[0].name.split(" "), *case.people[1].name.split(" ")}) != DIFFERENT_NAMES for case in cases
    ):
        yield "the two people of an example do not share two names"
    yield from _label_faults(cases, number, slack)
    if any(person.stated["university"] == shown.last.university for case in cases for person in case.people):
        yield f"an example holds {shown.last.university}"
    yield from _mark_faults(row, shown)


def _label_faults(cases: Sequence[Case], number: int, slack: int) -> Iterator[str]:
    categories: dict[str, set[int]] = {}
    for case in cases:
        categories.setdefault(case.initial, set()).add(case.label)
    for letter, labels in categories.items():
        if len(labels) > 1:
            yield f"universities with {letter} have the categories {sorted(labels)}"
    times: Mapping[int, int] = Counter(case.label for case in cases)
    shares = [times.get(label, 0) for label in range(1, number + 1)]
    if max(shares) - min(shares) > slack or sum(shares) != len(cases):
        yield f"the categories stand {shares} times"


def _mark_faults(row: PublishedRow, shown: Shown) -> Iterator[str]:
    """Check that one example with the asked initial is marked, and the biography of the asked person."""
    places = {(start, stop): case for start, stop, case in shown.cases}
    anchors = row.spans("anchor")
    if len(anchors) != 1 or anchors[0] not in places or places[anchors[0]].initial != shown.last.initial:
        yield "the marked example is not one of the asked initial"
    lines = row.text[shown.last_start :].splitlines(keepends=True)
    start = shown.last_start + sum(map(len, lines[: 1 + shown.last.asked]))
    wanted = [(start, start + len(lines[1 + shown.last.asked]))]
    if row.spans("relevant") != wanted:
        yield "the needle is not the biography of the asked person"
