"""When things are there: who can have to do with what, so that no dates of two passages contradict each other."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from functools import cache
from random import Random
from typing import Protocol

from pipeline.worlds.gazetteer.forms import Relation

EVER = 10_000
"""More years than there are."""
AGES = (22, 50)
"""How old people are who design, found, paint or write, unless a form says otherwise: nobody has retired yet."""
PRESENT = {
    "person": AGES,
    "firm": (0, 25),
    "ship": (0, 12),
    "town": (-EVER, EVER),
    "river": (-EVER, EVER),
}
"""From when and to when a thing is sure to be there, in years after its first one; others are there from then on."""
TRIES = 16
"""Draws before those that are taken are sorted out."""
Years = tuple[int, int]


class Dated(Protocol):
    """What has a name and a first year."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def era(self) -> int:
        """Its first year."""


class Eras:
    """Things of one kind in the order of their first years, so that those of a time can be drawn."""

    def __init__(self, things: Sequence[Dated]) -> None:
        self._things = sorted(things, key=lambda one: one.era)
        self._years = [one.era for one in self._things]

    def count(self, first: int, last: int) -> int:
        """Return how many things there are of those years."""
        return bisect_left(self._years, last + 1) - bisect_left(self._years, first)

    def draw(self, rng: Random, first: int, last: int, taken: Collection[str]) -> str | None:
        """Draw a thing whose first year lies in or between two years, none if all of those are taken."""
        start, stop = bisect_left(self._years, first), bisect_left(self._years, last + 1)
        for _ in range(TRIES if start < stop else 0):
            if (one := self._things[rng.randrange(start, stop)].name) not in taken:
                return one
        free = [one.name for one in self._things[start:stop] if one.name not in taken]
        return rng.choice(free) if free else None

    def nearest(self, year: int, taken: Collection[str]) -> str:
        """Return the thing whose first year is nearest to a year, the first of equals, but for those that are taken."""
        free = (one for one in self._things if one.name not in taken)
        return min(free, key=lambda one: abs(one.era - year)).name


def apart(kind: str, relation: Relation) -> Years:
    """Return how many years the first one of a thing may lie after that of what it has to do with, least and most.

    Args:
        kind: the kind of the thing.
        relation: a relation of it whose values are things.
    """
    if relation.span:
        return relation.span
    return AGES if relation.type == "person" and kind != "person" else together(kind, relation.type)


@cache
def together(kind: str, other: str) -> Years:
    """Return how many years the first one of a thing may lie after that of another, if both are to be there at once.

    >>> together("firm", "firm"), together("person", "firm")
    ((-25, 25), (-50, 3))
    """
    (from_one, to_one), (from_other, to_other) = (PRESENT.get(one, (0, EVER)) for one in (kind, other))
    return from_other - to_one, to_other - from_one
