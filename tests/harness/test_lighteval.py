"""lighteval itself on the exported tasks: its own command, its results."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asked import Asked

Run = Callable[..., str]
HERE = Path(__file__).resolve().parent
pytestmark = pytest.mark.harness


def evaluated(run: Run, folder: Path, tasks: object, key: Path, out: Path) -> dict[str, float]:
    """Return the score of each task."""
    model = HERE / "lighteval_model.py"
    how = ("--custom-tasks", folder / "carrara_tasks.py", "--output-dir", out, "--save-details")
    run("lighteval", model.name, "custom", "key", model, tasks, *how, key=key)
    (found,) = out.rglob("results_*.json")
    results = json.loads(found.read_text(encoding="utf-8"))["results"]
    return {name.removesuffix("|0"): float(result["score"]) for name, result in results.items()}


@pytest.fixture
def folder(exported: Callable[[str], Path]) -> Path:
    return exported("lighteval")


def test_who_knows_the_key_is_perfect_in_every_task(harness: Run, folder: Path, right: Asked, tmp_path: Path) -> None:
    found = evaluated(harness, folder, "carrara", right.key(tmp_path / "key.json"), tmp_path / "out")
    tasks = {f"carrara:{path.stem}" for path in (folder / "data").glob("*.parquet")}
    assert tasks < found.keys()
    assert set(found.values()) == {1.0}


def test_who_answers_another_row_scores_what_that_is_worth(
    harness: Run, folder: Path, wrong: Asked, tmp_path: Path
) -> None:
    tasks = folder / "lists" / "latent_list_32k.txt"
    found = evaluated(harness, folder, tasks, wrong.key(tmp_path / "key.json"), tmp_path / "out")
    names = [
        f"carrara:latent_list_{view}_32k_{length}"
        for view in ("len", "max", "min", "print", "sum")
        for length in (2048, 4096)
    ]
    assert set(names) < found.keys()
    for name in names:
        _, _, view, _, length = name.split("_")
        expected = wrong.mean(family="latent_list", subtask=view, length=int(length))
        assert found[name] == pytest.approx(expected)


def test_lists_name_every_task(folder: Path) -> None:
    tasks = {each["name"] for each in json.loads((folder / "tasks.json").read_text(encoding="ascii"))}
    for kind in ("*_32k.txt", "32k_*.txt"):
        listed = [line for path in (folder / "lists").glob(kind) for line in path.read_text(encoding="ascii").split()]
        assert sorted(listed) == sorted(tasks)
