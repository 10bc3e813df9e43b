"""Lists in which every word has its dealt frequency at any length: orders that are exact in every prefix.

Each word arrives at its own times, once in every span of ``total / weight`` places, anywhere within the span. All
arrivals in order are the list. So a prefix has each word as often as its share says, give or take one. Other words come
in bursts: often in one stretch and never elsewhere, so that a reader of a part overestimates them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from random import Random

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import cache
from pipeline.streams import Indices, words

SCALE = 1 << 40
FINE, PLACES = 20, 22
"""Bits of a fraction of a place, and of the number of a word in a list."""
DIGITS = Context(prec=30)
"""Decimal arithmetic, so that powers are the same on every machine."""


@cache
def zipf(alpha: str, count: int) -> tuple[int, ...]:
    """Return the weights of `count` ranks, in proportion to ``rank ** -alpha``, as integers.

    >>> zipf("2", 3) == (SCALE, SCALE // 4, SCALE // 9)
    True
    """
    power = DIGITS.minus(Decimal(alpha))
    return tuple(int(DIGITS.multiply(SCALE, DIGITS.power(Decimal(rank), power))) for rank in range(1, count + 1))


@dataclass(frozen=True, slots=True)
class Bursts:
    """Words that come in one stretch of a list and nowhere else: `count` of them, each with a `weight` in all.

    A stretch takes a `share` of the first `places` of the list, and may wrap around to its start. Stretches are spread
    evenly, so that equally many are under way everywhere.
    """

    count: int
    weight: float
    share: float
    places: int


def arrivals(rng: Random, weights: Sequence[int], count: int, bursts: Bursts) -> Indices:
    """Return the first `count` places of a list, each the rank of a word; bursts have the ranks after all others.

    In every prefix of n places a rank comes ``n * weight / total`` times, give or take one and the rounding of the
    others, and a burst as often as it has begun.
    """
    total = sum(weights) + bursts.count * bursts.weight
    spans = total / np.array(weights, dtype=np.float64)
    numbers = (count / spans).astype(np.int64) + 2
    ranks = np.repeat(np.arange(len(weights), dtype=np.int64), numbers)
    times = (_nth(numbers) + words(rng, len(ranks)) / 2**32) * spans[ranks]
    if bursts.count:
        more, when = _burst_times(rng, bursts, total)
        ranks, times = np.concatenate([ranks, len(weights) + more]), np.concatenate([times, when])
    return ranks[_order(times)][:count]


def _order(times: NDArray[np.float64]) -> Indices:
    """Return the order of times, equal ones by place; integers that combine both sort faster than ``argsort``."""
    both = ((times * 2**FINE).astype(np.int64) << PLACES) + np.arange(len(times), dtype=np.int64)
    both.sort()
    return np.asarray(both & (1 << PLACES) - 1, dtype=np.int64)


def _burst_times(rng: Random, bursts: Bursts, total: float) -> tuple[Indices, NDArray[np.float64]]:
    each = int(bursts.places * bursts.weight / total)
    numbers = np.full(bursts.count, each, dtype=np.int64)
    starts = (np.arange(bursts.count) + words(rng, bursts.count) / 2**32) / bursts.count
    which = np.repeat(np.arange(bursts.count, dtype=np.int64), numbers)
    within = (_nth(numbers) + words(rng, len(which)) / 2**32) / each * bursts.share
    return which, (starts[which] + within) % 1.0 * bursts.places


def _nth(numbers: Indices) -> Indices:
    """Count from 0 up to each of the numbers, exclusive."""
    return np.arange(numbers.sum(), dtype=np.int64) - np.repeat(np.cumsum(numbers) - numbers, numbers)
