"""Functions for the tasks in this folder: loading rows, scoring replies, and aggregating scores."""

from __future__ import annotations

import json
import logging
from collections import defaultdict
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import datasets

FOLDER = Path(__file__).resolve().parent.parent

# lm-eval logs for every task that a custom data set can take arguments; these take none.
logging.getLogger("lm_eval.api.task").addFilter(lambda record: "Custom kwargs can be passed" not in record.getMessage())
METRICS = SimpleNamespace(**run_path(str(FOLDER / "metrics.py"), run_name="carrara_metrics"))
"""The published scorers, from this folder even if another module has that name."""
WEIGHTS = json.loads(Path(__file__).with_name("weights.json").read_text(encoding="ascii"))
"""For each metric of a group, the factor of each task's score before the group takes the plain mean."""


def load(file: str, **_: Any) -> Any:
    """Return the rows of a task, wherever this folder is; their text stays on disk until it is needed."""
    return datasets.load_dataset("parquet", data_files={"test": str(FOLDER / "data" / file)})


def process_results(doc: dict[str, Any], results: list[str]) -> dict[str, Any]:
    """Score the reply to a row."""
    score = METRICS.score(doc, results[0])
    found: dict[str, Any] = {"score": score}
    facts = METRICS.facts(doc["scorer"])
    head, _, tag = doc["id"].rpartition("-")
    pair = f"{head[:-1]}-{tag}"
    if facts.aggregate == "pairs":
        found["pairs"] = (pair, score)
    if facts.aggregate == "balanced":
        found["balanced"] = (doc["complexity"], score)
    task = f"{doc['family']}_{doc['subtask'].replace('-', '_')}_{doc['tier']}_{doc['length']}"
    with_room = f"{task}_{doc['max_new_tokens']}"  # the name of rows whose limit for the reply is not the usual one
    for name, weights in WEIGHTS.items():
        if (weight := weights.get(with_room, weights.get(task))) is not None:
            found[name] = (pair, score * weight) if facts.paired else score * weight
    return found


def paired(items: list[tuple[str, float]]) -> float:
    """Return the mean over rows; both rows of a pair get the lower score of the two."""
    found = defaultdict(list)
    for pair, score in items:
        found[pair].append(score)
    return sum(len(scores) * min(scores) for scores in found.values()) / len(items)


def pairs(items: list[tuple[str, float]]) -> float:
    """Return the share of complete pairs with both rows right."""
    found = defaultdict(list)
    for pair, score in items:
        found[pair].append(score)
    whole = [scores for scores in found.values() if len(scores) == 2]
    return sum(min(scores) for scores in whole) / len(whole) if whole else float("nan")


def balanced(items: list[tuple[int, float]]) -> float:
    """Return the mean of two mean scores: over rows whose text gives the answer, and over the others."""
    found = defaultdict(list)
    for complexity, score in items:
        found[complexity].append(score)
    return sum(sum(scores) / len(scores) for scores in found.values()) / len(found)
