"""The world `plots`: a register of sales of plots by date, some of which are cancelled and reinstated.

It has no words, so that the register is the same in all languages. All entries about a plot are units next to one
another, so that they can enter a prompt together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from random import Random
from typing import NamedTuple

import numpy as np

from pipeline.caches import lru_cache
from pipeline.streams import Indices, Streams
from pipeline.typed import TIERS
from pipeline.worlds.ledger import draw_codes, near_codes
from pipeline.worlds.needles import DAYS, FIRST_DAY, places, pooled

WORLD = "plots@1"
PER_PLOT, TOKENS_PER_ENTRY = 10, 14
"""Entries about each plot of the pool; tokens of the tier per entry, fewer than one takes in any language."""
BUYERS = 400
SALES = 0.45
"""The share of sales among a plot's entries after its first."""
FIRST, NUMBERS = 100_000, 900_000
"""The least number of an entry, and how many numbers there are."""


class Entry(NamedTuple):
    """An entry: a sale of a plot to a buyer, or the cancellation or reinstatement of the sale with number `sale`."""

    number: int
    plot: str = ""
    buyer: str = ""
    sale: int = 0
    reinstates: bool = False

    @property
    def day(self) -> date:
        """Its day, which follows from its number."""
        return day_of(self.number)


class Plots(NamedTuple):
    """The pool of a tier: codes of its plots and of buyers, and the number of each entry."""

    streams: Streams
    codes: Sequence[str]
    buyers: Sequence[str]
    numbers: Indices

    def entries(self) -> Iterator[Entry]:
        """Yield the entries of the pool, plot by plot."""
        rng = self.streams.of("entries")
        for plot, numbers in zip(self.codes, self.numbers.reshape(-1, PER_PLOT).tolist(), strict=True):
            stands = dict[int, bool]()
            for number in numbers:
                if not stands or rng.random() < SALES:
                    yield Entry(number, plot, rng.choice(self.buyers))
                    stands[number] = True
                else:
                    sale = rng.choice([*stands])
                    stands[sale] = not stands[sale]
                    yield Entry(number, sale=sale, reinstates=stands[sale])


def day_of(number: int) -> date:
    """Return the day of an entry."""
    return date.fromordinal(FIRST_DAY + (number - FIRST) * DAYS // NUMBERS)


def depth_of(number: int) -> float:
    """Return the share of the register before an entry."""
    return (number - FIRST) / NUMBERS


def plots(streams: Streams, tier: str) -> Plots:
    """Return the world of a tier; `streams` are those of any row or pool below the same seed."""
    return _plots(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_ENTRY // PER_PLOT)


@lru_cache(maxsize=2)
def _plots(world: Streams, count: int) -> Plots:
    codes = [code for code, _ in pooled(world, count + BUYERS, coded=True)]
    drawn = world.of("numbers").sample(range(FIRST, FIRST + NUMBERS), count * PER_PLOT)
    numbers = np.sort(np.array(drawn, dtype=np.int64).reshape(-1, PER_PLOT), axis=1).ravel()
    return Plots(world, codes[:count], codes[count:], numbers)


def draw_plots(streams: Streams, rng: Random, known: Plots) -> tuple[str, str]:
    """Draw two codes that differ in one digit, and that no plot or buyer of the pool has."""
    while True:
        code = next(draw_codes(streams, rng, 1))[0]
        both = code, rng.choice(near_codes(rng, code))
        if min(places(streams, both, coded=True)) >= len(known.codes) + len(known.buyers):
            return both


def numbered(known: Plots, depths: Iterable[float]) -> list[int]:
    """Return free numbers for entries at some depths of the register, in the order of the depths."""
    taken, numbers, last = {*known.numbers.tolist()}, list[int](), FIRST
    for depth in depths:
        last = max(last + 1, FIRST + int(depth * NUMBERS))
        while last in taken:
            last += 1
        numbers.append(last)
    return numbers
