"""JSON Schemas of the files that Carrara reads and writes: ``python -m pipeline.schema schemas`` generates them."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa

from pipeline.artifacts.manifest import Manifest
from pipeline.profiles.loading import ProfileTable
from pipeline.profiles.spec import ENGINES, Engine, Template, ToolTemplate, Vocabulary
from pipeline.recipe import (
    FRAMES,
    Recipe,
    StrataTable,
)
from pipeline.rows import COLUMNS, TEXT_COLUMNS, TYPES, Column
from pipeline.score.lengths import Effective
from pipeline.score.results import STATES, Cell, Classes
from pipeline.score.views import FAULT_KINDS
from pipeline.typed import (
    TIERS,
)
from pipeline.verify.lock import LOCK_FORMAT, Lock

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
        "comparison": _comparison(),
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
    if column.name in TYPES:  # fields that a later version adds are optional
        first, last = (set(kind.value_type.names) for kind in TYPES[column.name])
        schema = _arrow(TYPES[column.name][1])
        schema["items"]["required"] = [name for name in schema["items"]["required"] if name not in last - first]
    if column.names:
        schema |= {"pattern": column.names}
    return {"anyOf": [schema, {"type": "null"}]} if column.nullable else schema


def _arrow(kind: pa.DataType) -> Schema:
    """Return the schema of an Arrow type's values, as `to_pylist` returns them."""
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
    """Replace references by closed records, without docstrings and defaults."""
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
    tools = _record(
        ToolTemplate, special=_map(WHOLE), declared_special=_map(WHOLE), arguments={"enum": ["object", "text"]}
    )
    template = _record(
        Template, kind={"enum": ["exact", "documented", "none"]}, special=_map(WHOLE), variables=_map({}), tools=tools
    )
    windows = {"description": "true window by nominal length", **_map({"type": "integer", "minimum": 1})}
    known = {
        "vocabulary": vocabulary,
        "fast": engine,
        "second": engine,
        "quick": engine,
        "template": template,
        "windows": windows,
    }
    made: Schema = _toml({**_record(ProfileTable, **known), "title": "A profile (TOML)"})
    return made


def _toml(node: Any) -> Any:
    """Remove nulls, which TOML does not have."""
    if isinstance(node, list):
        return [_toml(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    some = [item for item in node.get("anyOf", ()) if item != {"type": "null"}]
    if len(some) == 1:
        node = {**{name: item for name, item in node.items() if name != "anyOf"}, **some[0]}
    return {name: _toml(item) for name, item in node.items()}


def _manifest() -> Schema:
    return {**_record(Manifest), "title": "The manifest of a profile"}


def _lock() -> Schema:
    lock = _record(Lock, format={"const": LOCK_FORMAT})
    properties = {**lock["properties"], "digest": {"description": "of all the rest", **SHA256}}
    return _closed("The lock of a frozen release", properties)


def _scores() -> Schema:
    """Return the schema of the scores that `carrara score --json` prints and `--out` writes (with the rows)."""
    share: Schema = {"type": "number", "minimum": 0, "maximum": 1}
    counts = dict.fromkeys(("rows", *STATES, "unparsed", "cut", "predictions"), WHOLE)
    cell = _record(Cell)
    either = {"anyOf": [cell, {"type": "null"}]}
    row: dict[str, Schema] = {
        "id": TEXT,
        "state": {"enum": list(STATES)},
        "score": share,
        "alone": share,
        "unparsed": {"type": "boolean"},
        "finish": TEXT,
    }
    return _closed(
        "Scores of one model's predictions",
        {
            "results_version": WHOLE,
            **dict.fromkeys(("carrara", "model", "split", "tokenizer"), TEXT),
            "window": WHOLE,
            "tags": _map(TEXT),
            "quirks": _list(TEXT),
            "scorers": _map(WHOLE),
            "complete": {"type": "boolean"},
            "counts": _closed("Rows by state", counts),
            "never_asked": _map(WHOLE),
            "settings": _map(TEXT),
            "warnings": _list(TEXT),
            "overall": either,
            "effective": _list(_record(Effective)),
            "tables": _map(_list(cell)),
            "cumulative": _list(cell),
            "classes": _list(_record(Classes)),
            "figures": _list(cell),
            "languages": _list(_in_language(cell)),
            "faults": _list(_closed("What was wrong", {"kind": {"enum": sorted(FAULT_KINDS)}, "message": TEXT})),
            "rows": _list(_closed("A row", row)),
        },
        optional=("rows",),
    )


def _difference(title: str) -> Schema:
    signed: Schema = {"anyOf": [{"type": "number", "minimum": -1, "maximum": 1}, {"type": "null"}]}
    counts = dict.fromkeys(("rows", "asked", "better", "worse"), WHOLE)
    difference = {"place": _map(TEXT), "first": TEXT, "second": TEXT, **counts}
    return _closed(title, difference | dict.fromkeys(("mean", "low", "high"), signed))


def _in_language(cell: Schema) -> Schema:
    english = {"anyOf": [_difference("The language minus English, over the same rows"), {"type": "null"}]}
    named = {"text": TEXT, "asked": TEXT, "tasks": _list(TEXT)}
    return _closed("The rows in a language", {**named, "cell": cell, "english": english})


def _comparison() -> Schema:
    """Return the schema of what `carrara score --json` prints for several models."""
    return _closed(
        "Scores of several models on the same questions",
        {
            "results_version": WHOLE,
            "carrara": TEXT,
            "models": _list(_scores()),
            "differences": _list(_difference("The second model minus the first")),
        },
    )


def write_schemas(folder: Path) -> None:
    """Write every schema into a folder."""
    for name, schema in schemas().items():
        (folder / name).write_text(json.dumps(schema, indent=1) + "\n", encoding="ascii")


if __name__ == "__main__":
    write_schemas(Path(sys.argv[1]))
