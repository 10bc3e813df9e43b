"""Freezing: makes the lock of a release folder from its manifests and bytes, once every row is proven."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.metadata import version
from itertools import chain
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from pipeline.artifacts.files import check_regular
from pipeline.artifacts.manifest import (
    Manifest,
    StratumRecord,
    TierManifest,
    shard_faults,
)
from pipeline.artifacts.parquet import footer, read_rows
from pipeline.artifacts.split import Split, read_sealed
from pipeline.assemble.jobs import sample_record, samples_of
from pipeline.assemble.plan import Plan, make_plan
from pipeline.errors import FrozenError
from pipeline.profiles import load_profile
from pipeline.profiles.adopt import known_profile
from pipeline.recipe import Stratum
from pipeline.rows import plain_json, row_text
from pipeline.storage import map_in_order, prefetch
from pipeline.verify.claims import first_claim_fault
from pipeline.verify.lock import (
    Lock,
    ProfileLock,
    ShardLock,
    SplitLock,
    TierLock,
    make_tier_lock,
    parse_version,
    save_lock,
)
from pipeline.version import __version__

LOCKED_FIELDS = tuple(ShardLock.__dataclass_fields__)


def freeze(
    out: Path,
    copy: Path | None = None,
    *,
    before: Lock | None = None,
    carried: Mapping[str, ProfileLock] | None = None,
) -> tuple[Lock, bool]:
    """Write the lock of a release folder; return it, and whether it is new.

    `copy` is a second path for it, such as beside the recipe under version control. Older locks (there, in the folder,
    in neighbouring folders, and `before`) determine which version is high enough. `carried` are profiles of an older
    lock that this folder does not have.
    """
    if copy:
        check_regular(copy)
    return save_lock(out, make_lock(out, carried or {}), copy, before)


def make_lock(out: Path, carried: Mapping[str, ProfileLock] | None = None) -> Lock:
    """Return the lock of a release folder, with all its tiers and profiles. Reads all bytes.

    Raises:
        SplitError: if a profile is not sealed, or has rows that were not counted twice.
        FrozenError: if a file or the manifest is wrong, or was made by another version of Carrara.
    """
    recipes, manifests = read_sealed(out)
    first = recipes[0]
    parse_version(first.version)
    plans = {recipe.tier: make_plan(recipe, (), out) for recipe in recipes}
    tiers = {tier: _tier_lock(plan, manifests) for tier, plan in plans.items()}
    for name, manifest in manifests.items():
        if fault := first_claim_fault(Split(out / name, manifest), load_profile(known_profile(out, name)), recipes):
            raise FrozenError(fault)
    profiles = {name: _profile_lock(out, manifest) for name, manifest in manifests.items()}
    return Lock(
        first.release,
        first.version,
        first.variant,
        first.frame,
        __version__,
        max(plan.schema_version for plan in plans.values()),
        _libraries(out, manifests),
        tiers,
        {**(carried or {}), **profiles},
    )


def _tier_lock(plan: Plan, manifests: Mapping[str, Manifest]) -> TierLock:
    """Return a tier's lock, after checking that this version's tasks and pools made the tier."""
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
    """Return a digest of each block's samples: ids, questions, keys and relevant texts, independent of tokenizers."""
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
    """Return a block's name; the first block has the stratum's own name."""
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
    read = map_in_order(
        lambda shard: [*shard_faults(folder, shard)], made.shards, folder, lambda shard: shard.data_bytes
    )
    for _, path, fault in chain.from_iterable(read):
        raise FrozenError(f"{str(path)!r} {fault}: run carrara verify, then build")
    shards = {shard.shard: ShardLock(*(getattr(shard, name) for name in LOCKED_FIELDS)) for shard in made.shards}
    sizes = {shard.shard: shard.keys_bytes or 0 for shard in made.shards}
    return SplitLock(stratum_digests(folder, dict(sorted(sizes.items())), made.strata), shards)


def stratum_digests(folder: Path, shards: Mapping[str, int], strata: Iterable[StratumRecord]) -> dict[str, str]:
    """Return a digest of each block's rows in one profile, independent of shards.

    Args:
        folder: the profile's folder.
        shards: the bytes of each shard's keys, by the shard's name.
        strata: the strata in the manifest.
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
    """Return the name of a row's or a manifest's stratum, as `Stratum.__str__` gives it."""
    return str(Stratum(row["family"], row["subtask"], "", row["length"], row["complexity"], 1))


def _libraries(out: Path, manifests: Mapping[str, Manifest]) -> dict[str, str]:
    """Return the Parquet writers that the files name, and the versions of libraries that may affect their bytes."""
    paths = (
        out / name / "data" / f"{made.shards[0].shard}.parquet"
        for name, manifest in manifests.items()
        for made in manifest.tiers.values()
    )
    writers = {str(footer(path).created_by) for path in paths if path.is_file()}
    return {"parquet": ", ".join(sorted(writers)), "numpy": version("numpy"), "pyarrow": version("pyarrow")}
