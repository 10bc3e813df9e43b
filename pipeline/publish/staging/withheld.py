"""A split in two: what may be public, and the keys, which carry the public ids.

Columns that tell an answer are dropped, not nulled. An id of a pair ends in its form, which is the answer's class: in
public the first of the two that stand side by side is `a`, the other `b`, and either may stand first.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from msgspec.structs import replace

from pipeline.assemble.ids import placed_names
from pipeline.rows import DATA_SCHEMA, KEYS_SCHEMA, plain_json, row_digest
from pipeline.store.files import below, file_digest
from pipeline.store.manifest import Cell, Made, Manifest, SealedShard, Totals
from pipeline.store.parquet import column, read_table, rewrite, write_table
from pipeline.store.split import Split

WITHHELD = ("complexity", "target", "answers", "needles")
"""Columns that no public file has. The complexity of a question that may have no answer is the answer's class."""

TOLD = ("canary", "prompt_sha256", "proof")
"""What of a row's metadata stays."""

PUBLIC = pa.schema([field for field in DATA_SCHEMA if field.name not in WITHHELD])
INDEX = pa.schema([field for field in KEYS_SCHEMA if field.name not in WITHHELD])
STRATUM = ("family", "subtask", "length", "shots", "context_tokens", "max_new_tokens", "task_version")
SHARD = ("shard", "rows", "tokens", "prompt_tokens", "fewest_tokens", "most_tokens")
NO_KEY = "withheld"
"""In the footer of public shards: a content key is a digest of the seed, by which guesses could be tried."""


def part(split: Split, public: Path, private: Path) -> tuple[Manifest, Manifest]:
    """Write the rows of a split without answers below `public`, and its keys below `private`.

    Returns:
        The public manifest, which tells no answer and nothing to make one from, and the private one.
    """
    names = _names(split)
    told: dict[str, Made] = {}
    kept: dict[str, Made] = {}
    for tier, made in split.manifest.tiers.items():
        pairs = [_shard(split, shard, public, private, names) for shard in made.shards]
        totals = replace(made.totals, bytes=sum(shown.data_bytes for shown, _ in pairs))
        told[tier] = public_tier(made, totals, tuple(shown for shown, _ in pairs))
        kept[tier] = replace(made, totals=totals, shards=tuple(hidden for _, hidden in pairs))
    whole = replace(split.manifest.totals, bytes=sum(made.totals.bytes for made in told.values()))
    shown = replace(split.manifest, withheld=WITHHELD, tiers=told, totals=whole)
    return shown, replace(split.manifest, tiers=kept, totals=whole)


def _names(split: Split) -> dict[str, str]:
    """Return the public id of every row by its own."""
    names: dict[str, str] = {}
    for made in split.manifest.tiers.values():
        paths = [split.folder / "keys" / f"{shard.shard}.parquet" for shard in made.shards]
        ids = [each for path in paths for each in column(read_table(path, ["id"]), "id")]
        names |= dict(zip(ids, placed_names(ids), strict=True))
    return names


def _shard(
    split: Split, shard: SealedShard, public: Path, private: Path, names: Mapping[str, str]
) -> tuple[SealedShard, SealedShard]:
    """Write one shard's public rows, their index, and its keys; return it as either manifest has it."""
    file = f"{shard.shard}.parquet"
    data, index, keys = below(public, "data", file), below(public, "index", file), below(private, "keys", file)
    rewrite(split.folder / "data" / file, data, NO_KEY, lambda table: _shown(_named(table, names), PUBLIC))
    own = _named(read_table(split.folder / "keys" / file), names)
    write_table(index, _shown(own, INDEX), NO_KEY)
    write_table(keys, own, str(shard.key))
    at = _digests("data", data)
    told = SealedShard(**{name: getattr(shard, name) for name in SHARD}, **at, **_digests("index", index))
    return told, replace(shard, **at, row_digest=row_digest(own.to_pylist()), **_digests("keys", keys))


def _digests(kind: str, path: Path) -> dict[str, Any]:
    return {f"{kind}_bytes": path.stat().st_size, f"{kind}_sha256": file_digest(path)}


def _named(table: pa.Table, names: Mapping[str, str]) -> pa.Table:
    return _put(table, "id", [names[each] for each in column(table, "id")])


def _shown(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Return the columns that may be public, and of metadata what tells nothing."""
    kept = (json.loads(each) for each in column(table, "metadata"))
    plain = [plain_json({name: metadata[name] for name in TOLD if name in metadata}) for metadata in kept]
    return _put(table, "metadata", plain).select(schema.names).cast(schema)


def _put(table: pa.Table, name: str, values: list[str]) -> pa.Table:
    at = table.schema.get_field_index(name)
    return table.set_column(at, table.schema.field(at), pa.array(values, pa.string()))


def public_tier(made: Made, totals: Totals, shards: tuple[SealedShard, ...]) -> Made:
    """Return what the public manifest says of a tier: no seed, no digest of it, no recipe, no chance, no depths."""
    return Made(
        tag=made.tag,
        reserve=made.reserve,
        longest=made.longest,
        strata=tuple(_merged(made.strata)),
        proven=made.proven,
        budgets=made.budgets,
        totals=totals,
        shards=shards,
    )


def _merged(strata: Iterable[Cell]) -> Iterator[Cell]:
    """Yield the strata as far as the public columns tell them apart, with the sum of their rows.

    Of their knobs the corpus stays: it decides who reads the rows, and whose licence they are under.
    """
    rows: Counter[tuple[Any, ...]] = Counter()
    for cell in strata:
        rows[*(getattr(cell, name) for name in STRATUM), (cell.knobs or {}).get("corpus")] += cell.rows
    for (*place, corpus), count in rows.items():
        knobs = {"corpus": corpus} if corpus else None
        yield Cell(**dict(zip(STRATUM, place, strict=True)), rows=count, knobs=knobs)
