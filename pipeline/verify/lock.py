"""Locks: records of what a frozen release is made of, to check copies of it and to rebuild it.

A lock is one JSON file, `carrara.lock.json` in the folder of the release. It contains the seed and the whole recipes,
so the lock of a split whose keys are withheld is as secret as the keys.
"""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import msgspec

from pipeline.artifacts.files import (
    atomic_write,
    read_record,
)
from pipeline.assemble.plan import Plan
from pipeline.errors import FrozenError, RecipeError
from pipeline.profiles import Profile
from pipeline.recipe import Recipe, Stratum, digest, is_secret, recipe_fault
from pipeline.rows import TOOLS_VERSION
from pipeline.storage import StoreError
from pipeline.tasks import task_of
from pipeline.typed import (
    Frame,
    Identifier,
    Line,
    Plain,
    Release,
    Sha256,
    ShardName,
    Tier,
    Variant,
    Whole,
    read_json,
)

LOCK_NAME = "carrara.lock.json"
LOCK_FORMAT = 1


@dataclass(frozen=True, slots=True)
class TaskLock:
    """What determines a task's rows besides the recipe; any change to its rows increments the version."""

    version: Whole
    scorer: Identifier
    max_new_tokens: Whole


@dataclass(frozen=True, slots=True)
class PoolLock:
    """A pool: the version of its code, the digest of its source files, and its content key."""

    version: Whole
    source: Line
    key: Sha256


@dataclass(frozen=True, slots=True)
class TierLock:
    """One recipe and what it draws from. `samples` has a digest of the questions, keys and texts of each block."""

    recipe: Recipe
    tag: Plain
    tasks: Mapping[Line, TaskLock]
    pools: Mapping[Plain, PoolLock]
    corpora: tuple[Sha256, ...]
    samples: Mapping[Line, Sha256]


@dataclass(frozen=True, slots=True)
class ShardLock:
    """One shard of rows and its keys. `row_digest` does not depend on the version of Parquet's writer."""

    key: Sha256
    rows: Whole
    row_digest: Sha256
    data_bytes: Whole
    data_sha256: Sha256
    keys_bytes: Whole
    keys_sha256: Sha256


@dataclass(frozen=True, slots=True)
class SplitLock:
    """A tier in one profile: its shards, and in `strata` a digest of the rows of each block."""

    strata: Mapping[Line, Sha256]
    shards: Mapping[ShardName, ShardLock]


@dataclass(frozen=True, slots=True)
class ProfileLock:
    """A profile: its digests, the encoders that counted and recounted, and its tiers."""

    digest: Sha256
    vocabulary_sha256: Sha256
    counter: tuple[Line, ...]
    second: tuple[Line, ...]
    tiers: Mapping[Tier, SplitLock]


@dataclass(frozen=True, slots=True)
class Lock:
    """A frozen release. `libraries` affect the bytes of files but no row."""

    release: Release
    version: Plain
    variant: Variant
    frame: Frame
    carrara: Line
    schema_version: Whole
    libraries: Mapping[Line, Line]
    tiers: Annotated[Mapping[Tier, TierLock], msgspec.Meta(min_length=1)]
    profiles: Mapping[Plain, ProfileLock]
    format: int = field(default=LOCK_FORMAT)

    @property
    def title(self) -> str:
        """Release, version and variant, for messages."""
        return " ".join(filter(None, (self.release, self.version, self.variant)))

    @property
    def content(self) -> dict[str, Any]:
        """Everything except the versions of the software that made the files, and of the lock's format."""
        table = asdict(self)
        return {name: value for name, value in table.items() if name not in ("carrara", "libraries", "format")}


def write_lock(path: Path, lock: Lock) -> None:
    """Write a lock, with a digest of itself."""
    table = asdict(lock)
    text = json.dumps({**table, "digest": digest(table)}, indent=1, sort_keys=True)
    with atomic_write(path, secret=any(is_secret(tier.recipe.seed) for tier in lock.tiers.values())) as aside:
        aside.write_text(text + "\n", encoding="ascii")


