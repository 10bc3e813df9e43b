"""The columns of a row, defined once for every shard, schema and card."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from msgspec import Struct, field

from pipeline.typed import ALPHABETS, FRAME, IDENTIFIER, PLAIN, ROW_ID, SUBTASK, TIER, Whole, read_json

SCHEMA_VERSION, TOOLS_VERSION = 1, 2
"""Versions of the columns: the usual one, and that of splits with tool calls, whose messages have two more fields."""
CANARY = "carrara:canary:5f0e1c52-7c1b-5d5e-9a53-2f6c8f5f8f4e"
TRAIN_CANARY = "carrara:train:0c2b7d9e-41f6-5a8c-b3d7-6e9f14a2c85b"
"""Canaries of evaluation rows and of training rows; no row has both."""
TEXT_COLUMNS = ("messages", "prompt")


@dataclass(frozen=True, slots=True)
class Column:
    """A column: its name, Arrow type, description, whether it may be null, and a regex for names (empty for text)."""

    name: str
    type: pa.DataType
    note: str
    nullable: bool = False
    names: str = ""


NEEDLE = pa.struct(
    [
        pa.field("role", pa.string(), nullable=False),
        pa.field("char_start", pa.int64(), nullable=False),
        pa.field("char_end", pa.int64(), nullable=False),
        pa.field("token_start", pa.int64(), nullable=False),
        pa.field("token_end", pa.int64(), nullable=False),
        pa.field("depth", pa.float64()),
    ]
)
MESSAGE = pa.struct([pa.field("role", pa.string(), nullable=False), pa.field("content", pa.string(), nullable=False)])
TOOL_MESSAGE = pa.struct([*MESSAGE, pa.field("tool_calls", pa.string()), pa.field("tool_call_id", pa.string())])
"""A message of a split with tool calls: also the assistant's calls as JSON, and the id of the call it answers."""

COLUMNS = (
    Column(
        "id",
        pa.string(),
        "at most 64 characters of [A-Za-z0-9._-]; the same in every profile",
        names=ROW_ID,
    ),
    Column("family", pa.string(), "kind of text", names=IDENTIFIER),
    Column("subtask", pa.string(), "way of asking about it", names=SUBTASK),
    Column("tier", pa.string(), "32k, 128k or 1m", names=TIER),
    Column("bucket", pa.string(), "smallest tier that includes the length, whatever tier the row is in", names=TIER),
    Column("tokenizer", pa.string(), "profile that the row was built for", names=PLAIN),
    Column("frame", pa.string(), "chat: sent inside the chat template; raw: sent as a bare string", names=FRAME),
    Column("scorer", pa.string(), "rule in metrics.py", names=IDENTIFIER),
    Column("length", pa.int32(), "nominal length in tokens"),
    Column("context_tokens", pa.int32(), "true window: prompt_tokens + template_tokens + max_new_tokens"),
    Column("prompt_tokens", pa.int32(), "tokens of the prompt, encoded as a whole (or of the contents of messages)"),
    Column("template_tokens", pa.int32(), "tokens sent in addition to the prompt"),
    Column("max_new_tokens", pa.int32(), "tokens for the reply"),
    Column("complexity", pa.int32(), "difficulty apart from length; mostly the number of relevant passages"),
    Column("shots", pa.int32(), "demonstrations in the prompt"),
    Column("task_version", pa.int32(), "incremented whenever any row of the task changes"),
    Column("question", pa.string(), "the question alone"),
    Column("target", pa.string(), "the first accepted answer"),
    Column("answers", pa.list_(pa.string()), "every accepted answer"),
    Column("choices", pa.list_(pa.string()), "the options, if the reply is a letter", nullable=True),
    Column("answer_prefix", pa.string(), "assistant prefill; empty in shipped rows"),
    Column("random_string_to_prepend", pa.string(), "code in `mrcr`", nullable=True),
    Column("question_start", pa.int64(), "character offset of the question in prompt"),
    Column("needles", pa.list_(NEEDLE), "marked segments with role, offsets and depth"),
    Column("metadata", pa.string(), "JSON object: knobs, latent structure, baselines, prompt sha256, canary"),
    Column(
        "messages",
        pa.list_(MESSAGE),
        "real turns; null means that prompt is one user turn; schema version 2 adds tool calls",
        nullable=True,
    ),
    Column("prompt", pa.string(), "the whole text, byte-exact"),
)

TYPES = {"messages": (pa.list_(MESSAGE), pa.list_(TOOL_MESSAGE))}
"""Columns whose type depends on the version, with the type of each version."""
DATA_SCHEMA = pa.schema([pa.field(column.name, column.type, nullable=column.nullable) for column in COLUMNS])
KEYS_SCHEMA = pa.schema([field for field in DATA_SCHEMA if field.name not in TEXT_COLUMNS])
SMALL_COLUMNS = ["family", "subtask", "tier", "bucket", "tokenizer", "frame", "scorer"]

