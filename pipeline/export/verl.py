"""verl and TRL: Parquet files with prompts as messages, and a reward function that uses the published metrics."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Tally, Written, group_counts, group_name
from pipeline.export.common import copy_metrics, need_keys, template, why_not_sent
from pipeline.metrics import SCORERS, UNKNOWN
from pipeline.rows import DATA_SCHEMA, Row, text_bytes

JUDGED = ("subtask", "scorer", "question", "answers", "choices", "random_string_to_prepend")
PLACE = ("family", "tier", "length", "complexity", "max_new_tokens")
COLUMNS = ("id", *PLACE, *JUDGED, "target", "messages", "prompt")
GROUP_BYTES = 32 * 1024 * 1024
TURN = pa.struct([("role", pa.string()), ("content", pa.string())])
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("data_source", pa.string()),
        ("prompt", pa.list_(TURN)),
        ("ability", pa.string()),
        ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
        (
            "extra_info",
            pa.struct(
                [
                    ("split", pa.string()),
                    ("index", pa.int64()),
                    *((name, DATA_SCHEMA.field(name).type) for name in (*PLACE, *JUDGED)),
                ]
            ),
        ),
    ]
)
"""The row's id and the five columns that verl reads; what a scorer needs besides the target is in `extra_info`."""


class Files:
    """Open Parquet files, each with its buffered rows."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self.folder, self.stack = folder, stack
        self.writers: dict[str, pq.ParquetWriter] = {}
        self.waiting: dict[str, list[Row]] = {}
        self.rows: dict[str, int] = {}
        self.bytes: dict[str, int] = {}

    def add(self, name: str, row: Row) -> None:
        """Add a row to a file; rows are written in groups of about GROUP_BYTES of text."""
        index = self.rows.get(name, 0)
        self.rows[name] = index + 1
        self.waiting.setdefault(name, []).append(_line(row, index))
        self.bytes[name] = self.bytes.get(name, 0) + text_bytes(row)
        if self.bytes[name] > GROUP_BYTES:
            self.flush(name)

    def flush(self, name: str) -> None:
        """Write the buffered rows of a file."""
        if name not in self.writers:
            path = path_below(self.folder, f"{name}.parquet")
            path.parent.mkdir(parents=True, exist_ok=True)
            writer = pq.ParquetWriter(path, SCHEMA, compression="zstd", store_schema=False)
            self.writers[name] = self.stack.enter_context(writer)
        self.writers[name].write_table(pa.Table.from_pylist(self.waiting.pop(name), schema=SCHEMA))
        self.bytes[name] = 0


def write(split: Split, selection: Selection, out: Path) -> Written:
    """Write ``data/<tier>-<length>.parquet``, ``reward.py`` and metrics.py."""
    need_keys(split, "verl")
    tally = Tally()
    with ExitStack() as stack:
        files = Files(out / "data", stack)
        for row in split.rows(COLUMNS, selection):
            if row["scorer"] not in SCORERS:
                tally.leave(row, UNKNOWN.ungraded)
                continue
            if why := why_not_sent(row, turns=True):
                tally.leave(row, why)
                continue
            files.add(group_name(row), row)
            tally.rows += 1
        for name in sorted(files.waiting):
            files.flush(name)
    if tally.rows:
        copy_metrics(out)
        (out / "reward.py").write_text(template("verl/reward.py"), encoding="ascii")
    return tally.written


def _line(row: Row, index: int) -> dict[str, Any]:
    return {
        "id": row["id"],
        "data_source": f"carrara/{row['family']}.{row['subtask']}",
        "prompt": row["messages"] or [{"role": "user", "content": row["prompt"]}],
        "ability": row["family"],
        "reward_model": {"style": "rule", "ground_truth": row["target"]},
        "extra_info": {"split": "test", "index": index, **{name: row[name] for name in (*PLACE, *JUDGED)}},
    }


EXPORT = Export(
    name="verl",
    title="Parquet files and a reward function for verl and TRL, with real turns as messages",
    harness="verl and TRL",
    write=write,
    values=lambda split, rows: {"groups": list(group_counts(rows))},
    sampling="The trainers sample as they are told: verl validates with `temperature` 0 unless "
    "`actor_rollout_ref.rollout.val_kwargs` says otherwise.",
    headline="verl has one mean for each `data_source` (a subtask), over all lengths.",
    read=False,
)
