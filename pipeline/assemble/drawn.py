"""Samples that the check for fit draws, kept by this process until their rows are sampled: a draw may be dear."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

from pipeline.assemble.ids import RowPlan
from pipeline.assemble.plan import Plan
from pipeline.recipe import Stratum
from pipeline.tasks.base import Sample

BUDGET = 16 * 1024 * 1024
"""Bytes of the samples that are kept: all of a shipped recipe take 1.3 MB, and one of 1M tokens 0.1 MB."""


class Drawn:
    """Keeps samples as bytes, as far as there is room: the oldest are dropped, and drawn again.

    They are kept by all that decides a sample: the seed, the folder (which holds its corpora), the stratum and the
    index in it.
    """

    def __init__(self, budget: int) -> None:
        self._budget, self._size = budget, 0
        self._kept: dict[tuple[int, Path, Stratum, int], bytes] = {}

    def keep(self, plan: Plan, sample: Sample) -> Sample:
        """Keep a sample that was drawn before its row has an id, and return it."""
        self._drop(plan, sample.stratum, sample.index)
        held = pickle.dumps(sample)
        self._kept[plan.recipe.seed, plan.out, sample.stratum, sample.index] = held
        self._size += len(held)
        while self._size > self._budget:
            self._size -= len(self._kept.pop(next(iter(self._kept))))
        return sample

    def take(self, plan: Plan, row: RowPlan) -> Sample | None:
        """Return a row's sample if it was kept, and keep it no longer."""
        held = self._drop(plan, row.stratum, row.index)
        return replace(pickle.loads(held), id=row.id) if held else None

    def clear(self) -> None:
        """Keep none of them."""
        self._kept.clear()
        self._size = 0

    def _drop(self, plan: Plan, cell: Stratum, index: int) -> bytes:
        held = self._kept.pop((plan.recipe.seed, plan.out, cell, index), b"")
        self._size -= len(held)
        return held


DRAWN = Drawn(BUDGET)
