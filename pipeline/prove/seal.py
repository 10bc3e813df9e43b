"""The manifest of a profile: written last, from the proofs of all its shards, and only if all are there."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from pipeline import __version__
from pipeline.assemble.plan import Plan
from pipeline.paths import fetched_ahead
from pipeline.profiles import Profile
from pipeline.prove.chance import CHANCE_COLUMNS, chances
from pipeline.prove.shard import Proof
from pipeline.recipe import TIERS, Recipe, Stratum, digest
from pipeline.rows import CANARY, SCHEMA_VERSION, Row
from pipeline.store.files import alone_in
from pipeline.store.manifest import (
    DEPTH_BINS,
    PORTIONS,
    Cell,
    Made,
    Manifest,
    Pool,
    Portions,
    SealedShard,
    Tokenizer,
    Totals,
    manifest_path,
    read_manifest,
    write_manifest,
)
from pipeline.store.parquet import read_rows
from pipeline.store.proven import Proven
from pipeline.tasks import task_of

SOUGHT = frozenset({"relevant", "match"})
"""Roles of the segments whose depths are counted: what a reader has to find, and what looks the same."""


def seal(plan: Plan, profile: Profile, proofs: Iterable[Proof]) -> Manifest:
    """Write a profile's manifest from the proofs of this tier; other tiers of the same release stay in it."""
    path = manifest_path(plan.out, profile.name)
    with alone_in(path.parent):  # another tier may be sealed at the same time
        manifest = manifest_of(plan, profile, proofs)
        write_manifest(path, manifest)
    return manifest


def manifest_of(plan: Plan, profile: Profile, proofs: Iterable[Proof]) -> Manifest:
    """Return what `seal` writes."""
    before, head = read_manifest(plan.out, profile.name), header(plan.recipe, profile)
    same = before is not None and {name: getattr(before, name) for name in head} == head
    tiers = dict(before.tiers) if before and same else {}
    tiers[plan.recipe.tier] = _tier(plan, profile, sorted(proofs, key=lambda proof: proof.shard))
    return Manifest(
        **head,
        carrara=__version__,
        schema_version=SCHEMA_VERSION,
        canary=CANARY,
        tiers={tier: tiers[tier] for tier in TIERS if tier in tiers},
        totals=Totals.of(tier.totals for tier in tiers.values()),
    )


def header(recipe: Recipe, profile: Profile) -> dict[str, Any]:
    """Return the fields of a manifest that all its tiers share."""
    release = {"release": recipe.release, "version": recipe.version, "variant": recipe.variant, "frame": recipe.frame}
    return {**release, "tokenizer": _tokenizer(profile)}


def outline(plan: Plan, profile: Profile) -> dict[str, Any]:
    """Return the fields of a tier that follow from the recipe alone."""
    recipe = plan.recipe
    pools = [spec for family in recipe.families for spec in plan.pools(family)]
    return {
        "seed": recipe.seed,
        "tag": recipe.tag,
        "reserve": profile.reserve or recipe.reserve,
        "recipe_digest": digest(recipe),
        "longest": max(cell.length for cell in recipe.strata),
        "pools": {spec.name: Pool(key=plan.pool_key(spec), source=spec.source) for spec in pools},
        "strata": tuple(_stratum(cell, profile, recipe) for cell in recipe.strata),
    }


def _tier(plan: Plan, profile: Profile, proofs: list[Proof]) -> Made:
    sizes = {proof.shard: proof.keys_bytes for proof in proofs}
    return Made(
        **outline(plan, profile),
        **key_tables(partial(_keys, plan, profile, sizes)),
        proven=proven_of(proofs),
        totals=shard_totals(proofs),
        shards=tuple(SealedShard(**asdict(proof)) for proof in proofs),
    )


def key_tables(keys: Callable[[list[str]], Iterator[Row]]) -> dict[str, Any]:
    """Return the fields of a tier that say something of its rows; `keys` gives some columns of their keys."""
    depths, budgets = Depths(), Budgets()
    columns = list(dict.fromkeys([*CHANCE_COLUMNS, *depths.columns, *budgets.columns]))
    found = chances(_noted(keys(columns), depths, budgets))
    return {"chance": tuple(found), "depths": depths.table, "budgets": budgets.table}


