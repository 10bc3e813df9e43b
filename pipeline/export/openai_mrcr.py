"""openai/mrcr: Parquet files with its columns, one for each number of needles."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Tally, Written
from pipeline.export.common import need_keys
from pipeline.rows import Row

SCHEMA = pa.schema(
    [
        ("prompt", pa.string()),
        ("answer", pa.string()),
        ("random_string_to_prepend", pa.string()),
        ("n_needles", pa.int64()),
        ("desired_msg_index", pa.int64()),
        ("total_messages", pa.int64()),
        ("n_chars", pa.int64()),
        ("id", pa.string()),
        ("tier", pa.string()),
        ("length", pa.int64()),
        ("context_tokens", pa.int64()),
        ("max_new_tokens", pa.int64()),
    ]
)
"""The seven columns of openai/mrcr, then the row's id, tier, lengths and limit of its reply, in tokens."""

SAME = ("random_string_to_prepend", "id", "tier", "length", "context_tokens", "max_new_tokens")
COLUMNS = (*SAME, "scorer", "target", "metadata", "messages")
STRING = "a single string, but openai/mrcr needs turns: use mrcr-v2"
OTHER = "not MRCR"
GROUP_BYTES = 32 * 1024 * 1024


class Tables:
    """Open Parquet files, each with its buffered rows."""

    def __init__(self, folder: Path, files: ExitStack) -> None:
        self.folder, self.files = folder, files
        self.writers: dict[str, pq.ParquetWriter] = {}
        self.waiting: dict[str, list[Row]] = {}
        self.size: Counter[str] = Counter()

    def add(self, name: str, line: Row) -> None:
        """Add a row to a file; rows are written in groups of about GROUP_BYTES of text."""
        self.waiting.setdefault(name, []).append(line)
        self.size[name] += len(line["prompt"])
        if self.size[name] > GROUP_BYTES:
            self.flush(name)

    def flush(self, name: str) -> None:
        """Write the buffered rows of a file."""
        if name not in self.writers:
            path = path_below(self.folder, f"{name}.parquet")
            self.writers[name] = self.files.enter_context(pq.ParquetWriter(path, SCHEMA, compression="zstd"))
        self.writers[name].write_table(pa.Table.from_pylist(self.waiting.pop(name), schema=SCHEMA))
        self.size[name] = 0


def write(split: Split, selection: Selection, out: Path) -> Written:
    """Write ``<n>needle.parquet``."""
    need_keys(split, "openai/mrcr")
    tally = Tally()
    with ExitStack() as files:
        tables = Tables(out, files)
        for row in split.rows(COLUMNS, selection):
            if row["scorer"] != "mrcr" or row["messages"] is None:
                tally.leave(row, OTHER if row["scorer"] != "mrcr" else STRING)
                continue
            line = _line(row)
            tables.add(f"{line['n_needles']}needle", line)
            tally.rows += 1
        for name in sorted(tables.waiting):
            tables.flush(name)
    return tally.written


def _line(row: Row) -> Row:
    turns = [{"role": turn["role"], "content": turn["content"]} for turn in row["messages"]]
    meta = json.loads(row["metadata"])
    return {
        "prompt": json.dumps(turns),
        "answer": row["target"],
        "n_needles": meta["n_needles"],
        "desired_msg_index": meta["desired_msg_index"],
        "total_messages": len(turns),
        "n_chars": sum(len(turn["content"]) for turn in turns),
        **{name: row[name] for name in SAME},
    }


EXPORT = Export(
    name="openai-mrcr",
    title="openai/mrcr: Parquet files of the turns of mrcr",
    harness="openai/mrcr",
    write=write,
    sampling="The code above sends `temperature` 0 and no seed.",
    headline="openai/mrcr has one mean per bin of lengths; the headline is the mean over lengths.",
    read=False,
)
