"""The pool of lines: every request of the world once, with a clerk and a day, one intent after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np

from pipeline.recipe import TIERS, Stratum
from pipeline.streams import Indices, Shuffled, Streams, words
from pipeline.tasks.base import Filler, Plain, PoolSpec, Unit
from pipeline.tasks.tally.text import DAYS, MONTHS, line
from pipeline.worlds.utterances import Intent, domain, source_digest, texts

WORLD = "tally@1"
TOKENS = 18
"""Of so many tokens of a tier there is a line: twice what a prompt can hold, for lists that are dealt."""
CLERKS, SPARE = 64, 4096
"""Clerks of the pool; numbers that no clerk of the pool has."""
LEAST, NUMBERS = 10_000, 90_000
SPARES = 24
INTENTS = domain("request").intents
STATED = (False, True)


def spec_of(stratum: Stratum) -> PoolSpec:
    """Return the pool of a stratum."""
    form = "stated" if is_stated(stratum) else "plain"
    return PoolSpec(f"tally-{form}-{stratum.tier}", 1, stratum.tier, f"{WORLD}:{source_digest()}", make)


def is_stated(stratum: Stratum) -> bool:
    """Tell whether lines state what their messages ask."""
    return bool(stratum.knob("stated", STATED[0]))


def each(tier: str) -> int:
    """Return how many lines the pool has of each intent."""
    return TIERS[tier] // (TOKENS * len(INTENTS))


def lines_of(tier: str, intent: Intent) -> range:
    """Return the lines of the pool of an intent."""
    first = INTENTS.index(intent) * each(tier)
    return range(first, first + each(tier))


def clerks(streams: Streams) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the numbers of the clerks of the pool, and other numbers; `streams` are any below the seed."""
    return _clerks(streams.world(WORLD))


@lru_cache(maxsize=2)
def _clerks(world: Streams) -> tuple[tuple[str, ...], tuple[str, ...]]:
    drawn = world.of("clerks").sample(range(LEAST, LEAST + NUMBERS), CLERKS + SPARE)
    return tuple(map(str, drawn[:CLERKS])), tuple(map(str, drawn[CLERKS:]))


@lru_cache(maxsize=4)
def placing(world: Streams, tier: str) -> tuple[Indices, Indices]:
    """Return the clerk and the date of every line, by number."""
    rng, count = world.world(WORLD, tier).of("lines"), each(tier) * len(INTENTS)
    drawn = words(rng, 2 * count).astype(np.int64).reshape(2, count)
    return drawn[0] % CLERKS, drawn[1] % (DAYS * len(MONTHS))


def make(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every line of a pool."""
    return Plain(_lines(streams, spec.tier, stated="stated" in spec.name))


def _lines(streams: Streams, tier: str, *, stated: bool) -> Iterator[str]:
    every, (numbers, _) = texts(streams, tier, "request"), clerks(streams)
    whose, dates = (found.tolist() for found in placing(streams.world(), tier))
    for number, intent in enumerate(INTENTS):
        for at, message in enumerate(every[intent][: each(tier)], number * each(tier)):
            yield line(dates[at], numbers[whose[at]], message, intent if stated else None)


def filler(stratum: Stratum, without: Iterable[Intent], own: Streams) -> Filler:
    """Return lines in random order, none of them of some intents."""
    left_out = frozenset(at for intent in without for at in lines_of(stratum.tier, intent))
    spares = Shuffled(own.of("spares"), each(stratum.tier) * len(INTENTS), left_out).take(SPARES)
    rest = Shuffled(own.of("filler"), each(stratum.tier) * len(INTENTS), left_out | {*spares.tolist()})
    return Filler(spec_of(stratum).name, rest, spares)
