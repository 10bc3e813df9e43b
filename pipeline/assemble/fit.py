"""Checks that every stratum fits every profile, before samples are written or packed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.assemble.cache import SAMPLES, layout_of
from pipeline.assemble.cutter import Cutter, cutter_for
from pipeline.assemble.jobs import draw_sample, pool_of
from pipeline.assemble.plan import Affinity, Plan
from pipeline.assemble.row_order import RowPlan
from pipeline.errors import FitError
from pipeline.profiles import Profile
from pipeline.recipe import Stratum
from pipeline.tasks import task_of
from pipeline.tasks.base import Layout
from pipeline.turns import CALL

PROBES = 3
"""Rows per stratum that are laid out."""
LARGEST_UNITS = 3
"""How many of the largest filler units there must be room for."""
LONGEST = 128
"""How many of the units with the most characters are counted to find the one with the most tokens."""
SAMPLED_UNITS, CALL_MARGIN = 512, 1.03
"""Units that are sampled for their tokens per tool call, and a factor by which a row may have more calls."""


@dataclass(frozen=True, slots=True)
class FitJob:
    """A check that every stratum of a family fits some profiles."""

    plan: Plan
    family: str
    profiles: tuple[Profile, ...]

    @property
    def affinity(self) -> Affinity:
        """Jobs of one affinity need the same worlds."""
        return self.plan.affinity(self.family)

    def run(self) -> FitError | None:
        """Return the error for the first stratum that does not fit, or None.

        Of strata that differ only in length, this checks the one with the smallest window.
        """
        plan, probed = self.plan, dict[Stratum, list[Layout]]()
        longest = {spec.name: pool_of(plan, spec).longest(LONGEST) for spec in plan.pools(self.family)}
        for profile in self.profiles:
            cutter = cutter_for(profile, plan.recipe.frame)
            largest = {name: int(cutter.unit_tokens(units).max()) for name, units in longest.items()}
            for cell in _tightest(plan.recipe.of_family(self.family), profile):
                if cell not in probed:
                    probed[cell] = [_probe(plan, cell, index) for index in range(min(PROBES, cell.total))]
                needed = LARGEST_UNITS * max(largest[spec.name] for spec in plan.task(cell).pools(cell))
                if fault := _fault(plan, cell, probed[cell], cutter, needed):
                    return fault
            if fault := self._calls_fault(cutter):
                return fault
        return None

    def _calls_fault(self, cutter: Cutter) -> FitError | None:
        """Return the error for the first stratum with more tool calls than the profile can send, or None."""
        cells = [cell for cell in self.plan.recipe.of_family(self.family) if task_of(cell).has_calls]
        if not cells or not (cutter.profile.template.tools and cutter.profile.template.tools.most_calls):
            return None
        for cell in cells:
            (spec,) = self.plan.task(cell).pools(cell)
            units = pool_of(self.plan, spec).take(np.arange(SAMPLED_UNITS), facts=False)
            called = sum(piece.turn == CALL for unit in units for piece in unit.pieces)
            each = int(cutter.unit_tokens(units).sum()) / called
            try:
                cutter.profile.check_calls(int(CALL_MARGIN * cutter.profile.window(cell.length) / each), str(cell))
            except FitError as fault:
                return fault
        return None


def fit_jobs(plan: Plan, profiles: Iterable[Profile]) -> list[FitJob]:
    """Return the jobs that check a plan's fit, one per family."""
    return [FitJob(plan, family, tuple(profiles)) for family in plan.families]


def check_fit(plan: Plan, profiles: Sequence[Profile]) -> None:
    """Check that every stratum leaves room for three of its largest filler units in every profile.

    Raises:
        FitError: with the stratum, the profile, and the tokens that are left and needed.
    """
    for job in fit_jobs(plan, profiles):
        if fault := job.run():
            raise fault


def _tightest(cells: Iterable[Stratum], profile: Profile) -> Iterable[Stratum]:
    """Of strata that differ only in length, return the one with the smallest window."""
    shortest: dict[object, Stratum] = {}
    for cell in sorted(cells, key=lambda cell: (-profile.window(cell.length), -cell.length)):
        shortest[cell.subtask, cell.complexity, cell.shots, cell.knobs] = cell
    return shortest.values()


def _probe(plan: Plan, cell: Stratum, index: int) -> Layout:
    return layout_of(plan, SAMPLES.keep(plan, draw_sample(plan, RowPlan(cell, index, ""))))


def _fault(plan: Plan, cell: Stratum, layouts: Sequence[Layout], cutter: Cutter, needed: int) -> FitError | None:
    max_new = cutter.profile.reply_tokens(plan.recipe.reserve, task_of(cell).max_new_tokens_of(cell))
    room = cutter.profile.window(cell.length) - max_new - max(map(cutter.fixed_tokens, layouts))
    least = max(_least_tokens(plan, cell, layout, cutter) for layout in layouts)
    if room >= needed + least:
        return None
    why = "three times its largest unit"
    if least:
        why = f"enough to settle the answer, and {why}"
    return FitError(
        f"{cell} does not fit profile {cutter.profile.name}: {room} tokens are left for filler, but {needed + least} "
        f"are needed ({why}): drop this length from the recipe, or lower shots or reserve ({max_new})"
    )


def _least_tokens(plan: Plan, cell: Stratum, layout: Layout, cutter: Cutter) -> int:
    """Return the tokens of the filler that a row needs to have an answer."""
    filler = layout.filler
    if not filler.least:
        return 0
    spec = next(spec for spec in plan.task(cell).pools(cell) if spec.name == filler.pool)
    return int(cutter.unit_tokens(pool_of(plan, spec).take(filler.order.take(filler.least), facts=False)).sum())