def read_lock(path: Path) -> Lock:
    """Read a lock.

    Raises:
        FrozenError: if it cannot be read, or was changed since it was written.
    """
    try:
        table = read_record(path, dict[str, Any], FrozenError)
        stored, known = table.pop("digest"), table.get("format")
        computed = digest(table)
    except OSError as fault:
        raise FrozenError(f"no lock {str(path)!r} ({fault.strerror}): make one with carrara freeze") from fault
    except (ValueError, KeyError, RecursionError) as fault:
        raise FrozenError(f"{str(path)!r} is not a lock: give a file that carrara freeze wrote") from fault
    if known != LOCK_FORMAT:
        raise FrozenError(
            f"{str(path)!r} is a lock of format {known!r}, not {LOCK_FORMAT}: use the version of Carrara that wrote it"
        )
    if stored != computed:
        raise FrozenError(f"{str(path)!r} was changed after it was written: get it again from where it was published")
    try:
        lock = read_json(msgspec.json.encode(table), Lock)
        for tier, made in lock.tiers.items():
            if wrong := recipe_fault(made.recipe) or ("" if made.recipe.tier == tier else "it is of another tier"):
                raise ValueError(f"the recipe of tier {tier}: {wrong}")
    except ValueError as fault:
        raise FrozenError(f"{str(path)!r} is not a lock ({fault}): give a file that carrara freeze wrote") from None
    return lock


def find_lock(folder: Path) -> Lock | None:
    """Return the lock of a release folder, or None if it is not frozen."""
    path = folder / LOCK_NAME
    return read_lock(path) if path.is_file() else None


def save_lock(out: Path, lock: Lock, copy: Path | None = None, before: Lock | None = None) -> tuple[Lock, bool]:
    """Write the lock of a release folder, and a `copy`, unless they exist; return it, and whether it is new.

    Raises:
        FrozenError: if an older lock (in these places, in a neighbouring folder, or `before`) demands a higher version.
    """
    beside = [read_lock(path) for path in _neighbour_locks(out)]
    same = [each for each in beside if (each.release, each.variant) == (lock.release, lock.variant)]
    lower = [each for each in same if parse_version(each.version) <= parse_version(lock.version)]
    known, copied = find_lock(out), read_lock(copy) if copy and copy.is_file() else None
    for old in (known, copied, *sorted(lower, key=lambda each: parse_version(each.version))[-1:], before):
        if old:
            check_version(old, lock)
    is_new = known is None or known.content != lock.content
    if known is None or is_new:
        write_lock(out / LOCK_NAME, lock)
    else:
        lock = known
    if copy and copied != lock:
        write_lock(copy, lock)
    return lock, is_new


def _neighbour_locks(out: Path) -> list[Path]:
    """Return the locks of neighbouring folders; empty if a store does not allow listing the parent."""
    try:
        return sorted(out.resolve().parent.glob(f"*/{LOCK_NAME}"))
    except StoreError as fault:
        if fault.errno != errno.EACCES:
            raise
        return []


LEVELS = ("patch", "minor", "major")
SEMVER = re.compile(r"(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)\.(0|[1-9][0-9]*)")
MOST_SHOWN = 3
Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Change:
    """A difference between two versions, and the level (one of LEVELS) that it demands."""

    level: str
    what: str


def parse_version(version: str) -> Version:
    """Parse a data set's version.

    Raises:
        RecipeError: if it is not of the form 1.0.0.
    """
    match = SEMVER.fullmatch(version)
    if not match:
        raise RecipeError(f"version {version!r} cannot be frozen: give three numbers, such as 1.0.0")
    major, minor, patch = map(int, match.groups())
    return major, minor, patch


def next_version(version: str, level: str) -> str:
    """Return the next version at a level.

    >>> [next_version("1.2.3", level) for level in LEVELS]
    ['1.2.4', '1.3.0', '2.0.0']
    """
    major, minor, patch = parse_version(version)
    nexts = {"major": (major + 1, 0, 0), "minor": (major, minor + 1, 0), "patch": (major, minor, patch + 1)}
    return ".".join(map(str, nexts[level]))


