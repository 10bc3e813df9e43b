"""Does every stratum fit every profile? Asked before anything is written."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from pipeline.assemble.cutting import cutter
from pipeline.assemble.ids import RowPlan
from pipeline.assemble.jobs import draw_sample, made_pool, read_pool
from pipeline.assemble.plan import Plan, row_streams
from pipeline.assemble.pools import UNIT_SCHEMA, Pool
from pipeline.errors import FitError
from pipeline.profiles import Profile
from pipeline.recipe import Stratum
from pipeline.store.parquet import is_whole
from pipeline.tasks import task_of
from pipeline.tasks.base import Layout, PoolSpec, Unit

PROBES = 3
SAFETY = 3
LONGEST = 128


def check_fit(plan: Plan, profiles: Sequence[Profile]) -> None:
    """Check that every stratum leaves room for three of its largest filler units in every profile.

    Probes a few rows of each kind of stratum where its window is smallest: what fits there fits in larger ones.

    Raises:
        FitError: naming stratum, profile and the tokens that are wanting.
    """
    probed: dict[Stratum, list[Layout]] = {}
    for profile in profiles:
        for cell in _tightest(plan, profile):
            if cell not in probed:
                probed[cell] = [_probe(plan, cell, index) for index in range(min(PROBES, cell.rows))]
            _check_cell(plan, cell, probed[cell], profile)


def _tightest(plan: Plan, profile: Profile) -> Iterable[Stratum]:
    """Return each kind of stratum once, at the length with the smallest window."""
    shortest: dict[object, Stratum] = {}
    cells = [cell for family in plan.families for cell in plan.recipe.of_family(family)]
    for cell in sorted(cells, key=lambda cell: (-profile.window(cell.length), -cell.length)):
        shortest[cell.family, cell.subtask, cell.complexity, cell.shots, cell.knobs] = cell
    return shortest.values()


def _probe(plan: Plan, cell: Stratum, index: int) -> Layout:
    own, shared = row_streams(plan, cell, index)
    return task_of(cell).layout(draw_sample(plan, RowPlan(cell, index, "")), own, shared)


def _check_cell(plan: Plan, cell: Stratum, layouts: Sequence[Layout], profile: Profile) -> None:
    task, knife = task_of(cell), cutter(profile, plan.recipe.frame)
    max_new = plan.recipe.reserve or task.max_new_tokens
    room = profile.window(cell.length) - max_new - max(map(knife.fixed_tokens, layouts))
    needed = SAFETY * max(_largest_unit(plan, spec, profile) for spec in task.pools(cell))
    if room < needed:
        raise FitError(
            f"{cell} does not fit profile {profile.name}: {room} tokens are left for filler, {needed} are needed "
            f"(three of its largest unit): drop this length from the recipe, or lower shots or reserve ({max_new})"
        )


@lru_cache(maxsize=1024)
def _largest(job: PoolJob, profile: Profile, frame: str) -> int:
    return int(cutter(profile, frame).unit_tokens(_longest(job)).max())


@lru_cache(maxsize=256)
def _longest(job: PoolJob) -> tuple[Unit, ...]:
    """Return a pool's longest units; the others are not kept, whatever the number of profiles."""
    return tuple(job.pool().longest(LONGEST))


def pool_of(plan: Plan, spec: PoolSpec) -> Pool:
    """Return a pool, read where it is rendered, and else made in memory."""
    return _job(plan, spec).pool()


def _largest_unit(plan: Plan, spec: PoolSpec, profile: Profile) -> int:
    """Return the tokens of a pool's largest unit, looked for among its longest texts."""
    return _largest(_job(plan, spec), profile, plan.recipe.frame)


def _job(plan: Plan, spec: PoolSpec) -> PoolJob:
    return _pool_job(plan.recipe.seed, spec, plan.pool_path(spec), plan.pool_key(spec), plan.corpora)


@lru_cache(maxsize=64)
def _pool_job(seed: int, spec: PoolSpec, path: Path, key: str, corpora: str) -> PoolJob:
    return PoolJob(seed, spec, path if is_whole(path, key, UNIT_SCHEMA.names) else None, key, corpora)


@dataclass(frozen=True, slots=True)
class PoolJob:
    """A pool that is read where it is there, and else made in memory."""

    seed: int
    spec: PoolSpec
    path: Path | None
    key: str
    corpora: str

    def pool(self) -> Pool:
        """Return the pool."""
        return read_pool(self.path, self.key) if self.path else made_pool(self.seed, self.spec, self.corpora)
