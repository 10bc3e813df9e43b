"""Ages of the world's people, where biographies state an age in place of a birthdate (LongBioBench, appendix D).

They are drawn apart from the people, and dealt: in a tier every age is as frequent as any other, within one, and no two
people of a clan who share two names have the same.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pipeline.recipe import TIERS
from pipeline.streams import Indices, Shuffled, Streams, words
from pipeline.worlds.people import CLAN, TOKENS_PER_PERSON

AGES = "ages@2"
YOUNGEST, OLDEST = 20, 70
SPAN = OLDEST - YOUNGEST + 1
FEW_AGES, FEW, WIDEST = "few-ages@1", 16, 99


def ages(streams: Streams, tier: str) -> Indices:
    """Return the age of everybody of a tier; `streams` are those of any row or pool below the same seed."""
    return _ages(streams.world(AGES, tier), TIERS[tier] // TOKENS_PER_PERSON)


def few_ages(streams: Streams, tier: str) -> Indices:
    """Return two ages of everybody of a tier, int of shape (2, people): both out of `FEW` of a wide span.

    For texts in which most ages stand once: whoever has none of the ages that may recur stays out.
    """
    return _few_ages(streams.world(FEW_AGES, tier), TIERS[tier] // TOKENS_PER_PERSON)


def recurring(streams: Streams, tier: str) -> tuple[int, ...]:
    """Return the ages out of which those of `few_ages` are."""
    return _recurring(streams.world(FEW_AGES, tier))


@lru_cache(maxsize=4)
def _recurring(world: Streams) -> tuple[int, ...]:
    return tuple(world.of("ages").sample(range(YOUNGEST, WIDEST + 1), FEW))


@lru_cache(maxsize=4)
def _few_ages(world: Streams, count: int) -> Indices:
    every, first = np.array(_recurring(world), dtype=np.int64), _dealt(world, "first", count, FEW)
    second = (first + 1 + _dealt(world, "second", count, FEW - 1)) % FEW
    return np.stack([every[first], every[second]])


@lru_cache(maxsize=4)
def _ages(world: Streams, count: int) -> Indices:
    """Deal ages clan by clan: each once, and as many more as are wanting to people who share no two names.

    Numbers 0 to 12 and 51 to 63 of a clan differ in the first name and in another one.
    """
    clans, wheel = -(-count // CLAN), Shuffled(world.of("first"), SPAN).take(SPAN)
    starts = np.arange(clans) * (CLAN - SPAN)
    turned = wheel[(starts[:, None] + np.arange(SPAN)) % SPAN]
    once = turned[:, CLAN - SPAN :]
    mixed = np.argsort(words(world.of("order"), once.size).reshape(once.shape), axis=1, kind="stable")
    twice = turned[:, : CLAN - SPAN]
    return YOUNGEST + np.hstack([twice, np.take_along_axis(once, mixed, axis=1), twice]).reshape(-1)[:count]


def _dealt(world: Streams, purpose: str, count: int, kinds: int) -> Indices:
    """Return `count` numbers below `kinds`, all equally frequent, in random order."""
    return np.asarray(Shuffled(world.of(purpose), count).take(count) % kinds, dtype=np.int64)
