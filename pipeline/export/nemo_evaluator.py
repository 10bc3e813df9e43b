"""NeMo Evaluator: a custom benchmark (BYOB) for each limit of the reply, all scored by metrics.py."""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Written
from pipeline.export.common import (
    benchmarks,
    copy_metrics,
    need_keys,
    put,
    reply_limits_of,
    task_prefix,
    template,
    write_by_reply_limit,
)
from pipeline.rows import Row


def write(split: Split, selection: Selection, folder: Path) -> Written:
    """Write ``data/<benchmark>.jsonl``, ``carrara_byob.py``, ``benchmarks.json`` and metrics.py."""
    need_keys(split, "NeMo Evaluator")
    name = task_prefix(split)
    tally, limits = write_by_reply_limit(
        split, selection, lambda limit: folder / "data" / f"{name}_{limit}.jsonl", _text, turns=False
    )
    if limits:
        copy_metrics(folder)
        kind = "chat" if split.manifest.frame == "chat" else "completions"
        settings = {"endpoint": kind, "benchmarks": list(benchmarks(name, limits))}
        put(folder, "benchmarks.json", json.dumps(settings, indent=1) + "\n")
        put(folder, "carrara_byob.py", template("nemo_evaluator/carrara_byob.py"))
    return tally.written


def _text(row: Row) -> Row:
    return {"prompt": row["prompt"]}


EXPORT = Export(
    name="nemo-evaluator",
    title="custom benchmarks (BYOB) for NeMo Evaluator",
    harness="NeMo Evaluator",
    write=write,
    values=lambda split, rows: {"reply_limits": benchmarks(task_prefix(split), reply_limits_of(rows))},
    sampling="The command above sends `temperature` 0 and no seed.",
    headline="NeMo Evaluator has one mean for each of its benchmarks, which hold the rows with one reply limit.",
    read=False,
)
