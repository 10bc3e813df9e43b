"""EvalScope: a benchmark with a subset for each subtask and length, in a file that is also its command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Written
from pipeline.export.common import copy_metrics, need_keys, part_of, task_prefix, template, write_card, write_parts
from pipeline.rows import Row


def write(split: Split, selection: Selection, folder: Path) -> Written:
    """Write ``carrara.py``, ``benchmark.json``, ``data`` and metrics.py."""
    need_keys(split, "EvalScope")
    parts = write_parts(split, selection, folder / "data", turns=True)
    if parts.rows:
        copy_metrics(folder)
        write_card(folder / "data", parts.rows)
        (folder / "carrara.py").write_text(template("evalscope/carrara.py"), encoding="ascii")
        about = {"name": task_prefix(split), "title": split.title, "subsets": [part.name for part in parts.rows]}
        (folder / "benchmark.json").write_text(json.dumps(about, indent=1) + "\n", encoding="ascii")
    return parts.written


def _values(split: Split, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the names that the README shows."""
    return {"prefix": task_prefix(split), "subsets": [part.name for part in sorted({part_of(row) for row in rows})]}


EXPORT = Export(
    name="evalscope",
    title="a benchmark for EvalScope, with real turns as messages",
    harness="EvalScope",
    write=write,
    values=_values,
    sampling="No seed is sent, and `temperature` 0 unless `--generation-config` names another.",
    headline="It is the benchmark's own Score in EvalScope's report, rounded; the lines of subsets are means "
    "of rows, and where its tables show a macro or micro average, that is one of subsets or rows.",
)
