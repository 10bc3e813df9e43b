"""Full sweeps over every profile and length: `make test-slow`. A small sample of each runs with the other tests."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path

import pytest

from builds import SWEPT
from pipeline.assemble.plan import make_plan
from pipeline.executors import Inline, processes
from pipeline.profiles import DEFAULT_PROFILES, base_profiles
from pipeline.recipe import Recipe, Stratum, load_recipe
from pipeline.stages import Stages
from pipeline.tasks import TASKS

PARTS = 8


def one_for_every_run(kept: int) -> list[pytest.ParameterSet]:
    """Return all parts, of which one is swept with the other tests."""
    return [pytest.param(part, marks=[pytest.mark.slow] * (part != kept)) for part in range(PARTS)]


def prove(recipe: Recipe, profiles: tuple[str, ...], out: Path, engine: Callable[[], Executor] = Inline) -> None:
    """Build a recipe and prove it again from its bytes with full second counts."""
    stages = Stages(make_plan(recipe, profiles, out), engine, quiet=True)
    assert all(stages.build())
    assert all(stages.verify())
    rows = sum(cell.rows for cell in recipe.strata)
    for name in profiles:
        tier = json.loads((out / name / "manifest.json").read_text(encoding="ascii"))["tiers"][recipe.tier]
        assert [tier["proven"][what] for what in ("rows", "exact", "solved", "recounted")] == [rows] * 4


def hardest(tier: str, length: int) -> tuple[Stratum, ...]:
    """Return a row of the last task of each family at its highest complexity; of pairs both forms."""
    last = {task.family: task for task in TASKS.values() if not task.has_calls}
    return tuple(
        Stratum(task.family, task.subtask, tier, length, form, 1)
        for task in last.values()
        for form in ((1, 0) if task.paired else (max(task.complexities),))
    )


def of_a_part(tier: str, length: int, part: int) -> tuple[Stratum, ...]:
    """Return those rows of an eighth of the families."""
    families = list(dict.fromkeys(family for family, _ in TASKS))[part::PARTS]
    return tuple(cell for cell in hardest(tier, length) if cell.family in families)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["smoke", "32k", "32k-thinking", "128k"])
def test_every_row_of_a_recipe_in_every_profile(name: str, tmp_path: Path) -> None:
    prove(load_recipe(name), base_profiles(), tmp_path, processes(2))


@pytest.mark.slow
def test_every_row_of_a_million_tokens_in_the_default_profiles(tmp_path: Path) -> None:
    prove(load_recipe("1m"), DEFAULT_PROFILES, tmp_path, processes(2))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [load_recipe("32k").seed, 7])
def test_two_hundred_rows_of_every_cell(seed: int, tmp_path: Path) -> None:
    """Draws that go wrong once in a hundred rows are met here, before a user's larger size or other seed meets them."""
    recipe = replace(load_recipe("32k").sized("8"), seed=seed)
    stages = Stages(make_plan(recipe, ("o200k",), tmp_path), processes(2), quiet=True)
    assert all(stages.build())


@pytest.mark.parametrize("part", one_for_every_run(4))
def test_one_row_of_a_million_tokens_of_every_family(part: int, tmp_path: Path) -> None:
    cells = of_a_part("1m", 1048576, part)
    prove(Recipe("sweep", "0", 5, "1m", cells), ("o200k",), tmp_path)


@pytest.mark.parametrize("part", one_for_every_run(2))
def test_a_row_of_every_task_beside_replies_that_think(part: int, tmp_path: Path) -> None:
    recipe = load_recipe("32k-thinking")
    asked = list(TASKS)[part::PARTS]
    cells = tuple(replace(cell, rows=1, full=1) for cell in recipe.strata if (cell.family, cell.subtask) in asked)
    prove(replace(recipe, strata=cells), ("llama3.1",), tmp_path)


@pytest.mark.parametrize("part", one_for_every_run(0))
def test_rows_of_the_window_of_128k_in_every_profile(part: int, tmp_path: Path) -> None:
    """A part of the families in a part of the profiles: all pairs are in the sweep of 128k."""
    cells = of_a_part("128k", 131072, part)
    profiles = SWEPT[part::PARTS]
    prove(Recipe("sweep", "0", 5, "128k", cells), profiles, tmp_path)
