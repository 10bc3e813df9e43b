"""Which slices of the final list show every relevant operation, and what they show.

The true list is compared with the lists that the program leaves without one operation each, over all slices at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np
from numpy.typing import NDArray

from pipeline.worlds.programs import View

Table = NDArray[np.int64]
GONE = 1 << 20
"""Stands where a list has ended: no value of a list is as large, so ``min`` of nothing differs from every minimum."""
WIDEST = 16
"""Of printed slices, so that every answer fits with margin."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the answers of a stratum need for balance: the sign and size of a number, the width of a slice."""

    sign: int = 1
    size: int = 1
    width: int = 1
    wide: bool = False


def choose(name: str, true: Sequence[int], others: Sequence[Sequence[int]], wish: Wish, rng: Random) -> View | None:
    """Return a view that tells the true list from all others, as near to the wish as there is, or None."""
    lists = _matrix([true, *others], len(true))
    shown = _values(name, lists)
    truth = shown[0]
    proven = np.triu(np.ones_like(truth, dtype=bool)) & (truth != shown[1:]).all(axis=0)
    if name == "print":
        proven = _differs(lists)
    starts, lasts = np.nonzero(proven)
    spans = [(i, j + 1) for i, j in zip(starts.tolist(), lasts.tolist(), strict=True)]
    if name == "print":
        fits = [(abs(j - i - wish.width), (i, j)) for i, j in spans if j - i <= WIDEST]
    else:
        fits = [
            (_miss(int(truth[i, j - 1]), wish), (i, j))
            for i, j in spans
            if truth[i, j - 1] and not (wish.wide and j - i == 1)
        ]
    if not fits:
        return None
    best = min(fits)[0]
    return View(name, rng.choice([span for miss, span in fits if miss == best]))


def miss(view: View, items: list[int], wish: Wish) -> int:
    """Return how far a chosen view is from the wish; less is nearer."""
    if view.name == "print":
        return abs(len(items[slice(*(view.span or ()))]) - wish.width)
    return _miss(int(view.output(items)), wish)


def _miss(value: int, wish: Wish) -> int:
    """Compare sizes as a ratio, in whole numbers; a wrong sign is worse than any size."""
    least, most = sorted((abs(value), wish.size))
    return (most * 16) // least + (1 << 24) * (value * wish.sign < 0)


def _matrix(lists: Sequence[Sequence[int]], width: int) -> Table:
    return np.array([[*items[:width], *[GONE] * (width - len(items))] for items in lists], dtype=np.int64)


def _values(name: str, lists: Table) -> Table:
    """Return what the view of ``[i:j+1]`` shows at ``[list, i, j]``; a slice ends where its list does."""
    if name == "max":
        lists = np.where(lists == GONE, -GONE, lists)
        return _running(np.maximum, lists)
    if name == "min":
        return _running(np.minimum, lists)
    sums = np.cumsum(np.where(lists == GONE, 0, lists), axis=1)
    before = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)
    return sums[:, None, :] - before[:, :, None]


def _running(pick: np.ufunc, lists: Table) -> Table:
    width = lists.shape[1]
    shown = np.zeros((len(lists), width, width), dtype=np.int64)
    for i in range(width):
        shown[:, i, i:] = pick.accumulate(lists[:, i:], axis=1)
    return shown


def _differs(lists: Table) -> NDArray[np.bool_]:
    """Tell at ``[i, j]`` whether ``[i:j+1]`` of the first list differs from that of every other."""
    count = np.cumsum(lists[1:] != lists[0], axis=1)
    before = np.concatenate([np.zeros_like(count[:, :1]), count[:, :-1]], axis=1)
    different = (count[:, None, :] - before[:, :, None]) > 0
    return np.triu(different.all(axis=0))
