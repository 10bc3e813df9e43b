"""Checks of a manifest against the recipe, the profile, this version of Carrara, and the keys beside it.

Anyone can edit a manifest, so before it is frozen, published or trusted, every field is derived again and compared.
Which encoders recounted how many rows cannot be derived. It is compared with the proofs of a build; in a copy, only a
lock or counting again can show it.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from pipeline.artifacts.journal import UNREADABLE
from pipeline.artifacts.manifest import (
    Manifest,
    ProvenCounts,
    ShardRecord,
    StratumRecord,
    TierManifest,
    Totals,
    differences,
)
from pipeline.artifacts.parquet import content_key, read_rows
from pipeline.artifacts.split import Split
from pipeline.assemble.plan import Plan, columns_version
from pipeline.errors import CarraraError
from pipeline.profiles import Profile
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import CANARY, Row, row_text
from pipeline.tasks import task_of
from pipeline.verify.lock import profile_fault
from pipeline.verify.seal import release_fields, tier_fields
from pipeline.verify.shard import read_proof_file
from pipeline.verify.statistics import key_tables

Differences = Iterator[tuple[str, str, str]]
Place = tuple[tuple[Any, ...], tuple[Any, ...]]
"""A row's family, subtask, length and complexity, and its columns in OF_STRATUM."""
OF_STRATUM = ("shots", "context_tokens", "max_new_tokens", "task_version")
ECHOED = ("recipe_digest", "seed")
"""Fields that a recipe derived from the manifest cannot contradict."""


def published_recipe(manifest: Manifest, tier: str) -> Recipe:
    """Return a tier's recipe as far as a manifest states it; if it states the seed, every sample can be drawn again."""
    made = manifest.tiers[tier]
    strata = tuple(
        _with_complexity(cell, Stratum(
            cell.family, cell.subtask, tier, cell.length, cell.complexity or 0, cell.rows // (cell.blocks or 1),
            cell.shots, tuple(sorted((cell.knobs or {}).items())), cell.blocks or 1,
        ))
        for cell in made.strata
    )  # fmt: skip
    return Recipe(
        manifest.release, manifest.version, made.seed or 0, tier, strata, manifest.variant, manifest.frame, made.reserve
    )


def _with_complexity(record: StratumRecord, cell: Stratum) -> Stratum:
    """Return a stratum; if its complexity is withheld, with one that matches its `max_new_tokens`."""
    known = [replace(cell, complexity=complexity) for complexity in task_of(cell).complexities]
    rooms = [task_of(each).max_new_tokens_of(each) for each in known]
    if record.complexity is not None or len({*rooms}) == 1:
        return cell
    return next((each for each, room in zip(known, rooms, strict=True) if room == record.max_new_tokens), known[0])


def claim_faults(split: Split, profile: Profile, recipes: Mapping[str, Recipe]) -> Iterator[str]:
    """Yield the fields of a manifest that differ from what they are derived from.

    Args:
        split: the folder, with its manifest.
        profile: the profile that its rows are cut for.
        recipes: the recipes of the release folder, by tier. If a tier has none, its fields are checked for consistency
            with each other and with the keys.
    """
    manifest = split.manifest
    cells = (cell for made in manifest.tiers.values() for cell in made.strata)
    top: dict[str, Any] = {"canary": CANARY, "schema_version": columns_version(cells)}
    if fault := profile_fault(profile, manifest.tokenizer.digest, manifest.tokenizer.vocabulary_sha256):
        yield fault
    for tier, made in manifest.tiers.items():
        recipe = recipes.get(tier) or published_recipe(manifest, tier)
        top |= release_fields(recipe, profile)
        try:
            wanted = tier_fields(Plan(recipe, (profile,), split.folder, recipe.families), profile)
            if tier not in recipes:
                wanted = {name: value for name, value in wanted.items() if name not in ECHOED}
            if _has_keys(made) and recipe.tag != made.tag:
                yield f"tier {tier} has tag {made.tag}, which does not follow from its seed and version"
                del wanted["tag"]
            wrong = [*_differences(made, wanted, partial=not _has_keys(made)), *_sums(made)]
        except (CarraraError, *UNREADABLE) as fault:
            yield f"tier {tier} cannot be of this version of Carrara ({fault})"
            continue
        yield from (f"tier {tier} says {place} is {claimed}, where {why}" for place, claimed, why in wrong)
        for name, claimed, total in differences(made.totals, Totals.of_shards(made.shards)):
            yield f"tier {tier} says {claimed} {name}, but its shards add up to {total}"
        yield from (f"tier {tier}{fault}" for fault in _row_faults(split, tier))
    for place, claimed, why in _differences(manifest, top):
        if place not in ("tokenizer.digest", "tokenizer.vocabulary_sha256"):
            yield f"{place} is {claimed}, where {why}"
    for name, claimed, total in differences(
        manifest.totals, Totals.of(made.totals for made in manifest.tiers.values())
    ):
        yield f"totals.{name} is {claimed}, but its tiers add up to {total}"


def _has_keys(made: TierManifest) -> bool:
    """Return whether a tier has keys; if not, they are withheld."""
    return all(shard.keys_sha256 for shard in made.shards)


