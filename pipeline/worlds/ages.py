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


def ages(streams: Streams, tier: str) -> Indices:
    """Return the age of everybody of a tier; `streams` are those of any row or pool below the same seed."""
    return _ages(streams.world(AGES, tier), TIERS[tier] // TOKENS_PER_PERSON)


def second_ages(streams: Streams, tier: str) -> Indices:
    """Return a second age of everybody, never the first: for texts whose people need ages out of some set."""
    first = ages(streams, tier)
    return _second_ages(streams.world(AGES, tier), len(first))


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


@lru_cache(maxsize=4)
def _second_ages(world: Streams, count: int) -> Indices:
    moved = 1 + _dealt(world, "second", count, SPAN - 1)
    return YOUNGEST + (_ages(world, count) - YOUNGEST + moved) % SPAN


def _dealt(world: Streams, purpose: str, count: int, kinds: int) -> Indices:
    """Return `count` numbers below `kinds`, all equally frequent, in random order."""
    return np.asarray(Shuffled(world.of(purpose), count).take(count) % kinds, dtype=np.int64)
