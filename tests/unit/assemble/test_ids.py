"""Neither ids nor the order of rows tell what the answer is, and they stay when a release grows."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from pipeline.assemble.plan import make_plan
from pipeline.assemble.row_order import numbered
from pipeline.errors import RecipeError
from pipeline.recipe import Recipe, Stratum, load_recipe


def cells(subtask: str, family: str, **rows: int) -> tuple[Stratum, ...]:
    return tuple(Stratum(family, subtask, "32k", 4096, int(name[1:]), count) for name, count in rows.items())


def recipe(*strata: Stratum, seed: int = 5, version: str = "1.0.0") -> Recipe:
    return Recipe("tiny", version, seed, "32k", strata)


def rows_of(made: Recipe) -> list[tuple[str, int]]:
    (family,) = made.families
    plan = make_plan(made, ("o200k",), Path("unused"))
    return [(row.id, row.stratum.complexity) for row in plan.rows(family)]


def runs(values: list[int]) -> int:
    return sum(1 for _ in groupby(values))


def test_classes_are_mixed_in_order_and_numbers() -> None:
    rows = rows_of(recipe(*cells("stories", "idk", c0=70, c1=30)))
    assert [row_id.split("-")[4] for row_id, _ in rows] == [f"{number:04d}" for number in range(100)]
    classes = [complexity for _, complexity in rows]
    assert sum(classes) == 30
    assert 28 <= runs(classes) <= 58, "70 and 30 rows in random order have 43 runs, give or take 4"


def test_forms_of_a_pair_stand_side_by_side_and_either_first() -> None:
    rows = rows_of(recipe(*cells("idk", "bio", c0=64, c1=64)))
    firsts = []
    for (one, first), (other, second) in zip(rows[::2], rows[1::2], strict=True):
        assert one.split("-")[4][:-1] == other.split("-")[4][:-1]
        assert {one.split("-")[4][-1] + str(first), other.split("-")[4][-1] + str(second)} == {"a1", "b0"}
        firsts.append(first)
    assert 18 <= sum(firsts) <= 46


@pytest.mark.parametrize("rows", [{"c0": 4, "c1": 5}, {"c1": 5}, {"c0": 3}])
def test_a_pair_that_lacks_a_form_is_refused(rows: dict[str, int]) -> None:
    with pytest.raises(RecipeError, match=r"bio.idk length 4096: .* come in pairs, so give both the same number$"):
        make_plan(recipe(*cells("idk", "bio", **rows)), ("o200k",), Path("unused"))


def test_ids_stay_through_minor_versions_and_change_with_a_recut() -> None:
    made = recipe(*cells("stories", "idk", c0=7, c1=3))
    ids = rows_of(made)
    assert rows_of(replace(made, version="1.4.2")) == ids
    assert not {row_id for row_id, _ in rows_of(replace(made, version="2.0.0"))} & {row_id for row_id, _ in ids}
    assert not {row_id for row_id, _ in rows_of(replace(made, seed=6))} & {row_id for row_id, _ in ids}


def test_ids_of_a_release_are_unique() -> None:
    made = load_recipe("128k")
    plan = make_plan(made, ("o200k",), Path("unused"))
    ids = [row.id for family in plan.families for row in plan.rows(family)]
    assert len(set(ids)) == len(ids) == sum(cell.rows for cell in made.strata)
    assert all(len(each) <= 64 for each in ids)


def test_rows_are_made_when_asked_for() -> None:
    made = recipe(*cells("stories", "idk", c0=70, c1=30))
    rows = numbered(made, made.strata)
    listed = list(rows)
    assert len(rows) == len({row.id for row in listed}) == 100
    assert (rows[0], rows[-1], rows[40:43]) == (listed[0], listed[-1], listed[40:43])
    assert {(row.stratum, row.index) for row in rows} == {(c, index) for c in made.strata for index in range(c.rows)}
    with pytest.raises(IndexError):
        rows[100]
    assert [*rows.lengths()] == [4096] * 100
