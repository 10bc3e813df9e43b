"""The JSON Schemas of what Carrara reads and writes, made from the code. ``python -m pipeline.schema schemas``."""

from __future__ import annotations

import json
import sys
from dataclasses import fields
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.frozen.lock import LOCK_FORMAT, Lock, PoolLock, ProfileLock, ShardLock, SplitLock, TaskLock, TierLock
from pipeline.profiles.spec import ENGINES, Engine, Pieces, Template, Vocabulary
from pipeline.recipe import FRAMES, TIERS, K
from pipeline.rows import COLUMNS, TEXT_COLUMNS, Column
from pipeline.score.results import ANSWERED, MISSING, UNUSABLE, Cell, Classes
from pipeline.score.views import SAID
from pipeline.store.manifest import DEPTH_BINS, PORTIONS

Schema = dict[str, Any]
DRAFT = "https://json-schema.org/draft/2020-12/schema"
WHOLE: Schema = {"type": "integer", "minimum": 0}
SHA256: Schema = {"type": "string", "pattern": "^[0-9a-f]{64}$"}
TEXT: Schema = {"type": "string"}


def schemas() -> dict[str, Schema]:
    """Return every schema by the name of its file."""
    made = {
        "row": _rows(COLUMNS, "A row of a shard"),
        "key": _rows([column for column in COLUMNS if column.name not in TEXT_COLUMNS], "A row without its text"),
        "recipe": _recipe(),
        "profile": _profile(),
        "manifest": _manifest(),
        "lock": _lock(),
        "scores": _scores(),
    }
    return {f"{name}.schema.json": {"$schema": DRAFT, **schema} for name, schema in made.items()}


