"""Depths of many units at once: for each of them uniform over the rows of a stratum, as `streams.spread` draws one."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from pipeline.streams import Indices, Streams, words

MOST, BLOCK = 512, 1024
"""Relevant units of a row, at most; rows of a stratum over which depths are uniform by construction, at most."""
HALF = 1 << 32


def depths(shared: Streams, own: Streams, rows: int, index: int, count: int) -> list[float]:
    """Return the depths of `count` units of row `index`: ``(perm(i) + u) / rows``, of another order for each unit."""
    size = min(rows, BLOCK)
    block, place = divmod(index, size)
    within = words(own.of("depth"), count) / HALF
    found: list[float] = ((_orders(shared, size, block)[:count, place] + within) / size).tolist()
    return found


@lru_cache(maxsize=64)
def _orders(shared: Streams, size: int, block: int) -> Indices:
    """Return an order of the rows of a block for each unit."""
    return np.argsort(words(shared.of("depth", block), MOST * size).reshape(MOST, size), axis=1, kind="stable")
