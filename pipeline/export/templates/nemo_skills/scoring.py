"""The scores of metrics.py in NeMo-Skills: an evaluator of replies, and a metric that takes means."""

from __future__ import annotations

from typing import Any

from carrara_skills import metrics as carrara
from nemo_skills.evaluation.evaluator.base import BaseEvaluator
from nemo_skills.evaluation.metrics.base import BaseMetrics


class RowEvaluator(BaseEvaluator):
    """Scores a reply by the rule of its row."""

    async def eval_single(self, data_point: dict[str, Any]) -> dict[str, Any]:
        """Return the score of a reply, from 0 to 1."""
        return {"score": float(carrara.score(data_point, data_point["generation"]))}


class RowMetrics(BaseMetrics):
    """The mean score of a benchmark's rows."""

    def _get_score_dict(self, prediction: dict[str, Any]) -> dict[str, float]:
        return {"score": float(prediction.get("score", 0.0))}

    def get_incorrect_sample(self, prediction: dict[str, Any]) -> dict[str, Any]:
        """Return the same row with a score of 0."""
        return {**prediction, "score": 0.0}

    def update(self, predictions: list[dict[str, Any]]) -> None:
        """Add the replies to one row."""
        super().update(predictions)
        self._compute_pass_at_k(predictions=predictions)