TOOLS_SCHEMA = pa.schema(
    [field.with_type(TYPES[field.name][1]) if field.name in TYPES else field for field in DATA_SCHEMA]
)

KEY_NAMES = tuple(KEYS_SCHEMA.names)

Row = dict[str, Any]
BY_NAME = {column.name: column for column in COLUMNS}
LEAST = {"length": 1, "context_tokens": 1}
"""Minimum values of integer columns, if not 0."""


class Metadata(Struct):
    """The part of a row's metadata that Carrara reads; public rows of withheld splits have none of it."""

    latent: dict[str, Any] = field(default_factory=dict)
    baselines: dict[str, float] = field(default_factory=dict)
    knobs: dict[str, Any] = field(default_factory=dict)
    tools: str = ""
    n_needles: Whole = 0
    desired_msg_index: Whole = 0


def schema_of(version: int) -> pa.Schema:
    """Return the Arrow schema of a version."""
    return TOOLS_SCHEMA if version == TOOLS_VERSION else DATA_SCHEMA


def check_rows(table: pa.Table) -> None:
    """Check those columns of a table that are in COLUMNS: their types, nulls, names and minimum values.

    Raises:
        ValueError: with the column, and the value if one is at fault.
    """
    for column in (BY_NAME[name] for name in table.schema.names if name in BY_NAME):
        values = table.column(column.name)
        if values.type not in TYPES.get(column.name, (column.type,)):
            raise ValueError(f"column {column.name} is of type {values.type}, not {column.type}")
        if values.null_count and not column.nullable:
            raise ValueError(f"column {column.name} lacks {values.null_count} values")
        if column.names:
            check_names(values, column.names, column.name)
        if pa.types.is_integer(column.type) and len(values) and pc.min(values).as_py() < LEAST.get(column.name, 0):
            raise ValueError(f"{column.name} is {pc.min(values).as_py()}: give at least {LEAST.get(column.name, 0)}")
        if column.name in ("needles", "messages"):
            check_names(pc.struct_field(pc.list_flatten(values), "role"), IDENTIFIER, f"a role in {column.name}")


def check_metadata(table: pa.Table) -> None:
    """Check that the metadata in a table, if it has that column, can be read.

    Raises:
        ValueError: with the metadata that cannot be read.
    """
    for value in table.column("metadata").to_pylist() if "metadata" in table.schema.names else ():
        try:
            read_json(value, Metadata)
        except ValueError as fault:
            raise ValueError(f"metadata {value[:40]!a} is not a row's ({fault})") from None


def check_names(values: pa.ChunkedArray, names: str, what: str) -> None:
    """Check that all values match a pattern; each distinct value is checked once.

    Raises:
        ValueError: with the first value that does not.
    """
    for value in pc.unique(values).to_pylist():
        if not re.search(names, value or ""):
            raise ValueError(f"{what} is {value!r:.80}: give {ALPHABETS[names]}")


def sha256_text(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


def known_by(name: str) -> str:
    """Return the digest of a row's id, or of a part of one: the only id of a ranking that HELMET keeps."""
    return sha256_text(name)[:16]


def plain_json(value: object) -> str:
    """Return JSON whose bytes depend only on the value."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def asked_of(metadata: Mapping[str, Any]) -> str:
    """Return the kind of thing that a row asks for, which its task writes into the metadata (see `Sample`), or ""."""
    return str(metadata.get("latent", {}).get("asked", ""))


def row_digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a digest of the rows' content that does not depend on the version of Parquet's writer.

    It includes the prompt only through the SHA-256 in the row's metadata, which `verify` checks against the text.
    """
    total = hashlib.sha256()
    for row in rows:
        total.update(row_text(row))
    return total.hexdigest()


def row_text(row: Mapping[str, Any]) -> bytes:
    """Return a row's content, without its text columns, as one line."""
    return plain_json({name: row[name] for name in KEY_NAMES}).encode() + b"\n"


def text_bytes(row: Row) -> int:
    """Return the size of a row's prompt and messages in bytes of UTF-8."""
    turns = row.get("messages") or ()
    contents = (turn["content"] + (turn.get("tool_calls") or "") for turn in turns)
    return sum(len(text.encode()) for text in (row.get("prompt", ""), *contents))


def kilo(length: float) -> str:
    """Return the short name of a length.

    >>> [kilo(2048), kilo(131072), kilo(1048576), kilo(3000)]
    ['2K', '128K', '1M', '3000']
    """
    for unit, letter in ((1 << 20, "M"), (1 << 10, "K")):
        if length >= unit and length % unit == 0:
            return f"{int(length) // unit}{letter}"
    return str(int(length))
