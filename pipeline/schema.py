"""The JSON Schemas of what Carrara reads and writes, made from the code. ``python -m pipeline.schema schemas``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from pipeline.frozen.lock import LOCK_FORMAT, Lock
from pipeline.profiles.loading import ProfileTable
from pipeline.profiles.spec import ENGINES, Engine, Template, Vocabulary
from pipeline.recipe import FRAMES, TIERS, Recipe, StrataTable
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


def _record(shape: type, **known: Schema) -> Schema:
    """Return the schema of a record from the types of its fields; `known` replaces some of them."""
    _, parts = msgspec.json.schema_components([shape], ref_template="{name}")
    made = _inlined(parts[shape.__name__], parts)
    return {**made, "properties": {**made["properties"], **known}}


def _inlined(node: Any, parts: Mapping[str, Any]) -> Any:
    """Put records where they are referred to, closed; texts for programmers and defaults stay in the code."""
    if isinstance(node, list):
        return [_inlined(item, parts) for item in node]
    if not isinstance(node, Mapping):
        return node
    if "$ref" in node:
        return _inlined(parts[node["$ref"]], parts)
    if "properties" not in node:
        return {name: _inlined(item, parts) for name, item in node.items() if name != "default"}
    properties = {name: _inlined(item, parts) for name, item in node["properties"].items()}
    return {**_closed(node["title"], properties), "required": node["required"]}


def _recipe() -> Schema:
    strata = _list({**_record(StrataTable), "title": "Strata: the product of the lists"}, minItems=1)
    recipe = _record(Recipe, tier={"enum": list(TIERS)}, frame={"enum": list(FRAMES)}, strata=strata)
    made: Schema = _toml({**recipe, "title": "A recipe (TOML)"})
    return made


def _profile() -> Schema:
    words = {"type": ["string", "array"], "items": TEXT}
    engine = _record(Engine, pattern=words, engine={"enum": sorted({*chain(*ENGINES.values()), "none"})})
    vocabulary = _record(Vocabulary, pattern=words, form={"enum": sorted(ENGINES)})
    template = _record(
        Template, kind={"enum": ["exact", "documented", "none"]}, special=_map(WHOLE), variables=_map({})
    )
    windows = {"description": "true window by nominal length", **_map({"type": "integer", "minimum": 1})}
    known = {"vocabulary": vocabulary, "fast": engine, "second": engine, "template": template, "windows": windows}
    made: Schema = _toml({**_record(ProfileTable, **known), "title": "A profile (TOML)"})
    return made


def _toml(node: Any) -> Any:
    """Leave nulls out: TOML has none."""
    if isinstance(node, list):
        return [_toml(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    some = [item for item in node.get("anyOf", ()) if item != {"type": "null"}]
    if len(some) == 1:
        node = {**{name: item for name, item in node.items() if name != "anyOf"}, **some[0]}
    return {name: _toml(item) for name, item in node.items()}


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
    lock = _record(Lock, format={"const": LOCK_FORMAT})
    properties = {**lock["properties"], "digest": {"description": "of all the rest", **SHA256}}
    return _closed("The lock of a frozen release", properties)


def _scores() -> Schema:
    """Return the schema of what `carrara score --json` prints, and --out writes with the rows."""
    share: Schema = {"type": "number", "minimum": 0, "maximum": 1}
    counts = dict.fromkeys(("rows", "answered", "missing", "unusable", "predictions"), WHOLE)
    cell = _record(Cell)
    either = {"anyOf": [cell, {"type": "null"}]}
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
            "classes": _list(_record(Classes)),
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
