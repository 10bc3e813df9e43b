"""Benchmarks for NeMo Evaluator (BYOB): one for each limit of the reply, all scored by metrics.py."""

from __future__ import annotations

import json
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

from nemo_evaluator.contrib.byob import ScorerInput, benchmark, scorer

FOLDER = Path(__file__).resolve().parent
METRICS = SimpleNamespace(**run_path(str(FOLDER / "metrics.py"), run_name="carrara_metrics"))
"""The published scorers, from this folder even if another module has that name."""


def scored(sample: ScorerInput) -> dict[str, Any]:
    """Return the score of a reply, from 0 to 1, by the rule of its row, also under the name of its length."""
    score = METRICS.score(sample.metadata, sample.response)
    return {"score": score, f"score_{sample.metadata['length']}": score}


TOLD = json.loads((FOLDER / "benchmarks.json").read_text(encoding="ascii"))
for name in TOLD["benchmarks"]:
    data = str(FOLDER / "data" / f"{name}.jsonl")
    benchmark(name=name, dataset=data, prompt="{prompt}", target_field="target", endpoint_type=TOLD["endpoint"])(
        scorer(scored)
    )
