"""Which slices of the final list show every relevant operation, and what they show.

The true list is compared with the lists that the program leaves without one operation each, over all slices at once.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np
from numpy.typing import NDArray

from pipeline.tasks.latent_list.draft import Draft
from pipeline.tasks.latent_list.effective import ADDS, needed
from pipeline.worlds.programs import START, VALUES, View

Table = NDArray[np.int64]
GONE = 1 << 20
"""Stands where a list has ended, for maxima as a negative: no value of a list is as large, so nothing equals it."""
WIDEST = 16
"""Of printed slices, so that every answer fits with margin."""
CLIPPED = {"print": 2, "sum": 1}
"""How many additions of a long program a slice may leave unshown, and numbers of the list a sum may leave out."""
MANY, LOOSE = 6, 2
"""Operations, or additions, with more of which a program is long; by how many operations the slice of a least or
greatest number may need fewer than the hardest."""


@dataclass(frozen=True, slots=True)
class Wish:
    """What the answers of a stratum need for balance: the sign and size of a number, the width of a slice."""

    sign: int = 1
    size: int = 1
    width: int = 1
    wide: bool = False

    def beyond(self, name: str) -> bool:
        """Tell whether a minimum is wished above, or a maximum below, most numbers that the list starts with."""
        return name in ("min", "max") and (self.sign > 0) == (name == "min") and self.size > START[-1]


def proven(name: str, true: Sequence[int], others: Sequence[Sequence[int]]) -> NDArray[np.bool_]:
    """Tell at ``[i, j]`` whether the view of ``[i:j+1]`` tells the true list from every other."""
    lists = _matrix([true, *others], len(true), -GONE if name == "max" else GONE)
    if name == "print":
        return _differs(lists)
    shown = _sums(lists) if name == "sum" else _extremes(name, lists)
    different: NDArray[np.bool_] = np.logical_and.reduce(shown[1:] != shown[0])
    return different & _upper(len(true)) if name == "sum" else different


def shows_all(draft: Draft, view: View) -> bool:
    """Tell whether a view of a slice tells the true list from all others."""
    start, stop = view.span or (0, 0)
    return bool(proven(view.name, draft.true, draft.others)[start, stop - 1])


@lru_cache(maxsize=64)
def _upper(width: int) -> NDArray[np.bool_]:
    return np.triu(np.ones((width, width), dtype=np.bool_))


def choose(name: str, draft: Draft, wish: Wish, rng: Random) -> View | None:
    """Return a view that tells the true list from all others, as near to the wish as there is, or None."""
    true, others = draft.true, draft.others
    if name == "len":
        return View("len") if all(len(other) != len(true) for other in others) else None
    starts, lasts = np.nonzero(proven(name, true, others))
    spans = zip(starts.tolist(), (lasts + 1).tolist(), strict=True)
    found = [View(name, span) for span in spans if _suits(name, true[slice(*span)], wish)]
    if name in ("min", "max"):
        found = _hardest(found, draft, wish)
    nearest: dict[int, list[View]] = {}
    for view in found:
        nearest.setdefault(miss(view, true, wish), []).append(view)
    for far in sorted(nearest):
        enough = [view for view in nearest[far] if name in ("min", "max") or _enough(draft, view)]
        if enough:
            return rng.choice(enough)
    return None


def _suits(name: str, part: Sequence[int], wish: Wish) -> bool:
    """Tell whether a slice may be shown: it is not too wide to print, nor too narrow, and its number is not zero."""
    if name == "print":
        return len(part) <= WIDEST
    return len(part) > wish.wide and VALUES[name](part) != 0


def _enough(draft: Draft, view: View) -> bool:
    """Tell whether a sum leaves out little, and a long program surely needs most of its additions."""
    start, stop = view.span or (0, 0)
    if view.name == "sum" and len(draft.operations) > 1 and stop - start < len(draft.true) - CLIPPED["sum"]:
        return False
    added = sum(operation.name in ADDS for operation in draft.operations)
    return added <= MANY or len(needed(draft.operations, view, draft.true)) >= added - CLIPPED[view.name]


def _hardest(views: Sequence[View], draft: Draft, wish: Wish) -> list[View]:
    """Return the views that need about as many operations as any, if a long program is to be taken with so many."""
    leasts = [least(view, draft.true) for view in views]
    count = len(draft.operations)
    enough = 0 if count <= MANY else count * 3 // 20 if views and wish.beyond(views[0].name) else count * 9 // 20
    return [view for view, size in zip(views, leasts, strict=True) if size >= max(enough, max(leasts) - LOOSE)]


def least(view: View, true: Sequence[int]) -> int:
    """Return how many operations a least or greatest number takes at least: to fill the list, or to clear the slice."""
    (start, stop), value = view.span or (0, 0), view.value(true)
    rivals = sum(item > value if view.name == "max" else item < value for item in START)
    to_clear = min(stop, rivals - start - max(0, len(START) - stop) + 1)
    return max(start + 1 - len(START), to_clear)


def miss(view: View, true: Sequence[int], wish: Wish) -> int:
    """Return how far a view is from the wish, at least 0; less is nearer."""
    if view.name == "len":
        return 0
    if view.name == "print":
        return abs(len(true[slice(*(view.span or ()))]) - wish.width)
    return _miss(view.value(true), wish)


def _miss(value: int, wish: Wish) -> int:
    """Compare sizes as a ratio, in whole numbers; a wrong sign is worse than any size."""
    least, most = sorted((abs(value), wish.size))
    return (most * 16) // least - 16 + (1 << 24) * (value * wish.sign < 0)


def _matrix(lists: Sequence[Sequence[int]], width: int, gone: int) -> Table:
    pad, flat = [gone] * width, list[int]()
    for items in lists:
        flat += items[:width]
        flat += pad[len(items) :]
    return np.frombuffer(array("q", flat), dtype=np.int64).reshape(len(lists), width)


def _sums(lists: Table) -> Table:
    """Return the sum of ``[i:j+1]`` at ``[list, i, j]``; a slice ends where its list does."""
    sums = np.cumsum(np.where(lists == GONE, 0, lists), axis=1)
    before = np.concatenate([np.zeros_like(sums[:, :1]), sums[:, :-1]], axis=1)
    shown: Table = sums[:, None, :] - before[:, :, None]
    return shown


def _extremes(name: str, lists: Table) -> Table:
    """Return the least or greatest number of ``[i:j+1]`` at ``[list, i, j]``; below the diagonal it is beyond all."""
    pick, beyond = (np.minimum, GONE) if name == "min" else (np.maximum, -GONE)
    shown: Table = pick.accumulate(np.where(_upper(lists.shape[1]), lists[:, None, :], beyond), axis=2)
    return shown


def _differs(lists: Table) -> NDArray[np.bool_]:
    """Tell at ``[i, j]`` whether ``[i:j+1]`` of the first list differs from that of every other."""
    count = np.cumsum(lists[1:] != lists[0], axis=1)
    before = np.concatenate([np.zeros_like(count[:, :1]), count[:, :-1]], axis=1)
    different = (count[:, None, :] - before[:, :, None]) > 0
    apart: NDArray[np.bool_] = different.all(axis=0) & _upper(lists.shape[1])
    return apart
