"""Golden files: the first row of every task as readable text, and a digest of many more.

They make it impossible to change a row without meaning to: raise the task's version, then `make golden`.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import pytest

from pipeline.assemble.ids import RowPlan
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan, make_plan
from pipeline.engine import Inline
from pipeline.recipe import Recipe, Stratum, load_recipe
from pipeline.rows import plain_json
from pipeline.stages import Stages
from pipeline.store.parquet import read_rows
from pipeline.tasks import TASKS

SEED = 20261121


def plan_of(family: str, subtask: str, out: Path) -> Plan:
    """Plan a row of each complexity, in the shortest stratum of the smoke recipe."""
    shipped = [cell for cell in load_recipe("smoke").of_family(family) if cell.subtask == subtask]
    shortest = {cell.complexity: replace(cell, rows=1) for cell in reversed(shipped)}
    cells = tuple(shortest[complexity] for complexity in TASKS[family, subtask].complexities)
    return make_plan(Recipe("golden", "1", SEED, "32k", cells), ("o200k",), out)


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


def samples_digest(family: str, subtask: str) -> str:
    """Return a digest of forty samples of every complexity at two tiers."""
    total = hashlib.sha256()
    task = TASKS[family, subtask]
    for tier in ("32k", "1m"):
        cells = tuple(Stratum(family, subtask, tier, 8192, complexity, 40) for complexity in task.complexities)
        plan = make_plan(Recipe("golden", "1", SEED, tier, cells), ("o200k",), Path("unused"))
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


@pytest.mark.parametrize(("family", "subtask"), TASKS)
def test_first_rows(family: str, subtask: str, tmp_path: Path, root: Path, update_golden: bool) -> None:
    plan = plan_of(family, subtask, tmp_path)
    assert all(Stages(plan, Inline).build())
    compare(root / "tests" / "golden" / f"{family}-{subtask}.txt", text_of(plan), update_golden)


def test_many_samples(root: Path, update_golden: bool) -> None:
    digests = {
        f"{family}.{subtask}@{task.version}": samples_digest(family, subtask)
        for (family, subtask), task in TASKS.items()
    }
    compare(root / "tests" / "golden" / "samples.json", json.dumps(digests, indent=1) + "\n", update_golden)
