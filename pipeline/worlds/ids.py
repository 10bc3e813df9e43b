"""Opaque ids of passages and entries, by which replies cite or rank them: numbers of five digits, each of one alone."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pipeline.caches import lru_cache

FIRST, LAST = 10_000, 99_999
"""The range of ids: of five digits, none of which leads with a zero."""


def numbers(rng: Random, count: int) -> tuple[str, ...]:
    """Draw as many ids as a world has units, no two alike."""
    return tuple(map(str, rng.sample(range(FIRST, LAST + 1), count)))


def fresh(rng: Random, taken: Sequence[str], count: int) -> list[str]:
    """Draw ids, no two alike, that none of those `taken` is: for what is written for a row."""
    gone, found = _set(tuple(taken)), list[str]()
    while len(found) < count:
        one = str(rng.randint(FIRST, LAST))
        if one not in gone and one not in found:
            found.append(one)
    return found


@lru_cache(maxsize=2)
def _set(taken: tuple[str, ...]) -> frozenset[str]:
    return frozenset(taken)
