"""Golden files, one for each task: its first rows as readable text, and a digest of many more samples.

They make it impossible to change a row without meaning to: raise the task's version, then `make golden`.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from builds import Place, chosen, profile_of
from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, RowPlan, make_plan
from pipeline.errors import RecipeError
from pipeline.executors import Inline
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import plain_json
from pipeline.stages import Stages
from pipeline.tasks import TASKS
from pipeline.tasks.base import Task

SEED = 20261121
DIGEST = "ten samples of every complexity at 32k and at 1m: sha256 "


def plan_of(task: Task, out: Path) -> Plan:
    return make_plan(Recipe("golden", "1", SEED, "32k", task.golden()), (profile_of(task),), out)


def text_of(plan: Plan) -> str:
    """Return the prompts of a plan and their keys as text for people."""
    parts = []
    for shard in plan.all_shards():
        for row in read_rows(shard.path(plan.out, "data")):
            shown = {
                name: row[name] for name in ("id", "task_version", "prompt_tokens", "target", "answers", "needles")
            }
            parts += [plain_json(shown), row["metadata"], row["prompt"], ""]
    return "\n".join(parts)


def samples_digest(task: Task) -> str:
    """Return a digest of ten samples of every complexity at two tiers."""
    total = hashlib.sha256()
    for tier in ("32k", "1m"):
        cells = tuple(
            Stratum(task.family, task.subtask, tier, 8192, complexity, 10) for complexity in task.complexities
        )
        plan = make_plan(Recipe("golden", "1", SEED, tier, cells), (profile_of(task),), Path("unused"))
        for cell in cells:
            for index in range(cell.rows):
                sample = draw_sample(plan, RowPlan(cell, index, ""))
                total.update(plain_json([dict(sample.latent), sample.question, sample.key.target]).encode())
    return total.hexdigest()


def compare(path: Path, made: str, update: bool) -> None:
    if update:
        path.write_text(made, encoding="ascii")
    assert path.is_file(), "run `make golden`"
    same = path.read_text(encoding="ascii") == made
    assert same, f"rows changed: raise the task's version, run `make golden`, and look at the change of {path.name}"


def test_first_rows_and_many_samples(place: Place, tmp_path: Path, root: Path, update_golden: bool) -> None:
    task = TASKS[place]
    plan = plan_of(task, tmp_path)
    assert all(Stages(plan, Inline).build())
    made = f"{text_of(plan)}\n{DIGEST}{samples_digest(task)}\n"
    compare(root / "tests" / "golden" / f"{'-'.join(place)}.txt", made, update_golden)


@pytest.mark.whole
def test_a_golden_file_belongs_to_a_task(root: Path) -> None:
    found = {path.name for path in (root / "tests" / "golden").glob("*.txt")}
    assert found == {f"{family}-{subtask}.txt" for family, subtask in TASKS}


@pytest.mark.whole
def test_golden_files_are_chosen_by_family_or_task() -> None:
    assert chosen("") == list(TASKS)
    assert chosen("mrcr") == [("mrcr", "transcript"), ("mrcr", "chat")]
    assert chosen("bio.standard") == [("bio", "standard")]
    with pytest.raises(RecipeError, match=r"unknown task 'bio\.standart': did you mean 'bio\.standard'\?"):
        chosen("bio.standart")
