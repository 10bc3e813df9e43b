"""Lists in which every word comes as often as it is dealt, whatever the length: orders that are exact in every prefix.

Each word arrives at times of its own, once in every span of ``total / weight`` places, anywhere within the span. All
arrivals in order are the list. So a prefix holds each word as often as its share says, give or take one.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Context, Decimal
from functools import cache
from random import Random

import numpy as np

from pipeline.streams import Indices, words

SCALE = 1 << 40
DIGITS = Context(prec=30)
"""Powers by decimal arithmetic are the same on every machine."""


@cache
def zipf(alpha: str, count: int) -> tuple[int, ...]:
    """Return the weights of `count` ranks, in proportion to ``rank ** -alpha``, as integers.

    >>> zipf("2", 3) == (SCALE, SCALE // 4, SCALE // 9)
    True
    """
    power = DIGITS.minus(Decimal(alpha))
    return tuple(int(DIGITS.multiply(SCALE, DIGITS.power(Decimal(rank), power))) for rank in range(1, count + 1))


def arrivals(rng: Random, weights: Sequence[int], count: int) -> Indices:
    """Return the first `count` places of a list, each the rank of a word.

    In every prefix of n places a rank comes ``n * weight / sum(weights)`` times, give or take one and what the others
    give or take.
    """
    spans = sum(weights) / np.array(weights, dtype=np.float64)
    numbers = (count / spans).astype(np.int64) + 2
    ranks = np.repeat(np.arange(len(weights), dtype=np.int64), numbers)
    nth = np.arange(len(ranks)) - np.repeat(np.cumsum(numbers) - numbers, numbers)
    times = (nth + words(rng, len(ranks)) / 2**32) * spans[ranks]
    return ranks[np.argsort(times, kind="stable")][:count]
