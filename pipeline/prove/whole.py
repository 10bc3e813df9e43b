"""A profile of which every shard is proven: it is sealed, or held to the seal that it has."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import msgspec

from pipeline.assemble.owned import owned, remove, strangers
from pipeline.assemble.plan import Plan, Shard
from pipeline.assemble.shards import PackJob
from pipeline.engine import MARK
from pipeline.errors import BuildError, CorruptError
from pipeline.frozen.guard import check_rows
from pipeline.profiles import Profile
from pipeline.prove.held import resealed
from pipeline.prove.proof import Proof
from pipeline.prove.seal import seal
from pipeline.prove.shard import ProveJob, read_proofs
from pipeline.recipe import digest
from pipeline.store.files import alone_in, clean_aside
from pipeline.store.manifest import Made, Manifest, SealedShard, manifest_path, read_manifest, write_manifest


def sealed(
    plan: Plan, profile: Profile, seen: Mapping[Path, Proof], check_balance: Callable[[], None]
) -> Manifest | None:
    """Seal a profile if the proofs of the whole recipe are there; keep a manifest that already says so.

    Args:
        plan: what the folder is built from.
        profile: the one to seal.
        seen: proofs by their files that are not read again, since a store would be asked for them.
        check_balance: raises if the rows are not dealt evenly; called before a manifest is written.

    Returns:
        The manifest, or None if proofs are owed.
    """
    proofs = _proofs(plan, profile, seen)
    if proofs is None:
        return None
    check_rows(plan.out, profile.name, {proof.shard: proof.row_digest for proof in proofs})
    remove(strangers(plan, profile))
    clean_aside([plan.out / MARK, *owned(plan, profile)])
    known = read_manifest(plan.out, profile.name)
    tier = known.tiers.get(plan.recipe.tier) if known else None
    if known and tier and _says(tier, digest(plan.recipe), proofs):
        return known
    check_balance()
    return seal(plan, profile, proofs)


def held_to_seal(
    plan: Plan, profile: Profile, fresh: Mapping[Path, Proof], check_balance: Callable[[], None]
) -> Manifest | None:
    """Hold a manifest to what was proven just now; seal a profile that has none.

    Args:
        plan: what the folder was built from.
        profile: the one whose shards were proven.
        fresh: what was proven, by the files of the proofs.
        check_balance: raises if the rows are not dealt evenly.

    Returns:
        The manifest, or None if proofs are owed.

    Raises:
        CorruptError: if the manifest says otherwise, or a file lies beside the shards that it does not list.
    """
    known = read_manifest(plan.out, profile.name)
    if known is None or plan.recipe.tier not in known.tiers:
        return sealed(plan, profile, {}, check_balance)
    proofs = _proofs(plan, profile, fresh)
    if proofs is None:
        return None
    check_rows(plan.out, profile.name, {proof.shard: proof.row_digest for proof in proofs})
    for path in strangers(plan, profile):
        if path.suffix == ".parquet" and path.exists():  # a store may list what is gone
            raise CorruptError(f"{str(path)!r} is not in the manifest: readers would take it for a shard: remove it")
    check_balance()
    path = manifest_path(plan.out, profile.name)
    with alone_in(path.parent):
        made = resealed(plan, profile, proofs)
        if msgspec.structs.replace(known, carrara=made.carrara) != made:
            with suppress(BuildError):
                write_manifest(path, made)
    return made


def proof_state(plan: Plan) -> list[tuple[Shard, bool]]:
    """Return every shard of a plan, and whether it is there and proven."""
    shards = plan.all_shards()
    proofs = read_proofs([_job(plan, shard) for shard in shards], plan.out)
    return [(shard, proof is not None) for shard, proof in zip(shards, proofs, strict=True)]


def _proofs(plan: Plan, profile: Profile, seen: Mapping[Path, Proof]) -> list[Proof] | None:
    """Return the proofs of all shards of a profile, of which some were `seen`; None if one is not there."""
    jobs = [_job(plan, shard) for shard in plan.of_profile(profile)]
    read = read_proofs([job for job in jobs if job.path not in seen], plan.out)
    proofs = [seen[job.path] if job.path in seen else next(read) for job in jobs]
    found = [proof for proof in proofs if proof]
    return found if len(found) == len(jobs) else None


def _says(tier: Made, recipe: str, proofs: Sequence[Proof]) -> bool:
    shards = tuple(SealedShard(**asdict(proof)) for proof in sorted(proofs, key=lambda proof: proof.shard))
    return (tier.recipe_digest, tier.shards) == (recipe, shards)


def _job(plan: Plan, shard: Shard) -> ProveJob:
    return ProveJob(PackJob(plan, shard))
