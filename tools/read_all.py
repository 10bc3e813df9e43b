"""Write the tables of docs/readers.md from a split: ``python tools/read_all.py outputs/v3.0.0/o200k``.

All readers read all rows, in as many processes as there are cores, and their scores take the place of what stands
between ``<!-- readers -->`` and ``<!-- end of readers -->``. With a second argument the files of predictions are kept
in that folder, where tools/draw_front.py finds them.
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
MARKED = re.compile(r"(<!-- readers -->\n).*?(<!-- end of readers -->)", re.DOTALL)
K = 1024


def main(arguments: Sequence[str]) -> None:
    """Read a split, and write the tables."""
    split = open_split(Path(arguments[0]))
    with tempfile.TemporaryDirectory() as empty:
        folder = Path(arguments[1] if arguments[1:] else empty)
        write_readings(split, Selection(), list(READERS), folder, processes(os.cpu_count() or 1))
        text = tables(split, folder)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(MARKED.sub(lambda found: f"{found[1]}\n{text}\n\n{found[2]}", page), encoding="utf-8")
    print(f"wrote {PAGE}", file=sys.stderr)


def tables(split: Split, folder: Path) -> str:
    """Return what the split is, the score of each reader but `all` by subtask, and the mean over families by length."""
    scores = {name: open_scores(split, folder / f"{name}.jsonl") for name in READERS}
    tasks = {name: each.frame("family", "subtask").to_dict("records") for name, each in scores.items()}
    cells = {name: each.frame("family", "length").to_dict("records") for name, each in scores.items()}
    rows = sum(cell["rows"] for cell in tasks["all"])
    lengths = sorted({cell["length"] for cell in cells["all"]})
    spans = f"{lengths[0] // K}K to {lengths[-1] // K}K"
    shown = [name for name in READERS if name != "all"]
    least = min(cell["answered_mean"] for cell in tasks["all"])
    by_task = [
        (f"`{cell['family']}.{cell['subtask']}`", *(_shown(tasks[name][at]) for name in shown), _two(cell["chance"]))
        for at, cell in enumerate(tasks["all"])
    ]
    by_length = [
        (f"{length // K}K", *(_mean([one for one in cells[name] if one["length"] == length]) for name in shown))
        for length in lengths
    ]
    return "\n\n".join(
        (
            f"Build: {split.title}, {rows:,} rows, lengths {spans}. Means over all rows of a subtask; a dash means "
            f"that the reader leaves the rows out. `all` scores at least {least:.2f} in every subtask.",
            _table(("subtask", *(f"`{name}`" for name in shown), "chance"), by_task),
            "By length (the plain mean of all families that a reader can read):",
            _table(("length", *(f"`{name}`" for name in shown)), by_length),
        )
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
