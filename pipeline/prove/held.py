"""A sealed folder held to its manifests before and after it is proven again.

What was edited, or made by another version, is named. Nothing is written here: no shard pays for what a record or the
machine is guilty of.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from pipeline import __version__
from pipeline.assemble.plan import Plan
from pipeline.errors import BuildError, CorruptError
from pipeline.profiles import Profile
from pipeline.prove.proof import COUNTED, Proof
from pipeline.prove.seal import header, manifest_of, outline
from pipeline.recipe import Recipe, digest
from pipeline.store.manifest import Manifest, manifest_path, read_manifest
from pipeline.store.recipes import recipe_path
from pipeline.typed import read_record


def check_recipe(out: Path, recipe: Recipe) -> None:
    """Check that the recipe kept in a folder is the one that its manifests were sealed for.

    Raises:
        BuildError: naming the recipe and the manifest.
    """
    for path in sorted(out.glob("*/manifest.json")):
        known = read_manifest(out, path.parent.name)
        made = known.tiers.get(recipe.tier) if known else None
        if made and made.recipe_digest != digest(recipe):
            raise BuildError(
                f"{str(recipe_path(out, recipe.tier))!r} has digest {digest(recipe)[:12]}, but {str(path)!r} was "
                f"sealed for {(made.recipe_digest or 'none')[:12]}: restore it, or build its tier again; nothing was "
                "moved"
            )


def listed(plan: Plan, profile: Profile) -> dict[str, Proof]:
    """Return what a profile's manifest says of the shards of the plan's tier."""
    known = read_manifest(plan.out, profile.name)
    tier = known.tiers.get(plan.recipe.tier) if known else None
    try:
        proofs = msgspec.convert(tier.shards if tier else (), list[Proof], from_attributes=True)
    except msgspec.ValidationError:  # the manifest of a published split tells less of a shard
        return {}
    return {proof.shard: proof for proof in proofs}


def check_sealed(plan: Plan, profile: Profile) -> None:
    """Check that a manifest, if there is one, says what this recipe, profile and version of Carrara make.

    Raises:
        CorruptError: if it cannot be read.
        BuildError: with the first difference.
    """
    path, known = manifest_path(plan.out, profile.name), read_manifest(plan.out, profile.name)
    if known is None:
        if path.exists():
            raise CorruptError(f"{str(path)!r} is no manifest: delete it and verify again to seal it from the bytes")
        return
    tier = known.tiers.get(plan.recipe.tier)
    if tier is None:
        return
    wanted = header(plan.recipe, profile), outline(plan, profile)
    for said, made in zip((known, tier), wanted, strict=True):
        for place, old, new in differences({name: getattr(said, name) for name in made}, made):
            raise BuildError(
                f"{str(path)!r} says {place} is {old}, where the recipe gives {new}: it was edited, or sealed with "
                f"another profile or version of Carrara ({known.carrara}; this is {__version__}): verify it "
                "with those; nothing was moved"
            )


def resealed(plan: Plan, profile: Profile, proofs: Iterable[Proof]) -> Manifest:
    """Return a manifest made again from the bytes.

    Raises:
        CorruptError: if the one there says otherwise, except of who counted.
    """
    path, made = manifest_path(plan.out, profile.name), manifest_of(plan, profile, proofs)
    for place, old, new in differences(read_record(path, dict[str, Any]), made):  # keys that no record has, too
        if place != "carrara" and place.rpartition(".")[2].partition("[")[0] not in COUNTED:
            raise CorruptError(
                f"{str(path)!r} says {place} is {old}, where the bytes give {new}: it was edited; delete it and verify "
                "again to seal it from the bytes"
            )
    return made


def differences(said: Any, made: Any, place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield where two values differ once they are JSON: the place, and both values, shortened."""
    if not place:
        said, made = (msgspec.json.decode(msgspec.json.encode(each)) for each in (said, made))
    if isinstance(said, dict) and isinstance(made, dict):
        for name in dict.fromkeys((*made, *said)):
            yield from differences(said.get(name), made.get(name), f"{place}.{name}".lstrip("."))
    elif isinstance(said, list) and isinstance(made, list) and len(said) == len(made):
        for at, (old, new) in enumerate(zip(said, made, strict=True)):
            yield from differences(old, new, f"{place}[{at}]")
    elif said != made:
        yield place, _short(said), _short(made)


def _short(value: Any) -> str:
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
