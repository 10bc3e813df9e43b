"""Print the headline of the output of this folder's harness: ``python headline.py OUTPUT``.

OUTPUT is a folder or file: ``traces.jsonl`` of verifiers, or details of lighteval. The headline is the mean over
families of means over their subtasks of means over their lengths, over the rows that were asked. The harness's own
number is a plain mean over all rows or all tasks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq

FOLDER = Path(__file__).resolve().parent
HOME = next(path.parent for path in (FOLDER / "metrics.py", *sorted(FOLDER.glob("*/metrics.py"))) if path.is_file())
"""The folder with metrics.py and the rows."""
METRICS = SimpleNamespace(**run_path(str(HOME / "metrics.py"), run_name="carrara_metrics"))
"""The published scorers, from this folder even if another module has that name."""


def files_in(path: Path, pattern: str) -> list[Path]:
    """Return the files below a folder that match a pattern, or a file itself if its suffix matches."""
    if path.is_dir():
        return sorted(path.rglob(pattern))
    return [path] if path.suffix == Path(pattern).suffix else []


def scores_in(path: Path) -> Iterator[tuple[str, float, str]]:
    """Yield the id of each row, its score, and the reply, which is empty if none was kept."""
    for traces in files_in(path, "traces.jsonl"):
        with traces.open(encoding="utf-8") as lines:
            for line in lines:
                for trace in json.loads(line)["traces"]:
                    reward = (trace.get("rewards") or {}).get("row_score") or {}
                    last = ((trace.get("nodes") or [{}])[-1] or {}).get("message") or {}
                    reply = last.get("content") if last.get("role") == "assistant" else ""
                    text = reply if isinstance(reply, str) else ""
                    yield trace["task"]["key"], float(reward.get("score") or 0.0), text
    for details in files_in(path, "details_*.parquet"):
        for one in pq.ParquetFile(details).read(columns=["doc", "metric", "model_response"]).to_pylist():
            reply = ((one["model_response"] or {}).get("text") or [""])[0]
            yield one["doc"]["specific"]["id"], float(one["metric"]["score"]), reply or ""


def main(given: list[str]) -> None:
    """Print the headline, the number of its rows, and the number of replies that cannot be judged."""
    found = {row_id: (score, reply) for path in given for row_id, score, reply in scores_in(Path(path))}
    columns = ["id", "family", "length", *METRICS.JUDGED]
    rows = {
        row["id"]: row
        for path in sorted((HOME / "data").glob("*.parquet"))
        for row in pq.ParquetFile(path).read(columns=columns).to_pylist()
        if row["id"] in found
    }
    if not rows:
        sys.exit("headline.py: no score of a row of this folder was found: give what the harness has written")
    scores = METRICS.pair_scores(rows, {row_id: found[row_id][0] for row_id in rows})
    replies = {row_id: found[row_id][1] for row_id in rows}
    unparsed = sum(bool(text.strip()) and METRICS.judge(rows[row_id], text) is None for row_id, text in replies.items())
    sys.stdout.write(f"headline {METRICS.headline(rows, scores):.6f} of {len(rows):,} rows, {unparsed:,} unparsed\n")


if __name__ == "__main__":
    main(sys.argv[1:])
