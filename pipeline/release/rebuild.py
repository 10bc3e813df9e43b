"""Rebuilding: makes a frozen split again from its lock, and compares the digests of all shards."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from pipeline.artifacts.files import atomic_write, copy_file
from pipeline.artifacts.manifest import Manifest, ShardRecord
from pipeline.assemble.plan import Plan, make_plan
from pipeline.errors import FrozenError
from pipeline.stages import Stages
from pipeline.verify.lock import Lock, ShardLock, cut_faults, first_faults, plan_faults


@dataclass(frozen=True, slots=True)
class RebuildFindings:
    """The result of a rebuild: how many shards have the `same` bytes, how many only the same `rows`, and faults."""

    same: int
    rows: int
    faults: tuple[str, ...]
    libraries: str

    @property
    def line(self) -> str:
        """The numbers in one line of text."""
        if self.rows:
            why = self.libraries or "the same libraries are installed"
            return (
                f"{self.same} shards rebuilt to the same bytes, {self.rows} to the same rows but different "
                f"bytes ({why})"
            )
        return f"{self.same} shards rebuilt from the lock to the same bytes"


def rebuild(
    lock: Lock, profiles: Sequence[str], into: Path, corpora: Sequence[Path], run: Callable[[Plan], Stages]
) -> RebuildFindings:
    """Rebuild some profiles of a lock, and compare.

    Args:
        lock: the lock to rebuild.
        profiles: names or TOML files of profiles in the lock.
        into: the folder to build in; shards that exist there are kept.
        corpora: folders that may contain users' texts.
        run: returns the stages of a plan.

    Raises:
        FrozenError: if this version of Carrara would make other rows, with what differs.
    """
    made = [_rebuild_tier(lock, tier, profiles, into, corpora, run) for tier in lock.tiers]
    states = [state for tier in made for state in tier]
    faults = tuple(state for state in states if state not in ("same", "rows"))
    return RebuildFindings(states.count("same"), states.count("rows"), faults, library_difference(lock))


def rebuilt_plan(lock: Lock, tier: str, profiles: Sequence[str], into: Path) -> Plan:
    """Return the plan of a tier of a lock.

    Raises:
        FrozenError: if this version of Carrara would make other rows.
    """
    plan = make_plan(lock.tiers[tier].recipe, tuple(profiles), into)
    if faults := list(plan_faults(lock, plan)) or list(cut_faults(lock, plan)):
        raise FrozenError(
            f"{lock.title} cannot be rebuilt here: {first_faults(faults)}: "
            f"install carrara {lock.carrara}, which froze it"
        )
    return plan


def _rebuild_tier(
    lock: Lock, tier: str, names: Sequence[str], into: Path, corpora: Sequence[Path], run: Callable[[Plan], Stages]
) -> list[str]:
    loaded = make_plan(lock.tiers[tier].recipe, tuple(names), into).profiles
    chosen = [name for name, profile in zip(names, loaded, strict=True) if tier in _tiers(lock, profile.name)]
    if not chosen:
        return []
    plan = rebuilt_plan(lock, tier, chosen, into)
    copy_corpora(lock.tiers[tier].corpora, corpora, into)
    manifests = run(plan).build()
    pairs = zip(plan.profiles, manifests, strict=True)
    return [state for profile, manifest in pairs for state in _compare_shards(lock, tier, profile.name, manifest)]


def _tiers(lock: Lock, profile: str) -> set[str]:
    frozen = lock.profiles.get(profile)
    return set(frozen.tiers) if frozen else set()


def _compare_shards(lock: Lock, tier: str, profile: str, manifest: Manifest | None) -> Iterator[str]:
    if manifest is None:
        raise FrozenError(f"{profile} {tier} is not rebuilt completely: run all parts of it")
    made = {shard.shard: shard for shard in manifest.tiers[tier].shards}
    for name, frozen in lock.profiles[profile].tiers[tier].shards.items():
        yield _compare_shard(f"{profile} {name}", frozen, made.get(name), library_difference(lock))


def _compare_shard(name: str, frozen: ShardLock, made: ShardRecord | None, libraries: str) -> str:
    if made is None or made.row_digest != frozen.row_digest:
        return f"{name}: when rebuilt from the lock, its rows differ"
    if (made.data_sha256, made.keys_sha256) == (frozen.data_sha256, frozen.keys_sha256):
        return "same"
    return "rows" if libraries else f"{name}: when rebuilt from the lock with the same libraries, its bytes differ"


def library_difference(lock: Lock) -> str:
    """Return which libraries differ from those that wrote the frozen files; "" if none do."""
    here = {name: version(name) for name in sorted(lock.libraries) if name in ("numpy", "pyarrow")}
    return ", ".join(
        f"{name} {own} here, {lock.libraries[name]} when frozen"
        for name, own in here.items()
        if own != lock.libraries[name]
    )


def copy_corpora(digests: Sequence[str], folders: Sequence[Path], out: Path) -> None:
    """Copy the corpora that a tier uses into a release folder.

    Raises:
        FrozenError: with the corpus that is in none of the folders.
    """
    for digest in digests:
        kept = out / "corpora" / f"{digest}.parquet"
        source = next((path for each in folders if (path := each / kept.name).is_file()), None)
        if not kept.is_file():
            if source is None:
                raise FrozenError(f"the corpus {digest[:12]}... is needed: give the frozen folder, which has it")
            with atomic_write(kept) as aside:
                copy_file(source, aside)
