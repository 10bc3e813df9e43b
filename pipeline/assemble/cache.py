"""Caches of layouts and samples, and clearing of all caches when a process runs short of memory."""

from __future__ import annotations

import gc
import pickle
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from pipeline.assemble.cutter import cutter_for
from pipeline.assemble.plan import Affinity, Plan, RowRange, row_streams
from pipeline.assemble.row_order import RowPlan
from pipeline.caches import clear_caches, register
from pipeline.executors.memory import give_back, most_allowed, resident, without_collection
from pipeline.profiles import Profile, close_counters
from pipeline.recipe import Stratum
from pipeline.tasks.base import Layout, Sample

BUDGET = 32 * 1024 * 1024
"""Approximate bytes of layouts that are kept: enough for one or more shards, unless rows are short and many."""
EACH = 16 * 1024
"""Bytes of a layout's overhead."""


def layout_of(plan: Plan, sample: Sample) -> Layout:
    """Lay a sample out."""
    return plan.task(sample.stratum).layout(sample, *row_streams(plan, sample.stratum, sample.index))


def size_of(layout: Layout, length: int) -> int:
    """Return the approximate bytes of a layout of `length` tokens: its texts, ranks and order of filler."""
    units = [layout.head, layout.tail, *(item.unit.pieces for item in layout.placed)]
    ranks = 0 if layout.filler.ranks is None else layout.filler.ranks.nbytes
    return EACH + sum(len(piece.text) for pieces in units for piece in pieces) + ranks + 2 * length


class LayoutCache:
    """Keeps the layouts of one shard's rows, within a budget, since proving reads the rows that packing wrote.

    Any room left is for other shards of the family, which are needed again in the next profile.
    """

    def __init__(self, budget: int) -> None:
        self._budget, self._size = budget, 0
        self._plan: Plan | None = None
        self._for: tuple[str, bool] | None = None
        self._row_range: RowRange | None = None
        self._kept: dict[str, tuple[Sample, Layout, int, RowRange | None]] = {}

    def turn_to(self, plan: Plan, row_range: RowRange, *, full: bool = False) -> None:
        """Prefer layouts of this shard's rows from now on, and drop those of other families.

        A `full` proof also drops those made for packing.
        """
        if plan is not self._plan or (row_range.family, full) != self._for:
            self.clear()
            self._plan, self._for = plan, (row_range.family, full)
        self._row_range = row_range

    def clear(self) -> None:
        """Drop all layouts."""
        self._kept.clear()
        self._size = 0

    def of(self, plan: Plan, sample: Sample) -> Layout:
        """Return the layout of a sample, from the cache if it has that of an equal sample."""
        known = self._kept.get(sample.id) if plan is self._plan else None
        if known and known[0] == sample:
            return known[1]
        fresh = layout_of(plan, sample)
        if plan is self._plan and not known:
            size = size_of(fresh, sample.stratum.length)
            self._make_room(size)
            if self._size + size <= self._budget:
                self._size += size
                self._kept[sample.id] = sample, fresh, size, self._row_range
        return fresh

    def _make_room(self, size: int) -> None:
        """Drop layouts of other shards, the oldest first, until `size` bytes fit."""
        if self._size + size > self._budget:
            for name in [name for name, kept in self._kept.items() if kept[3] != self._row_range]:
                self._size -= self._kept.pop(name)[2]
                if self._size + size <= self._budget:
                    return


LAYOUTS = register(LayoutCache(BUDGET))


SAMPLE_BUDGET = 16 * 1024 * 1024
"""Bytes of samples that are kept: all of a shipped recipe take 1.3 MB, and one of 1M tokens 0.1 MB."""


class SampleCache:
    """Keeps pickled samples within a budget; the oldest are dropped first.

    Their keys are all that determines a sample: the seed, the folder (for its corpora), the stratum and the index.
    """

    def __init__(self, budget: int) -> None:
        self._budget, self._size = budget, 0
        self._kept: dict[tuple[int, Path, Stratum, int], bytes] = {}

    def keep(self, plan: Plan, sample: Sample) -> Sample:
        """Keep a sample, which may have been drawn before its row had an id, and return it."""
        self._drop(plan, sample.stratum, sample.index)
        held = pickle.dumps(sample)
        self._kept[plan.recipe.seed, plan.out, sample.stratum, sample.index] = held
        self._size += len(held)
        while self._size > self._budget:
            self._size -= len(self._kept.pop(next(iter(self._kept))))
        return sample

    def take(self, plan: Plan, row: RowPlan) -> Sample | None:
        """Remove a row's sample from the cache and return it, or None if it was not kept."""
        held = self._drop(plan, row.stratum, row.index)
        return replace(pickle.loads(held), id=row.id) if held else None

    def clear(self) -> None:
        """Drop all samples."""
        self._kept.clear()
        self._size = 0

    def _drop(self, plan: Plan, cell: Stratum, index: int) -> bytes:
        held = self._kept.pop((plan.recipe.seed, plan.out, cell, index), b"")
        self._size -= len(held)
        return held


SAMPLES = register(SampleCache(SAMPLE_BUDGET))


START = resident()
MOST = 900 << 20
"""Bytes that a process may use beyond its size at the start."""
NEEDED, PER_TOKEN = 180 << 20, 300
"""Bytes that a job needs, and more for each token of its longest prompt: some 480 MB at 1M in all."""
OVER = 240 << 20
"""Bytes over the limit at which a process clears its caches, even if the next job has the same affinity."""

_last: list[Affinity | None] = [None]
_counted: list[Profile | None] = [None]
"""The profile whose shards were last made or proven."""


@contextmanager
def within_memory_limit(affinity: Affinity, profile: Profile | None = None) -> Iterator[None]:
    """Run a job after making room for it, and with garbage collection off.

    Jobs that run profile by profile give their `profile`, so that a large process closes counters of earlier profiles.
    """
    evict(affinity, profile)
    with without_collection():
        yield
    if resident() > most_allowed(START + MOST):  # now, since no other job may follow
        _give_back()
    if resident() > most_allowed(START + MOST):
        clear_caches()
        _give_back()


def evict(affinity: Affinity, profile: Profile | None = None) -> None:
    """Clear caches if the process is too large and this affinity differs from the last one, or if it is far too large.

    If it is still too large, and the profile is new, close the counters of earlier profiles.
    """
    left, _last[0] = _last[0] != affinity, affinity
    room = most_allowed(START + MOST) - NEEDED - PER_TOKEN * affinity.longest
    if resident() > room:
        _give_back()
    if resident() > (room if left else room + OVER):
        clear_caches()
        _give_back()
    fresh = profile not in (None, _counted[0])
    _counted[0] = profile or _counted[0]
    if fresh and resident() > room:
        cutter_for.cache_clear()
        close_counters()
        gc.collect()
        _give_back()


def _give_back() -> None:
    pa.default_memory_pool().release_unused()
    give_back()
