"""EvalScope itself on the exported benchmark: its own command against a server on the loopback."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from asked import Asked
from server import serving

Run = Callable[..., str]
pytestmark = pytest.mark.harness


def evaluated(run: Run, folder: Path, out: Path, *more: object) -> dict[str, tuple[float, int]]:
    """Return the score and the number of rows of each subset."""
    with serving() as (url, _):
        how = ("--model", "key", "--api-url", url, "--api-key", "none", "--work-dir", out, "--no-timestamp")
        args = ("eval", "--datasets", "carrara", *how, *more)
        run("evalscope", str(folder / "carrara.py"), *args, MODELSCOPE_CACHE=str(out / "cache"))
    (found,) = (out / "reports").rglob("carrara.json")
    report = json.loads(found.read_text(encoding="utf-8"))
    (metric,) = report["metrics"]
    return {
        subset["name"]: (subset["score"], subset["num"])
        for category in metric["categories"]
        for subset in category["subsets"]
    }


@pytest.fixture
def folder(exported: Callable[[str], Path]) -> Path:
    return exported("evalscope")


def test_who_knows_the_key_is_perfect_in_every_subset(
    harness: Run, folder: Path, right: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right.serve(tmp_path, monkeypatch)
    found = evaluated(harness, folder, tmp_path / "out")
    subsets = {path.stem for path in (folder / "data").glob("*.parquet")}
    assert subsets == {name for name in found if name != "OVERALL"}
    assert {score for score, _ in found.values()} == {1.0}
    assert sum(rows for name, (_, rows) in found.items() if name in subsets) == len(right.rows)


def test_who_answers_another_row_scores_what_that_is_worth(
    harness: Run, folder: Path, wrong: Asked, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong.serve(tmp_path, monkeypatch)
    subsets = ["idk_letters_32k_4096", "latent_list_sum_32k_2048", "mrcr_chat_32k_2048"]
    args = ("--dataset-args", json.dumps({"carrara": {"subset_list": subsets}}))
    found = evaluated(harness, folder, tmp_path / "out", *args)
    expected = {name: wrong.mean(subtask=name.split("_")[-3], length=int(name.split("_")[-1])) for name in subsets}
    assert {name: found[name][0] for name in subsets} == pytest.approx(expected, abs=1e-3)
