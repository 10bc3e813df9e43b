"""Splits and scores from Python: what notebooks use."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import carrara
import handmade
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import SplitError
from pipeline.rows import KEYS_SCHEMA
from pipeline.version import __version__


def test_a_split_gives_frames_of_keys_or_of_text(split: Split) -> None:
    opened = carrara.open_split(split.folder)
    keys = opened.frame()
    assert list(keys.columns) == KEYS_SCHEMA.names
    assert keys["id"].tolist() == [row["id"] for row in split.key_rows(["id"])]
    few = opened.frame(["id", "prompt"], Selection(limit=1))
    assert list(few.columns) == ["id", "prompt"]
    assert few["prompt"].str.len().min() > 1000
    assert len(opened.frame(["id"], Selection(limit=0))) == 0


def test_what_is_no_split_is_said(tmp_path: Path) -> None:
    with pytest.raises(SplitError, match="holds no split"):
        carrara.open_split(tmp_path)
    with pytest.raises(SplitError, match=r"org/name@v1\.0\.0"):
        carrara.open_split("nowhere")


def test_scores_give_a_line_a_row_or_a_cell(split: Split, tmp_path: Path) -> None:
    rows = list(split.key_rows(["id", "target"]))
    said = handmade.lines(tmp_path / "said.jsonl", [{"id": rows[0]["id"], "prediction": rows[0]["target"]}])
    scores = carrara.open_scores(split.folder, said, model="one answer")
    frame = scores.frame()
    assert frame["id"].tolist() == [row["id"] for row in rows]
    assert frame.loc[0, "state"] == "answered"
    assert set(frame.loc[1:, "state"]) == {"missing"}
    cells = scores.frame("family", "length")
    assert {"family", "length", "rows", "mean", "low", "high", "chance"} <= set(cells.columns)
    assert cells["rows"].sum() == len(rows)
    assert carrara.open_scores(split, [said]).frame().equals(frame)


def test_frames_say_how_pandas_is_added(split: Split, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(SplitError, match="frames need pandas: make extras EXTRAS=frames"):
        split.frame()


@pytest.mark.parametrize("package", ["carrara", "pipeline"])
def test_the_package_is_light_until_it_is_used(package: str) -> None:
    heavy = "numpy", "pyarrow", "pandas", "jinja2", "tiktoken"
    run = f"import sys, {package}; print([name for name in {heavy!r} if name in sys.modules])"
    seen = subprocess.run([sys.executable, "-c", run], capture_output=True, text=True, check=True)
    assert seen.stdout == "[]\n"


def test_every_public_name_is_there(split: Split) -> None:
    assert sorted(carrara.__all__) == dir(carrara)
    assert all(hasattr(carrara, name) for name in carrara.__all__)
    assert carrara.__version__ == __version__
    assert carrara.Split is Split
    assert issubclass(SplitError, carrara.CarraraError)
    row = next(split.key_rows())
    assert carrara.score(row, row["target"]) == 1
    with pytest.raises(AttributeError, match="no attribute 'open_splits'"):
        carrara.open_splits  # noqa: B018 (the name is what is looked up)


def test_the_package_is_typed_and_in_the_wheel(root: Path) -> None:
    wheel = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {"pipeline", "carrara"} == set(wheel["packages"])
    assert (root / "carrara" / "py.typed").is_file()
