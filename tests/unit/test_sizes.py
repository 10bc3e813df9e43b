"""Sizes nest: the rows of the default size are the first rows of the full one, under the same ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from pipeline.assemble import plan as plans
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan
from pipeline.assemble.row_order import numbered
from pipeline.cli import cli
from pipeline.errors import RecipeError
from pipeline.recipe import Recipe, Stratum, load_recipe
from pipeline.tasks import TASKS

BLOCKS = 2


def sized(recipe: Recipe, full: int = BLOCKS) -> Recipe:
    return replace(recipe, strata=tuple(replace(cell, full=full) for cell in recipe.strata))


@pytest.mark.parametrize("task", list(TASKS), ids=".".join)
def test_blocks_behind_change_no_row_before_them(task: tuple[str, str], tmp_path: Path) -> None:
    smoke = load_recipe("smoke")
    cells = tuple(cell for cell in smoke.strata if (cell.family, cell.subtask) == task)
    cells = cells or tuple(replace(cell, rows=2) for cell in TASKS[task].golden())  # with tool calls
    small = sized(replace(smoke, strata=cells))
    plans = [Plan(small.sized(size), (), tmp_path, (task[0],)) for size in ("default", "full")]
    ours, theirs = ({row.id: row for row in plan.rows(task[0])} for plan in plans)
    assert len(theirs) == BLOCKS * len(ours)
    drawn = {name: draw_sample(plans[1], row) for name, row in theirs.items()}
    for name, row in ours.items():
        sample = draw_sample(plans[0], row)
        assert replace(drawn[name], stratum=sample.stratum) == sample
    asked = {(sample.question, sample.relevant, sample.stratum.length) for sample in drawn.values()}
    assert len(asked) > 0.8 * len(drawn), "rows of two blocks ask the same about the same"


@pytest.mark.parametrize("size", ["full", str(BLOCKS)])
def test_ids_of_the_default_come_first(size: str) -> None:
    recipe = sized(load_recipe("smoke"))
    for family in recipe.families:
        ours, theirs = (
            {(row.stratum.length, row.stratum.subtask): [] for row in numbered(each, each.of_family(family))}
            for each in (recipe, recipe.sized(size))
        )
        for found, each in ((ours, recipe), (theirs, recipe.sized(size))):
            for row in numbered(each, each.of_family(family)):
                found[row.stratum.length, row.stratum.subtask].append(row.id)
        for place, ids in ours.items():
            assert theirs[place][: len(ids)] == ids
            assert len(set(theirs[place])) == BLOCKS * len(ids)


def test_a_size_is_a_name_or_a_number_of_blocks() -> None:
    recipe = load_recipe("smoke")
    rows = sum(cell.total for cell in recipe.strata)
    assert sum(cell.total for cell in recipe.sized("40").strata) == 40 * rows
    told = f"size '9999' of this recipe: {9999 * rows:,} rows: give 1 to 1,000,000 a tier"
    with pytest.raises(RecipeError, match=told):
        recipe.sized("9999")
    for given in ("0", "-1", "1.5", "many", "00"):
        result = CliRunner().invoke(cli, ["plan", "smoke", "--size", given])
        assert result.exit_code == 1
        assert "is not a size: give default, full, or a whole number of blocks, such as 40" in result.output


def test_a_folder_never_has_too_many_files() -> None:
    cells = (Stratum("bio", "standard", "1m", 1048576, 1, rows=100_000),)
    recipe = Recipe("large", "1.0.0", 1, "1m", cells)
    row_ranges = Plan(recipe, (), Path("unused"), ("bio",)).row_ranges("bio")
    assert len(row_ranges) <= plans.MOST_SHARDS < 10_000
    assert [row_range.start for row_range in row_ranges[1:]] == [row_range.stop for row_range in row_ranges[:-1]]
    assert row_ranges[-1].stop == 100_000
    assert {row_range.stop - row_range.start for row_range in row_ranges[:-1]} <= {11, 12}
