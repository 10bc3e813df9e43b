"""The columns of a row, defined once for every shard, schema and card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

SCHEMA_VERSION = 1
CANARY = "carrara:canary:5f0e1c52-7c1b-5d5e-9a53-2f6c8f5f8f4e"
TEXT_COLUMNS = ("messages", "prompt")


@dataclass(frozen=True, slots=True)
class Column:
    """One column of the interface: its name, Arrow type, whether it may be null, and what it holds."""

    name: str
    type: pa.DataType
    note: str
    nullable: bool = False


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

COLUMNS = (
    Column("id", pa.string(), "at most 64 characters of [A-Za-z0-9._-]; a question has the same id in every profile"),
    Column("family", pa.string(), "latent structure"),
    Column("subtask", pa.string(), "way of asking in it"),
    Column("tier", pa.string(), "32k, 128k or 1m"),
    Column("bucket", pa.string(), "smallest tier that holds the length"),
    Column("tokenizer", pa.string(), "name of the profile that the row is cut for"),
    Column("frame", pa.string(), "chat: sent inside the chat template; raw: sent as a bare string"),
    Column("scorer", pa.string(), "rule in metrics.py"),
    Column("length", pa.int32(), "nominal length in tokens"),
    Column("context_tokens", pa.int32(), "true window: prompt_tokens + template_tokens + max_new_tokens"),
    Column(
        "prompt_tokens", pa.int32(), "length of prompt in one encode (of the contents of messages, if there are any)"
    ),
    Column("template_tokens", pa.int32(), "tokens sent in addition to the prompt"),
    Column("max_new_tokens", pa.int32(), "room for the reply"),
    Column("complexity", pa.int32(), "number of relevant updates"),
    Column("shots", pa.int32(), "demonstrations in the prompt"),
    Column("task_version", pa.int32(), "raised whenever a row of the task changes"),
    Column("question", pa.string(), "the question apart from its context"),
    Column("target", pa.string(), "the answer as one plain string"),
    Column("answers", pa.list_(pa.string()), "every accepted answer"),
    Column("choices", pa.list_(pa.string()), "options, if there are any", nullable=True),
    Column("answer_prefix", pa.string(), "assistant prefill; empty in shipped rows"),
    Column("random_string_to_prepend", pa.string(), "mrcr only", nullable=True),
    Column("question_start", pa.int64(), "character offset of the question in prompt"),
    Column("needles", pa.list_(NEEDLE), "relevant, matching, decoy and demonstration segments with offsets and depth"),
    Column("metadata", pa.string(), "JSON object: knobs, latent structure, baselines, prompt sha256, canary"),
    Column("messages", pa.list_(MESSAGE), "real turns; null means one user turn of prompt", nullable=True),
    Column("prompt", pa.string(), "the whole text, byte-exact"),
)

DATA_SCHEMA = pa.schema([pa.field(column.name, column.type, nullable=column.nullable) for column in COLUMNS])
KEYS_SCHEMA = pa.schema([field for field in DATA_SCHEMA if field.name not in TEXT_COLUMNS])
SMALL_COLUMNS = ["family", "subtask", "tier", "bucket", "tokenizer", "frame", "scorer"]

Row = dict[str, Any]


def sha256_text(text: str) -> str:
    """Return the SHA-256 of a text's UTF-8 bytes."""
    return hashlib.sha256(text.encode()).hexdigest()


def plain_json(value: object) -> str:
    """Return JSON whose bytes depend on the value alone."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def asked_of(metadata: Mapping[str, Any]) -> str:
    """Return the kind of thing that a row asks for, by the metadata in which its task says it (`Sample`), or ""."""
    return str(metadata.get("latent", {}).get("asked", ""))


def row_digest(rows: Iterable[Mapping[str, Any]]) -> str:
    """Return a digest of the rows' content, equal under every version of Parquet's writer.

    The prompt enters by the SHA-256 in the row's metadata, which `verify` checks against the text.
    """
    total = hashlib.sha256()
    for row in rows:
        total.update(row_text(row))
    return total.hexdigest()


def row_text(row: Mapping[str, Any]) -> bytes:
    """Return a row's content but its text as one line."""
    return plain_json({name: row[name] for name in KEYS_SCHEMA.names}).encode() + b"\n"


def text_bytes(row: Row) -> int:
    """Return about how many bytes of text a row holds; none in a row of keys."""
    turns = row.get("messages") or ()
    return len(row.get("prompt", "")) + sum(len(turn["content"]) for turn in turns)
