"""Seals that go before a build changes what they are for: until it has ended, its folder says that it is not sealed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from pipeline.assemble.owned import remove
from pipeline.assemble.plan import RESERVED, Plan
from pipeline.errors import CarraraError
from pipeline.paths import in_order
from pipeline.profiles import Profile, load_profile
from pipeline.profiles.keeping import known_profile
from pipeline.prove.proof import recorded
from pipeline.recipe import digest
from pipeline.store.manifest import Made, manifest_path, read_manifest, unseal
from pipeline.store.recipes import is_kept
from pipeline.typed import PLAIN


def give_up(plan: Plan) -> list[str]:
    """Take away what a folder says of a tier that the plan makes anew: proofs of other shards, then the seals.

    All profiles of the folder are looked at, since they share the recipe; other tiers stay sealed. Shards stay until
    they are replaced. The recipe is to be kept after this, so that what a killed process left is found again.

    Returns:
        The profiles that were sealed, by name.
    """
    again, found = is_kept(plan.out, plan.recipe), []
    own = {profile.name: profile for profile in plan.profiles}
    for name in sorted(own.keys() | _others(plan)):
        known = read_manifest(plan.out, name)
        made = known.tiers.get(plan.recipe.tier) if known else None
        differs = made is not None and _differs(plan, own.get(name), made)
        if differs or not again:
            remove(_stale(plan, name, own.get(name)))
        if differs:
            unseal(manifest_path(plan.out, name), plan.recipe.tier)
            found.append(name)
    return found


def _others(plan: Plan) -> set[str]:
    """Return the names of all that may be profiles of a folder."""
    return {path.name for path in plan.out.glob("*") if re.search(PLAIN, path.name)} - RESERVED


def _differs(plan: Plan, profile: Profile | None, made: Made) -> bool:
    """Tell whether a tier was sealed for another recipe, or with other shards than a profile of the plan has."""
    if made.recipe_digest != digest(plan.recipe):
        return True
    shards = [shard for family in plan.families for shard in plan.shards(family, profile)] if profile else []
    keys = {shard.shard: shard.key for shard in made.shards}
    return any(keys.get(shard.name) != shard.key for shard in shards)


def _stale(plan: Plan, name: str, profile: Profile | None) -> Iterator[Path]:
    """Yield the proofs of shards that the recipe does not make; all of a profile that cannot be loaded."""
    profile = profile or _loaded(plan, name)
    keys = {shard.path(plan.out, "proofs"): shard.key for shard in plan.of_profile(profile)} if profile else {}
    paths = sorted((plan.out / name / "proofs").glob(f"*/{plan.recipe.tier}/test-*.json"))
    for path, proof in zip(paths, in_order(recorded, paths, plan.out), strict=True):
        if proof is None or proof.key != keys.get(path):
            yield path


def _loaded(plan: Plan, name: str) -> Profile | None:
    try:
        return load_profile(known_profile(plan.out, name))
    except CarraraError:
        return None