def check_version(old: Lock, new: Lock) -> None:
    """Check that a version is as high as the changes since an older lock demand.

    Raises:
        FrozenError: with what changed, and the right version.
    """
    changed = list(changes(old, new))
    if (old.release, old.variant) != (new.release, new.variant):
        raise FrozenError(f"the older lock is of {old.title}, not of {new.release} {new.variant}".rstrip())
    if parse_version(new.version) < parse_version(old.version):
        raise FrozenError(f"{new.title} is lower than {old.version}, which is already frozen: give a higher version")
    if not changed:
        return
    level = max((change.level for change in changed), key=LEVELS.index)
    least = next_version(old.version, level)
    if parse_version(new.version) < parse_version(least):
        why = first_faults(change.what for change in changed if change.level == level)
        raise FrozenError(f"version {new.version}: since {old.version} {why}, which calls for {least} ({level})")


def first_faults(faults: Iterable[str]) -> str:
    """Return the first few faults, and how many more there are."""
    every = list(faults)
    more = f" (and {len(every) - MOST_SHOWN} more)" if len(every) > MOST_SHOWN else ""
    return "; ".join(every[:MOST_SHOWN]) + more


def changes(old: Lock, new: Lock) -> Iterator[Change]:
    """Yield the changes from an older lock to a newer one, causes before effects."""
    if (old.frame, old.schema_version) != (new.frame, new.schema_version):
        yield Change("major", f"frame or columns changed (formerly {old.frame} {old.schema_version})")
    for tier in old.tiers.keys() & new.tiers.keys():
        yield from tier_changes(old.tiers[tier], new.tiers[tier])
    yield from _added_and_removed("tier", old.tiers, new.tiers)
    for name in sorted(old.profiles.keys() & new.profiles.keys()):
        yield from _profile_changes(name, old.profiles[name], new.profiles[name])
    yield from _added_and_removed("profile", old.profiles, new.profiles)


def tier_changes(old: TierLock, new: TierLock) -> Iterator[Change]:
    """Yield the changes in a tier's recipe and in what it draws from."""
    mine, theirs = old.recipe, new.recipe
    for name in ("seed", "reserve", "frame"):
        if getattr(mine, name) != getattr(theirs, name):
            yield Change("major", f"{name} of tier {mine.tier} changed")
    if old.tag != new.tag and mine.seed == theirs.seed:
        yield Change("major", f"ids of tier {mine.tier} end in {new.tag}, formerly {old.tag}")
    yield from _value_changes("task", old.tasks, new.tasks)
    pools = ({name: replace(pool, key="") for name, pool in each.pools.items()} for each in (old, new))
    yield from _value_changes("pool", *pools)
    before, after = ({str(cell): cell for cell in each.strata} for each in (mine, theirs))
    grown = {name for name, cell in before.items() if name in after and _grows(cell, after[name])}
    same = {name: before[name] if name in grown else cell for name, cell in after.items()}
    yield from _value_changes(f"stratum of tier {mine.tier}:", before, same)
    if old.samples and new.samples:
        yield from _value_changes(f"samples of tier {mine.tier}:", old.samples, new.samples, known=before)
    for name in after.keys() - before.keys():
        yield Change("minor", f"stratum {name} of tier {mine.tier} is new")
    for name in sorted(grown):
        yield Change(
            "minor", f"stratum {name} of tier {mine.tier} has {after[name].total} rows, formerly {before[name].total}"
        )


def _grows(old: Stratum, new: Stratum) -> bool:
    """Return whether a stratum only has more blocks, so that its rows stay the same."""
    return new.blocks > old.blocks and replace(new, blocks=old.blocks) == old


def _profile_changes(name: str, old: ProfileLock, new: ProfileLock) -> Iterator[Change]:
    if old.vocabulary_sha256 != new.vocabulary_sha256:
        yield Change("major", f"vocabulary of profile {name} changed")
    elif old.digest != new.digest:
        yield Change("major", f"template, windows or counting of profile {name} changed")
    for tier in sorted(old.tiers.keys() & new.tiers.keys()):
        yield from _split_changes(f"{name} {tier}", old.tiers[tier], new.tiers[tier])
    yield from _added_and_removed(f"tier of profile {name}:", old.tiers, new.tiers)