def _noted(keys: Iterable[Row], *tables: Depths | Budgets) -> Iterator[Row]:
    """Pass rows on, each noted in some tables: all are made in one reading."""
    for row in keys:
        for table in tables:
            table.note(row)
        yield row


def _keys(plan: Plan, profile: Profile, sizes: Mapping[str, int], columns: list[str]) -> Iterator[Row]:
    files = ((shard.path(plan.out, "keys"), sizes[shard.name]) for shard in plan.of_profile(profile))
    for path in fetched_ahead(files, plan.out):
        yield from read_rows(path, columns)


class Depths:
    """How many relevant and matching segments of each family lie in each tenth of the body, first to last."""

    columns = ("family", "needles")

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}

    def note(self, row: Mapping[str, Any]) -> None:
        """Count the segments of a row."""
        bins = self._counts.setdefault(row["family"], [0] * DEPTH_BINS)
        for needle in row["needles"]:
            if needle["role"] in SOUGHT and needle["depth"] is not None:
                bins[min(int(needle["depth"] * DEPTH_BINS), DEPTH_BINS - 1)] += 1

    @property
    def table(self) -> dict[str, tuple[int, ...]]:
        """The counts by family."""
        return {family: tuple(bins) for family, bins in self._counts.items()}


class Budgets:
    """What the windows of all rows of a length hold, in tokens."""

    columns = ("length", *PORTIONS.values())

    def __init__(self) -> None:
        self._sums: dict[int, Counter[str]] = {}

    def note(self, row: Mapping[str, Any]) -> None:
        """Add the parts of a row's window."""
        parts = self._sums.setdefault(row["length"], Counter())
        for part, name in PORTIONS.items():
            parts[part] += row[name]

    @property
    def table(self) -> dict[str, Portions]:
        """The sums by length, shortest first."""
        return {
            str(length): Portions(**{part: sums[part] for part in PORTIONS})
            for length, sums in sorted(self._sums.items())
        }


def _tokenizer(profile: Profile) -> Tokenizer:
    return Tokenizer(
        name=profile.name,
        title=profile.title,
        models=tuple(profile.models),
        notice=profile.notice,
        digest=profile.digest,
        vocabulary_sha256=profile.vocabulary.sha256,
        template=profile.template_kind,
        windows={str(length): window for length, window in profile.windows},
    )


def _stratum(cell: Stratum, profile: Profile, recipe: Recipe) -> Cell:
    task = task_of(cell)
    return Cell(
        family=cell.family,
        subtask=cell.subtask,
        length=cell.length,
        complexity=cell.complexity,
        rows=cell.total,
        blocks=cell.blocks,
        shots=task.shots_of(cell),
        context_tokens=profile.window(cell.length),
        max_new_tokens=profile.reply_tokens(recipe.reserve, task.max_new_tokens),
        task_version=task.version,
        knobs=dict(cell.knobs),
    )


def shard_totals(proofs: Sequence[Proof]) -> Totals:
    """Return what some shards hold together."""
    return Totals(
        rows=sum(proof.rows for proof in proofs),
        tokens=sum(proof.tokens for proof in proofs),
        bytes=sum(proof.data_bytes for proof in proofs),
    )


def proven_of(proofs: Sequence[Proof]) -> Proven:
    """Return what the proofs of some shards say together."""
    quick = {proof.quick for proof in proofs if proof.quick}
    return Proven(
        rows=sum(proof.rows for proof in proofs),
        exact=sum(proof.rows for proof in proofs),
        solved=sum(proof.solved for proof in proofs),
        recounted=sum(proof.recounted for proof in proofs),
        counter=tuple(sorted({proof.counter for proof in proofs})),
        second=tuple(sorted({proof.second for proof in proofs})),
        quick=tuple(sorted(quick)) or None,
        quick_recounted=sum(proof.quick_recounted or 0 for proof in proofs) if quick else None,
    )
