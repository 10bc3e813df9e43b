"""verifiers itself on the exported taskset: its own command against a server on the loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asked import Asked
from server import serving

Run = Callable[..., str]
pytestmark = pytest.mark.harness


def evaluated(run: Run, folder: Path, out: Path, *more: object) -> dict[str, float]:
    """Return the reward of each row by its id."""
    agent = ("--env.agent.harness.id", "carrara_vf", "--env.agent.runtime.type", "subprocess")
    with serving() as (url, _):
        client = ("--client.base-url", url, "--client.api-key-var", "SERVER_KEY", "--model", "key")
        args = ("carrara_vf", *agent, *client, "--no-push", "-c", 4, "-o", out, *more)
        run("verifiers", "verifiers_command.py", *args, PYTHONPATH=str(folder), SERVER_KEY="none")
    (found,) = out.rglob("traces.jsonl")
    traces = [json.loads(line)["traces"][0] for line in found.read_text(encoding="utf-8").splitlines()]
    assert all(trace["ok"] for trace in traces)
    return {trace["task"]["key"]: trace["rewards"]["row_score"]["score"] for trace in traces}


@pytest.fixture
def folder(exported: Callable[[str], Path]) -> Path:
    return exported("verifiers")


def test_who_knows_the_key_is_perfect_in_every_row(
    harness: Run, folder: Path, right: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right.serve(tmp_path, monkeypatch)
    assert evaluated(harness, folder, tmp_path / "out") == right.scores


def test_who_answers_another_row_scores_what_that_is_worth(
    harness: Run, folder: Path, wrong: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong.serve(tmp_path, monkeypatch)
    few = ("--env.taskset.length", 2048, "--env.taskset.limit", 1)
    found = evaluated(harness, folder, tmp_path / "out", *few)
    assert found == {name: pytest.approx(wrong.scores[name]) for name in found}
    strata = {(row["family"], row["subtask"], row["complexity"]) for row in wrong.rows if row["length"] == 2048}
    assert len(found) == len(strata)
