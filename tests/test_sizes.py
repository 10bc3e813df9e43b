"""Sizes nest: the rows of the default size are the first rows of the full one, under the same ids."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.assemble.ids import numbered
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan
from pipeline.recipe import Recipe, load_recipe
from pipeline.tasks import TASKS

BLOCKS = 3


def sized(recipe: Recipe, full: int = BLOCKS) -> Recipe:
    return replace(recipe, strata=tuple(replace(cell, full=full) for cell in recipe.strata))


@pytest.mark.parametrize("task", list(TASKS), ids=".".join)
def test_blocks_behind_change_no_row_before_them(task: tuple[str, str], tmp_path: Path) -> None:
    smoke = load_recipe("smoke")
    cells = tuple(cell for cell in smoke.strata if (cell.family, cell.subtask) == task)
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


def test_ids_of_the_default_come_first() -> None:
    recipe = sized(load_recipe("smoke"))
    for family in recipe.families:
        ours, theirs = (
            {(row.stratum.length, row.stratum.subtask): [] for row in numbered(each, each.of_family(family))}
            for each in (recipe, recipe.sized("full"))
        )
        for found, each in ((ours, recipe), (theirs, recipe.sized("full"))):
            for row in numbered(each, each.of_family(family)):
                found[row.stratum.length, row.stratum.subtask].append(row.id)
        for place, ids in ours.items():
            assert theirs[place][: len(ids)] == ids
            assert len(set(theirs[place])) == BLOCKS * len(ids)
