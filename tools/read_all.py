"""Write the scores of simulated readers on a split: ``python tools/read_all.py outputs/v3.0.0/o200k``.

All readers read all rows, in as many processes as there are cores. Their scores by subtask go to docs/readers.csv, and
those by length replace the text between ``<!-- readers -->`` and ``<!-- end of readers -->`` in docs/readers.md. With a
second argument, the prediction files are kept in that folder.
"""

from __future__ import annotations

import math
import os
import re
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from carrara import open_scores, open_split
from pipeline.artifacts.split import Selection, Split
from pipeline.baselines import READERS
from pipeline.baselines.files import write_readings
from pipeline.executors import processes

PAGE = Path(__file__).resolve().parents[1] / "docs" / "readers.md"
BY_SUBTASK = PAGE.with_suffix(".csv")
MARKED = re.compile(r"(<!-- readers -->\n).*?(<!-- end of readers -->)", re.DOTALL)
K = 1024


def main(arguments: Sequence[str]) -> None:
    """Let all readers read a split, and write the tables."""
    split = open_split(Path(arguments[0]))
    with tempfile.TemporaryDirectory() as empty:
        folder = Path(arguments[1] if arguments[1:] else empty)
        write_readings(split, Selection(), list(READERS), folder, processes(os.cpu_count() or 1))
        by_subtask, text = tables(split, folder)
    BY_SUBTASK.write_text(by_subtask, encoding="ascii")
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKED.sub(lambda match: f"{match[1]}\n{text}\n\n{match[2]}", page), encoding="utf-8")
    print(f"wrote {PAGE} and {BY_SUBTASK}", file=sys.stderr)


def tables(split: Split, folder: Path) -> tuple[str, str]:
    """Return each reader's scores by subtask as CSV, and its mean over families by length for the page."""
    scores = {name: open_scores(split, folder / f"{name}.jsonl") for name in READERS}
    tasks = {name: each.frame("family", "subtask").to_dict("records") for name, each in scores.items()}
    cells = {name: each.frame("family", "length").to_dict("records") for name, each in scores.items()}
    rows = sum(cell["rows"] for cell in tasks["all"])
    lengths = sorted({cell["length"] for cell in cells["all"]})
    by_task = [
        (f"{cell['family']}.{cell['subtask']}", *(_shown(tasks[name][at]) for name in READERS), _two(cell["chance"]))
        for at, cell in enumerate(tasks["all"])
    ]
    by_length = [
        (f"{length // K}K", *(_mean([one for one in cells[name] if one["length"] == length]) for name in READERS))
        for length in lengths[::2]
    ]
    intro = f"Build: {split.title}, {rows:,} rows. The plain mean over the families each reader covers:"
    return (
        "".join(",".join(line) + "\n" for line in (("subtask", *READERS, "chance"), *by_task)),
        f"{intro}\n\n{_table(('length', *(f'`{name}`' for name in READERS)), by_length)}",
    )


def _shown(cell: dict[str, Any]) -> str:
    return _two(cell["answered_mean"])


def _mean(cells: Sequence[dict[str, Any]]) -> str:
    known = [cell["answered_mean"] for cell in cells if not math.isnan(cell["answered_mean"])]
    return _two(sum(known) / len(known) if known else math.nan)


def _two(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.2f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---", *["--:"] * (len(head) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


if __name__ == "__main__":
    main(sys.argv[1:])
