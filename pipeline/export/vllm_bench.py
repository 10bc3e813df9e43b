"""vLLM's serving benchmark: JSON Lines of prompts with the limit of each reply, to measure speed at real lengths."""

from __future__ import annotations

from pathlib import Path

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Tally, Written, add_line, group_counts, group_name
from pipeline.export.common import why_not_sent

COLUMNS = ("id", "tier", "length", "max_new_tokens", "messages", "prompt")


def write(split: Split, selection: Selection, out: Path) -> Written:
    """Write ``<tier>-<length>.jsonl``, a line for each row."""
    tally = Tally()
    for row in split.rows(COLUMNS, selection):
        if why := why_not_sent(row, turns=False):
            tally.leave(row, why)
            continue
        line = {"id": row["id"], "prompt": row["prompt"], "output_tokens": row["max_new_tokens"]}
        add_line(path_below(out, f"{group_name(row)}.jsonl"), line)
        tally.rows += 1
    return tally.written


EXPORT = Export(
    name="vllm-bench",
    title="JSON Lines for `vllm bench serve`, to measure speed at these lengths",
    harness="vLLM's serving benchmark",
    write=write,
    values=lambda split, rows: {"counts": group_counts(rows)},
    sampling="vLLM's benchmark sends no seed, and `temperature` 0 unless told otherwise.",
    headline="",
)
