"""The results of real models: their page is what they say, and one that does not hold together is refused."""

from __future__ import annotations

import json
import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean

import pytest

import write_results as results
from repository import ROOT

Edit = Callable[[Path], object]


def test_the_page_is_written_from_the_results() -> None:
    found = results.read_results()
    assert results.PAGE.read_text(encoding="utf-8") == results.written(found, results.read_results(results.LADDER))
    for name, drawn in results.pictures(found).items():
        assert (results.IMAGES / name).read_text(encoding="ascii") == drawn


def test_points_over_length_are_the_headline_of_their_rows() -> None:
    for each in results.read_results():
        cells = each.scores["tables"]["family subtask length"]
        for length, point in results.curve_of(each):
            families: dict[str, list[float]] = defaultdict(list)
            for cell in cells:
                if cell["place"]["length"] == length:
                    families[cell["place"]["family"]].append(cell["mean"])
            assert point.mean == pytest.approx(fmean(map(fmean, families.values())), abs=1e-5)
            assert point.low <= point.mean <= point.high


def replaced(name: str, before: str, after: str) -> Edit:
    """Return an edit of one file of a result; `before` must stand in it."""

    def edit(folder: Path) -> None:
        text = (folder / name).read_text(encoding="utf-8")
        assert before in text
        (folder / name).write_text(text.replace(before, after, 1), encoding="utf-8")

    return edit


def without_last_reply(folder: Path) -> None:
    lines = (folder / "replies.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
    (folder / "replies.jsonl").write_text("".join(lines[:-1]), encoding="utf-8")


def of_other_rows(folder: Path) -> None:
    asked = json.loads((folder / "replies.asked.json").read_text(encoding="utf-8"))
    asked["tags"] = dict.fromkeys(asked["tags"], "000000")
    (folder / "replies.asked.json").write_text(json.dumps(asked), encoding="utf-8")


FAULTS: dict[str, tuple[Edit, str]] = {
    "no scores": (lambda folder: (folder / "scores.json").unlink(), "scores.json is missing"),
    "no digest": (replaced("about.toml", "sha256:", "md5:"), "digest must be sha256:"),
    "weights on a disk": (replaced("about.toml", "https://", "file://"), "page must be an https address"),
    "another field": (replaced("about.toml", "server =", "host ="), "about.toml must have exactly"),
    "a vague size": (replaced("about.toml", "million", "M"), "parameters must be like"),
    "an unfinished run": (without_last_reply, "finish the run"),
    "incomplete scores": (replaced("scores.json", '"complete": true', '"complete": false'), "finish the run"),
    "no temperature": (replaced("replies.asked.json", '"temperature"', '"heat"'), "does not say the temperature"),
    "other rows": (of_other_rows, "are of different rows"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_result_that_does_not_hold_together_is_refused(name: str, tmp_path: Path) -> None:
    edit, said = FAULTS[name]
    own = tmp_path / "own"
    shutil.copytree(ROOT / "results" / "smollm2-135m-instruct", own)
    results.read_result(own)
    edit(own)
    with pytest.raises(results.ResultError, match=said):
        results.read_result(own)
