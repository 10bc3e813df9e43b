"""The same recipe gives the same bytes, whoever makes it, in whatever order, wherever."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import builds
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble import jobs
from pipeline.assemble import plan as plans
from pipeline.assemble.jobs import cut_row, draw_sample, made_pool
from pipeline.executors import processes

WHERE = {
    "hash seed 0, plain C": {
        "PYTHONHASHSEED": "0",
        "LC_ALL": "C",
        "LANG": "C",
        "PYTHONCOERCECLOCALE": "0",
        "PYTHONUTF8": "0",
    },
    "hash seed 1, time zone, no such locale": {
        "PYTHONHASHSEED": "1",
        "TZ": "Asia/Kathmandu",
        "LC_ALL": "tr_TR.UTF-8",
        "LC_NUMERIC": "de_DE.UTF-8",
        "LANGUAGE": "tr",
    },
}


@pytest.fixture(autouse=True)
def small_shards_and_new_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
    monkeypatch.setattr(jobs, "made_pool", made_pool)


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return builds.recipe_file(tmp_path_factory.mktemp("recipe") / "tiny.toml")


@pytest.fixture(scope="module")
def whole(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A build of the recipe in this process, in small shards."""
    out = tmp_path_factory.mktemp("whole") / "out"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(plans, "SHARD_TOKENS", builds.SHARD_TOKENS)
        builds.stages(recipe, out).build()
    return out


@pytest.fixture(scope="module")
def plain(recipe: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the command writes, in one shard as it would."""
    out = tmp_path_factory.mktemp("plain") / "out"
    builds.stages(recipe, out).build()
    return builds.contents(out)


def test_the_whole_is_of_several_shards_and_lengths(whole: Path) -> None:
    assert len(list(whole.glob("o200k/data/bio/32k/*"))) == builds.SHARDS
    assert len(list(whole.glob("o200k/keys/bio/32k/*"))) == builds.SHARDS
    assert {Path(name).parts[0] for name in builds.contents(whole)} == {"o200k", "recipes", "samples", "segments"}


def test_two_workers_write_the_same_bytes_also_with_another_hash_seed(
    recipe: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The workers' environment differs from that in which this process was started."""
    for name, value in {"PYTHONHASHSEED": "3", "TZ": "America/St_Johns", "LC_ALL": "C.UTF-8"}.items():
        monkeypatch.setenv(name, value)
    builds.stages(recipe, tmp_path / "out", engine=processes(2)).build()
    assert builds.contents(tmp_path / "out") == builds.contents(whole)


@pytest.mark.parametrize("env", WHERE.values(), ids=WHERE)
def test_the_place_does_not_matter(recipe: Path, plain: dict[str, str], env: dict[str, str], tmp_path: Path) -> None:
    args = ("build", recipe, "--out", tmp_path / "out", "--tokenizer", "o200k", "--workers", 1)
    ended = builds.run(*args, "--quiet", small=False, env=env)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert builds.contents(tmp_path / "out") == plain


@pytest.mark.parametrize("order", [(1, 2), (2, 1), (3, 1, 2)], ids=str)
def test_parts_make_the_whole(recipe: Path, whole: Path, order: tuple[int, ...], tmp_path: Path) -> None:
    *first, last = order
    for number in first:
        assert builds.stages(recipe, tmp_path / "out", part=(number, len(order))).build() == [None]
        assert not (tmp_path / "out/o200k/manifest.json").exists()
    (manifest,) = builds.stages(recipe, tmp_path / "out", part=(last, len(order))).build()
    assert manifest is not None
    assert builds.contents(tmp_path / "out") == builds.contents(whole)


def test_more_parts_than_shards_make_the_whole(recipe: Path, whole: Path, tmp_path: Path) -> None:
    for number in range(builds.SHARDS + 2, 0, -1):
        builds.stages(recipe, tmp_path / "out", part=(number, builds.SHARDS + 2)).build()
    assert builds.contents(tmp_path / "out") == builds.contents(whole)


def test_stages_one_by_one_make_the_whole(recipe: Path, whole: Path, tmp_path: Path) -> None:
    made = builds.stages(recipe, tmp_path / "out")
    assert (made.sample(), made.render(), made.count(), made.pack()) == (builds.SHARDS, 1, 1, builds.SHARDS)
    assert not (tmp_path / "out/o200k/manifest.json").exists()
    made.verify()
    assert builds.contents(tmp_path / "out") == builds.contents(whole)


def test_a_relative_folder_makes_the_whole(
    recipe: Path, whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    builds.stages(recipe, Path("out")).build()
    assert builds.contents(tmp_path / "out") == builds.contents(whole)


def test_any_row_can_be_made_alone(recipe: Path, whole: Path, tmp_path: Path) -> None:
    made = builds.stages(recipe, tmp_path / "out")
    made.render()
    made.count()
    rows = made.plan.rows("bio")
    alone: dict[str, dict[str, Any]] = {}
    for row in [*rows[::-2], *rows[-2::-2]]:
        alone[row.id] = cut_row(made.plan, draw_sample(made.plan, row), made.plan.profiles[0])
    published = [row for path in sorted(whole.glob("o200k/data/bio/32k/*")) for row in read_rows(path)]
    assert [row["id"] for row in published] == [row.id for row in rows]
    for row in published:
        assert alone[row["id"]] == row, row["id"]


def test_a_row_does_not_depend_on_the_rows_beside_it(recipe: Path, whole: Path, tmp_path: Path) -> None:
    """Another length in the recipe moves no row of this one, but for its number in the release."""
    one = tmp_path / "one.toml"
    one.write_text(recipe.read_text(encoding="ascii").replace("[2048, 4096]", "[4096]"), encoding="ascii")
    builds.stages(one, tmp_path / "out").build()
    both = [row for path in sorted(whole.glob("o200k/data/bio/32k/*")) for row in read_rows(path)]
    alone = [row for path in sorted((tmp_path / "out").glob("o200k/data/bio/32k/*")) for row in read_rows(path)]
    assert alone == [row for row in both if row["length"] == 4096]
