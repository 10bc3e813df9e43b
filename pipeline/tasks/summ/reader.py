"""A reader of numbered annals that sums up what befell a property, from a prompt's text alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from pipeline.tasks.finding import Lines
from pipeline.tasks.line_cache import LINES, PROMPT
from pipeline.tasks.longqa.owners import ESTATE, history, standing
from pipeline.tasks.longqa.reader import BODY, DATE, END, Event, Line, day_of, happening_kinds
from pipeline.tasks.summ.text import accepted

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
DEEDS = ("lease", "repairs", "keeper", "loan", "bid", "plea")


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question asks for: a property, the last day that counts, and kinds of events."""

    prop: str
    last: int
    kinds: frozenset[str]


@dataclass(frozen=True, slots=True)
class Annals:
    """Entries as read, with the number of each by where it starts."""

    found: Sequence[Line]
    numbers: dict[int, str]


@PROMPT.of
def read(text: str) -> Annals:
    """Return every entry of a prompt.

    Raises:
        ValueError: if there are none, or anything else stands between them.
    """
    start, end = text.find(BODY) + len(BODY), text.rfind(END) + 1
    if start < len(BODY) or end <= start:
        raise ValueError("the prompt has no annals")
    lines = Lines(text, start, end)
    found = [(number, Line(*lines.span(at), day, said)) for at, (number, day, said) in enumerate(_entries(lines.texts))]
    return Annals([line for _, line in found], {line.start: number for number, line in found})


@LINES.of_each
def _entries(line: str) -> tuple[str, int, str]:
    """Return the number of an entry, its day and what stands behind the date."""
    found = LINE.fullmatch(line)
    if not found:
        raise ValueError(f"no entry: {line[:80]!r}")
    return found[1], day_of(found[2], found[3], found[4]), found[5]


def question_of(text: str) -> str:
    """Return the question that a prompt ends in.

    Raises:
        ValueError: if it ends in none.
    """
    found = QUESTION.search(text, max(0, text.rfind("\nQuestion: ")))
    if not found:
        raise ValueError("the prompt does not end in a question")
    return found[1]


def asked(question: str) -> Asked:
    """Return what a question asks for.

    Raises:
        ValueError: if it is another.
    """
    found = ASKED.fullmatch(question)
    if not found or not set(found.groups()[2:]) <= set(PHRASES):
        raise ValueError(f"no question about a property: {question!r}")
    return Asked(found[1], day_of("31", "December", found[2]), frozenset(PHRASES[one] for one in found.groups()[2:]))


@PROMPT.of
def told_in(text: str, prop: str) -> list[Event]:
    """Return all that a prompt tells of a property; remembers the last prompt and property.

    Raises:
        ValueError: if something cannot be read.
    """
    return told_of(read(text).found, prop)


def told_of(found: Sequence[Line], prop: str) -> list[Event]:
    """Return all that is told of a property.

    Raises:
        ValueError: if something cannot be read.
    """
    return history(found, prop, (*ESTATE, *DEEDS, *happening_kinds()))


def points(told: Sequence[Event], what: Asked) -> list[Event]:
    """Return the events that belong in a summary, in order.

    Raises:
        ValueError: if a sale is set aside or restored that there is not.
    """
    before = [event for event in told if event.line.day <= what.last]
    left = standing([event for event in before if event.kind in ESTATE])
    deeds = [event for event in before if event.kind in what.kinds and event.kind not in ESTATE]
    return sorted([*left, *deeds], key=lambda event: event.line.start)


def named(event: Event) -> tuple[str, int] | None:
    """Return who did something, and the year; nothing where nobody is named."""
    name = event.values.get("buyer") or event.values.get("person")
    return (name, date.fromordinal(event.line.day).year) if name else None


def summed_up(text: str) -> tuple[str, ...]:
    """Return the accepted answers of a prompt.

    Raises:
        ValueError: if it cannot be read, or nothing belongs in the summary.
    """
    annals, what = read(text), asked(question_of(text))
    told = told_in(text, what.prop)
    right = points(told, what)
    found = {one: [annals.numbers[event.line.start]] for event in right if (one := named(event))}
    if not found:
        raise ValueError(f"nothing of {what.prop} belongs in a summary")
    others = [one for event in told if event not in right and (one := named(event))]
    return accepted(found, others)
