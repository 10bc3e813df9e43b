"""Rows of a million tokens go through the harnesses whole, and in less than 4 GB."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import builds
from answering import PEAK
from asked import Asked
from pipeline.artifacts.split import Selection, open_split
from pipeline.export import EXPORTS, export

Run = Callable[..., str]
pytestmark = pytest.mark.slow

RECIPE = """
release = "tiny"
version = "1.0.0"
seed = 7
tier = "1m"

[[strata]]
family = "bio"
subtasks = ["standard"]
complexity = [1]
lengths = [1048576]
rows = 2

[[strata]]
family = "mrcr"
subtasks = ["chat", "transcript"]
complexity = [4]
lengths = [1048576]
rows = 1
"""


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Asked:
    home = tmp_path_factory.mktemp("million")
    (home / "tiny.toml").write_text(RECIPE, encoding="ascii")
    builds.stages(home / "tiny.toml", home / "built").build()
    split = open_split(home / "built" / "o200k")
    return Asked(split, {row["id"]: row["target"] for row in split.key_rows(["id", "target"])})


def test_lm_eval_takes_a_million_tokens(harness: Run, asked: Asked, tmp_path: Path) -> None:
    export(EXPORTS["lm-eval"], asked.split, Selection(), tmp_path / "made")
    how = ("--model", "answerkey", "--include_path", tmp_path / "made", "--output_path", tmp_path / "out")
    args = ("run", "--tasks", "tiny", "--log_samples", *how)
    harness("lm-eval", "lm_eval_model.py", *args, key=asked.key(tmp_path / "key"), **{PEAK: str(tmp_path / "peak")})
    (found,) = (tmp_path / "out").rglob("results_*.json")
    results = json.loads(found.read_text(encoding="utf-8"))["results"]
    assert results["tiny"]["headline,none"] == 1.0
    assert {each["score,none"] for each in results.values() if "score,none" in each} == {1.0}
    assert int((tmp_path / "peak").read_text(encoding="ascii")) < 4e9


def test_inspect_takes_a_million_tokens(harness: Run, asked: Asked, tmp_path: Path) -> None:
    export(EXPORTS["inspect"], asked.split, Selection(), tmp_path / "made")
    how = ("--model", "answerkey/key", "--log-dir", tmp_path / "logs", "--log-format", "json", "--display", "plain")
    peak = {PEAK: str(tmp_path / "peak")}
    key = asked.key(tmp_path / "key.json")
    harness("inspect", "inspect_model.py", "eval", "carrara.py", *how, key=key, cwd=tmp_path / "made", **peak)
    logs = [json.loads(path.read_text(encoding="utf-8")) for path in (tmp_path / "logs").glob("*.json")]
    assert [log["results"]["scores"][0]["metrics"]["mean"]["value"] for log in logs] == [1.0, 1.0]
    assert int((tmp_path / "peak").read_text(encoding="ascii")) < 4e9
