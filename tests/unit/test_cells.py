"""Cells of the shipped recipes, each a subtask at one length: they have rows enough, and no question stands twice."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan
from pipeline.recipe import Recipe, load_recipe, shipped_recipes
from pipeline.tasks import TASKS, families
from pipeline.tasks.base import Sample
from pipeline.typed import TIERS

ENOUGH = {"default": 25, "full": 100}
FEW = {"default": 12, "full": 36}
"""Rows of a cell beyond 128K, where each takes minutes of a model's time."""
TRIED_OUT = ("smoke",)
"""Recipes to try things out, which measure nothing."""
SAME_QUESTION = {
    **{("latent_list", view): "the question is a view of the list; the programs differ" for view in
       ("print", "sum", "min", "max", "len")},
    ("recall", "cwe"): "the question is always the same; the lists differ",
    ("recall", "fwe"): "the question is always the same; the lists differ",
    ("trace", "audit"): "the question is always the same; the reports differ",
    ("bio", "twodiff"): "the question is a number of years; the people differ",
}  # fmt: skip
"""Subtasks that have fewer questions than a cell has rows, and why."""


@pytest.mark.parametrize("size", list(ENOUGH))
@pytest.mark.parametrize("name", [name for name in shipped_recipes() if name not in TRIED_OUT])
def test_every_cell_has_rows_enough(name: str, size: str) -> None:
    rows: Counter[tuple[str, str, int]] = Counter()
    for cell in load_recipe(name).sized(size).strata:
        rows[cell.family, cell.subtask, cell.length] += cell.total
    small = {
        place: count for place, count in rows.items() if count < (FEW if place[2] > TIERS["128k"] else ENOUGH)[size]
    }
    assert not small, f"too few rows: {small}"


def said_twice(recipe: Recipe, family: str, folder: Path) -> dict[str, list[str]]:
    """Return the questions that stand twice in a cell, by cell; both forms of a pair are one."""
    asked: dict[tuple[str, int], list[tuple[object, ...]]] = defaultdict(list)
    plan = Plan(recipe, (), folder, (family,))
    for row in plan.rows(family):
        task, sample = TASKS[family, row.stratum.subtask], draw_sample(plan, row)
        if not (task.paired and row.stratum.complexity == 0):
            asked[row.stratum.subtask, row.stratum.length].append(question_of(sample))
    return {
        f"{family}.{subtask} at {length}": [str(one[0]) for one, times in Counter(those).items() if times > 1]
        for (subtask, length), those in asked.items()
        if len({*those}) < len(those)
    }


def question_of(sample: Sample) -> tuple[object, ...]:
    """Return what a row asks, with the text that it is about where the words are the same in many rows."""
    same = (sample.stratum.family, sample.stratum.subtask) in SAME_QUESTION
    if sample.stratum.family == "latent_list" and sample.stratum.complexity == 1:
        return (sample.question, sample.relevant, sample.index)  # one operation on a short list: there are few such
    return (sample.question, sample.relevant) if same else (sample.question,)


@pytest.mark.parametrize("family", families())
def test_no_question_stands_twice_in_a_cell(family: str, tmp_path: Path) -> None:
    """At the shortest length, and of programs in short ones: long ones take long to draw."""
    recipe = load_recipe("32k")
    shortest = min(cell.length for cell in recipe.of_family(family))
    cells = [cell for cell in recipe.of_family(family) if cell.length == shortest]
    few = tuple(cell for cell in cells if family != "latent_list" or cell.complexity < 20)
    twice = said_twice(replace(recipe, strata=few), family, tmp_path)
    assert not twice


@pytest.mark.slow
@pytest.mark.parametrize("family", families())
@pytest.mark.parametrize("name", ["128k", "1m"])
def test_no_question_stands_twice_in_a_cell_of_the_full_size(name: str, family: str, tmp_path: Path) -> None:
    twice = said_twice(load_recipe(name).sized("full"), family, tmp_path)
    assert not twice
