"""Finds the owner of a plot from a prompt with a register alone, in any language, and proves a row.

It reads no words but the labels of cancellations and reinstatements, which it looks up in the files of the languages.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from pipeline.caches import cache
from pipeline.languages import CODES, language
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.registers import CODE, COLON, FIELDS, JOINT, LABEL, body_faults, one_differs, quoted
from pipeline.tasks.solving import LINES, PROMPT, Lines, ReadError

AFTER = 3
"""Lines between the entries and the question: the end, how to reply, a blank one."""
DAY, NUMBER = "[0-9]{4}-[0-9]{2}-[0-9]{2}", "[0-9]{6}"
SALE, CHANGE = f"{FIELDS} ({CODE}){JOINT}{FIELDS} ({CODE})", f"({FIELDS}) ({NUMBER})"
ENTRY = re.compile(f"{LABEL} ({NUMBER}){COLON}{FIELDS} ({DAY}){JOINT}(?:{SALE}|{CHANGE})")


class Stated(NamedTuple):
    """What an entry states: a sale's plot and buyer, or the number of a sale and whether that stands from now on."""

    number: str
    day: str
    plot: str
    buyer: str
    sale: str
    stands: bool


class Read(NamedTuple):
    """A prompt: its lines, the line numbers of its entries, what these state, and the plot and the day in question."""

    lines: Lines
    numbers: list[int]
    stated: list[Stated]
    plot: str
    day: str


@cache
def changes() -> dict[str, bool]:
    """Return whether a label, in any language, says that a sale stands again."""
    records = [language(code).records for code in CODES]
    return {one.cancels: False for one in records} | {one.reinstates: True for one in records}


@LINES.cached_map
def entry(line: str) -> tuple[Stated, ...]:
    """Return what a line states, if it is an entry."""
    found = ENTRY.fullmatch(line)
    number, day, plot, buyer, label, sale = (each or "" for each in found.groups()) if found else [""] * 6
    if not number or (label and label not in changes()):
        return ()
    return (Stated(number, day, plot, buyer, sale, changes().get(label, True)),)


@PROMPT.cached
def read(text: str) -> Read:
    """Read a prompt."""
    codes, days = quoted(text), re.findall(DAY, text[text.rfind("\n") + 1 :])
    if len(codes) != 1 or len(days) != 1:
        raise ReadError(f"the question is about the plots {codes} and the days {days}, not about one each")
    lines = Lines(text)
    found = entry(lines.texts)
    numbers = [at for at, each in enumerate(found) if each]
    return Read(lines, numbers, [found[at][0] for at in numbers], codes[0], days[0])


def about(known: Read, plot: str) -> list[int]:
    """Return which entries are sales of a plot, or name such a sale."""
    sales = {one.number for one in known.stated if one.plot == plot}
    return [at for at, one in enumerate(known.stated) if one.plot == plot or one.sale in sales]


def owner_by(entries: Iterable[Stated], day: str) -> str:
    """Return the owner of a plot on a day from the entries about it, or "" if no sale of it stands."""
    buyers, stands = dict[str, str](), dict[str, bool]()
    for one in entries:
        if one.day <= day:
            stands[one.sale or one.number] = one.stands
            buyers |= {one.number: one.buyer} if one.plot else {}
    return next((buyer for number, buyer in reversed(buyers.items()) if stands[number]), "")


def owner(text: str) -> str:
    """Return the owner that a prompt asks for."""
    known = read(text)
    found = owner_by([known.stated[at] for at in about(known, known.plot)], known.day)
    if not found:
        raise ReadError(f"no sale of {known.plot} stands on {known.day}")
    return found


def needed(known: Read) -> list[int]:
    """Return the entries without which somebody else, or nobody, is the owner."""
    own = {at: known.stated[at] for at in about(known, known.plot)}
    right = owner_by(own.values(), known.day)
    return [at for at in own if owner_by((each for other, each in own.items() if other != at), known.day) != right]


def faults(row: PublishedRow, some: Collection[int]) -> Iterator[str]:
    """Yield what is wrong with a row: `some` are the numbers of needed entries that it may have.

    Relevant marks must be on these, and decoys on the other entries about the plot, and on those about its twin.
    """
    known = read(row.text)
    yield from body_faults(row, known.lines, known.numbers, [one.number for one in known.stated], AFTER)
    if any(one[:2] > other[:2] or one.day > other.day for one, other in pairwise(known.stated)):
        yield "the entries are not in order"
    wanted, own = needed(known), about(known, known.plot)
    if len(wanted) not in some:
        yield f"{len(wanted)} entries are needed, expected a number in {list(some)}"
    alike = {one.plot for one in known.stated if one_differs(one.plot, known.plot)}
    decoys = [sorted({*own, *about(known, plot)} - {*wanted}) for plot in sorted(alike)]
    for role, which in (("relevant", [wanted]), ("decoy", decoys)):
        if row.spans(role) not in [[known.lines.span(known.numbers[at]) for at in each] for each in which]:
            yield f"the marks of role {role} are not its lines"
