"""Samples and layouts that a process keeps: they are those that would be made anew."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.assemble import cache
from pipeline.assemble.cache import BUDGET, SAMPLES, LayoutCache, layout_of, size_of
from pipeline.assemble.fit import check_fit
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan
from pipeline.assemble.row_order import RowPlan
from pipeline.executors import Inline
from pipeline.recipe import Recipe, Stratum
from pipeline.stages import Stages
from pipeline.tasks.base import Sample

CELL = Stratum("latent_list", "len", "32k", 2048, 5, 3)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    return make_plan(Recipe("kept", "0", 1, "32k", (CELL,)), ("o200k",), tmp_path)


def drawn_rows(plan: Plan) -> list[Sample]:
    return [draw_sample(plan, row) for row in plan.rows("latent_list")]


def test_the_layout_of_an_equal_sample_is_made_once(plan: Plan) -> None:
    kept, (row_range,) = LayoutCache(BUDGET), plan.row_ranges("latent_list")
    first, again = drawn_rows(plan), drawn_rows(plan)
    kept.turn_to(plan, row_range)
    laid = [kept.of(plan, sample) for sample in first]
    assert [id(kept.of(plan, sample)) for sample in again] == [id(layout) for layout in laid]
    kept.turn_to(plan, row_range)
    assert kept.of(plan, again[0]) is laid[0]
    kept.turn_to(plan, row_range, full=True)
    assert kept.of(plan, again[0]) is not laid[0]


def test_a_full_proof_lays_every_row_out_anew(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[str] = []
    monkeypatch.setattr(cache, "layout_of", lambda plan, sample: made.append(sample.id) or layout_of(plan, sample))  # type: ignore[func-returns-value]
    ids = [row.id for row in plan.rows("latent_list")]
    stages = Stages(plan, Inline, quiet=True)
    stages.build()
    assert made == ids  # for packing and the proof after it
    stages.verify()
    assert made == ids * 2


def test_another_sample_of_a_row_is_laid_out_anew(plan: Plan) -> None:
    kept, (row_range,) = LayoutCache(BUDGET), plan.row_ranges("latent_list")
    sample = drawn_rows(plan)[0]
    other = replace(sample, relevant=tuple(reversed(sample.relevant)))
    kept.turn_to(plan, row_range)
    placed = [[unit.unit for unit in kept.of(plan, one).placed] for one in (sample, other)]
    assert placed[0] != placed[1]
    assert [unit.unit for unit in kept.of(plan, sample).placed] == placed[0]


def test_layouts_of_another_family_or_plan_are_not_kept(plan: Plan, tmp_path: Path) -> None:
    kept, (row_range,) = LayoutCache(BUDGET), plan.row_ranges("latent_list")
    sample = drawn_rows(plan)[0]
    assert kept.of(plan, sample) is not kept.of(plan, sample)
    kept.turn_to(plan, row_range)
    first = kept.of(plan, sample)
    other = make_plan(plan.recipe, ("o200k",), tmp_path / "other")
    assert kept.of(other, sample) is not first
    kept.turn_to(plan, row_range._replace(family="recall"))
    assert kept.of(plan, sample) is not first


def test_layouts_of_another_shard_make_room_for_those_of_this_one(plan: Plan) -> None:
    first, second, third = drawn_rows(plan)
    sizes = [size_of(layout_of(plan, sample), CELL.length) for sample in (first, second, third)]
    kept, (row_range,) = LayoutCache(max(sum(sizes[:2]), sum(sizes[1:]))), plan.row_ranges("latent_list")
    kept.turn_to(plan, row_range)
    laid = [kept.of(plan, sample) for sample in (first, second)]
    kept.turn_to(plan, row_range._replace(number=1))
    assert [kept.of(plan, sample) for sample in (first, second)] == laid
    held = kept.of(plan, third)
    assert kept.of(plan, third) is held
    assert kept.of(plan, second) is laid[1]
    assert kept.of(plan, first) is not laid[0]


def test_no_more_is_kept_than_there_is_room_for(plan: Plan) -> None:
    first, second, _ = drawn_rows(plan)
    kept, (row_range,) = LayoutCache(size_of(layout_of(plan, first), CELL.length)), plan.row_ranges("latent_list")
    kept.turn_to(plan, row_range)
    assert kept.of(plan, first) is kept.of(plan, first)
    assert kept.of(plan, second) is not kept.of(plan, second)


def test_what_the_check_for_fit_draws_is_drawn_once(plan: Plan) -> None:
    check_fit(plan, plan.profiles)
    for row in plan.rows("latent_list"):
        assert SAMPLES.take(plan, row) == draw_sample(plan, row)
        assert SAMPLES.take(plan, row) is None


def test_a_sample_is_kept_for_its_own_plan(plan: Plan, tmp_path: Path) -> None:
    row = RowPlan(CELL, 0, "")
    SAMPLES.keep(plan, draw_sample(plan, row))
    assert SAMPLES.take(make_plan(plan.recipe, ("o200k",), tmp_path / "other"), row) is None
    assert SAMPLES.take(plan, row)
