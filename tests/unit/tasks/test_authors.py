"""Mistakes that authors of tasks make are refused with what would be right."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipeline import tasks
from pipeline.assemble.plan import make_plan
from pipeline.errors import RecipeError
from pipeline.executors import Inline
from pipeline.recipe import Recipe, Stratum
from pipeline.stages import Stages
from pipeline.tasks.bio.standard import Standard

CELL = Stratum("bio", "standard", "32k", 4096, 1, 1)


def test_a_task_names_the_family_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tasks, "_imported", {})
    monkeypatch.setattr(Standard, "family", "boi")
    with pytest.raises(RecipeError, match=r"standard in pipeline\.tasks\.bio has family 'boi': give 'bio'"):
        tasks.task_of(CELL)


def test_a_task_names_a_known_scorer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Standard, "scorer", "exakt")
    with pytest.raises(RecipeError, match=r"scorer of bio\.standard: 'exakt': did you mean 'exact'\?"):
        tasks.check_stratum(CELL)


@pytest.mark.parametrize("guess", [2.0, -0.5, float("nan")])
def test_a_baseline_is_a_score(guess: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Standard, "baselines", lambda *_: {"uniform": guess})
    plan = make_plan(Recipe("mine", "0", 1, "32k", (CELL,)), ("o200k",), tmp_path)
    with pytest.raises(RecipeError, match=r"baseline 'uniform' is .*: give a score from 0 to 1"):
        all(Stages(plan, Inline).build())
