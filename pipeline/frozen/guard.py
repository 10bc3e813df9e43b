"""The guard of frozen folders: only what was frozen can be built into them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from pipeline.assemble.plan import Plan
from pipeline.errors import FrozenError
from pipeline.frozen.changes import listed, tier_changes
from pipeline.frozen.lock import Lock, PoolLock, TaskLock, TierLock, lock_in
from pipeline.profiles import Profile
from pipeline.rows import SCHEMA_VERSION
from pipeline.tasks import task_of


def tier_lock(plan: Plan, samples: dict[str, str] | None = None) -> TierLock:
    """Return what determines a tier's rows in this version of Carrara."""
    recipe = plan.recipe
    tasks = {f"{cell.family}.{cell.subtask}": task_of(cell) for cell in recipe.strata}
    specs = [spec for family in recipe.families for spec in plan.pools(family)]
    return TierLock(
        recipe,
        recipe.tag,
        {name: TaskLock(task.version, task.scorer, task.max_new_tokens) for name, task in sorted(tasks.items())},
        {spec.name: PoolLock(spec.version, spec.source, plan.pool_key(spec)) for spec in specs},
        tuple(sorted({str(corpus) for cell in recipe.strata if (corpus := cell.knob("corpus", ""))})),
        samples or {},
    )


def plan_faults(lock: Lock, plan: Plan) -> Iterator[str]:
    """Yield how a plan differs from what was frozen, causes before effects."""
    recipe, tier = plan.recipe, lock.tiers.get(plan.recipe.tier)
    if (recipe.release, recipe.version, recipe.variant) != (lock.release, lock.version, lock.variant):
        yield f"the recipe is {' '.join(filter(None, (recipe.release, recipe.version, recipe.variant)))}"
    if tier is None:
        yield f"tier {recipe.tier} is not part of it"
        return
    if lock.schema_version != SCHEMA_VERSION:
        yield f"its columns have version {lock.schema_version}, here it is {SCHEMA_VERSION}"
    yield from (change.what for change in tier_changes(tier, tier_lock(plan)))
    for profile in plan.profiles:
        yield from _profile_faults(lock, plan, profile)


def _profile_faults(lock: Lock, plan: Plan, profile: Profile) -> Iterator[str]:
    frozen = lock.profiles.get(profile.name)
    split = frozen.tiers.get(plan.recipe.tier) if frozen else None
    if frozen is None or split is None:
        yield f"profile {profile.name} is not part of it"
    elif (fault := profile_fault(profile, frozen.digest, frozen.vocabulary_sha256)) is not None:
        yield fault


def cut_faults(lock: Lock, plan: Plan) -> Iterator[str]:
    """Yield the profiles whose shards would have different content keys for any other reason."""
    for profile in plan.profiles:
        frozen = lock.profiles[profile.name].tiers[plan.recipe.tier].shards
        shards = [shard for family in plan.recipe.families for shard in plan.shards(family, profile)]
        if {shard.name: shard.key for shard in shards} != {name: shard.key for name, shard in frozen.items()}:
            yield f"shards of profile {profile.name} would be cut differently"


def profile_fault(profile: Profile, digest: str, vocabulary_sha256: str) -> str | None:
    """Return how a profile differs from the one that a split was cut for."""
    if profile.vocabulary.sha256 != vocabulary_sha256:
        found = profile.vocabulary.sha256
        return f"the vocabulary of profile {profile.name} has SHA-256 {found[:12]} in place of {vocabulary_sha256[:12]}"
    if profile.digest != digest:
        return f"profile {profile.name} has digest {profile.digest[:12]} in place of {digest[:12]}: template or windows"
    return None


def check_frozen(plan: Plan) -> None:
    """Check that a plan matches the lock of its folder, if it is frozen.

    Raises:
        FrozenError: with what differs.
    """
    lock = lock_in(plan.out)
    faults = list(plan_faults(lock, plan)) or list(cut_faults(lock, plan)) if lock else []
    if lock and faults:
        raise FrozenError(
            f"{str(plan.out)!r} is frozen as {lock.title}, and {listed(faults)}: "
            "give another folder with --out; `carrara extend` adds to a frozen release, `carrara recut` makes new rows"
        )


def check_rows(out: Path, profile: str, row_digests: Mapping[str, str]) -> None:
    """Check that the shards of a frozen folder still hold the rows that were frozen; their bytes may be written anew.

    `row_digests` are those of the rows that are there, by shard.

    Raises:
        FrozenError: naming the first shard that holds others.
    """
    lock = lock_in(out)
    frozen = lock.profiles.get(profile) if lock else None
    if lock is None or frozen is None:
        return
    wanted = {name: shard.row_digest for split in frozen.tiers.values() for name, shard in split.shards.items()}
    for shard, found in row_digests.items():
        if found != wanted.get(shard):
            raise FrozenError(f"{profile} {shard} has different rows from those frozen as {lock.title}")
