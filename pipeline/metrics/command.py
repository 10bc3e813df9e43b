"""The command. `carrara score` does more: intervals, depth, other formats."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from pipeline.metrics.means import headline, pair_scores
from pipeline.metrics.registry import judge, scorers_of, versions
from pipeline.metrics.scorer import Row, Rule


def main(arguments: Sequence[str] | None = None) -> int:
    """Print a table of scores; return 0, 1 if nothing could be scored, or 2 if something was missing or wrong."""
    parser = argparse.ArgumentParser(prog="metrics.py", description="Score predictions against keys.")
    parser.add_argument("predictions", type=Path, help="JSON Lines with id and prediction")
    parser.add_argument("keys", type=Path, help="JSON Lines or Parquet of keys, or a folder of such files")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--quirk", action="append", default=[], metavar="mrcr=starts", help="another published rule")
    given = parser.parse_args(arguments)
    try:
        scorers = scorers_of(given.quirk)
        keys = {str(row["id"]): row for row in read_keys(given.keys)}
        faults: list[str] = []
        replies = read_replies(given.predictions, keys, faults)
    except (OSError, ValueError, KeyError, ImportError) as fault:
        sys.stderr.write(f"metrics.py: {type(fault).__name__}: {fault}\n")
        return 1
    faults += [f"{row_id}: no prediction" for row_id in keys if row_id not in replies]
    sys.stderr.write("".join(f"{fault}\n" for fault in faults))
    lines = summary(keys, replies, scorers)
    sys.stdout.write(json.dumps(lines, indent=1) + "\n" if given.json else _table(lines))
    return 2 if faults else 0


def read_keys(path: Path) -> Iterator[Row]:
    """Yield the rows of a file of keys, or of all files of a folder.

    Raises:
        ValueError: if a line is no object of JSON.
        ImportError: for Parquet without pyarrow.
    """
    for file in sorted(path.rglob("*.parquet")) or sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]:
        if file.suffix == ".parquet":
            yield from import_module("pyarrow.parquet").ParquetFile(file).read().to_pylist()
        else:
            with file.open(encoding="utf-8") as lines:
                yield from map(json.loads, filter(str.strip, lines))


def read_replies(path: Path, keys: Mapping[str, Row], faults: list[str]) -> dict[str, str]:
    """Return the prediction for each id, leaving out ids with two; add each fault, with its line, to `faults`."""
    replies: dict[str, str] = {}
    with path.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            if fault := _take(line, keys, replies):
                faults.append(f"{path}:{number}: {fault}")
    return {row_id: text for row_id, text in replies.items() if text != CONFLICT}


def _take(line: bytes, keys: Mapping[str, Row], replies: dict[str, str]) -> str:
    """Add a line's prediction to the replies; return what is wrong with the line, or an empty string."""
    try:
        record = json.loads(line.strip() or b'{"error": "empty"}')
    except (ValueError, RecursionError):
        return "no line of JSON"
    row_id, text = (record.get("id"), record.get("prediction")) if isinstance(record, dict) else (None, None)
    if isinstance(record, dict) and (record.get("error") or record.get("refused")):
        return ""
    if not isinstance(row_id, str) or row_id not in keys:
        return f"no row has the id {row_id!r}"
    if not isinstance(text, str):
        return f"{row_id}: the prediction is not text"
    if replies.setdefault(row_id, text) != text:
        replies[row_id] = CONFLICT
        return f"{row_id}: another answer than before, none counts"
    return ""


CONFLICT = "\0two answers"


def summary(keys: Mapping[str, Row], replies: Mapping[str, str], scorers: Mapping[str, Rule]) -> list[dict[str, Any]]:
    """Return counts of rows, `headline` and the versions of scorers, over all rows and by family, subtask and length.

    `answered` counts rows with a reply; `unparsed` counts those whose reply has no form that can be judged.
    """
    judged = {row_id: judge(row, replies.get(row_id), scorers) for row_id, row in keys.items()}
    scores = pair_scores(keys, {row_id: value or 0.0 for row_id, value in judged.items()})
    groups: dict[tuple[str, str, int], list[str]] = {}
    for row_id, row in keys.items():
        for subtask, length in ((row["subtask"], row["length"]), (row["subtask"], 0), ("", row["length"]), ("", 0)):
            groups.setdefault((row["family"], subtask, length), []).append(row_id)
        groups.setdefault(("", "", 0), []).append(row_id)
    return [
        {
            "family": family or "all",
            "subtask": subtask or "all",
            "length": length or "all",
            "rows": len(ids),
            "answered": sum(row_id in replies for row_id in ids),
            "unparsed": sum(row_id in replies and judged[row_id] is None for row_id in ids),
            "score": round(headline({row_id: keys[row_id] for row_id in ids}, scores), 6),
            "scorers": versions(keys[row_id] for row_id in ids),
        }
        for (family, subtask, length), ids in sorted(groups.items())
    ]


def _table(lines: Sequence[Mapping[str, Any]]) -> str:
    """Return the lines of `summary` as a table, followed by the versions of all scorers."""
    head = ["family", "subtask", "length", "rows", "answered", "unparsed", "score"]
    cells = [head, *([f"{v:.3f}" if isinstance(v, float) else str(v) for v in map(line.get, head)] for line in lines)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(head))]
    pad = [str.ljust, str.ljust, *[str.rjust] * 5]
    table = "".join("  ".join(f(c, w) for f, c, w in zip(pad, line, widths, strict=True)) + "\n" for line in cells)
    named = [f"{name} {version}" for line in lines[:1] for name, version in line["scorers"].items()]
    return f"{table}scorers: {', '.join(named)}\n"