def _split_changes(where: str, old: SplitLock, new: SplitLock) -> Iterator[Change]:
    yield from _value_changes(f"rows of {where}:", old.strata, new.strata)
    if old.shards != new.shards and old.strata == new.strata:
        yield Change("patch", f"the files of {where} changed, but none of their rows")


def _value_changes(
    kind: str, old: Mapping[str, Any], new: Mapping[str, Any], known: Iterable[str] = ()
) -> Iterator[Change]:
    """Yield what changed or was removed, unless it is in `known`; what was added shows in the strata."""
    for name, value in old.items():
        if name not in new:
            if name not in known:
                yield Change("major", f"{kind} {name} is gone")
        elif new[name] != value:
            yield Change("major", f"{kind} {name} changed{_difference(value, new[name])}")


def _difference(old: Any, new: Any) -> str:
    names = getattr(old, "__dataclass_fields__", {})
    changed = [name for name in names if getattr(old, name) != getattr(new, name)]
    parts = [
        f"{name} {_shortened(getattr(old, name))} to {_shortened(getattr(new, name))}"
        for name in changed
        if name != "key"
    ]
    return f" ({', '.join(parts)})" if parts else ""


def _shortened(value: object) -> str:
    text = str(value)
    return text if len(text) <= 24 else f"{text[:12]}...{text[-8:]}"


def _added_and_removed(kind: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Change]:
    for name in sorted(old.keys() - new.keys()):
        yield Change("major", f"{kind} {name} is gone")
    for name in sorted(new.keys() - old.keys()):
        yield Change("minor", f"{kind} {name} is new")


def make_tier_lock(plan: Plan, samples: dict[str, str] | None = None) -> TierLock:
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
    if not plan.schema_version <= lock.schema_version <= TOOLS_VERSION:  # another tier may have tool calls
        yield f"its columns have version {lock.schema_version}, here it is {plan.schema_version}"
    yield from (change.what for change in tier_changes(tier, make_tier_lock(plan)))
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
    """Yield the profiles whose shards would have other content keys than the frozen ones."""
    for profile in plan.profiles:
        frozen = lock.profiles[profile.name].tiers[plan.recipe.tier].shards
        shards = [shard for family in plan.recipe.families for shard in plan.shards(family, profile)]
        if {shard.name: shard.key for shard in shards} != {name: shard.key for name, shard in frozen.items()}:
            yield f"shards of profile {profile.name} would be cut differently"


def profile_fault(profile: Profile, digest: str, vocabulary_sha256: str) -> str | None:
    """Return how a profile differs from the one that a split was cut for, or None."""
    if profile.vocabulary.sha256 != vocabulary_sha256:
        own = profile.vocabulary.sha256
        return f"the vocabulary of profile {profile.name} has SHA-256 {own[:12]}, expected {vocabulary_sha256[:12]}"
    if profile.digest != digest:
        own = profile.digest
        return f"profile {profile.name} has digest {own[:12]}, expected {digest[:12]}: template or windows differ"
    return None


def check_frozen(plan: Plan) -> None:
    """Check that a plan matches the lock of its folder, if it is frozen.

    Raises:
        FrozenError: with what differs.
    """
    lock = find_lock(plan.out)
    faults = list(plan_faults(lock, plan)) or list(cut_faults(lock, plan)) if lock else []
    if lock and faults:
        raise FrozenError(
            f"{str(plan.out)!r} is frozen as {lock.title}, and {first_faults(faults)}: "
            "give another folder with --out; `carrara extend` adds to a frozen release, `carrara recut` makes new rows"
        )


def check_row_digests(out: Path, profile: str, row_digests: Mapping[str, str]) -> None:
    """Check that the shards of a frozen folder still have the frozen rows; their bytes may differ.

    `row_digests` are the digests of the present rows, by shard.

    Raises:
        FrozenError: with the first shard that has other rows.
    """
    lock = find_lock(out)
    frozen = lock.profiles.get(profile) if lock else None
    if lock is None or frozen is None:
        return
    wanted = {name: shard.row_digest for split in frozen.tiers.values() for name, shard in split.shards.items()}
    for shard, row_digest in row_digests.items():
        if row_digest != wanted.get(shard):
            raise FrozenError(f"{profile} {shard} has different rows from those frozen as {lock.title}")
