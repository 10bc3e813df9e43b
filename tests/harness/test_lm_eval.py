"""lm-evaluation-harness itself on the exported folder: its tasks, its groups, its own command."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asked import Asked

Run = Callable[..., str]
Results = dict[str, dict[str, Any]]


def evaluated(run: Run, folder: Path, key: Path, out: Path, *more: object, alone: bool = True) -> Results:
    """Return the results of tasks; unless `alone`, the thousands of lm-eval's own tasks are read first."""
    args = ("run", "--model", "answerkey", "--include_path", folder, "--output_path", out, *more)
    said = run("lm-eval", "lm_eval_model.py", *args, key=key, **({"CARRARA_ALONE": "1"} if alone else {}))
    assert "WARNING" not in said
    (found,) = out.rglob("results_*.json")
    return dict(json.loads(found.read_text(encoding="utf-8"))["results"])


PARTS = ("headline", "at_length")
"""Metrics that are a headline in a group, and in a task its part of that."""


def values(results: Results) -> dict[tuple[str, str], float]:
    """Return every metric of every task and group, but for parts of headlines."""
    return {
        (name, metric.removesuffix(",none")): value
        for name, found in results.items()
        for metric, value in found.items()
        if metric.endswith(",none") and "stderr" not in metric
        if not (metric.removesuffix(",none") in PARTS and "score,none" in found)
    }


@pytest.fixture
def folder(exported: Callable[[str], Path]) -> Path:
    return exported("lm-eval")


def test_who_knows_the_key_is_perfect_in_every_task_and_group(
    harness: Run, folder: Path, right: Asked, tmp_path: Path
) -> None:
    key = right.key(tmp_path / "key.json")
    results = evaluated(harness, folder, key, tmp_path / "out", "--tasks", "carrara", "--log_samples")
    found = values(results)
    assert {round(value, 12) for value in found.values()} == {1.0}
    assert {metric for _, metric in found} == {"score", "pairs", "balanced", "headline"}
    assert found["carrara", "headline"] == found["carrara_32k", "headline"]
    tasks = {f"carrara_{path.stem}" for path in (folder / "data").iterdir()}
    assert tasks < results.keys()
    assert {"carrara", "carrara_32k", "carrara_bio_32k", "carrara_latent_list_32k_2048"} < results.keys()
    samples = [
        json.loads(line)
        for path in sorted((tmp_path / "out").rglob("samples_*.jsonl"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    carried = {row["id"]: row["prompt"] for row in right.rows if row["messages"] is None}
    assert {one["doc"]["id"]: one["arguments"]["gen_args_0"]["arg_0"] for one in samples} == carried


def test_who_answers_another_row_scores_what_that_is_worth(
    harness: Run, folder: Path, wrong: Asked, tmp_path: Path
) -> None:
    tasks, key = ("--tasks", "carrara_32k_2048,carrara_32k_4096,carrara_32k_8192"), wrong.key(tmp_path / "key.json")
    found = values(evaluated(harness, folder, key, tmp_path / "out", *tasks))
    for length in (2048, 4096, 8192):
        assert found[f"carrara_32k_{length}", "at_length"] == pytest.approx(wrong.headline(length=length, turns=False))
    for task in (("latent_list", "sum"), ("bio", "standard")):
        name = f"carrara_{'_'.join(task)}_32k_4096"
        assert found[name, "score"] == pytest.approx(wrong.mean(subtask=task[1], length=4096))
    for subtask in ("letters", "stories"):
        classes = [wrong.mean(subtask=subtask, length=4096, complexity=complexity) for complexity in (0, 1)]
        assert found[f"carrara_idk_{subtask}_32k_4096", "balanced"] == pytest.approx(sum(classes) / 2)
    assert found["carrara_bio_idk_32k_4096", "pairs"] == 0.0


@pytest.mark.slow
def test_tasks_and_groups_stand_beside_those_of_lm_eval_itself(
    harness: Run, folder: Path, right: Asked, tmp_path: Path
) -> None:
    key = right.key(tmp_path / "key.json")
    found = values(evaluated(harness, folder, key, tmp_path / "out", "--tasks", "carrara", alone=False))
    assert {round(value, 12) for value in found.values()} == {1.0}
    assert found["carrara", "headline"] == found["carrara_32k", "headline"]


def test_rows_with_turns_are_left_out_by_name(folder: Path, right: Asked) -> None:
    left = [line.split("\t")[0] for line in (folder / "left_out.tsv").read_text(encoding="ascii").splitlines()]
    assert left == [row["id"] for row in right.rows if row["messages"] is not None]
    assert left
