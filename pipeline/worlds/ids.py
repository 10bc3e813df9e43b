"""Opaque ids of passages and entries, by which replies cite or rank them: distinct numbers of five digits."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pipeline.caches import lru_cache

FIRST, LAST = 10_000, 99_999
"""The range of ids: five digits, without a leading zero."""


def numbers(rng: Random, count: int) -> tuple[str, ...]:
    """Draw distinct ids for the units of a world."""
    return tuple(map(str, rng.sample(range(FIRST, LAST + 1), count)))


def fresh(rng: Random, taken: Sequence[str], count: int) -> list[str]:
    """Draw distinct ids that are not in `taken`, for what is written for a row."""
    gone, ids = _set(tuple(taken)), list[str]()
    while len(ids) < count:
        number = str(rng.randint(FIRST, LAST))
        if number not in gone and number not in ids:
            ids.append(number)
    return ids


@lru_cache(maxsize=2)
def _set(taken: tuple[str, ...]) -> frozenset[str]:
    return frozenset(taken)
