"""A reader of numbered annals that summarizes what befell a property, from a prompt's text alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from pipeline.tasks.annals.solve import (
    BODY,
    DATE,
    END,
    OWNERSHIP_KINDS,
    Event,
    Line,
    day_of,
    history,
    spans,
    valid_sales,
)
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.solving import LINES, PROMPT, Lines, ReadError

LINE = re.compile(rf"\[(\d{{5}})\] {DATE}\. (.+)")
QUESTION = re.compile(r"\nQuestion: ([^\n]+)\nAnswer:\Z")
ASKED = re.compile(r"[\w ]+ (the \w+ \w+) up to the end of (\d{4}): (.+), (.+), and (.+)\.")
PHRASES = {
    "who bought it": "sale",
    "who took it on lease": "lease",
    "who paid for repairs to it": "repairs",
    "who became its keeper": "keeper",
    "who lent money on it": "loan",
}
Named = tuple[str, int]
"""A person and a year."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a question asks for: a property, the last day that counts, and kinds of events."""

    prop: str
    last: int
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Annals:
    """Entries as read, and the number of each by its start."""

    lines: Sequence[Line]
    numbers: dict[int, str]


@PROMPT.cached
def read(text: str) -> Annals:
    """Return every entry of a prompt."""
    start, end = text.find(BODY) + len(BODY), text.rfind(END) + 1
    if start < len(BODY) or end <= start:
        raise ReadError("the prompt has no annals")
    lines = Lines(text, start, end)
    numbered = [
        (number, Line(*lines.span(at), day, entry)) for at, (number, day, entry) in enumerate(_entries(lines.texts))
    ]
    return Annals([line for _, line in numbered], {line.start: number for number, line in numbered})


@LINES.cached_map
def _entries(line: str) -> tuple[str, int, str]:
    """Return the number of an entry, its day, and the text after the date."""
    match = LINE.fullmatch(line)
    if not match:
        raise ReadError(f"no entry: {line[:80]!r}")
    return match[1], day_of(match[2], match[3], match[4]), match[5]


def question_of(text: str) -> str:
    """Return the question at the end of a prompt."""
    match = QUESTION.search(text, max(0, text.rfind("\nQuestion: ")))
    if not match:
        raise ReadError("the prompt does not end in a question")
    return match[1]


def parse_question(question: str) -> Question:
    """Return what a question asks for."""
    match = ASKED.fullmatch(question)
    if not match or not set(match.groups()[2:]) <= set(PHRASES):
        raise ReadError(f"no question about a property: {question!r}")
    return Question(match[1], day_of("31", "December", match[2]), frozenset(PHRASES[one] for one in match.groups()[2:]))


@PROMPT.cached
def events_in(text: str, prop: str) -> list[Event]:
    """Return all that a prompt states about a property; the last prompt and property are cached."""
    return events_of(read(text).lines, prop)


def events_of(lines: Sequence[Line], prop: str) -> list[Event]:
    """Return all that is stated about a property."""
    return history(lines, prop)


def points(events: Sequence[Event], what: Question) -> list[Event]:
    """Return the events that belong in a summary, in order."""
    before = [event for event in events if event.line.day <= what.last]
    left = valid_sales([event for event in before if event.kind in OWNERSHIP_KINDS])
    deeds = [event for event in before if event.kind in what.kinds and event.kind not in OWNERSHIP_KINDS]
    return sorted([*left, *deeds], key=lambda event: event.line.start)


def person_and_year(event: Event) -> tuple[str, int] | None:
    """Return who did something, and the year; None if nobody is named."""
    name = event.values.get("buyer") or event.values.get("person")
    return (name, date.fromordinal(event.line.day).year) if name else None


def summed_up(text: str) -> tuple[dict[Named, list[str]], list[Named]]:
    """Return the key points of a prompt with the numbers of their entries, and the other people named."""
    annals, what = read(text), parse_question(question_of(text))
    events = events_in(text, what.prop)
    right = points(events, what)
    key_points = {one: [annals.numbers[event.line.start]] for event in right if (one := person_and_year(event))}
    if not key_points:
        raise ReadError(f"nothing of {what.prop} belongs in a summary")
    others = [one for event in events if event not in right and (one := person_and_year(event))]
    return key_points, others


