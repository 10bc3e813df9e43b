"""Benchmarks for NeMo Evaluator (BYOB): one for each length of reply, all scored by metrics.py."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import Any

from nemo_evaluator.contrib.byob import ScorerInput, benchmark, scorer

FOLDER = Path(__file__).resolve().parent


def load_metrics() -> Any:
    """Load metrics.py from this folder, even if there is another module of that name."""
    spec = importlib.util.spec_from_file_location("carrara_metrics", FOLDER / "metrics.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


METRICS = load_metrics()


def scored(sample: ScorerInput) -> dict[str, Any]:
    """Return the score of a reply, from 0 to 1, by the rule of its row; beside it the same by length."""
    score = METRICS.score(sample.metadata, sample.response)
    return {"score": score, f"score_{sample.metadata['length']}": score}


TOLD = json.loads((FOLDER / "benchmarks.json").read_text(encoding="ascii"))
for name in TOLD["benchmarks"]:
    data = str(FOLDER / "data" / f"{name}.jsonl")
    benchmark(name=name, dataset=data, prompt="{prompt}", target_field="target", endpoint_type=TOLD["endpoint"])(
        scorer(scored)
    )
