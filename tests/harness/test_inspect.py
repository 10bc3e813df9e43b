"""Inspect itself on the exported file of tasks: its own command, its logs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from asked import Asked

Log = dict[str, Any]


def line(tasks: str, out: Path, models: str, *more: object) -> tuple[object, ...]:
    """Return a command line that asks models, which are named as the files that they answer from."""
    named = ",".join(f"answerkey/{model}" for model in models.split())
    return ("eval", tasks, "--model", named, "--log-dir", out, "--log-format", "json", "--display", "plain", *more)


def logs_in(out: Path) -> list[Log]:
    logs = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(out.glob("*.json"))]
    assert {log["status"] for log in logs} == {"success"}
    return logs


def metrics(log: Log) -> dict[str, float]:
    """Return the metrics of a log by name; grouped ones by the name of their group."""
    (found,) = log["results"]["scores"]
    return {name: metric["value"] for name, metric in found["metrics"].items() if name != "stderr"}


@pytest.fixture(scope="module")
def evaluated(
    harness: Callable[..., str],
    exported: Callable[[str], Path],
    right: Asked,
    wrong: Asked,
    tmp_path_factory: pytest.TempPathFactory,
) -> Path:
    """Return a folder with the logs of every task by both models, and of a few rows of one task."""
    home = tmp_path_factory.mktemp("evaluated")
    wrong.key(home / "wrong.json")
    every = line("carrara.py", home / "every", "right wrong")
    few = line("carrara.py@idk_32k", home / "few", "right", "-T", "length=2048", "-T", "limit=1")
    key = right.key(home / "right.json")
    harness("inspect", "inspect_model.py", *every, "--then", *few, key=key, cwd=exported("inspect"))
    return home


@pytest.fixture(scope="module")
def logs_of(evaluated: Path) -> Callable[[str], dict[str, Log]]:
    """Return the logs of a model by their tasks."""
    logs = logs_in(evaluated / "every")
    return lambda model: {log["eval"]["task"]: log for log in logs if log["eval"]["model"] == f"answerkey/{model}"}


def test_who_knows_the_key_is_perfect_in_every_task(logs_of: Callable[[str], dict[str, Log]], right: Asked) -> None:
    logs = logs_of("right")
    assert sorted(logs) == sorted({f"{row['family']}_32k" for row in right.rows})
    assert {value for log in logs.values() for value in metrics(log).values()} == {1.0}
    assert {"pairs", "subtask standard-essay", "complexity 10", "length 4096"} < metrics(logs["bio_32k"]).keys()
    assert "balanced" in metrics(logs["idk_32k"])
    samples = {one["id"]: one for log in logs.values() for one in log["samples"]}
    assert samples.keys() == {row["id"] for row in right.rows}
    for row in right.rows:
        turns = samples[row["id"]]["input"]
        if row["messages"] is None:
            assert turns == row["prompt"]
        else:
            assert [(turn["role"], turn["content"]) for turn in turns] == [
                (turn["role"], turn["content"]) for turn in row["messages"]
            ]


def test_who_answers_another_row_scores_what_that_is_worth(
    logs_of: Callable[[str], dict[str, Log]], wrong: Asked
) -> None:
    logs = logs_of("wrong")
    for family in {row["family"] for row in wrong.rows}:
        found = metrics(logs[f"{family}_32k"])
        assert found["mean"] == pytest.approx(wrong.mean(family=family))
        assert found["headline"] == pytest.approx(wrong.headline(family=family))
        for length in {row["length"] for row in wrong.rows if row["family"] == family}:
            assert found[f"length {length}"] == pytest.approx(wrong.headline(family=family, length=length))
        for complexity in {row["complexity"] for row in wrong.rows if row["family"] == family}:
            mean = wrong.headline(family=family, complexity=complexity)
            assert found[f"complexity {complexity}"] == pytest.approx(mean)
    classes = [wrong.mean(family="idk", complexity=complexity) for complexity in (0, 1)]
    assert metrics(logs["idk_32k"])["balanced"] == pytest.approx(sum(classes) / 2)
    assert metrics(logs["bio_32k"])["pairs"] == 0.0


def test_a_task_takes_strata_and_a_few_rows_of_each(evaluated: Path) -> None:
    (log,) = logs_in(evaluated / "few")
    assert sorted((one["metadata"]["subtask"], one["metadata"]["complexity"]) for one in log["samples"]) == [
        ("letters", 0),
        ("letters", 1),
        ("stories", 0),
        ("stories", 1),
    ]
    assert {one["metadata"]["length"] for one in log["samples"]} == {2048}
