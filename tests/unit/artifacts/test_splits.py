"""A split is read as its users want it: by stratum, by column, a few rows of each."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import builds
from pipeline.artifacts.split import Selection, Split, no_build, open_split
from pipeline.errors import CorruptError, SplitError
from pipeline.rows import DATA_SCHEMA, KEYS_SCHEMA


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("split")
    recipe = builds.recipe_file(out / "tiny.toml", rows=4, families=("bio",))
    builds.stages(recipe, out / "built", ("o200k", "llama3.1")).build()
    return out / "built"


@pytest.fixture(scope="module")
def split(folder: Path) -> Split:
    return open_split(folder / "o200k")


def test_all_rows_come_in_order_with_all_columns(split: Split) -> None:
    rows = list(split.rows())
    assert len(rows) == 8
    assert list(rows[0]) == DATA_SCHEMA.names
    assert [row["length"] for row in rows] == [2048] * 4 + [4096] * 4
    assert [list(row) for row in split.key_rows()] == [KEYS_SCHEMA.names] * 8
    assert {row["id"].rsplit("-", 1)[1] for row in rows} == set(split.tags.values())


def test_a_selection_keeps_strata_and_a_few_rows_of_each(split: Split) -> None:
    chosen = list(split.rows(["id", "length"], Selection(lengths=(4096,))))
    assert [list(row) for row in chosen] == [["id", "length"]] * 4
    few = list(split.rows(["prompt", "length"], Selection(limit=3)))
    assert Counter(row["length"] for row in few) == {2048: 3, 4096: 3}
    assert list(split.rows(["id"], Selection(limit=0))) == []


@pytest.mark.parametrize(
    ("selection", "said"),
    [
        (Selection(families=("bioo",)), "unknown family in tiny 1.0.0 o200k: 'bioo': did you mean 'bio'?"),
        (Selection(lengths=(8192,)), "unknown length in tiny 1.0.0 o200k: '8192'"),
        (Selection(tiers=("1m",)), "unknown tier"),
    ],
)
def test_a_name_that_the_split_lacks_is_refused(split: Split, selection: Selection, said: str) -> None:
    with pytest.raises(SplitError, match=re.escape(said).replace("\\ 'bioo'", ".*'bioo'")):
        list(split.rows(["id"], selection))


def test_a_column_that_the_split_lacks_is_refused(split: Split) -> None:
    with pytest.raises(SplitError, match=r"unknown column .*'promt': did you mean 'prompt'"):
        list(split.rows(["promt"]))


def test_a_folder_with_several_splits_or_none_is_refused(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(SplitError, match=r"holds several splits: give one of .*llama3.1, .*o200k$"):
        open_split(folder)
    with pytest.raises(SplitError, match="holds no split"):
        open_split(tmp_path)
    shutil.copytree(folder / "o200k", tmp_path / "o200k")
    assert open_split(tmp_path).tokenizer == "o200k"
    (tmp_path / "o200k" / "manifest.json").unlink()
    with pytest.raises(SplitError, match="is not sealed"):
        open_split(tmp_path / "o200k")


def test_a_folder_of_one_tokenizer_is_no_release(folder: Path, tmp_path: Path) -> None:
    assert (
        no_build(folder / "o200k") == f"'{folder}/o200k' is one tokenizer's folder: give the release folder, '{folder}'"
    )
    shutil.copytree(folder / "o200k", tmp_path / "copy")
    assert no_build(tmp_path / "copy").endswith("without its release: check it with `carrara verify --against`")
    assert no_build(tmp_path).startswith(f"no build in '{tmp_path}': give the folder that build wrote to")


def test_a_broken_shard_is_named(folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder / "o200k", tmp_path / "o200k")
    broken = open_split(tmp_path)
    path = broken.shards()[0]
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(CorruptError, match=re.escape(path.name)):
        list(broken.rows(["id"]))


def test_complexity_is_no_longer_asked_of_a_split_without_it(split: Split) -> None:
    def silent(manifest: dict[str, Any]) -> None:
        for cell in manifest["tiers"]["32k"]["strata"]:
            del cell["complexity"]

    with pytest.raises(SplitError, match="does not give the complexity of its rows"):
        list(builds.retold(split, silent).rows(["id"], Selection(complexities=(1,))))
