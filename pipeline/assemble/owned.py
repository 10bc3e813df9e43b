"""Which files a plan owns, and which ones beside them another recipe left."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from pipeline.assemble.plan import Plan
from pipeline.profiles import Profile
from pipeline.store.manifest import manifest_path
from pipeline.store.recipes import recipe_path


def remove(paths: Iterable[Path]) -> None:
    """Remove files that another recipe left: readers find shards by pattern."""
    for path in paths:
        path.unlink(missing_ok=True)


def strange_samples(plan: Plan) -> Iterator[Path]:
    """Yield files among the samples of this tier that the recipe does not name."""
    for family in plan.recipe.families:
        own = _samples(plan, family)
        yield from (path for path in sorted(own[0].parent.glob("test-*")) if _whole_name(path) not in own)


def strangers(plan: Plan, profile: Profile) -> Iterator[Path]:
    """Yield files among the shards of this tier that the recipe does not name."""
    for part in ("data", "keys", "proofs"):
        own = {shard.path(plan.out, part) for shard in plan.of_profile(profile)}
        for path in sorted((plan.out / profile.name / part).glob(f"*/{plan.recipe.tier}/test-*")):
            if _whole_name(path) not in own:
                yield path


def owned(plan: Plan, profile: Profile) -> list[Path]:
    """Return every file that a plan makes for a profile."""
    files = [recipe_path(plan.out, plan.recipe.tier), manifest_path(plan.out, profile.name)]
    for family in plan.recipe.families:
        files += _samples(plan, family)
        files += [plan.pool_path(spec) for spec in plan.pools(family)]
        files += [plan.counts_path(spec, profile) for spec in plan.pools(family)]
        shards = plan.shards(family, profile)
        files += [shard.path(plan.out, part) for shard in shards for part in ("data", "keys", "proofs")]
    return files


def _samples(plan: Plan, family: str) -> list[Path]:
    return [plan.samples_path(cut) for cut in plan.cuts(family)]


def _whole_name(path: Path) -> Path:
    """Return the file that one which is being written will be."""
    return path.with_name(path.name.partition(".part-")[0])