def _closed(title: str, properties: dict[str, Schema], optional: tuple[str, ...] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {
        "title": title,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }


def _list(item: Schema, **more: Any) -> Schema:
    return {"type": "array", "items": item, **more}


def _map(value: Schema) -> Schema:
    return {"type": "object", "additionalProperties": value}


def _rows(columns: tuple[Column, ...] | list[Column], title: str) -> Schema:
    return _closed(title, {column.name: {"description": column.note, **_column(column)} for column in columns})


def _column(column: Column) -> Schema:
    schema = _arrow(column.type)
    if column.name == "id":
        schema |= {"pattern": "^[A-Za-z0-9._-]{1,64}$"}
    return {"anyOf": [schema, {"type": "null"}]} if column.nullable else schema


def _arrow(kind: pa.DataType) -> Schema:
    """Return the schema of an Arrow type as `to_pylist` gives its values."""
    if pa.types.is_list(kind):
        return _list(_arrow(kind.value_type))
    if pa.types.is_struct(kind):
        return _closed("", {field.name: _field(field) for field in kind})
    if pa.types.is_floating(kind):
        return {"type": "number", "minimum": 0, "maximum": 1}
    return dict(WHOLE if pa.types.is_integer(kind) else TEXT)


def _field(field: pa.Field) -> Schema:
    schema = _arrow(field.type)
    return {"anyOf": [schema, {"type": "null"}]} if field.nullable else schema


def _recipe() -> Schema:
    positive = {"type": "integer", "minimum": 1}
    strata = _closed(
        "Strata: the product of the lists",
        {
            "family": TEXT,
            "subtasks": _list(TEXT, minItems=1),
            "complexity": _list(WHOLE, minItems=1),
            "lengths": _list({"type": "integer", "minimum": K, "maximum": TIERS["1m"]}, minItems=1),
            "rows": {"description": "samples in each block of a stratum", **positive},
            "full": {"description": "blocks in the full size; the default has one", **positive},
            "shots": WHOLE,
            "knobs": _map({"type": ["string", "integer", "number", "boolean"]}),
        },
        optional=("shots", "knobs", "full"),
    )
    return _closed(
        "A recipe (TOML)",
        {
            "release": TEXT,
            "version": TEXT,
            "seed": {"type": "integer"},
            "tier": {"enum": list(TIERS)},
            "variant": TEXT,
            "frame": {"enum": list(FRAMES)},
            "reserve": {"description": "tokens for the reply in place of each task's own", **positive},
            "strata": _list(strata, minItems=1),
        },
        optional=("variant", "frame", "reserve"),
    )


def _profile() -> Schema:
    """Return the schema of a profile's TOML from the dataclasses that read it."""
    words = {"type": ["string", "array"], "items": TEXT}
    pieces = _open(Pieces, control=_list(TEXT), whole=_list(_list(WHOLE, minItems=2, maxItems=2)))
    engine = _open(Engine, pattern=words, optional=None, engine={"enum": sorted({*chain(*ENGINES.values()), "none"})})
    vocabulary = _open(Vocabulary, pieces=pieces, pattern=words, form={"enum": sorted(ENGINES)})
    template = _open(Template, kind={"enum": ["exact", "documented", "none"]}, special=_map(WHOLE), variables={})
    properties = {
        **dict.fromkeys(("name", "title", "notice"), TEXT),
        "models": _list(TEXT),
        "vocabulary": vocabulary,
        "fast": engine,
        "second": engine,
        "template": template,
        "windows": {"description": "true window by nominal length", **_map({"type": "integer", "minimum": 1})},
    }
    return _closed("A profile (TOML)", properties, tuple(set(properties) - {"name", "vocabulary"}))


def _open(shape: type, **known: Schema | None) -> Schema:
    """Return the schema of a dataclass whose fields are all optional in TOML; None leaves a field out."""
    kinds: dict[str, Schema] = {"str": TEXT, "int": WHOLE, "bool": {"type": "boolean"}}
    found = {field.name: known.get(field.name, kinds.get(str(field.type), {})) for field in fields(shape)}
    properties = {name: schema for name, schema in found.items() if schema is not None}
    return _closed(shape.__name__, properties, tuple(properties))


def _manifest() -> Schema:
    totals = _closed("Sums", {"rows": WHOLE, "tokens": WHOLE, "bytes": WHOLE})
    tier = _closed(
        "What one recipe made",
        {
            "seed": {"type": "integer"},
            "tag": TEXT,
            "reserve": {"type": ["integer", "null"]},
            "recipe_digest": SHA256,
            "longest": WHOLE,
            "pools": _map(_closed("A pool", {"key": SHA256, "source": TEXT})),
            "strata": _list({"type": "object"}),
            "chance": _list({"type": "object"}),
            "depths": _map(_list(WHOLE, minItems=DEPTH_BINS, maxItems=DEPTH_BINS)),
            "budgets": _map(_closed("Tokens of all rows of a length", dict.fromkeys(PORTIONS, WHOLE))),
            "proven": {"type": "object"},
            "totals": totals,
            "shards": _list({"type": "object", "required": ["shard", "key", "rows", "data_sha256", "keys_sha256"]}),
        },
    )
    return _closed(
        "The manifest of a profile",
        {
            **dict.fromkeys(("release", "version", "variant", "frame", "carrara", "canary"), TEXT),
            "schema_version": WHOLE,
            "tokenizer": {"type": "object"},
            "tiers": _map(tier),
            "totals": totals,
        },
    )


def _lock() -> Schema:
    """Return the schema of a lock from the dataclasses that it is read into."""
    shard = _of(ShardLock, row_digest=SHA256, data_sha256=SHA256, keys_sha256=SHA256, key=SHA256)
    split = _of(SplitLock, strata=_map(SHA256), shards=_map(shard))
    profile = _of(
        ProfileLock, digest=SHA256, vocabulary_sha256=SHA256, tiers=_map(split), counter=_list(TEXT), second=_list(TEXT)
    )
    tier = _of(
        TierLock,
        recipe={"description": "a whole recipe, its strata one by one", "type": "object"},
        tasks=_map(_of(TaskLock)),
        pools=_map(_of(PoolLock, key=SHA256)),
        corpora=_list(SHA256),
        samples=_map(SHA256),
    )
    lock = _of(Lock, libraries=_map(TEXT), tiers=_map(tier), profiles=_map(profile), format={"const": LOCK_FORMAT})
    properties = {**lock["properties"], "digest": {"description": "of all the rest", **SHA256}}
    return _closed("The lock of a frozen release", properties)


def _of(shape: type, **known: Schema) -> Schema:
    kinds = {"str": TEXT, "int": WHOLE}
    return _closed(shape.__name__, {each.name: known.get(each.name) or kinds[str(each.type)] for each in fields(shape)})


def _scores() -> Schema:
    """Return the schema of what `carrara score --json` prints, and --out writes with the rows."""
    share: Schema = {"type": "number", "minimum": 0, "maximum": 1}
    maybe = {"anyOf": [share, {"type": "null"}]}
    counts = dict.fromkeys(("rows", "answered", "missing", "unusable", "predictions"), WHOLE)
    told: dict[str, Schema] = {"place": {"type": "object"}, "baselines": _map(share)}
    told |= dict.fromkeys(("rows", "units", "answered"), WHOLE) | dict.fromkeys(("mean", "low", "high"), share)
    cell = _closed("Cell", {field.name: told.get(field.name, maybe) for field in fields(Cell)})
    either = {"anyOf": [cell, {"type": "null"}]}
    classes: dict[str, Schema] = {field.name: either for field in fields(Classes)} | {
        "place": {"type": "object"},
        "balanced": maybe,
    }
    row: dict[str, Schema] = {
        "id": TEXT,
        "state": {"enum": [ANSWERED, MISSING, UNUSABLE]},
        "score": share,
        "alone": share,
    }
    return _closed(
        "Scores of one model's predictions",
        {
            "results_version": WHOLE,
            **dict.fromkeys(("carrara", "model", "split", "tokenizer"), TEXT),
            "tags": _map(TEXT),
            "quirks": _list(TEXT),
            "complete": {"type": "boolean"},
            "counts": _closed("Rows by state", counts),
            "overall": either,
            "tables": _map(_list(cell)),
            "cumulative": _list(cell),
            "classes": _list(_closed("Accuracy by class", classes)),
            "faults": _list(_closed("What was wrong", {"kind": {"enum": sorted(SAID)}, "said": TEXT})),
            "rows": _list(_closed("A row", row)),
        },
        optional=("rows",),
    )


def write_schemas(folder: Path) -> None:
    """Write every schema into a folder."""
    for name, schema in schemas().items():
        (folder / name).write_text(json.dumps(schema, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
