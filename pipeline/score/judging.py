"""Records for a judge of one's own: what was asked, what is right, and what was replied. Carrara brings no judge."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pipeline.metrics import points_of, thought
from pipeline.rows import Row
from pipeline.score.joining import join
from pipeline.score.keys import ALL, read_keys
from pipeline.score.results import ANSWERED, Scored
from pipeline.store.files import written_aside
from pipeline.store.split import Selection, Split

COLUMNS = ("id", "family", "subtask", "length", "complexity", "scorer", "question", "target")


def records_for_a_judge(
    scored: Scored, splits: Sequence[Split], paths: Sequence[Path], selection: Selection = ALL
) -> Iterator[dict[str, Any]]:
    """Yield a record for each scored reply: the row, its key points where it has some, the reply, and its score.

    The reply is whole, but for its reasoning. A row without a reply that counts has no record.

    Args:
        scored: what `score_predictions` has made of the same splits, predictions and selection.
        splits: what was asked.
        paths: files of predictions.
        selection: which rows were asked for.

    Raises:
        PredictionsError: if the predictions cannot be read any more.
    """
    known = {record.id: record for record in scored.records if record.state == ANSWERED}
    answers = join(paths, dict.fromkeys(known, ""), scored.tags, scored.split).answers
    for key in (key for split in splits for key in read_keys(split, selection)):
        if record := known.get(key.row["id"]):
            asked = {name: key.row[name] for name in COLUMNS}
            reply = thought(answers[record.id].text or "").strip()
            judged = {"score": round(record.alone, 6), "figures": {k: round(v, 6) for k, v in record.figures.items()}}
            yield {**asked, "key_points": _key_points(key.row), "reply": reply, **judged}


def write_judge_records(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write records as JSON Lines."""
    with written_aside(path) as aside, aside.open("w", encoding="ascii") as lines:
        lines.writelines(f"{json.dumps(one)}\n" for one in records)


def _key_points(row: Row) -> list[dict[str, Any]]:
    """Return the key points of a summary with the ids of their entries; none of another row."""
    if row["scorer"] != "key_points":
        return []
    points, _ = points_of(row)
    return [{"person": person, "year": int(year), "entries": sorted(ids)} for (person, year), ids in points.items()]
