"""Means of scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import fsum

from pipeline.metrics.registry import facts
from pipeline.metrics.scorer import Row


def pair_scores(rows: Mapping[str, Row], scores: Mapping[str, float]) -> dict[str, float]:
    """Return the scores that count, by id: both rows of a pair get the lower of their two scores."""
    found = dict(scores)
    for row_id in scores:
        if facts(rows[row_id]["scorer"]).paired:
            found[row_id] = min(scores[row_id], scores.get(_other_row(row_id), 1.0))
    return found


def headline(rows: Mapping[str, Row], scores: Mapping[str, float]) -> float:
    """Return the single score of some rows: the mean over families of means over subtasks of means over lengths.

    So neither a task with more rows nor a family with more tasks weighs more; HELMET averages its categories alike.
    Both arguments are by id; `scores` comes from `pair_scores`. The result is nan without rows.
    """
    tree: dict[str, dict[str, dict[int, list[float]]]] = {}
    for row_id, row in rows.items():
        subtasks = tree.setdefault(row["family"], {}).setdefault(row["subtask"], {})
        subtasks.setdefault(row["length"], []).append(scores[row_id])
    return _mean(
        _mean(_mean(map(_mean, lengths.values())) for lengths in subtasks.values()) for subtasks in tree.values()
    )


def _mean(values: Iterable[float]) -> float:
    """Return a mean that does not depend on the order of the values."""
    found = list(values)
    return fsum(found) / len(found) if found else float("nan")


def _other_row(row_id: str) -> str:
    """Return the id of the other row of a pair: a for b, b for a."""
    head, dash, tag = row_id.rpartition("-")
    return head[:-1] + {"a": "b", "b": "a"}.get(head[-1:], head[-1:]) + dash + tag
