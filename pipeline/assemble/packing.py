"""Exact budgets and depths: arithmetic on token counts, independent of tasks and tokenizers.

Segments meet at boundaries where token counts add up, so the tokens of a prompt are a sum. Packing takes the longest
prefix of the filler's order that leaves some room, and fills the gap to the token with a subset of the spare units,
each used at most once. Placed units then go to the unit boundary nearest to their depth.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from random import Random

import numpy as np
from numpy.typing import NDArray

from pipeline.errors import BuildError, FitError, PoolError
from pipeline.tasks.base import Filler

Counts = NDArray[np.int64]
TRIES = 64
MORE = 120
"""How many further units of the order may help to close a gap: few large spares leave gaps between their sums."""


@dataclass(frozen=True, slots=True)
class Packing:
    """A packed prompt: filler `units` in order (as pool indices), and `before[i]`, the filler tokens before unit i.

    `slots[j]` is the number of filler units before placed unit j, and `depths[j]` its actual depth.
    """

    units: NDArray[np.int64]
    before: Counts
    slots: tuple[int, ...]
    depths: tuple[float, ...]

    @property
    def total(self) -> int:
        """All filler tokens."""
        return int(self.before[-1])


def pack(
    room: int,
    pool: Counts,
    filler: Filler,
    wanted: Sequence[float],
    rng: Random,
    at: Sequence[int | None] = (),
) -> Packing:
    """Fill exactly `room` tokens with filler, and find slots for placed units with the depths `wanted`.

    `pool` has the tokens of each unit. If no subset of the spares fits, the prefix gives up its last units one by one.
    If that does not help either, the next units of the order serve as spares too. Placed units with a rank in `at` come
    after all filler of that rank or a lower one, whatever their depths.

    Raises:
        FitError: if the room is smaller than three of the largest spare units, or no gap can be closed.
        PoolError: if the order ends before the room is filled.
        BuildError: if only some placed units have a rank, or the filler has none.
    """
    ranked = any(rank is not None for rank in at)
    if ranked and (filler.ranks is None or filler.policy != "ranked" or None in at):
        raise BuildError(
            "some of a task's placed lines or units have a rank, `at`: give one to all of them, and filler with "
            'policy="ranked" and ranks'
        )
    if filler.fitted:
        filler = replace(filler, order=filler.fitted(room, pool))
    prefix, gap = _prefix(room, pool, filler)
    for closers in _closers(len(prefix), filler):
        units = _closed(prefix, gap, closers, pool, filler, rng)
        if units is not None:
            before = np.concatenate([[0], np.cumsum(pool[units])])
            return _packing(units, before, _slots_at(units, filler, at) if ranked else _slots(before, wanted))
    spares = f"no subset of {len(filler.spares)} spare units, or of those and the next {MORE}"
    raise FitError(f"{spares} closes a gap of {gap} tokens: give more texts, of more varied lengths")


def _closers(taken: int, filler: Filler) -> Iterator[NDArray[np.int64]]:
    """Yield sets of units that may close the gap: the spares, then the spares with units that follow the prefix."""
    if len(filler.spares):
        yield filler.spares
    if filler.policy != "sequence" or not len(filler.spares):
        yield np.concatenate([filler.spares, filler.order.take(taken + MORE)[taken:]])


def _closed(
    prefix: NDArray[np.int64],
    gap: int,
    closers: NDArray[np.int64],
    pool: Counts,
    filler: Filler,
    rng: Random,
) -> NDArray[np.int64] | None:
    """Close the gap after the prefix, or a larger one after a shorter prefix, up to the tokens of all closers.

    Returns all units in order, or None if no gap can be closed.
    """
    counts = pool[closers].tolist()
    most = sum(counts)
    for _ in range(TRIES):
        chosen = subset_of_sum(counts, gap)
        if chosen is not None:
            return _mix(prefix, closers[chosen], filler, rng)
        if gap >= most or not len(prefix):
            break
        gap += int(pool[prefix[-1]])
        prefix = prefix[:-1]
    return None


def _prefix(room: int, pool: Counts, filler: Filler) -> tuple[NDArray[np.int64], int]:
    """Return the longest prefix that leaves a gap of at least three of the largest spare units, and the gap."""
    some = filler.spares if len(filler.spares) else filler.order.take(MORE)
    largest = int(pool[some].max())
    if room < 3 * largest:
        raise FitError(
            f"there is room for {room} tokens of filler, but three times its largest unit is {3 * largest}: use a "
            "greater length"
        )
    mean = float(pool[some].mean())
    goal, count = room - 3 * largest, int(1.1 * room / mean) + 16
    while True:
        order = filler.order.take(count)
        sums = np.cumsum(pool[order])
        if len(sums) and sums[-1] > goal:
            break
        if len(order) < count:
            have = int(sums[-1]) if len(sums) else 0
            raise PoolError(
                f"pool {filler.pool!r} has {have} tokens for this prompt, but {goal} are needed: enlarge it"
            )
        count += count // 4
    fits = int(np.searchsorted(sums, goal, side="right"))
    return order[:fits], room - (int(sums[fits - 1]) if fits else 0)


def subset_of_sum(counts: Sequence[int], total: int) -> list[int] | None:
    """Return positions whose counts sum to `total`, each used at most once, or None.

    The sums reachable with the first i counts are the set bits of an integer, so each count costs a shift and an OR.
    """
    if total == 0:
        return []
    mask = (1 << (total + 1)) - 1
    reach = [1]
    for count in counts:
        reach.append((reach[-1] | reach[-1] << count) & mask)
        if reach[-1] >> total:
            return _trace(reach, counts, total)
    return None


def _trace(reach: list[int], counts: Sequence[int], total: int) -> list[int]:
    chosen = []
    for position in range(len(reach) - 2, -1, -1):
        if not reach[position] >> total & 1:
            chosen.append(position)
            total -= counts[position]
    return chosen[::-1]


def _mix(prefix: NDArray[np.int64], spares: NDArray[np.int64], filler: Filler, rng: Random) -> NDArray[np.int64]:
    """Insert the spares at random places, to look like other units; a sequence's own units stay in order."""
    if filler.policy == "sequence" and not len(filler.spares):
        return np.concatenate([prefix, spares])
    open_places = np.arange(len(prefix) + 1)
    if filler.joints is not None:
        open_places = np.append(np.flatnonzero(filler.joints[prefix]), len(prefix))
    places = sorted(int(open_places[rng.randrange(len(open_places))]) for _ in spares)
    units = np.insert(prefix, places, spares)
    if filler.policy != "ranked":
        return units
    if filler.ranks is None:
        raise ValueError("ranked filler needs ranks")
    return units[np.argsort(filler.ranks[units], kind="stable")]


def _packing(units: NDArray[np.int64], before: Counts, slots: list[int]) -> Packing:
    total = int(before[-1])
    return Packing(units, before, tuple(slots), tuple(int(before[k]) / total for k in slots))


def _slots(before: Counts, wanted: Sequence[float]) -> list[int]:
    """Return the boundaries nearest to some non-decreasing depths; of two equally near, the first."""
    slots: list[int] = []
    wants = [depth * float(before[-1]) for depth in wanted]
    for want, place in zip(wants, np.searchsorted(before, wants).tolist(), strict=True):
        least = slots[-1] if slots else 0
        right = max(least, place)
        left = max(least, right - 1)
        slots.append(left if want - before[left] <= before[right] - want else right)
    return slots


def _slots_at(units: NDArray[np.int64], filler: Filler, at: Sequence[int | None]) -> list[int]:
    """Return for each rank the boundary after all units of that rank or a lower one."""
    ranks = np.asarray(filler.ranks)[units]
    return [int(slot) for slot in np.searchsorted(ranks, np.array(at, dtype=np.int64), side="right")]
