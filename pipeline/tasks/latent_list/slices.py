"""Which slices of the final list show every relevant operation, and what they show.

The true list is compared with the lists that the program leaves without one operation each, over all slices at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
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


def proven(name: str, true: Sequence[int], others: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Tell at ``[i, j]`` whether the view of ``[i:j+1]`` tells the true list from every other."""
    lists = _matrix([true, *others], len(true))
    if name == "print":
        return _differs(lists)
    shown = _values(name, lists)
    different: NDArray[np.bool_] = (shown[0] != shown[1:]).all(axis=0) & _upper(len(true))
    return different


@lru_cache(maxsize=64)
def _upper(width: int) -> NDArray[np.bool_]:
    return np.triu(np.ones((width, width), dtype=np.bool_))


def choose(name: str, true: Sequence[int], others: Sequence[Sequence[int]], wish: Wish, rng: Random) -> View | None:
    """Return a view that tells the true list from all others, as near to the wish as there is, or None."""
    if name == "len":
        return View("len") if all(len(other) != len(true) for other in others) else None
    starts, lasts = np.nonzero(proven(name, true, others))
    views = [View(name, (i, j + 1)) for i, j in zip(starts.tolist(), lasts.tolist(), strict=True)]
    misses = [(miss(view, true, wish), view) for view in views if _suits(view, true, wish)]
    if not misses:
        return None
    best = min(far for far, _ in misses)
    return rng.choice([view for far, view in misses if far == best])


def _suits(view: View, true: Sequence[int], wish: Wish) -> bool:
    start, stop = view.span or (0, 0)
    if view.name == "print":
        return stop - start <= WIDEST
    return stop - start > wish.wide and view.value(true) != 0


def miss(view: View, true: Sequence[int], wish: Wish) -> int:
    """Return how far a view is from the wish; less is nearer."""
    if view.name == "len":
        return 0
    if view.name == "print":
        return abs(len(true[slice(*(view.span or ()))]) - wish.width)
    return _miss(view.value(true), wish)


def _miss(value: int, wish: Wish) -> int:
    """Compare sizes as a ratio, in whole numbers; a wrong sign is worse than any size."""
    least, most = sorted((abs(value), wish.size))
    return (most * 16) // least + (1 << 24) * (value * wish.sign < 0)


def _matrix(lists: Sequence[Sequence[int]], width: int) -> Table:
    pad = [GONE] * width
    flat = [value for items in lists for value in [*items, *pad][:width]]
    return np.array(flat, dtype=np.int64).reshape(len(lists), width)


def _values(name: str, lists: Table) -> Table:
    """Return what the view of ``[i:j+1]`` shows at ``[list, i, j]``; a slice ends where its list does."""
    if name == "max":
        lists = np.where(lists == GONE, -GONE, lists)
        return _running(np.maximum, lists)
    if name == "min":
        return _running(np.minimum, lists)
    sums = np.cumsum(np.where(lists == GONE, 0, lists), axis=1)
    before = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)
    shown: Table = sums[:, None, :] - before[:, :, None]
    return shown


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
    apart: NDArray[np.bool_] = different.all(axis=0) & _upper(lists.shape[1])
    return apart
