"""Tasks for lighteval: one for each subtask and length, with the rows of this folder and their own scorers."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import numpy as np
from lighteval.metrics.metrics_sample import SampleLevelComputation
from lighteval.metrics.utils.metric_utils import SampleLevelMetric
from lighteval.models.model_output import ModelResponse
from lighteval.tasks.lighteval_task import LightevalTaskConfig
from lighteval.tasks.requests import Doc, SamplingMethod

FOLDER = Path(__file__).resolve().parent
METRICS = SimpleNamespace(**run_path(str(FOLDER / "metrics.py"), run_name="carrara_metrics"))
"""The published scorers, from this folder even if another module has that name."""


class CarraraScore(SampleLevelComputation):
    """The score of a reply by the row's rule in metrics.py, from 0 to 1."""

    def compute(self, doc: Doc, model_response: ModelResponse, **_: Any) -> float:
        """Score the model's reply."""
        return float(METRICS.score(doc.specific, model_response.text[0]))


def prompt(row: dict[str, Any], task: str) -> Doc:
    """Return a row as lighteval's document, which carries all other columns for the scorer."""
    known = {name: value for name, value in row.items() if name != "prompt" and not name.startswith("__")}
    return Doc(query=row["prompt"], choices=[row["target"]], gold_index=0, specific=known, task_name=task)


SCORE = SampleLevelMetric(
    metric_name="score",
    higher_is_better=True,
    category=SamplingMethod.GENERATIVE,
    sample_level_fn=CarraraScore(),
    corpus_level_fn=np.mean,
)


def task(name: str, config: str, room: int, stops: list[str]) -> LightevalTaskConfig:
    """Return the task of a configuration in ``data``; a reply has at most `room` tokens and ends at any of `stops`."""
    return LightevalTaskConfig(
        name=name,
        prompt_function=prompt,
        hf_repo=str(FOLDER / "data"),
        hf_subset=config,
        hf_avail_splits=["test"],
        evaluation_splits=["test"],
        few_shots_split="test",
        few_shots_select="sequential",
        generation_size=room,
        stop_sequence=stops,
        metrics=[SCORE],
    )


TASKS_TABLE = [task(**each) for each in json.loads((FOLDER / "tasks.json").read_text(encoding="ascii"))]
