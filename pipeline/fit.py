"""Does every stratum fit every profile? Asked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import islice

from pipeline.build import draw_sample
from pipeline.errors import FitError
from pipeline.plan import Plan, RowPlan, row_streams
from pipeline.profiles import Profile
from pipeline.prompts import cutter
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks import task_of
from pipeline.tasks.base import Layout, PoolSpec, Unit

PROBES = 3
SAFETY = 3
SEEN = 1024


def check_fit(plan: Plan, profiles: Sequence[Profile]) -> None:
    """Check that every stratum leaves room for three of its largest filler units in every profile.

    Probes a few rows of each stratum at its shortest length; `pack` holds every row to the same rule.

    Raises:
        FitError: naming stratum, profile and the tokens that are wanting.
    """
    for cell in _tightest(plan):
        layouts = [_probe(plan, cell, index) for index in range(min(PROBES, cell.rows))]
        for profile in profiles:
            _check_cell(plan, cell, layouts, profile)


def _tightest(plan: Plan) -> Iterable[Stratum]:
    """Return each kind of stratum once, at its shortest length: what fits there fits at every longer one."""
    shortest: dict[object, Stratum] = {}
    cells = [cell for family in plan.families for cell in plan.recipe.of_family(family)]
    for cell in sorted(cells, key=lambda cell: -cell.length):
        shortest[cell.family, cell.subtask, cell.complexity, cell.shots, cell.knobs] = cell
    return shortest.values()


def _probe(plan: Plan, cell: Stratum, index: int) -> Layout:
    own, shared = row_streams(plan.recipe, cell, index)
    return task_of(cell).layout(draw_sample(plan, RowPlan(cell, index, "")), own, shared)


def _check_cell(plan: Plan, cell: Stratum, layouts: Sequence[Layout], profile: Profile) -> None:
    task, knife = task_of(cell), cutter(profile, plan.recipe.frame)
    max_new = plan.recipe.reserve or task.max_new_tokens
    room = profile.window(cell.length) - max_new - max(map(knife.fixed_tokens, layouts))
    needed = SAFETY * max(_largest_unit(plan, spec, profile) for spec in task.pools(cell.tier))
    if room < needed:
        raise FitError(
            f"{cell} does not fit profile {profile.name}: {room} tokens are left for filler, {needed} are needed "
            f"(three of its largest unit): drop this length from the recipe, or lower shots or reserve ({max_new})"
        )


@lru_cache(maxsize=64)
def _units(seed: int, spec: PoolSpec) -> tuple[Unit, ...]:
    world = Streams((seed, "pool", f"{spec.name}@{spec.version}"))
    return tuple(islice(spec.make(world, spec.tier), SEEN))


@lru_cache(maxsize=64)
def _largest(seed: int, spec: PoolSpec, profile: Profile, frame: str) -> int:
    return int(cutter(profile, frame).unit_tokens(_units(seed, spec)).max())


def _largest_unit(plan: Plan, spec: PoolSpec, profile: Profile) -> int:
    """Return the tokens of the largest among a pool's first units."""
    return _largest(plan.recipe.seed, spec, profile, plan.recipe.frame)
