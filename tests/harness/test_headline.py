"""One headline: the same replies give the same digits, whoever asks for them and whoever counts."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from asked import Asked, families
from pipeline import metrics
from pipeline.artifacts.split import Selection, Split
from pipeline.cli import cli
from pipeline.export import EXPORTS, export
from server import serving

Run = Callable[..., str]
pytestmark = pytest.mark.harness


@pytest.fixture(scope="module")
def selection(smoke: Split) -> Selection:
    """The first row of each stratum that every harness can carry."""
    turns = {row["subtask"] for row in smoke.rows(["subtask", "messages"]) if row["messages"] is not None}
    every = {row["subtask"] for row in smoke.key_rows(["subtask"])}
    return Selection(subtasks=tuple(sorted(every - turns)), lengths=(2048, 4096, 8192), limit=1)


@pytest.fixture(scope="module")
def mixed(smoke: Split) -> Asked:
    """Right replies to two rows of three, those of other rows to the others."""
    replies = {
        row["id"]: (row if at % 3 else other)["target"]
        for rows in families(smoke)
        for at, (row, other) in enumerate(zip(rows, [*rows[1:], rows[0]], strict=True))
    }
    return Asked(smoke, replies)


@pytest.fixture(scope="module")
def expected(smoke: Split, mixed: Asked, selection: Selection) -> str:
    """The headline, counted by hand."""
    rows = {row["id"]: row for row in smoke.key_rows(None, selection)}
    scores = metrics.pair_scores(rows, {row_id: mixed.scores[row_id] for row_id in rows})
    tree: dict[str, dict[str, dict[int, list[float]]]] = {}
    for row_id, row in rows.items():
        place = tree.setdefault(row["family"], {}).setdefault(row["subtask"], {}).setdefault(row["length"], [])
        place.append(scores[row_id])

    def mean(values: Any) -> float:
        found = [
            mean(each.values() if isinstance(each, dict) else each) if not isinstance(each, float) else each
            for each in values
        ]
        return sum(found) / len(found)

    plain = sum(scores.values()) / len(scores)
    found = f"{mean(tree.values()):.6f}"
    assert found != f"{plain:.6f}", "the replies tell the headline from the mean of rows"
    return found


@pytest.fixture
def folder(smoke: Split, selection: Selection, tmp_path: Path) -> Callable[[str], Path]:
    def made(name: str) -> Path:
        export(EXPORTS[name], smoke, selection, tmp_path / name)
        return tmp_path / name

    return made


@pytest.fixture
def url(mixed: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    mixed.serve(tmp_path, monkeypatch)
    with serving() as (url, _):
        yield url


def scored(split: Split, predictions: Path, *more: object) -> str:
    """Return the headline that `carrara score` prints; every row that was asked has a reply."""
    done = CliRunner().invoke(cli, ["score", str(split.folder), str(predictions), *map(str, more)])
    assert done.exit_code == 0, done.output
    assert "warning" not in done.stderr
    return headline_in(done.stdout)


def headline_in(text: str) -> str:
    return re.search(r"^headline (\d\.\d{6})", text, re.MULTILINE)[1]


def test_run_and_score(smoke: Split, selection: Selection, expected: str, url: str, tmp_path: Path) -> None:
    out = tmp_path / "m.jsonl"
    chosen = [f"--subtask={name}" for name in selection.subtasks] + [f"--length={each}" for each in selection.lengths]
    line = ["run", str(smoke.folder), "--base-url", url, "--model", "key", "--out", str(out), "--limit", "1", *chosen]
    done = CliRunner().invoke(cli, line)
    assert done.exit_code == 0, done.output
    assert headline_in(done.stdout) == scored(smoke, out) == expected


def test_lm_eval(
    harness: Run, smoke: Split, folder: Callable[[str], Path], mixed: Asked, expected: str, tmp_path: Path
) -> None:
    home, key, out = folder("lm-eval"), mixed.key(tmp_path / "key.json"), tmp_path / "out"
    args = ("--tasks", "carrara", "--include_path", home, "--output_path", out, "--log_samples")
    said = harness("lm-eval", "lm_eval_model.py", "run", "--model", "answerkey", *args, key=key)
    assert "WARNING" not in said
    (found,) = out.rglob("results_*.json")
    results = json.loads(found.read_text(encoding="utf-8"))["results"]
    assert f"{results['carrara']['headline,none']:.6f}" == scored(smoke, out, "--export", home) == expected


def test_inspect(
    harness: Run, smoke: Split, folder: Callable[[str], Path], mixed: Asked, expected: str, tmp_path: Path
) -> None:
    home, key, out = folder("inspect"), mixed.key(tmp_path / "key.json"), tmp_path / "out"
    how = ("--model", "answerkey/key", "--log-dir", out, "--log-format", "json", "--display", "plain")
    harness("inspect", "inspect_model.py", "eval", "everything.py", *how, key=key, cwd=home)
    (log,) = out.glob("*.json")
    (found,) = json.loads(log.read_text(encoding="utf-8"))["results"]["scores"]
    assert f"{found['metrics']['headline']['value']:.6f}" == scored(smoke, out, "--export", home) == expected


def test_evalscope(
    harness: Run, smoke: Split, folder: Callable[[str], Path], expected: str, url: str, tmp_path: Path
) -> None:
    home, out = folder("evalscope"), tmp_path / "out"
    how = ("--model", "key", "--api-url", url, "--api-key", "none", "--work-dir", out, "--no-timestamp")
    args = ("eval", "--datasets", "carrara", *how)
    harness("evalscope", str(home / "carrara.py"), *args, MODELSCOPE_CACHE=str(out / "cache"))
    (report,) = (out / "reports").rglob("carrara.json")
    (metric,) = json.loads(report.read_text(encoding="utf-8"))["metrics"]
    assert f"{metric['score']:.6f}" == scored(smoke, out, "--export", home) == expected


def test_verifiers(
    harness: Run, smoke: Split, folder: Callable[[str], Path], expected: str, url: str, tmp_path: Path
) -> None:
    home, out = folder("verifiers"), tmp_path / "out"
    agent = ("--env.agent.harness.id", "carrara_vf", "--env.agent.runtime.type", "subprocess")
    client = ("--client.base-url", url, "--client.api-key-var", "SERVER_KEY", "--model", "key")
    args = ("carrara_vf", *agent, *client, "--no-push", "-c", 4, "-o", out)
    harness("verifiers", "verifiers_command.py", *args, PYTHONPATH=str(home), SERVER_KEY="none")
    said = harness("verifiers", str(home / "headline.py"), out)
    assert headline_in(said) == scored(smoke, out, "--export", home) == expected


def test_lighteval(
    harness: Run, smoke: Split, folder: Callable[[str], Path], mixed: Asked, expected: str, tmp_path: Path
) -> None:
    home, key, out = folder("lighteval"), mixed.key(tmp_path / "key.json"), tmp_path / "out"
    model = Path(__file__).resolve().parent / "lighteval_model.py"
    how = ("--custom-tasks", home / "carrara_tasks.py", "--output-dir", out, "--save-details")
    harness("lighteval", model.name, "custom", "key", model, "carrara", *how, key=key)
    said = harness("lighteval", str(home / "headline.py"), out)
    assert headline_in(said) == scored(smoke, out, "--export", home) == expected
