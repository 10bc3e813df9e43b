"""Speed relative to one tiktoken encode of the same text, measured in one run: ``python -m pipeline.bench``."""

from __future__ import annotations

import resource
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

import click

from pipeline.artifacts.parquet import read_rows
from pipeline.assemble.jobs import PackJob, cut_row, samples_of
from pipeline.assemble.plan import Plan, make_plan
from pipeline.cli.base import profile_names
from pipeline.executors import Inline
from pipeline.executors.pool import settle
from pipeline.profiles import Counter, Profile
from pipeline.recipe import (
    Recipe,
    Stratum,
)
from pipeline.stages import Stages
from pipeline.tasks import TASKS, families
from pipeline.terminal.text import table
from pipeline.typed import (
    TIERS,
)
from pipeline.verify.row import turns_of

REPEATS = 3
TIMED = 6
"""Rows on which single steps are timed; the whole build is timed on all rows."""
ROWS = {"32k": 225, "128k": 90, "1m": 30}
"""Rows per family, divided among its subtasks and complexities."""
EACH = 6
"""The least average number of rows per subtask: with fewer, the bench would measure pools more than rows.

For comparison, the recipe's tokens per subtask equal 50 full-length rows at 32k and 128k, and 28 at 1m; for `bio`, with
16 subtasks, they add up to 500 rows at 1m. At 1M, what `bio` makes once (pools, their counts, the check for fit) costs
as much as 20 encodes of a row, and each row costs 1.1 to 1.3: 27 rows took 1.9 to 2.1 encodes each in all, 81 rows 1.3
to 1.4.
"""
LIMIT_MB = 1024


@dataclass(frozen=True, slots=True)
class Case:
    """One family at a tier's full length, with all its subtasks and complexities, in some profiles."""

    family: str
    tier: str
    profiles: tuple[str, ...]

    def recipe(self) -> Recipe:
        """Return a recipe for this case only."""
        tasks = [task for (family, _), task in TASKS.items() if family == self.family]
        kinds = [(task.subtask, complexity) for task in tasks for complexity in task.complexities]
        rows = max(ROWS[self.tier], EACH * len(tasks)) // len(kinds)
        length = TIERS[self.tier]
        cells = [Stratum(self.family, name, self.tier, length, complexity, rows) for name, complexity in kinds]
        return Recipe("bench", "0", 1, self.tier, tuple(cells))


def measure(case: Case) -> list[dict[str, Any]]:
    """Measure one case in this process: a record per profile, then one for the whole build in all of them."""
    with tempfile.TemporaryDirectory() as folder:
        plan = make_plan(case.recipe(), case.profiles, Path(folder))
        for profile in plan.profiles:
            warm(profile)
        opened = sum(seconds_of(partial(warm, profile)) for profile in plan.profiles if len(plan.profiles) > 1)
        built = seconds_of(lambda: Stages(plan, Inline).build()) - opened
        steps = [measured_steps(plan, profile) for profile in plan.profiles]
    tokens = sum(step.tokens for step in steps)
    place = {"family": case.family, "length": case.tier}
    return [
        *({**place, "profile": step.profile, **step.record()} for step in steps),
        {
            **place,
            "profile": "all of them",
            "render + pack": "",
            "with assert": "",
            "whole build": round(built / sum(step.encode * step.tokens for step in steps), 2),
            "Mtok/s": round(tokens / built / 1e6, 2),
            "peak MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
            "ns/token": round(built / tokens * 1e9, 1),
        },
    ]


def warm(profile: Profile) -> None:
    """Open all counters of a profile, so that this fixed cost can be left out of the timings."""
    for counter in (profile.counter(), profile.quick_counter(), encoder(profile)):
        if counter:
            counter.count("warm")


@dataclass(frozen=True, slots=True)
class Steps:
    """CPU seconds per token in one profile: for an encode, for cutting rows, and for the encodes that assert them."""

    profile: str
    tokens: int
    encode: float
    cut: float
    asserted: float

    def record(self) -> dict[str, Any]:
        """Return the row of the table."""
        return {
            "render + pack": round((self.cut - self.asserted) / self.encode, 2),
            "with assert": round(self.cut / self.encode, 2),
            "whole build": "",
            "Mtok/s": round(1 / self.cut / 1e6, 2),
            "peak MB": "",
            "ns/token": round(self.cut * 1e9, 1),
        }


def measured_steps(plan: Plan, profile: Profile) -> Steps:
    """Time single steps on some rows of a build."""
    shards = [PackJob(plan, shard).data for family in plan.families for shard in plan.shards(family, profile)]
    tokens = sum(row["prompt_tokens"] for shard in shards for row in read_rows(shard, ["prompt_tokens"]))
    every = max(1, sum(cell.total for cell in plan.recipe.strata) // TIMED)
    samples = list(islice(samples_of(plan, plan.families[0]), 0, every * TIMED, every))
    rows = [cut_row(plan, sample, profile) for sample in samples]
    timed = sum(row["prompt_tokens"] for row in rows)
    cut = sum(best(partial(cut_row, plan, sample, profile)) for sample in samples)
    asserted = sum(best(partial(count_sent, profile.counter(), row)) for row in rows)
    encode = sum(best(partial(encoder(profile).count, row["prompt"])) for row in rows)
    return Steps(profile.name, tokens, encode / timed, cut / timed, asserted / timed)


def count_sent(counter: Counter, row: dict[str, Any]) -> int:
    """Count a row's tokens turn by turn, as the encode that asserts it does."""
    return sum(counter.count(content) for _, content in turns_of(row))


def encoder(profile: Profile) -> Counter:
    """Return the counter that stands for one encode: the reference encoder if it is fast, else the fast counter."""
    second = profile.second()
    return profile.counter() if second is None or profile.second_is_slow else second


def best(call: Callable[[], object]) -> float:
    """Return the fewest CPU seconds of REPEATS calls."""
    return min(seconds_of(call) for _ in range(REPEATS))


def seconds_of(call: Callable[[], object]) -> float:
    """Return the CPU seconds of one call."""
    start = process_time()
    call()
    return process_time() - start


def growth(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return how the cost per token grows from 32K to 1M: 1 means that cost is linear in tokens."""
    costs = {(record["family"], record["profile"], record["length"]): record["ns/token"] for record in records}
    return [
        {"family": family, "profile": profile, "1M / 32K": round(cost / costs[family, profile, "32k"], 2)}
        for (family, profile, length), cost in costs.items()
        if length == "1m"
    ]


@click.command()
@click.option("--tokenizer", "tokenizers", multiple=True, help="Profile; may be repeated, or 'all'.")
@click.option("--family", "only", multiple=True, help="Only this family; may be repeated.")
def main(tokenizers: tuple[str, ...], only: tuple[str, ...]) -> None:
    """Print the bench table: every ratio is CPU time over that of one tiktoken encode of the same text."""
    records = []
    for family in only or families():
        for tier in TIERS:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn"), initializer=settle) as alone:
                records += alone.submit(measure, Case(family, tier, profile_names(tokenizers))).result()
            click.echo(f"{family} {tier}: done", err=True)
    click.echo(table(records))
    click.echo("\n" + table(growth(records)))
    if any(record["peak MB"] > LIMIT_MB for record in records if record["peak MB"]):
        sys.exit(f"a worker needed more than {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
