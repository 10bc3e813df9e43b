"""Annals as a haystack: entries written for a row are placed by date among those of the world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pipeline.streams import Permutation, Shuffled, Streams
from pipeline.tasks.base import Filler, Placed, Role
from pipeline.worlds.chronicle import Chronicle, working

USABLE_SHARE = 0.985
"""The share of the annals in which a row's entries may be."""
DAYS_APART = 20
"""The fewest days between two entries of a row about one thing."""


@dataclass(frozen=True, slots=True)
class PlannedEntry:
    """An entry that is written for a row: its day, what it states, and its role."""

    day: int
    kind: str
    about: Mapping[str, str]
    role: Role


def dated(world: Chronicle, entry: PlannedEntry, text: str) -> Placed:
    """Place the text of an entry by its date."""
    return Placed.line(text, entry.role, world.depth_of(entry.day), at=entry.day)


def filler(world: Chronicle, pool: str, row_streams: Streams, props: Sequence[str]) -> Filler:
    """Return the world's entries in order of date, without those about some properties."""
    out = frozenset(number for prop in props for number in world.about.get(prop, ()))
    order = Shuffled(row_streams.of("filler"), len(world.entries), out)
    return Filler(pool, order, policy="ranked", ranks=world.days)


def asked_property(world: Chronicle, index: int, row_streams: Streams, stratum_streams: Streams) -> tuple[str, str]:
    """Return the property that a row asks about, and another whose name shares a word with it."""
    size = len(world.properties)
    prop = world.properties[Permutation(stratum_streams.of("property"), size)[index % size]]
    first, kind = prop.split(" ")[1:]
    near = [one for one in world.properties if one != prop and ({first, kind} & set(one.split(" ")[1:]))]
    return prop, row_streams.of("twin").choice(near)


def days_at(world: Chronicle, depths: Sequence[float]) -> list[int]:
    """Return days for ascending depths, at least `DAYS_APART` from one another; the last years are for questions.

    Those that would be nearer are moved by that and up to as much again, or they would be at equal distances.
    """
    found: list[int] = []
    for depth in depths:
        day = world.day_at(USABLE_SHARE * depth)
        if found and day < found[-1] + DAYS_APART:
            day = working(found[-1] + DAYS_APART + int(depth * 1_000_000) % DAYS_APART)
        found.append(day)
    return found
