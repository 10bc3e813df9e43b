"""Print the headline of what this folder's harness has written: ``python headline.py OUTPUT``.

OUTPUT is a folder or file: ``traces.jsonl`` of verifiers, or details of lighteval. The headline is the mean over
families of the mean over their subtasks of the mean over their lengths, of the rows that were asked; the harness's own
is a plain mean, of all rows or of all tasks.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

FOLDER = Path(__file__).resolve().parent
HOME = next(path.parent for path in (FOLDER / "metrics.py", *sorted(FOLDER.glob("*/metrics.py"))) if path.is_file())
"""Where metrics.py and the rows are."""


def load_metrics() -> Any:
    """Load metrics.py from this folder, even if there is another module of that name."""
    spec = importlib.util.spec_from_file_location("carrara_metrics", HOME / "metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


METRICS = load_metrics()


def files_in(path: Path, pattern: str) -> list[Path]:
    """Return the files of a folder that have such a name, or a file itself if it ends as they do."""
    if path.is_dir():
        return sorted(path.rglob(pattern))
    return [path] if path.suffix == Path(pattern).suffix else []


def scores_in(path: Path) -> Iterator[tuple[str, float]]:
    """Yield the id of each row with its score."""
    for traces in files_in(path, "traces.jsonl"):
        with traces.open(encoding="utf-8") as lines:
            for line in lines:
                for trace in json.loads(line)["traces"]:
                    reward = (trace.get("rewards") or {}).get("row_score") or {}
                    yield trace["task"]["key"], float(reward.get("score") or 0.0)
    for details in files_in(path, "details_*.parquet"):
        for one in pq.ParquetFile(details).read(columns=["doc", "metric"]).to_pylist():
            yield one["doc"]["specific"]["id"], float(one["metric"]["score"])


def main(given: list[str]) -> None:
    """Print the headline, and of how many rows it is."""
    scores = {row_id: score for path in given for row_id, score in scores_in(Path(path))}
    columns = ["id", "family", "subtask", "length", "scorer"]
    rows = {
        row["id"]: row
        for path in sorted((HOME / "data").glob("*.parquet"))
        for row in pq.ParquetFile(path).read(columns=columns).to_pylist()
        if row["id"] in scores
    }
    if not rows:
        sys.exit("headline.py: no score of a row of this folder was found: give what the harness has written")
    found = METRICS.headline(rows, METRICS.counted(rows, {row_id: scores[row_id] for row_id in rows}))
    sys.stdout.write(f"headline {found:.6f} of {len(rows):,} rows\n")


if __name__ == "__main__":
    main(sys.argv[1:])
