"""OpenCompass classes for this folder: a loader of its rows, a client of a server, and a scorer of replies."""

from __future__ import annotations

import json
import os
from collections import defaultdict
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

from datasets import Dataset
from opencompass.datasets.base import BaseDataset
from opencompass.models import OpenAISDK
from opencompass.openicl.icl_evaluator import BaseEvaluator
from opencompass.registry import ICL_EVALUATORS, LOAD_DATASET, MODELS

FOLDER = Path(__file__).resolve().parent
METRICS = SimpleNamespace(**run_path(str(FOLDER / "metrics.py"), run_name="carrara_metrics"))
"""The published scorers, from this folder even if another module has that name."""


@LOAD_DATASET.register_module()
class Rows(BaseDataset):
    """Rows as messages; `key` is the rest of a row, as JSON."""

    @staticmethod
    def load(path: str, **_: Any) -> Dataset:
        """Read the rows of a file."""
        rows = []
        for line in (FOLDER / path).read_text(encoding="ascii").splitlines():
            row = json.loads(line)
            rows.append({"messages": row.pop("messages"), "key": json.dumps(row)})
        return Dataset.from_list(rows)


@MODELS.register_module()
class Server(OpenAISDK):
    """An OpenAI-compatible server at OPENAI_BASE_URL; this client neither counts tokens nor cuts prompts."""

    def __init__(self, **options: Any) -> None:
        base = os.environ.get("OPENAI_BASE_URL", "http://localhost:8000/v1")
        super().__init__(openai_api_base=base, query_per_second=1000, max_seq_len=1 << 30, **options)

    def _init_tokenizer(self) -> None:
        """Load nothing, where OpenCompass would fetch a vocabulary."""

    def get_token_len(self, prompt: str) -> int:
        """Return 0: rows fit by construction, and another model's tokenizer would count wrongly."""
        return 0


@ICL_EVALUATORS.register_module()
class RowScore(BaseEvaluator):
    """The mean score of metrics.py in percent, over all rows and for each length."""

    def score(self, predictions: list[str], references: list[str]) -> dict[str, Any]:
        """Score the replies to the rows of a file."""
        found, details = defaultdict(list), []
        for reply, reference in zip(predictions, references, strict=True):
            key = json.loads(reference)
            score = METRICS.score(key, reply)
            details.append({"id": key["id"], "prediction": reply, "score": score})
            for name in ("score", f"score_{key['length']}"):
                found[name].append(score)
        return {**{name: 100 * sum(some) / len(some) for name, some in found.items()}, "details": details}
