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
from pipeline.assemble.plan import Plan, make_plan
from pipeline.assemble.row_order import RowPlan
from pipeline.errors import RecipeError
from pipeline.executors import Inline
from pipeline.recipe import Recipe, Stratum
from pipeline.rows import plain_json
from pipeline.stages import Stages
from pipeline.tasks import TASKS
from pipeline.tasks.base import Task

SEED = 20261121
CHANGED = "rows changed: raise the task's version, run `make golden`, and look at the change of {}"


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


def samples_line(task: Task, tier: str) -> str:
    """Return the line with the digest of ten samples of every complexity at a tier."""
    total = hashlib.sha256()
    cells = tuple(Stratum(task.family, task.subtask, tier, 8192, complexity, 10) for complexity in task.complexities)
    plan = make_plan(Recipe("golden", "1", SEED, tier, cells), (profile_of(task),), Path("unused"))
    for cell in cells:
        for index in range(cell.rows):
            sample = draw_sample(plan, RowPlan(cell, index, ""))
            total.update(plain_json([dict(sample.latent), sample.question, sample.key.target]).encode())
    return f"ten samples of every complexity at {tier}: sha256 {total.hexdigest()}\n"


def file_of(root: Path, place: Place) -> Path:
    return root / "tests" / "golden" / f"{'-'.join(place)}.txt"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all tasks are built in, one after the other, as many have the same filler."""
    return tmp_path_factory.mktemp("golden")


def test_first_rows_and_many_samples(place: Place, folder: Path, root: Path, update_golden: bool) -> None:
    task, path = TASKS[place], file_of(root, place)
    plan = plan_of(task, folder)
    assert all(Stages(plan, Inline).build())
    made = f"{text_of(plan)}\n{samples_line(task, '32k')}"
    if update_golden:
        path.write_text(made + samples_line(task, "1m"), encoding="ascii")
    assert path.is_file(), "run `make golden`"
    assert path.read_text(encoding="ascii").startswith(made), CHANGED.format(path.name)


@pytest.mark.slow
def test_many_samples_of_the_largest_worlds(place: Place, root: Path) -> None:
    path = file_of(root, place)
    assert path.read_text(encoding="ascii").endswith(samples_line(TASKS[place], "1m")), CHANGED.format(path.name)


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
