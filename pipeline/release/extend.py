"""Extending: the next minor version of a frozen release has more profiles, tiers or strata, but no changed row.

The frozen folder stays as it is. The new folder gets links to its files, new files are built beside them, and the new
lock is compared with the old one stratum by stratum.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import ceil
from pathlib import Path

from pipeline.artifacts.files import atomic_write, link
from pipeline.assemble.plan import DISK_BYTES, Plan, make_plan
from pipeline.errors import FrozenError
from pipeline.profiles import Profile, load_profile, shipped_profiles
from pipeline.profiles.adopt import KEPT, known_profile
from pipeline.profiles.profile import speed
from pipeline.recipe import Recipe
from pipeline.release.freeze import freeze, sample_digests
from pipeline.release.rebuild import copy_corpora
from pipeline.stages import Stages
from pipeline.storage import StorePath, map_in_order
from pipeline.terminal.text import size
from pipeline.verify.lock import (
    LOCK_NAME,
    Lock,
    find_lock,
    first_faults,
    make_tier_lock,
    next_version,
    parse_version,
    profile_fault,
    read_lock,
    tier_changes,
)
from pipeline.verify.row import ONE_IN

SHARED_FOLDERS = ("samples", "segments", "corpora")
"""Folders of a release that all profiles share."""
PROFILE_FOLDERS = ("data", "keys", "proofs", "counts", KEPT)


@dataclass(frozen=True)
class Extension:
    """A frozen release and what to add to it. `names` are profiles, including frozen ones if they are in `folder`."""

    lock: Lock
    folder: Path | None
    out: Path
    names: tuple[str, ...]
    more: tuple[Recipe, ...]
    size: str | None = None

    @property
    def corpora(self) -> list[Path]:
        """Folders with users' own texts."""
        return [self.folder / "corpora"] if self.folder else []

    @property
    def version(self) -> str:
        """The next minor version."""
        return next_version(self.lock.version, "minor")

    def recipes(self) -> Iterator[Recipe]:
        """Yield the recipe of each tier in the new version: unchanged, with new strata, or new."""
        new = {recipe.tier: recipe for recipe in self.more}
        for tier in self.lock.tiers:
            yield self._raised(new.pop(tier, self.lock.tiers[tier].recipe))
        yield from map(self._raised, new.values())

    def _raised(self, recipe: Recipe) -> Recipe:
        return replace(recipe.sized(self.size) if self.size else recipe, version=self.version)

    def plans(self) -> list[Plan]:
        """Return a plan for each tier, with the profiles that have it or will have it."""
        return [make_plan(recipe, self._holders(recipe.tier), self.out) for recipe in self.recipes()]

    def _holders(self, tier: str) -> tuple[str, ...]:
        """Return the profiles of a tier: new profiles get all tiers, and all profiles get a new tier."""
        names = {load_profile(name).name: name for name in self.names}
        old = self.lock.profiles
        return tuple(
            path
            for name, path in names.items()
            if name not in old or tier not in self.lock.tiers or tier in old[name].tiers
        )


def open_extension(
    source: Path, out: Path | None, names: Sequence[str], more: Sequence[Recipe], size: str | None = None
) -> Extension:
    """Read the release to extend, and check that the additions are possible.

    Args:
        source: a frozen folder, or just a lock, to which only profiles can be added.
        out: the folder of the new version; by default beside the frozen one, or below ``outputs`` for a lock.
        names: profiles to add; also the TOML of a frozen profile that is not shipped.
        more: recipes of new tiers, or of frozen tiers with more strata.
        size: ``default``, ``full`` or a number of blocks; by default each recipe keeps its size.

    Raises:
        FrozenError: if it is not frozen, nothing would be added, or a frozen stratum would change or lose rows.
    """
    folder = source if source.is_dir() else None
    lock = read_lock(source / LOCK_NAME if folder else source)
    for recipe in more:
        _check_recipe(lock, recipe)
    loaded = {name: load_profile(name) for name in names}
    for profile in loaded.values():
        _check_profile(lock, profile)
    new = {profile.name: name for name, profile in loaded.items()}
    grows = size and any(tier.recipe.sized(size) != tier.recipe for tier in lock.tiers.values())
    if not more and not grows and not new.keys() - lock.profiles.keys():
        raise FrozenError(f"{lock.title} already has all of that: give a new profile, recipe or size")
    if size:
        _check_size(lock, size)
    if (more or grows) and not folder:
        raise FrozenError("rows cannot be added to a lock alone: give the frozen folder")
    kept = {
        name: _frozen_profile(folder, name)
        for name in lock.profiles
        if folder and name not in new and (folder / name).is_dir()
    }
    target = _target(lock, folder, out)
    _check_target(target, lock, folder)
    return Extension(lock, folder, target, (*kept.values(), *new.values()), tuple(more), size)


