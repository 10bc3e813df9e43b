"""Lines that are written for a row: those that are counted, and near misses of them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from pipeline.tasks.tally.pool import INTENTS
from pipeline.tasks.tally.text import DAYS, MONTHS
from pipeline.worlds.utterances import Intent, domain, write

YEAR = DAYS * len(MONTHS)
APART = 2
"""Digits in which numbers that are alike differ, at most."""


def told(intent: Intent, rng: Random, count: int) -> list[str]:
    """Write so many messages of an intent."""
    return write(domain("request"), intent, rng, count)


def misses(intent: Intent, rng: Random, count: int) -> list[tuple[Intent, str]]:
    """Write messages that ask something else, but share the act or the thing of an intent, and often mention both.

    Of six messages two ask about the same thing and say that the act is not wanted, two ask for the same act and say
    that the thing is not meant; one shares the act or the thing, and one shares neither.
    """
    found = []
    for number in range(count):
        other = _other(intent, rng, number % 6)
        near = intent if number % 6 < 4 else None
        found += [(other, message) for message in write(domain("request"), other, rng, 1, near)]
    rng.shuffle(found)
    return found


SHARED = ((True, False), (False, True), (True, False), (False, True), (True, False), (False, False))
"""By turn, whether a miss has the thing and whether it has the act."""


def _other(intent: Intent, rng: Random, turn: int) -> Intent:
    """Draw another intent: for even turns of the same thing, for odd ones of the same act, for the last of neither."""
    return rng.choice(_alike(intent, SHARED[turn]))


@cache
def _alike(intent: Intent, shared: tuple[bool, bool]) -> Sequence[Intent]:
    return [one for one in INTENTS if one != intent and (one.thing == intent.thing, one.act == intent.act) == shared]


def dates(rng: Random, count: int, first: int = 0, last: int = YEAR) -> list[int]:
    """Draw so many days, all of them at or after the first and before the last."""
    return [rng.randrange(first, last) for _ in range(count)]


def near_numbers(number: str, free: Sequence[str], rng: Random, count: int) -> list[str]:
    """Draw numbers of which at most two digits differ from those of a number, as far as there are such."""
    apart = (_digits(free) != np.array([*number.encode()])).sum(axis=1)
    alike = [free[place] for place in np.flatnonzero((apart > 0) & (apart <= APART)).tolist()]
    return rng.sample(alike if len(alike) >= count else free, count)


@lru_cache(maxsize=2)
def _digits(numbers: Sequence[str]) -> NDArray[np.uint8]:
    """Return the digits of numbers that have equally many, as their ASCII codes, a row each."""
    return np.frombuffer("".join(numbers).encode(), dtype=np.uint8).reshape(len(numbers), -1)
