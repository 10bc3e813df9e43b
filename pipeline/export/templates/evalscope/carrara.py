"""EvalScope's own command with one more benchmark: the rows of this folder, a subset for each subtask and length.

``python FOLDER/carrara.py eval --datasets NAME ...`` takes all options of ``evalscope eval``.
"""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

from evalscope.api.benchmark import BenchmarkMeta, DefaultDataAdapter
from evalscope.api.dataset import Sample
from evalscope.api.evaluator import TaskState
from evalscope.api.messages import ChatMessageUser, dict_to_chat_message
from evalscope.api.metric import AggScore, SampleScore, Score
from evalscope.api.model import GenerateConfig, Model, ModelOutput
from evalscope.api.registry import register_benchmark
from evalscope.cli.cli import run_cmd
from evalscope.report import Report

FOLDER = Path(__file__).resolve().parent
ABOUT = json.loads((FOLDER / "benchmark.json").read_text(encoding="ascii"))
METRIC = "normalized_score"
"""EvalScope's name for a score from 0 to 1; it reports only names that it knows."""
METRICS = SimpleNamespace(**run_path(str(FOLDER / "metrics.py"), run_name="carrara_metrics"))
"""The published scorers, from this folder even if another module has that name."""


@register_benchmark(
    BenchmarkMeta(
        name=ABOUT["name"],
        pretty_name=ABOUT["title"],
        description=ABOUT["title"],
        dataset_id=str(FOLDER / "data"),
        subset_list=ABOUT["subsets"],
        eval_split="test",
        metric_list=[METRIC],
        few_shot_num=0,
    )
)
class Carrara(DefaultDataAdapter):
    """The rows unchanged, each with its own limit for the reply and its own scorer, and one headline for all."""

    def __init__(self, **given: Any) -> None:
        """Start without scores."""
        super().__init__(**given)
        self.rows: dict[str, dict[str, Any]] = {}
        self.scores: dict[str, float] = {}

    def record_to_sample(self, record: dict[str, Any]) -> Sample:
        """Return a row as a sample: its real turns as messages, or its prompt as one user message."""
        turns = [dict_to_chat_message(turn) for turn in record["messages"] or ()]
        known = {name: value for name, value in record.items() if name not in ("messages", "prompt")}
        return Sample(
            input=turns or [ChatMessageUser(content=record["prompt"])], target=record["target"], metadata=known
        )

    def _on_inference(self, model: Model, sample: Sample) -> ModelOutput:
        """Ask for a reply within the row's limit of tokens."""
        config = GenerateConfig(max_tokens=sample.metadata["max_new_tokens"])
        if model.config.temperature is None:
            config.temperature = 0.0
        return model.generate(input=sample.input, config=config)

    def match_score(
        self, original_prediction: str, filtered_prediction: str, reference: str, task_state: TaskState
    ) -> Score:
        """Score the unfiltered reply by the row's rule in metrics.py."""
        found = METRICS.score(task_state.metadata, original_prediction)
        return Score(
            prediction=original_prediction,
            extracted_prediction=filtered_prediction,
            value={METRIC: found},
            main_score_name=METRIC,
        )

    def aggregate_scores(self, sample_scores: list[SampleScore]) -> list[AggScore]:
        """Return the mean of a subset, and keep its scores for the headline."""
        for one in sample_scores:
            row = one.sample_metadata or {}
            self.rows[row["id"]] = row
            self.scores[row["id"]] = float(one.score.value[METRIC])
        return super().aggregate_scores(sample_scores)

    def _on_generate_report(self, scores: dict[str, list[AggScore]], model_name: str) -> Report:
        """Return EvalScope's report with the headline as its score, instead of the mean over all rows."""
        report = super()._on_generate_report(scores, model_name=model_name)
        found = METRICS.headline(self.rows, METRICS.pair_scores(self.rows, self.scores))
        for metric in report.metrics:
            metric.score = round(found, 6)
        return report


if __name__ == "__main__":
    run_cmd()
