"""Freezing: making the lock of a release folder from its manifests and bytes, once every row is proven."""

from __future__ import annotations

import errno
import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from pipeline import __version__
from pipeline.artifacts.files import check_regular
from pipeline.artifacts.manifest import (
    Manifest,
    ShardRecord,
    StratumRecord,
    TierManifest,
    explain_unsealed_tier,
    read_manifest,
    shard_faults,
)
from pipeline.artifacts.parquet import footer, read_rows
from pipeline.artifacts.recipes import read_recipes
from pipeline.artifacts.split import no_build
from pipeline.assemble.jobs import sample_record, samples_of
from pipeline.assemble.plan import Plan, make_plan
from pipeline.errors import FrozenError, SplitError
from pipeline.recipe import Recipe, Stratum, digest
from pipeline.rows import SCHEMA_VERSION, plain_json, row_text
from pipeline.storage import StoreError, map_in_order, prefetch
from pipeline.verify.lock import (
    LOCK_NAME,
    Lock,
    ProfileLock,
    ShardLock,
    SplitLock,
    TierLock,
    check_version,
    find_lock,
    make_tier_lock,
    parse_version,
    read_lock,
    write_lock,
)

LOCKED_FIELDS = tuple(ShardLock.__dataclass_fields__)


def freeze(
    out: Path,
    copy: Path | None = None,
    *,
    before: Lock | None = None,
    carried: Mapping[str, ProfileLock] | None = None,
) -> tuple[Lock, bool]:
    """Write the lock of a release folder; return it, and whether it is new.

    `copy` is a second place for it, such as beside the recipe under version control; what lies there, in the folder
    and in its neighbours as an older lock, and `before`, decide which version is high enough. `carried` are profiles
    that an older lock holds and this folder does not.
    """
    if copy:
        check_regular(copy)
    lock = make_lock(out, carried or {})
    known = find_lock(out)
    for old in (*older_locks(out, lock, copy), *([before] if before else [])):
        check_version(old, lock)
    if known and known.content == lock.content:
        lock = known
    else:
        write_lock(out / LOCK_NAME, lock)
    if copy and (not copy.is_file() or read_lock(copy) != lock):
        write_lock(copy, lock)
    return lock, lock is not known


def older_locks(out: Path, lock: Lock, copy: Path | None) -> Iterator[Lock]:
    """Yield the locks that a new one must go with: those in its places, and the next lower one beside its folder."""
    yield from (read_lock(path) for path in (out / LOCK_NAME, copy) if path and path.is_file())
    beside = [read_lock(path) for path in _neighbour_locks(out)]
    same = [each for each in beside if (each.release, each.variant) == (lock.release, lock.variant)]
    lower = [each for each in same if parse_version(each.version) <= parse_version(lock.version)]
    yield from sorted(lower, key=lambda each: parse_version(each.version))[-1:]


def _neighbour_locks(out: Path) -> list[Path]:
    """Return the locks of the folders beside a folder; none where a store does not list what is above it."""
    try:
        return sorted(out.resolve().parent.glob(f"*/{LOCK_NAME}"))
    except StoreError as fault:
        if fault.errno != errno.EACCES:
            raise
        return []


def make_lock(out: Path, carried: Mapping[str, ProfileLock] | None = None) -> Lock:
    """Return the lock of a release folder: all tiers that are built, in all profiles that are sealed. Reads all bytes.

    Raises:
        SplitError: if a profile is not sealed, or not wholly proven.
        FrozenError: if a file has other bytes than the manifest says, or was made by another Carrara.
    """
    recipes = read_recipes(out)
    if not recipes:
        raise SplitError(no_build(out))
    manifests = {name: _check_sealed(out, name, recipes) for name in _profiles(out)}
    sealed = {tier for manifest in manifests.values() for tier in manifest.tiers}
    for recipe in recipes:
        if recipe.tier not in sealed:
            raise SplitError(
                f"tier {recipe.tier} in {str(out)!r} is not sealed in any profile: build or verify it first"
            )
    first = recipes[0]
    parse_version(first.version)
    plans = {recipe.tier: make_plan(recipe, (), out) for recipe in recipes}
    profiles = {name: _profile_lock(out, manifest) for name, manifest in manifests.items()}
    return Lock(
        first.release,
        first.version,
        first.variant,
        first.frame,
        __version__,
        SCHEMA_VERSION,
        _libraries(out, manifests),
        {tier: _tier_lock(plan, manifests) for tier, plan in plans.items()},
        {**(carried or {}), **profiles},
    )


def _profiles(out: Path) -> list[str]:
    """Return every profile that the folder holds rows of, or a manifest."""
    found = {path.parent.name for name in ("data", "manifest.json") for path in out.glob(f"*/{name}")}
    if not found:
        raise SplitError(f"{str(out)!r} has no shards: build it first")
    return sorted(found)


def _check_sealed(out: Path, name: str, recipes: list[Recipe]) -> Manifest:
    """Return a manifest that holds every tier of the profile's shards, each row of them proven and counted twice."""
    manifest = read_manifest(out, name)
    tiers = manifest.tiers if manifest else {}
    present = {path.name for path in (out / name / "data").glob("*/*") if path.is_dir()} | set(tiers)
    known = {recipe.tier: recipe for recipe in recipes}
    for tier in sorted(present):
        made = tiers.get(tier)
        if tier not in known:
            raise SplitError(f"{name} of tier {tier} in {str(out)!r} has no recipe there: build it again")
        if manifest is None or made is None:
            raise SplitError(f"{str(out / name)!r} is {explain_unsealed_tier(out / name, known[tier])}")
        recipe = known[tier]
        if made.recipe_digest != digest(recipe) or manifest.version != recipe.version:
            raise SplitError(
                f"{name} of tier {tier} in {str(out)!r} was built from a different recipe than the folder's: "
                "build it again"
            )
        if not counted_twice(made):
            counted = f"{made.proven.recounted} of {made.totals.rows} rows of {name} {tier} were counted twice"
            raise SplitError(f"only {counted}: run carrara verify {out} first")
    if manifest is None:
        raise SplitError(f"{name} in {str(out)!r} is not sealed: build or verify it first")
    return manifest


