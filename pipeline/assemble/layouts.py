"""Layouts that this process made of a shard's rows: proving lays them out as packing did, in every profile."""

from __future__ import annotations

from pipeline.assemble.plan import Cut, Plan, row_streams
from pipeline.tasks.base import Layout, Sample

BUDGET = 12 * 1024 * 1024
"""Tokens of the rows whose layouts are kept: those of a shard, unless its rows are short and many."""
EACH = 8192
"""Tokens that a row counts for beside its length: what short rows hold too."""


def laid_out(plan: Plan, sample: Sample) -> Layout:
    """Lay a sample out."""
    return plan.task(sample.stratum).layout(sample, *row_streams(plan, sample.stratum, sample.index))


class Layouts:
    """Keeps the layouts of one shard's rows, as far as there is room: the same rows come again in the same order."""

    def __init__(self, budget: int) -> None:
        self._budget, self._tokens = budget, 0
        self._plan: Plan | None = None
        self._cut: Cut | None = None
        self._kept: dict[str, tuple[Sample, Layout]] = {}

    def turn_to(self, plan: Plan, cut: Cut) -> None:
        """Keep layouts of this shard's rows from now on, and drop those of another one."""
        if plan is not self._plan or cut != self._cut:
            self.clear()
            self._plan, self._cut = plan, cut

    def clear(self) -> None:
        """Drop all layouts; those that are made from now on are kept for the same shard."""
        self._kept.clear()
        self._tokens = 0

    def of(self, plan: Plan, sample: Sample) -> Layout:
        """Return the layout of a sample: what was made of an equal one, or a new one."""
        known = self._kept.get(sample.id) if plan is self._plan else None
        if known and known[0] == sample:
            return known[1]
        fresh, size = laid_out(plan, sample), sample.stratum.length + EACH
        if plan is self._plan and not known and self._tokens + size <= self._budget:
            self._tokens += size
            self._kept[sample.id] = sample, fresh
        return fresh


LAYOUTS = Layouts(BUDGET)
