"""After a leak: the same recipe under another seed, as the next major version, with no row in common."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as some

import builds
from fake_stores import faulty
from frozen_releases import CELLS, carrara, error_line, succeeded, written
from pipeline.artifacts.parquet import read_rows
from pipeline.recipe import load_recipe, parse_recipe, recipe_text, shipped_recipes
from pipeline.release.recut import new_seed, recut
from pipeline.storage import parse_location
from pipeline.verify.lock import LEVELS, next_version, parse_version


def test_no_row_of_the_version_before_comes_again(tmp_path: Path) -> None:
    old, new = written(tmp_path / "tiny.toml", CELLS[:2]), tmp_path / "next.toml"
    line = succeeded(carrara("recut", old, "--seed", "random", "--out", new))
    assert f"  carrara build {new}\n  carrara freeze outputs/v2.0.0" in line
    assert str(load_recipe(str(new)).seed) not in line
    assert new.stat().st_mode & 0o077 == 0, "the seed may be a secret"
    rows = []
    for recipe, out in ((old, "v1.0.0"), (new, "v2.0.0")):
        builds.stages(recipe, tmp_path / out).build()
        succeeded(carrara("freeze", tmp_path / out))
        rows.append([row for path in sorted((tmp_path / out).glob("o200k/data/*/*/*")) for row in read_rows(path)])
    before, after = rows
    assert len(before) == len(after) == 10
    for name in ("id", "prompt"):
        assert not {row[name] for row in before} & {row[name] for row in after}
    succeeded(carrara("verify", "--against", tmp_path / "v2.0.0", "--rebuild"))


def test_a_recipe_is_read_in_a_store_but_a_seed_is_not_put_there(tmp_path: Path) -> None:
    old = written(tmp_path / "tiny.toml")
    with faulty():
        parse_location("memory://bucket/tiny.toml").write_bytes(old.read_bytes())
        assert load_recipe("memory://bucket/tiny.toml") == load_recipe(str(old))
    line = error_line(carrara("recut", old, "--seed", "random", "--out", "memory://bucket/next.toml"))
    assert "is in a store: give a path on a disk" in line


@pytest.mark.parametrize("name", shipped_recipes())
def test_a_shipped_recipe_changes_in_two_lines(name: str, tmp_path: Path) -> None:
    out = tmp_path / "next.toml"
    succeeded(carrara("recut", name, "--seed", "99", "--out", out))
    old, new = load_recipe(name), load_recipe(str(out))
    assert (new.version, new.seed, new.strata, new.variant) == (
        next_version(old.version, "major"),
        99,
        old.strata,
        old.variant,
    )
    assert new.tag != old.tag
    pairs = zip(recipe_text(name).splitlines(), out.read_text(encoding="utf-8").splitlines(), strict=True)
    assert [theirs.split(" ")[0] for mine, theirs in pairs if mine != theirs] == ["version", "seed"]


@pytest.mark.parametrize("name", shipped_recipes())
def test_a_recipe_without_its_text_is_written_with_all_its_strata(name: str) -> None:
    recipe = load_recipe(name)
    table = tomllib.loads(recut(recipe, "", 99))
    assert len(table["strata"]) < len(recipe.strata) / 2, "cells come in tables"
    again = parse_recipe(table, "written")
    assert sorted(map(str, again.strata)) == sorted(map(str, recipe.strata))
    assert set(again.strata) == set(recipe.strata)
    assert (again.reserve, again.variant, again.tier) == (recipe.reserve, recipe.variant, recipe.tier)


def test_a_text_whose_lines_mislead_is_written_anew(tmp_path: Path) -> None:
    path = written(tmp_path / "tiny.toml", cells=CELLS[:1])
    path.write_text(
        path.read_text(encoding="ascii").replace("seed = 7\n", "").replace("release", '"seed" = 7\nrelease', 1),
        encoding="ascii",
    )
    succeeded(carrara("recut", path, "--seed", "99", "--out", tmp_path / "next.toml"))
    assert load_recipe(str(tmp_path / "next.toml")).seed == 99


def test_seeds_of_the_system_cannot_be_guessed() -> None:
    seeds = {new_seed("random") for _ in range(8)}
    assert len(seeds) == 8
    assert all(seed.bit_length() == 128 for seed in seeds)


def test_several_recipes_get_one_seed_and_names_of_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    succeeded(carrara("recut", "32k", "128k-thinking", "--seed", "random"))
    found = [load_recipe(str(path)) for path in sorted(tmp_path.glob("*.toml"))]
    assert [path.name for path in sorted(tmp_path.glob("*.toml"))] == [
        "carrara-128k-thinking-4.0.0.toml",
        "carrara-32k-4.0.0.toml",
    ]
    assert len({recipe.seed for recipe in found}) == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--seed", "7"], "seed 7 is already that of tiny 1.0.0: give another, or random"),
        (["--seed", "-1"], "--seed -1: give a whole number, or random"),
        (["--seed", "dice"], "--seed dice: give a whole number, or random"),
        (["--seed", "9", "--out", "{home}/tiny.toml"], "already exists: give another file with --out"),
        (["{home}/tiny.toml", "--seed", "9", "--out", "{home}/x.toml"], "there are 2 recipes: leave it out"),
        (["{home}/tiny.toml", "--seed", "9"], "already exists: give another file with --out"),
        ([], "Missing option '--seed'"),
    ],
)
def test_what_cannot_be_recut_is_said_and_nothing_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], told: str
) -> None:
    monkeypatch.chdir(tmp_path)
    written(tmp_path / "tiny.toml")
    before = builds.contents(tmp_path)
    assert told in error_line(carrara("recut", tmp_path / "tiny.toml", *(word.format(home=tmp_path) for word in words)))
    assert builds.contents(tmp_path) == before


@given(some.tuples(*[some.integers(0, 10**6)] * 3), some.sampled_from(LEVELS))
def test_a_raised_version_is_the_next_of_its_level(parts: tuple[int, int, int], level: str) -> None:
    version = ".".join(map(str, parts))
    assert parse_version(next_version(version, level)) > parse_version(version)
    at = {"major": 0, "minor": 1, "patch": 2}[level]
    assert parse_version(next_version(version, level))[: at + 1] == (*parts[:at], parts[at] + 1)