def _differences(manifest: Manifest | TierManifest, wanted: Mapping[str, Any], *, partial: bool = False) -> Differences:
    """Yield place, value and what would be right; with `partial`, ignore what public manifests leave out.

    Strata of public manifests have no complexity, and of their knobs only the corpus.
    """
    for place, old, new in differences({name: getattr(manifest, name) for name in wanted}, dict(wanted)):
        if not (partial and (old == "null" or place in ("tag", "pools") or place.endswith((".knobs", ".blocks")))):
            yield place, old, f"the recipe gives {new}" if place != "canary" else f"Carrara writes {new}"


def _sums(made: TierManifest) -> Differences:
    """Yield where `proven` differs from the sums over the shards, as far as these state them."""
    proven = made.proven
    sums = ProvenCounts.of(made.shards)
    wanted: dict[str, Any] = {"rows": sums.rows, "exact": sums.rows}
    if all(shard.is_proof for shard in made.shards):
        wanted = asdict(sums)
        named = {*proven.second} - {*(sums.quick or ())}  # older manifests name it under both
        wanted["second"] = proven.second if named == {*sums.second} - {*(sums.quick or ())} else sums.second
    elif proven.recounted > sums.rows or proven.solved > sums.rows:
        yield "proven", f"{proven.solved} solved, {proven.recounted} recounted", f"its shards hold {sums.rows} rows"
    for place, old, new in differences({name: getattr(proven, name) for name in wanted}, wanted):
        yield f"proven.{place}", old, f"its shards give {new}"


def _row_faults(split: Split, tier: str) -> Iterator[str]:
    """Yield where a tier's shards, strata and tables differ from its keys, or from its index if keys are withheld."""
    made, faults = split.manifest.tiers[tier], list[str]()
    strata = Counter[Place]()

    def rows(_: list[str]) -> Iterator[Row]:
        for shard in made.shards:
            part = "keys" if shard.keys_sha256 else "index"
            path = split.folder / part / f"{shard.shard}.parquet"
            yield from _read(path, shard, strata, faults)

    try:
        if not _has_keys(made):
            deque(rows([]), maxlen=0)
        else:
            tables = key_tables(rows)
            for place, old, new in differences({name: getattr(made, name) for name in tables}, tables):
                faults.append(f" says {place} is {old}, where its keys give {new}")
    except (CarraraError, *UNREADABLE):
        return  # checking the shard reports keys that cannot be read
    yield from faults
    yield from _strata_faults(made, strata)
    for shard in made.shards:
        proof = read_proof_file(split.folder / "proofs" / f"{shard.shard}.json")
        for name, old, new in differences(shard, proof) if proof else ():
            yield f" says of {shard.shard} that {name} is {old}, where its proof has {new}"


def _read(path: Path, shard: ShardRecord, strata: Counter[Place], faults: list[str]) -> Iterator[Row]:
    """Yield the keys of a shard; at the end, append to `faults` where the manifest's record differs from them."""
    total, windows, prompts, solved = hashlib.sha256(), list[int](), 0, 0
    for row in read_rows(path):
        if shard.row_digest is not None:
            total.update(row_text(row))
        windows.append(row["context_tokens"])
        prompts += row["prompt_tokens"]
        solved += json.loads(row["metadata"]).get("proof", "solved") == "solved"
        place = row["family"], row["subtask"], row["length"], row.get("complexity")
        strata[place, tuple(row[name] for name in OF_STRATUM)] += 1
        yield row
    computed: dict[str, Any] = {
        "rows": len(windows),
        "tokens": sum(windows),
        "prompt_tokens": prompts,
        "fewest_tokens": min(windows, default=0),
        "most_tokens": max(windows, default=0),
    }
    if shard.row_digest is not None:
        computed |= {"row_digest": total.hexdigest(), "key": content_key(path), "solved": solved}
    for name, old, new in differences({name: getattr(shard, name) for name in computed}, computed):
        faults.append(f" says of {shard.shard} that {name} is {old}, where its keys give {new}")


def _strata_faults(made: TierManifest, counted: Mapping[Place, int]) -> Iterator[str]:
    """Yield the strata whose number or kind of rows differs from the manifest.

    Where complexities are withheld, strata of one place may differ in the room for the reply.
    """
    places = defaultdict[tuple[Any, ...], list[StratumRecord]](list)
    for cell in made.strata:
        places[cell.family, cell.subtask, cell.length, cell.complexity].append(cell)
    counts = Counter[tuple[Any, ...]]()
    for (place, kind), rows in counted.items():
        counts[place] += rows
        kinds = [tuple(getattr(cell, name) for name in OF_STRATUM) for cell in places.get(place, ())]
        for name, value, claimed in zip(OF_STRATUM, kind, kinds[0], strict=True) if kinds and kind not in kinds else ():
            if claimed != value:
                yield f", {_named(place)}: says {name} is {claimed}, where its keys give {value}"
    for place in sorted(places.keys() | counts.keys(), key=str):
        wanted = sum(cell.rows for cell in places.get(place, ()))
        if wanted != counts[place]:
            yield f", {_named(place)}: {counts[place]} rows, expected {wanted}"


def _named(place: Iterable[Any]) -> str:
    return " ".join(str(part) for part in place if part is not None)


def first_claim_fault(split: Split, profile: Profile, recipes: Iterable[Recipe]) -> str:
    """Return the first fault of a manifest in one line; "" if there is none."""
    fault = next(claim_faults(split, profile, {recipe.tier: recipe for recipe in recipes}), "")
    where = str(split.folder / "manifest.json")
    return f"{where!r}: {fault}: it was edited, or written by another version of Carrara: verify it" if fault else ""
