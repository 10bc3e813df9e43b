"""Functions for the tasks in this folder: their rows, the score of a reply, and two aggregates."""

from __future__ import annotations

import importlib.util
import logging
from collections import defaultdict
from pathlib import Path
from typing import Any

import datasets

FOLDER = Path(__file__).resolve().parent.parent

# lm-eval says for every task that a custom data set can take arguments; these take none.
logging.getLogger("lm_eval.api.task").addFilter(lambda record: "Custom kwargs can be passed" not in record.getMessage())


def _metrics() -> Any:
    """Load metrics.py from this folder, even if there is another module of that name."""
    spec = importlib.util.spec_from_file_location("carrara_metrics", FOLDER / "metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


METRICS = _metrics()


def load(file: str, **_: Any) -> Any:
    """Return the rows of a task, wherever this folder is; text stays on disk until it is needed."""
    return datasets.load_dataset("parquet", data_files={"test": str(FOLDER / "data" / file)})


def process_results(doc: dict[str, Any], results: list[str]) -> dict[str, Any]:
    """Score the reply to a row."""
    score = METRICS.score(doc, results[0])
    found: dict[str, Any] = {"score": score}
    second = METRICS.facts(doc["scorer"]).aggregate
    if second == "pairs":
        head, _, tag = doc["id"].rpartition("-")
        found["pairs"] = (f"{head[:-1]}-{tag}", score)
    if second == "balanced":
        found["balanced"] = (doc["complexity"], score)
    return found


def pairs(items: list[tuple[str, float]]) -> float:
    """Return the share of complete pairs with both forms right."""
    found = defaultdict(list)
    for pair, score in items:
        found[pair].append(score)
    whole = [scores for scores in found.values() if len(scores) == 2]
    return sum(min(scores) for scores in whole) / len(whole) if whole else float("nan")


def balanced(items: list[tuple[int, float]]) -> float:
    """Return the mean of two mean scores: on rows whose text gives the answer, and on the others."""
    found = defaultdict(list)
    for complexity, score in items:
        found[complexity].append(score)
    return sum(sum(scores) / len(scores) for scores in found.values()) / len(found)