def _check_size(lock: Lock, size: str) -> None:
    for tier in lock.tiers.values():
        for old, new in zip(tier.recipe.strata, tier.recipe.sized(size).strata, strict=True):
            if new.total < old.total:
                raise FrozenError(
                    f"{lock.title} has {old.total} rows of {old}, and size {size!r} only {new.total}: give a larger one"
                )


def next_folder(source: Path, out: Path | None) -> Path:
    """Return the folder of the version that extends a frozen folder or a lock.

    Raises:
        FrozenError: if it is not frozen.
    """
    folder = source if source.is_dir() else None
    return _target(read_lock(source / LOCK_NAME if folder else source), folder, out)


def _target(lock: Lock, folder: Path | None, out: Path | None) -> Path:
    first = replace(next(iter(lock.tiers.values())).recipe, version=next_version(lock.version, "minor"))
    return out or (_parent_of(folder) if folder else Path("outputs")) / first.folder


def _parent_of(folder: Path) -> Path:
    """Return a folder's parent, without resolving links in the path as it was given."""
    return folder.parent if folder.parent.resolve() == folder.resolve().parent else folder / ".."


def _check_profile(lock: Lock, profile: Profile) -> None:
    frozen = lock.profiles.get(profile.name)
    fault = profile_fault(profile, frozen.digest, frozen.vocabulary_sha256) if frozen else None
    if fault:
        raise FrozenError(
            f"{lock.title} already has a profile of this name, and {fault}: give the new one another name"
        )


def _frozen_profile(folder: Path, name: str) -> str:
    name_or_path = known_profile(folder, name)
    if name_or_path == name and name not in shipped_profiles():
        raise FrozenError(f"frozen profile {name!r} is not a shipped one: give its TOML with --tokenizer too")
    return name_or_path


def _check_target(target: Path, lock: Lock, folder: Path | None) -> None:
    """Check that a folder is not frozen, or only as the version to be made, so that the command can be repeated."""
    there = find_lock(target)
    if there and (there.release, there.variant, there.version) == (
        lock.release, lock.variant, next_version(lock.version, "minor"),
    ):  # fmt: skip
        return
    if there or (folder and target.resolve() == folder.resolve()):
        known = there or lock
        raise FrozenError(f"{str(target)!r} is frozen as {known.title}: extend that folder, or give another with --out")


def _check_recipe(lock: Lock, recipe: Recipe) -> None:
    """Check that a recipe belongs to the release and changes no frozen stratum."""
    if (recipe.release, recipe.variant, recipe.frame) != (lock.release, lock.variant, lock.frame):
        mine = " ".join(filter(None, (recipe.release, recipe.variant, recipe.frame)))
        raise FrozenError(
            f"the recipe is for {mine}, but the lock for {lock.release} {lock.variant} {lock.frame}: give a "
            "recipe of that release"
        )
    if parse_version(recipe.version)[0] != parse_version(lock.version)[0]:
        raise FrozenError(
            f"the recipe has version {recipe.version}, but {lock.version} is frozen: the major version must be the same"
        )
    seeds = {tier.recipe.seed for tier in lock.tiers.values()}
    if recipe.seed not in seeds:
        raise FrozenError(
            "the recipe's seed differs from that of the frozen ones: use theirs, or make the next major version"
        )
    if recipe.tier in lock.tiers:
        _refuse_changes(lock, make_plan(replace(recipe, version=lock.version), (), Path()))


def _refuse_changes(lock: Lock, plan: Plan, samples: dict[str, str] | None = None) -> None:
    changed = tier_changes(lock.tiers[plan.recipe.tier], make_tier_lock(plan, samples))
    faults = [change.what for change in changed if change.level == "major"]
    if faults:
        raise FrozenError(
            f"{lock.title} cannot be extended like this, since its rows would change: {first_faults(faults)}: add "
            f"other subtasks or lengths, or make version {next_version(lock.version, 'major')}"
        )


def extend(extension: Extension, run: Callable[[Plan], Stages]) -> Lock:
    """Build and freeze an extension; after an interruption the next call continues.

    Raises:
        FrozenError: if samples differ from the frozen ones, or a frozen row would change.
    """
    lock, out = extension.lock, extension.out
    plans = extension.plans()
    for plan in plans:
        _check_samples(extension, plan)
    if extension.folder:
        link_frozen(extension.folder, out, lock)
    for plan in plans:
        copy_corpora(make_tier_lock(plan).corpora, extension.corpora, out)
        _build(plan, run)
    present = {profile.name for plan in plans for profile in plan.profiles}
    carried = {name: profile for name, profile in lock.profiles.items() if name not in present}
    return freeze(out, before=lock, carried=carried)[0]


