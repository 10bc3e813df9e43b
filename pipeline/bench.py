"""Speed as ratios to one tiktoken encode of the same text, all measured in one run: ``python -m pipeline.bench``."""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from dataclasses import dataclass
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import click

from pipeline.build import PackJob, cut_row, read_samples
from pipeline.cli import profile_names
from pipeline.plan import Plan, make_plan
from pipeline.profiles import Counter, Profile
from pipeline.prompts import cutter
from pipeline.recipe import TIERS, Recipe, Stratum
from pipeline.rows import Row
from pipeline.shards import read_rows
from pipeline.stages import Stages
from pipeline.tables import table
from pipeline.tasks import TASKS

REPEATS = 3
TIMED = 6
"""Rows on which single steps are timed; the whole build is timed on all."""
ROWS = {"32k": 224, "128k": 96, "1m": 18}
"""As many tokens as a family has in the shipped recipe at 32k; fewer at the longer tiers, so pools weigh more."""
LIMIT_MB = 1024


@dataclass(frozen=True, slots=True)
class Case:
    """One family in one profile at a tier's full length; with its longest subtask."""

    family: str
    subtask: str
    complexity: int
    tier: str
    profile: str

    def recipe(self) -> Recipe:
        """Return a recipe of this case alone."""
        cell = Stratum(self.family, self.subtask, self.tier, TIERS[self.tier], self.complexity, ROWS[self.tier])
        return Recipe("bench", "0", 1, self.tier, (cell,))


def cases(profiles: tuple[str, ...]) -> Iterator[Case]:
    """Yield each family's last subtask at its highest complexity, at every tier, in every profile."""
    hardest = {family: (subtask, max(task.complexities)) for (family, subtask), task in TASKS.items()}
    for profile in profiles:
        for family, (subtask, complexity) in hardest.items():
            for tier in TIERS:
                yield Case(family, subtask, complexity, tier, profile)


def measure(case: Case) -> dict[str, Any]:
    """Measure one case in this process: ratios, tokens per second, peak memory in MB."""
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(case.recipe(), (case.profile,), Path(folder))
        profile = plan.profiles[0]
        reference = encoder(profile)
        cutter(profile, "chat").unit_tokens([])
        reference.count("warm")
        built = seconds_of(lambda: Stages(plan, _inline).build())
        shards = [PackJob(plan, shard).data for shard in plan.all_shards()]
        tokens = sum(row["prompt_tokens"] for shard in shards for row in read_rows(shard, ["prompt_tokens"]))
        rows = list(islice((row for shard in shards for row in read_rows(shard)), TIMED))
        timed = sum(row["prompt_tokens"] for row in rows)
        encode = sum(best(lambda row=row: reference.count(row["prompt"])) for row in rows)  # type: ignore[misc]
        cut, asserted = _cut_seconds(plan, rows)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    return {
        "profile": case.profile,
        "task": f"{case.family}.{case.subtask}",
        "length": case.tier,
        "render + pack": round((cut - asserted) / encode, 2),
        "with assert": round(cut / encode, 2),
        "whole build": round(built / tokens / (encode / timed), 2),
        "Mtok/s built": round(tokens / built / 1e6, 2),
        "us/ktok built": round(built / tokens * 1e9, 1),
        "peak MB": peak,
    }


def encoder(profile: Profile) -> Counter:
    """Return what one encode is measured with: the reference where it is fast, else the fast counter."""
    second = profile.second()
    return profile.counter() if second is None or profile.second_is_slow else second


def _cut_seconds(plan: Plan, rows: list[Row]) -> tuple[float, float]:
    """Return the time to lay out, pack and assert all rows, and that of the asserting encodes alone."""
    profile = plan.profiles[0]
    samples = list(islice(read_samples(plan, plan.families[0]), len(rows)))
    cut = sum(best(lambda sample=sample: cut_row(plan, sample, profile.name)) for sample in samples)  # type: ignore[misc]
    asserted = sum(best(lambda row=row: profile.counter().count(row["prompt"])) for row in rows)  # type: ignore[misc]
    return cut, asserted


def best(call: Callable[[], object]) -> float:
    """Return the least CPU seconds of a few calls."""
    return min(seconds_of(call) for _ in range(REPEATS))


def seconds_of(call: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    start = process_time()
    call()
    return process_time() - start


def _inline() -> Executor:
    from pipeline.engine import Inline

    return Inline()


def growth(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how the cost of a built token grows from 32K to 1M, per profile and task: 1 is linear."""
    costs = {(record["profile"], record["task"], record["length"]): record["us/ktok built"] for record in records}
    places = dict.fromkeys((record["profile"], record["task"]) for record in records)
    return [
        {
            "profile": profile,
            "task": task,
            "1M / 32K": round(costs[profile, task, "1m"] / costs[profile, task, "32k"], 2),
        }
        for profile, task in places
    ]


@click.command()
@click.option("--tokenizer", "tokenizers", multiple=True, help="Profile; may be repeated, or 'all'.")
def main(tokenizers: tuple[str, ...]) -> None:
    """Print the bench table: every ratio is CPU time over that of one tiktoken encode of the same text."""
    records = []
    for case in cases(profile_names(tokenizers)):
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as alone:
            records.append(alone.submit(measure, case).result())
        click.echo(f"{case.profile} {case.family} {case.tier}: done", err=True)
    click.echo(table(records))
    click.echo("\n" + table(growth(records)))
    if any(record["peak MB"] > LIMIT_MB for record in records):
        sys.exit(f"a worker needed more than {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
