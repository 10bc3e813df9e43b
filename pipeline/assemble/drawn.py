"""Samples that the check for fit draws, kept by this process until their rows are sampled: a draw may be dear."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pipeline.assemble.ids import RowPlan
from pipeline.assemble.plan import Plan
from pipeline.recipe import Stratum
from pipeline.tasks.base import Sample

_KEPT: dict[tuple[int, Path, Stratum, int], Sample] = {}
"""By all that decides a sample: the seed, the folder (which holds its corpora), the stratum and the index in it."""


def keep(plan: Plan, sample: Sample) -> Sample:
    """Keep a sample that was drawn before its row has an id, and return it."""
    _KEPT[plan.recipe.seed, plan.out, sample.stratum, sample.index] = sample
    return sample


def take(plan: Plan, row: RowPlan) -> Sample | None:
    """Return a row's sample if it was kept, and keep it no longer."""
    found = _KEPT.pop((plan.recipe.seed, plan.out, row.stratum, row.index), None)
    return replace(found, id=row.id) if found else None


def drop() -> None:
    """Keep none of them: they are drawn again."""
    _KEPT.clear()