def counted_twice(made: TierManifest) -> bool:
    """Return whether every row of a tier was counted again, where there is a second encoder."""
    return not made.proven.again or made.proven.recounted == made.totals.rows


def _tier_lock(plan: Plan, manifests: Mapping[str, Manifest]) -> TierLock:
    """Return what a tier is made of, having checked that this code is the code that made it."""
    tier, recipe = make_tier_lock(plan), plan.recipe
    versions = {name: task.version for name, task in tier.tasks.items()}
    for name, manifest in manifests.items():
        made = manifest.tiers.get(recipe.tier)
        if not made:
            continue
        if made.tag != recipe.tag:
            raise FrozenError(
                f"{name} {recipe.tier}: ids end in {made.tag}, but should end in {recipe.tag}: build it again"
            )
        for cell in made.strata:
            task = f"{cell.family}.{cell.subtask}"
            if cell.task_version != versions.get(task):
                here = f"this Carrara has version {versions.get(task)}"
                raise FrozenError(f"{name} {recipe.tier}: task {task} has version {cell.task_version}, {here}")
        for pool, record in (made.pools or {}).items():
            if pool not in tier.pools or record.key != tier.pools[pool].key:
                raise FrozenError(f"{name} {recipe.tier}: pool {pool} was made from different files: build it again")
    return replace(tier, samples=sample_digests(plan))


def sample_digests(plan: Plan) -> dict[str, str]:
    """Return a digest of each block's samples: ids, questions, keys and relevant texts, without any tokenizer."""
    totals = {
        block_name(str(cell), block): hashlib.sha256() for cell in plan.recipe.strata for block in range(cell.blocks)
    }
    for family in plan.recipe.families:
        for sample in samples_of(plan, family):
            name = block_name(str(sample.stratum), sample.index // sample.stratum.rows)
            record = {**sample_record(sample), "ranking": sample.ranking.hex()}
            totals[name].update(plain_json(record).encode() + b"\n")
    return {name: total.hexdigest() for name, total in totals.items()}


def block_name(stratum: str, block: int) -> str:
    """Name a block of a stratum; the first has the stratum's own name, so that larger sizes keep it."""
    return f"{stratum} block {block + 1}" if block else stratum


def _profile_lock(out: Path, manifest: Manifest) -> ProfileLock:
    tokenizer, proven = manifest.tokenizer, [made.proven for made in manifest.tiers.values()]
    return ProfileLock(
        tokenizer.digest,
        tokenizer.vocabulary_sha256,
        tuple(sorted({name for each in proven for name in each.counter})),
        tuple(sorted({name for each in proven for name in each.second})),
        {tier: _split_lock(out / tokenizer.name, made) for tier, made in manifest.tiers.items()},
    )


def _split_lock(folder: Path, made: TierManifest) -> SplitLock:
    for faults in map_in_order(lambda shard: list(shard_faults(folder, shard)), made.shards, folder, _bytes_of):
        for _, path, fault in faults:
            raise FrozenError(f"{str(path)!r} {fault}: run carrara verify, then build")
    shards = {shard.shard: ShardLock(*(getattr(shard, name) for name in LOCKED_FIELDS)) for shard in made.shards}
    sizes = {shard.shard: shard.keys_bytes or 0 for shard in made.shards}
    return SplitLock(stratum_digests(folder, dict(sorted(sizes.items())), made.strata), shards)


def _bytes_of(shard: ShardRecord) -> int:
    return shard.data_bytes


def stratum_digests(folder: Path, shards: Mapping[str, int], strata: Iterable[StratumRecord]) -> dict[str, str]:
    """Return a digest of each block's rows in one profile, whatever shards they are cut into.

    Args:
        folder: of the profile.
        shards: the bytes of the keys of each shard, by its name.
        strata: what the manifest says of its strata.
    """
    block_rows = {_stratum_name(asdict(cell)): cell.rows // (cell.blocks or 1) for cell in strata}
    totals: dict[str, Any] = {}
    seen: Counter[str] = Counter()
    files = ((folder / "keys" / f"{shard}.parquet", size) for shard, size in shards.items())
    for path in prefetch(files, folder):
        for row in read_rows(path):
            stratum = _stratum_name(row)
            name = block_name(stratum, seen[stratum] // block_rows[stratum])
            seen[stratum] += 1
            totals.setdefault(name, hashlib.sha256()).update(row_text(row))
    return {name: total.hexdigest() for name, total in totals.items()}


def _stratum_name(row: Mapping[str, Any]) -> str:
    """Name a row's stratum, or a manifest's, as recipes do."""
    return str(Stratum(row["family"], row["subtask"], "", row["length"], row["complexity"], 1))


def _libraries(out: Path, manifests: Mapping[str, Manifest]) -> dict[str, str]:
    """Return what wrote the files, as they say themselves, and what else may move a byte of them."""
    paths = (
        out / name / "data" / f"{made.shards[0].shard}.parquet"
        for name, manifest in manifests.items()
        for made in manifest.tiers.values()
    )
    writers = {str(footer(path).created_by) for path in paths if path.is_file()}
    return {"parquet": ", ".join(sorted(writers)), "numpy": version("numpy"), "pyarrow": version("pyarrow")}
