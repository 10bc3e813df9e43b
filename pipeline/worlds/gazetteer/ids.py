"""Opaque ids of passages, by which replies cite or rank them: numbers of five digits, each of one passage alone."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from random import Random

from pipeline.streams import Streams
from pipeline.worlds.gazetteer.world import WORLD, gazetteer

FIRST, LAST = 10_000, 99_999
"""The range of ids: of five digits, none of which leads with a zero."""


def ids(streams: Streams, tier: str) -> Sequence[str]:
    """Return the id of every passage of a tier's world, in their order; `streams` are any below the same seed."""
    return _ids(streams.world(WORLD, tier), len(gazetteer(streams, tier).passages))


@lru_cache(maxsize=2)
def _ids(world: Streams, count: int) -> tuple[str, ...]:
    return tuple(map(str, world.of("ids").sample(range(FIRST, LAST + 1), count)))


def fresh(rng: Random, taken: Sequence[str], count: int) -> list[str]:
    """Draw ids, no two alike, that none of those `taken` is: for passages that are written for a row."""
    gone, found = _set(tuple(taken)), list[str]()
    while len(found) < count:
        one = str(rng.randint(FIRST, LAST))
        if one not in gone and one not in found:
            found.append(one)
    return found


@lru_cache(maxsize=2)
def _set(taken: tuple[str, ...]) -> frozenset[str]:
    return frozenset(taken)