VAIN = ("bid", "plea")
NEAR = {5: (5, 1, 1), 10: (10, 2, 2), 20: (20, 4, 4)}
"""By complexity: how many purchases are set aside, how many deeds are not asked for, and how many came to nothing."""


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row."""
    annals, what = read(row.text), parse_question(row.question)
    events = events_in(row.text, what.prop)
    right = points(events, what)
    yield from _body_faults(row, annals)
    if len(right) != row.stratum.complexity:
        yield f"{len(right)} key points, not {row.stratum.complexity}"
    if {event.kind for event in right} != what.kinds:
        yield "the key points are not of all kinds that are asked for"
    needed = [event for at, event in enumerate(events) if _matters(events, at, what, right)]
    if row.spans("relevant") != spans([event.line for event in needed]):
        yield "the entries marked as relevant are not those that decide what belongs in the summary"
    yield from _left_out_faults(row, events, right, what)
    twin_events = events_of(annals.lines, twin := str(row.metadata["latent"]["twin"]))
    if not set(what.prop.split(" ")[1:]) & set(twin.split(" ")[1:]):
        yield f"{twin} shares no word with {what.prop}"
    if _sorts(twin_events, what) != _sorts(events, what):
        yield f"{twin} has other entries than {what.prop}: {_sorts(twin_events, what)}, {_sorts(events, what)}"
    if row.spans("relevant", "decoy") != spans([event.line for event in (*events, *twin_events)]):
        yield "the marks are not the entries about the two properties"


def _body_faults(row: PublishedRow, annals: Annals) -> Iterator[str]:
    """Check that entries are in order of date and all different, each with its own number."""
    if any(one.day > other.day for one, other in pairwise(annals.lines)):
        yield "the entries are not in order of date"
    if len({(one.day, one.text) for one in annals.lines}) != len(annals.lines):
        yield "two entries are equal"
    if len(set(annals.numbers.values())) != len(annals.numbers):
        yield "two entries have one number"
    if question_of(row.text) != row.question:
        yield f"the prompt asks {question_of(row.text)!r}"


def _matters(events: Sequence[Event], without: int, what: Question, right: Sequence[Event]) -> bool:
    """Return whether other events belong in the summary without one of them, or a later one becomes impossible."""
    try:
        return points([*events[:without], *events[without + 1 :]], what) != right
    except ValueError:
        return True


def _left_out_faults(
    row: PublishedRow, events: Sequence[Event], right: Sequence[Event], what: Question
) -> Iterator[str]:
    """Check that what is left out of the summary has the promised numbers of each sort, and nobody is named twice."""
    late = [event for event in events if event.line.day > what.last]
    before = [event for event in events if event.line.day <= what.last and event not in right]
    undone = [event for event in before if event.kind == "sale"]
    vain = [event for event in before if event.kind in VAIN]
    unasked = [event for event in before if event.kind not in (*OWNERSHIP_KINDS, *VAIN)]
    if any(event.kind not in what.kinds for event in late):
        yield "something that is not asked for befell the property too late"
    sorts = tuple(map(len, (undone, unasked, vain)))
    if sorts != NEAR[row.stratum.complexity]:
        yield f"{sorts} are set aside, not asked for and in vain, not {NEAR[row.stratum.complexity]}"
    if not late:
        yield "nothing befell the property too late"
    people = Counter(one[0] for event in events if (one := person_and_year(event)))
    yield from (f"{name} is named twice beside {what.prop}" for name, times in people.items() if times > 1)


def _sorts(events: Sequence[Event], what: Question) -> tuple[int, int, int]:
    """Return how many people are named with a property: for what is asked, for other things, and in vain."""
    kinds = [event.kind for event in events if person_and_year(event)]
    vain = sum(kind in VAIN for kind in kinds)
    meant = sum(kind in what.kinds for kind in kinds)
    return meant, len(kinds) - meant - vain, vain
