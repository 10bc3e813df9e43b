"""The score of metrics.py as a reward for verl (`compute_score`) and TRL (`reward`)."""

from __future__ import annotations

from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

METRICS = SimpleNamespace(**run_path(str(Path(__file__).resolve().with_name("metrics.py")), run_name="carrara_metrics"))
"""The published scorers, from this folder even if another module has that name."""


def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: dict[str, Any], **_: Any
) -> float:
    """Return the score of a reply, from 0 to 1, by the rule of its row."""
    row = {**extra_info, "family": data_source.partition("/")[2].partition(".")[0], "target": ground_truth}
    for name in ("answers", "choices"):
        row[name] = None if row[name] is None else list(row[name])
    return float(METRICS.score(row, solution_str))


def reward(
    completions: list[Any],
    data_source: list[str],
    reward_model: list[dict[str, str]],
    extra_info: list[dict[str, Any]],
    **_: Any,
) -> list[float]:
    """Return the scores of replies, given as text or as lists of one message."""
    replies = [one if isinstance(one, str) else one[-1]["content"] for one in completions]
    keys = zip(data_source, reward_model, extra_info, strict=True)
    return [
        compute_score(source, reply, model["ground_truth"], extra)
        for reply, (source, model, extra) in zip(replies, keys, strict=True)
    ]