def _check_samples(extension: Extension, plan: Plan) -> None:
    """Draw or read the samples of a frozen tier and compare them with the lock, without writing samples."""
    if plan.recipe.tier not in extension.lock.tiers:
        return
    if not extension.folder:
        copy_corpora(make_tier_lock(plan).corpora, [], extension.out)
    frozen = replace(plan.recipe, version=extension.lock.version)
    before = replace(plan, recipe=frozen, out=extension.folder or extension.out)
    _refuse_changes(extension.lock, before)
    _refuse_changes(extension.lock, before, sample_digests(before))


def _build(plan: Plan, run: Callable[[Plan], Stages]) -> None:
    """Build a tier, and verify profiles with a slow second encoder, since `build` recounts only some of their rows."""
    manifests = zip(plan.profiles, run(plan).build(), strict=True)
    uncounted = tuple(each for each, made in manifests if made and not made.tiers[plan.recipe.tier].is_counted_twice)
    if uncounted:
        run(replace(plan, profiles=uncounted)).verify()


def link_frozen(folder: Path, out: Path, lock: Lock) -> None:
    """Link or copy a frozen folder's files into another; links are safe since no file is changed in place."""
    places = [*SHARED_FOLDERS, *(f"{name}/{part}" for name in lock.profiles for part in PROFILE_FOLDERS)]
    kept = (".parquet", ".json")
    files = (
        path
        for place in places
        for path in sorted((folder / place).rglob("*"))
        if path.suffix in kept or (path.parent.name == KEPT and path.is_file())
    )
    for _ in map_in_order(lambda path: _link(path, out / path.relative_to(folder)), files, out):
        pass


def _link(path: Path, target: Path) -> None:
    if target.exists():
        return
    if isinstance(path, StorePath) and isinstance(target, StorePath):
        path.copy_to(target)
        return
    with atomic_write(target) as aside:
        link(path, aside)


BASE = 4e-7
"""Seconds per token to draw, pack, write and prove, without counting; measured on one core."""
COUNTS = 2
"""How often the fast counter counts each token."""
START = 5.0
"""Seconds that workers take to start."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What has to be built for one profile in one tier: rows, tokens, and a time estimate in seconds."""

    profile: str
    tier: str
    rows: int
    tokens: int
    seconds: float

    @property
    def record(self) -> dict[str, object]:
        """The cost as a row of a table."""
        return {
            "profile": self.profile,
            "tier": self.tier,
            "rows": self.rows,
            "tokens": self.tokens,
            "on disk": size(ceil(self.tokens * DISK_BYTES)),
            "about": duration(self.seconds),
        }


def duration(seconds: float) -> str:
    """Return a time in seconds, minutes or hours.

    >>> duration(42), duration(4000)
    ('42 s', '67 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 120 * 60 else f"{seconds / 3600:.1f} h"


def costs_of(extension: Extension, workers: int) -> Iterator[Cost]:
    """Yield the cost of every profile and tier with new rows; frozen rows cost nothing."""
    for plan in extension.plans():
        for profile in plan.profiles:
            rows, tokens = _new_rows(extension.lock, plan, profile)
            if rows:
                shards = sum(len(plan.shards(family, profile)) for family in plan.families)
                each = tokens * seconds_per_token(profile) / min(workers, shards)
                yield Cost(profile.name, plan.recipe.tier, rows, tokens, START + each)


def _new_rows(lock: Lock, plan: Plan, profile: Profile) -> tuple[int, int]:
    """Return the rows of a tier that a profile does not have, and their nominal tokens."""
    tier, frozen = plan.recipe.tier, lock.profiles.get(profile.name)
    strata = lock.tiers[tier].recipe.strata if frozen and tier in frozen.tiers else ()
    rows = sum(cell.total for cell in plan.recipe.strata) - sum(cell.total for cell in strata)
    tokens = sum(cell.total * cell.length for cell in plan.recipe.strata)
    return rows, tokens - sum(cell.total * cell.length for cell in strata)


@lru_cache(maxsize=64)
def seconds_per_token(profile: Profile) -> float:
    """Estimate one worker's seconds per token from the speed of the profile's counters on this machine.

    It is cached, since opening the counters of one profile after another takes seconds, and every tier asks again.
    """
    return BASE + COUNTS / speed(profile.counter()) + _recount_seconds(profile)


def _recount_seconds(profile: Profile) -> float:
    """Return the seconds per token of recounting, including `verify` if the second counter is slow."""
    second, quick = profile.second(), profile.quick_counter()
    if second is None:
        return 0.0
    if quick:
        return 1 / speed(quick) + 1 / ONE_IN / speed(second)
    return (1 + 1 / ONE_IN if profile.second_is_slow else 1) / speed(second)
