"""One prompt, formatted for reading."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import click
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.errors import CarraraError, CorruptError, unknown
from pipeline.report.excerpts import parts_of
from pipeline.rows import Row, check_metadata, check_rows
from pipeline.store.parquet import opened
from pipeline.terminal.printing import plain

KEPT = 600
"""Characters of filler shown on either side of a marked segment."""

COLORS = {"relevant": "green", "match": "green", "decoy": "yellow", "demo": "cyan", "anchor": "magenta"}


def find_row(folder: Path, row_id: str) -> Row:
    """Return a row of a profile's folder by id, reading only the row group that holds it.

    Raises:
        CarraraError: if there is no such row; the nearest id is given.
    """
    seen: list[str] = []
    parts = row_id.split("-")
    hint = f"{parts[0]}/*" if len(parts) > 3 else "*/*"
    for path in sorted((folder / "data").glob(f"{hint}/test-*.parquet")):
        try:
            found, ids = _in_shard(path, row_id)
        except (OSError, ValueError, pa.ArrowException):
            raise CorruptError(f"{str(path)!r} cannot be read: verify the folder, then build it again") from None
        if found:
            return found
        seen += ids
    if not seen:
        raise CarraraError(
            f"there are no shards in {str(folder / 'data')!r}: build them first, or give another --tokenizer"
        )
    raise CarraraError(unknown("row", row_id, seen).split(" (known:")[0] + f" (there are {len(seen):,} rows)")


def _in_shard(path: Path, row_id: str) -> tuple[Row | None, list[str]]:
    seen: list[str] = []
    with opened(path) as file:
        for group in range(file.num_row_groups):
            ids = file.read_row_group(group, columns=["id"]).column("id")
            at = pc.index(ids, row_id).as_py()
            if at >= 0:
                row = file.read_row_group(group).slice(at, 1)
                check_rows(row)
                check_metadata(row)
                return row.to_pylist()[0], []
            seen += ids.to_pylist()
    return None, seen


def shown(row: Row, *, full: bool) -> str:
    """Return a row as text for a terminal: facts above, the prompt with its segments marked, the key below."""
    return "\n".join([*_above(row), "", *_body(row, full=full), "", *_below(row)])


def _above(row: Row) -> Iterator[str]:
    yield click.style(row["id"], bold=True)
    complexity = f", complexity {row['complexity']}" if "complexity" in row else ""
    yield f"{row['family']}.{row['subtask']}, length {row['length']:,}{complexity}, {row['shots']} shots"
    yield (
        f"{row['tokenizer']}: {row['prompt_tokens']:,} prompt + {row['template_tokens']:,} template "
        f"+ {row['max_new_tokens']:,} reply = {row['context_tokens']:,} tokens"
    )


def _body(row: Row, *, full: bool) -> Iterator[str]:
    """Yield the prompt in pieces: marked segments, each after a note, with the filler between them folded."""
    for part in parts_of(row, None if full else KEPT):
        if part.kind == "folded":
            yield click.style(f"[... {part.note} of filler ...]", dim=True)
        elif part.kind == "filler":
            yield plain(part.text)
        else:
            yield click.style(plain(f"[{part.note}]"), dim=True)
            yield click.style(plain(part.text), fg=COLORS.get(part.kind), bold=part.kind == "question" or None)


def _below(row: Row) -> Iterator[str]:
    if "answers" not in row:
        yield click.style("accepted: ", dim=True) + "withheld"
        return
    metadata = json.loads(row["metadata"])
    yield click.style("accepted: ", dim=True) + plain(" | ".join(row["answers"]))
    baselines = ", ".join(f"{name} {value:.3f}" for name, value in metadata.get("baselines", {}).items())
    yield click.style("baselines: ", dim=True) + plain(baselines)
