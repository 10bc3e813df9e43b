"""Sealing: the manifest of a profile is written last, from the proofs of all shards, and only if all exist."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from pipeline.artifacts.files import (
    exclusive_lock,
    read_record,
    remove_temporary,
)
from pipeline.artifacts.manifest import (
    COUNTED,
    Manifest,
    PoolRecord,
    ProvenCounts,
    ShardRecord,
    StratumRecord,
    TierManifest,
    Tokenizer,
    Totals,
    differences,
    manifest_path,
    read_manifest,
    read_tier,
    unseal_tier,
    write_manifest,
)
from pipeline.artifacts.parquet import read_rows
from pipeline.artifacts.recipes import has_recipe, recipe_path
from pipeline.assemble.jobs import PackJob
from pipeline.assemble.plan import RESERVED, Plan, Shard, columns_version, owned_files, remove, stale_shards
from pipeline.errors import BuildError, CarraraError, CorruptError
from pipeline.executors import MARK_PREFIX
from pipeline.profiles import Profile, load_profile
from pipeline.profiles.adopt import known_profile
from pipeline.recipe import (
    Recipe,
    Stratum,
    digest,
)
from pipeline.rows import CANARY, Row
from pipeline.storage import map_in_order, prefetch
from pipeline.tasks import task_of
from pipeline.typed import (
    PLAIN,
    TIERS,
)
from pipeline.verify.lock import check_row_digests
from pipeline.verify.shard import ProveJob, read_proof_file, read_proofs
from pipeline.verify.statistics import key_tables
from pipeline.version import __version__


def make_manifest(plan: Plan, profile: Profile, proofs: Sequence[ShardRecord]) -> Manifest:
    """Return a profile's manifest with a tier made from its proofs and keys; other tiers of the release stay in it.

    Args:
        plan: the plan that the tier was built from.
        profile: the profile that its rows are cut for.
        proofs: the proofs of all its shards, sorted by name.
    """
    sizes = {proof.shard: proof.keys_bytes or 0 for proof in proofs}

    def keys(columns: list[str]) -> Iterator[Row]:
        files = ((shard.path(plan.out, "keys"), sizes[shard.name]) for shard in plan.of_profile(profile))
        for path in prefetch(files, plan.out):
            yield from read_rows(path, columns)

    before, head = read_manifest(plan.out, profile.name), release_fields(plan.recipe, profile)
    same = before is not None and {name: getattr(before, name) for name in head} == head
    tiers = dict(before.tiers) if before and same else {}
    tiers[plan.recipe.tier] = TierManifest(
        **tier_fields(plan, profile),
        **key_tables(keys),
        proven=ProvenCounts.of(proofs),
        totals=Totals.of_shards(proofs),
        shards=tuple(proofs),
    )
    return Manifest(
        **head,
        carrara=__version__,
        schema_version=columns_version(cell for tier in tiers.values() for cell in tier.strata),
        canary=CANARY,
        tiers={tier: tiers[tier] for tier in TIERS if tier in tiers},
        totals=Totals.of(tier.totals for tier in tiers.values()),
    )


def release_fields(recipe: Recipe, profile: Profile) -> dict[str, Any]:
    """Return the fields of a manifest that all its tiers share."""
    tokenizer = Tokenizer(
        name=profile.name,
        title=profile.title,
        models=tuple(profile.models),
        notice=profile.notice,
        digest=profile.digest,
        vocabulary_sha256=profile.vocabulary.sha256,
        template=profile.template_kind,
        windows={str(length): window for length, window in profile.windows},
    )
    return {
        "release": recipe.release,
        "version": recipe.version,
        "variant": recipe.variant,
        "frame": recipe.frame,
        "tokenizer": tokenizer,
    }


def tier_fields(plan: Plan, profile: Profile) -> dict[str, Any]:
    """Return the fields of a tier that follow from recipe and profile, without reading rows."""
    recipe = plan.recipe
    pools = [spec for family in recipe.families for spec in plan.pools(family)]
    return {
        "seed": recipe.seed,
        "tag": recipe.tag,
        "reserve": profile.reserve or recipe.reserve,
        "recipe_digest": digest(recipe),
        "longest": max(cell.length for cell in recipe.strata),
        "pools": {spec.name: PoolRecord(key=plan.pool_key(spec), source=spec.source) for spec in pools},
        "strata": tuple(_stratum(cell, profile, recipe) for cell in recipe.strata),
    }


def _stratum(cell: Stratum, profile: Profile, recipe: Recipe) -> StratumRecord:
    task = task_of(cell)
    return StratumRecord(
        family=cell.family,
        subtask=cell.subtask,
        length=cell.length,
        complexity=cell.complexity,
        rows=cell.total,
        blocks=cell.blocks,
        shots=task.shots_of(cell),
        context_tokens=profile.window(cell.length),
        max_new_tokens=profile.reply_tokens(recipe.reserve, task.max_new_tokens_of(cell)),
        task_version=task.version,
        knobs=dict(cell.knobs),
    )


def check_recipe(out: Path, recipe: Recipe) -> None:
    """Check that all manifests of a folder were sealed for its recipe.

    Raises:
        BuildError: with the recipe and the first manifest that was not.
    """
    for path in sorted(out.glob("*/manifest.json")):
        made = read_tier(out, path.parent.name, recipe.tier)
        if made and made.recipe_digest != digest(recipe):
            raise BuildError(
                f"{str(recipe_path(out, recipe.tier))!r} has digest {digest(recipe)[:12]}, but {str(path)!r} was "
                f"sealed for {(made.recipe_digest or 'none')[:12]}: restore it, or build its tier again; nothing was "
                "moved"
            )


def listed_shards(plan: Plan, profile: Profile) -> dict[str, ShardRecord]:
    """Return the records of the tier's shards in a profile's manifest; empty if there are none, or only public ones."""
    tier = read_tier(plan.out, profile.name, plan.recipe.tier)
    shards = tier.shards if tier else ()  # records of a withheld split's public manifest are not complete
    return {shard.shard: shard for shard in shards} if all(shard.is_proof for shard in shards) else {}


def check_manifest(plan: Plan, profile: Profile) -> None:
    """Check that a manifest, if there is one, agrees with this recipe, profile and version of Carrara.

    Raises:
        CorruptError: if it cannot be read.
        BuildError: with the first difference.
    """
    path, known = manifest_path(plan.out, profile.name), read_manifest(plan.out, profile.name)
    if known is None:
        if path.exists():
            raise CorruptError(f"{str(path)!r} is not a manifest: delete it and verify again to seal it from the bytes")
        return
    tier = known.tiers.get(plan.recipe.tier)
    if tier is None:
        return
    wanted = release_fields(plan.recipe, profile), tier_fields(plan, profile)
    for record, made in zip((known, tier), wanted, strict=True):
        for place, old, new in differences({name: getattr(record, name) for name in made}, made):
            raise BuildError(
                f"{str(path)!r} says {place} is {old}, where the recipe gives {new}: it was edited, or sealed with "
                f"another profile or version of Carrara ({known.carrara}; this is {__version__}): verify it "
                "with those; nothing was moved"
            )


def seal_if_proven(
    plan: Plan, profile: Profile, seen: Mapping[Path, ShardRecord], check_balance: Callable[[], None]
) -> Manifest | None:
    """Seal a profile if all proofs of the recipe exist; keep a manifest that is up to date.

    Args:
        plan: the plan that the folder is built from.
        profile: the profile to seal.
        seen: known proofs by path, which are not read from the store again.
        check_balance: raises if the rows are not dealt evenly; called before a manifest is written.

    Returns:
        The manifest, or None if proofs are missing.
    """
    proofs = _all_proofs(plan, profile, seen)
    if proofs is None:
        return None
    check_row_digests(plan.out, profile.name, {proof.shard: str(proof.row_digest) for proof in proofs})
    remove(stale_shards(plan, profile))
    remove_temporary([plan.out / MARK_PREFIX, *owned_files(plan, profile)])
    known, path = read_manifest(plan.out, profile.name), manifest_path(plan.out, profile.name)
    tier = known.tiers.get(plan.recipe.tier) if known else None
    if tier and (tier.recipe_digest, tier.shards) == (digest(plan.recipe), tuple(proofs)):
        return known
    check_balance()
    with exclusive_lock(path.parent):  # another tier may be sealed at the same time
        manifest = make_manifest(plan, profile, proofs)
        write_manifest(path, manifest)
    return manifest


def verify_manifest(
    plan: Plan, profile: Profile, fresh: Mapping[Path, ShardRecord], check_balance: Callable[[], None]
) -> Manifest | None:
    """Compare a manifest with fresh proofs; seal a profile that has none.

    Args:
        plan: the plan that the folder was built from.
        profile: the profile whose shards were proven.
        fresh: the fresh proofs, by path.
        check_balance: raises if the rows are not dealt evenly.

    Returns:
        The manifest, or None if proofs are missing.

    Raises:
        CorruptError: if the manifest differs, or there are shards that it does not list.
    """
    known = read_manifest(plan.out, profile.name)
    if known is None or plan.recipe.tier not in known.tiers:
        return seal_if_proven(plan, profile, {}, check_balance)
    proofs = _all_proofs(plan, profile, fresh)
    if proofs is None:
        return None
    check_row_digests(plan.out, profile.name, {proof.shard: str(proof.row_digest) for proof in proofs})
    for path in stale_shards(plan, profile):
        if path.suffix == ".parquet" and path.exists():  # a store may list files that are gone
            raise CorruptError(f"{str(path)!r} is not in the manifest: readers would take it for a shard: remove it")
    check_balance()
    path = manifest_path(plan.out, profile.name)
    with exclusive_lock(path.parent):
        made = make_manifest(plan, profile, proofs)
        for place, old, new in differences(read_record(path, dict[str, Any]), made):  # unknown keys count, too
            if place != "carrara" and place.rpartition(".")[2].partition("[")[0] not in COUNTED:
                raise CorruptError(
                    f"{str(path)!r} says {place} is {old}, where the bytes give {new}: it was edited; delete it and "
                    "verify again to seal it from the bytes"
                )
        if msgspec.structs.replace(known, carrara=made.carrara) != made:
            with suppress(BuildError):
                write_manifest(path, made)
    return made


def proven_shards(plan: Plan) -> list[tuple[Shard, bool]]:
    """Return every shard of a plan, and whether it is built and proven."""
    shards = plan.all_shards()
    proofs = read_proofs([ProveJob(PackJob(plan, shard)) for shard in shards], plan.out)
    return [(shard, proof is not None) for shard, proof in zip(shards, proofs, strict=True)]


def _all_proofs(plan: Plan, profile: Profile, seen: Mapping[Path, ShardRecord]) -> list[ShardRecord] | None:
    """Return the proofs of all shards of a profile, sorted by name; None if one is missing."""
    jobs = [ProveJob(PackJob(plan, shard)) for shard in plan.of_profile(profile)]
    read = read_proofs([job for job in jobs if job.path not in seen], plan.out)
    proofs = [seen[job.path] if job.path in seen else next(read) for job in jobs]
    known = sorted((proof for proof in proofs if proof), key=lambda proof: proof.shard)
    return known if len(known) == len(jobs) else None


def unseal_changed(plan: Plan) -> list[str]:
    """Remove stale proofs of a tier that the plan makes again, then the tier from manifests.

    This covers all profiles of the folder, since they share the recipe; other tiers stay sealed, and shards stay until
    they are replaced. Write the new recipe after this, so that a run after a crash repeats it.

    Returns:
        The names of profiles that were sealed.
    """
    again, unsealed = has_recipe(plan.out, plan.recipe), []
    own = {profile.name: profile for profile in plan.profiles}
    folders = {path.name for path in plan.out.glob("*") if re.search(PLAIN, path.name)} - RESERVED
    for name in sorted(own.keys() | folders):
        made = read_tier(plan.out, name, plan.recipe.tier)
        differs = made is not None and _is_changed(plan, own.get(name), made)
        if differs or not again:
            remove(_stale_proofs(plan, name, own.get(name)))
        if differs:
            unseal_tier(manifest_path(plan.out, name), plan.recipe.tier)
            unsealed.append(name)
    return unsealed


def _is_changed(plan: Plan, profile: Profile | None, made: TierManifest) -> bool:
    """Return whether a tier was sealed for another recipe, or with other shards than the plan makes."""
    if made.recipe_digest != digest(plan.recipe):
        return True
    shards = [shard for family in plan.families for shard in plan.shards(family, profile)] if profile else []
    keys = {shard.shard: shard.key for shard in made.shards}
    return any(keys.get(shard.name) != shard.key for shard in shards)


def _stale_proofs(plan: Plan, name: str, profile: Profile | None) -> Iterator[Path]:
    """Yield the proofs of shards that the recipe does not make; all proofs if the profile cannot be loaded."""
    with suppress(CarraraError):
        profile = profile or load_profile(known_profile(plan.out, name))
    keys = {shard.path(plan.out, "proofs"): shard.key for shard in plan.of_profile(profile)} if profile else {}
    paths = sorted((plan.out / name / "proofs").glob(f"*/{plan.recipe.tier}/test-*.json"))
    for path, proof in zip(paths, map_in_order(read_proof_file, paths, plan.out), strict=True):
        if proof is None or proof.key != keys.get(path):
            yield path
