"""Tasks for Inspect with the rows of this folder, each with its own limit for the reply and its own scorer.

``carrara.py`` has a task for each family and tier, ``everything.py`` one task of all rows. Each is a single file, so
that two such folders can be evaluated in one run without sharing a module.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import pyarrow.parquet as pq
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, GenerateConfig
from inspect_ai.scorer import Metric, SampleScore, Score, Scorer, Target, grouped, mean, metric, scorer, stderr
from inspect_ai.solver import Generate, Solver, TaskState, solver

FOLDER = Path(__file__).resolve().parent
ROLES = {"user": ChatMessageUser, "assistant": ChatMessageAssistant, "system": ChatMessageSystem}
STRATUM = ["family", "tier", "subtask", "length", "complexity"]
AXES = ("length", "complexity", "subtask")
"""The columns by which scores are grouped, and samples sorted."""
OWN = ("id", "messages", "prompt", "target")
"""Columns that are fields of a sample; all others are its metadata."""


def rows_task(name: str, limit: int | None, **wanted: Any) -> Task:
    """Return a task of the rows that are `wanted` (None for any value), at most `limit` of each stratum."""
    asked = {name: value for name, value in wanted.items() if value is not None}
    found = sorted(rows(asked, limit), key=lambda row: [row[name] for name in ("family", *AXES)])
    samples = [sample(row) for row in found]
    if not samples:
        raise ValueError(f"no row has {asked}")
    several = len({row["family"] for row in found}) > 1
    return Task(
        dataset=MemoryDataset(samples, name=name),
        solver=reply(),
        scorer=carrara_score(),
        metrics=[headline(), mean(), stderr(), *([] if several else seconds(found)), *curves(several=several)],
        config=GenerateConfig(temperature=0.0),
    )


def rows(wanted: dict[str, Any], limit: int | None) -> Iterator[dict[str, Any]]:
    """Yield the wanted rows; the text of others is not read."""
    taken: dict[tuple[Any, ...], int] = defaultdict(int)
    for path in sorted((FOLDER / "data").glob("*.parquet")):
        with pq.ParquetFile(path) as file:
            for group in range(file.num_row_groups):
                chosen = []
                for at, cell in enumerate(file.read_row_group(group, columns=STRATUM).to_pylist()):
                    stratum = tuple(cell.values())
                    if cell == {**cell, **wanted} and (limit is None or taken[stratum] < limit):
                        taken[stratum] += 1
                        chosen.append(at)
                if chosen:
                    yield from file.read_row_group(group).take(chosen).to_pylist()


def sample(row: dict[str, Any]) -> Sample:
    """Return a row as a sample: its real turns as messages, or its prompt as one user turn."""
    turns = [ROLES[turn["role"]](content=turn["content"]) for turn in row["messages"] or ()]
    metadata = {name: value for name, value in row.items() if name not in OWN}
    return Sample(id=row["id"], input=turns or row["prompt"], target=row["target"], metadata=metadata)


@solver
def reply() -> Solver:
    """Ask for a reply within the row's limit of tokens."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        return await generate(state, max_tokens=state.metadata["max_new_tokens"])

    return solve


METRICS = SimpleNamespace(**run_path(str(FOLDER / "metrics.py"), run_name="carrara_metrics"))
"""The published scorers, from this folder even if another module has that name."""


@scorer(metrics=[mean(), stderr()])
def carrara_score() -> Scorer:
    """Score a reply by the row's rule in metrics.py, from 0 to 1."""

    async def score(state: TaskState, target: Target) -> Score:
        row = {**state.metadata, "id": state.sample_id, "target": target.text}
        reply = state.output.completion
        return Score(value=METRICS.score(row, reply), answer=reply)

    return score


def curves(*, several: bool) -> list[Metric]:
    """Return the headline of each length, complexity and subtask; for several families, of each length and family."""
    axes = ("length", "family") if several else AXES
    return [grouped(headline(), name, all=False, name_template=name + " {group_name}") for name in axes]


@metric
def headline() -> Metric:
    """Return the mean over families of means over their subtasks of means over their lengths."""

    def whole(scores: list[SampleScore]) -> float:
        found = {str(one.sample_id): {**(one.sample_metadata or {}), "id": one.sample_id} for one in scores}
        by_row = {str(one.sample_id): one.score.as_float() for one in scores}
        return float(METRICS.headline(found, METRICS.pair_scores(found, by_row)))

    return whole


@metric
def pairs() -> Metric:
    """Return the share of complete pairs with both rows right; nan if there are none."""

    def share(scores: list[SampleScore]) -> float:
        found = defaultdict(list)
        for one in scores:
            if METRICS.facts((one.sample_metadata or {})["scorer"]).paired:
                head, _, tag = str(one.sample_id).rpartition("-")
                found[f"{head[:-1]}-{tag}"].append(one.score.as_float())
        whole = [both for both in found.values() if len(both) == 2]
        return sum(min(both) for both in whole) / len(whole) if whole else float("nan")

    return share


@metric
def balanced() -> Metric:
    """Return the mean of two mean scores: over rows whose text gives the answer (complexity 1), and the others (0)."""

    def even(scores: list[SampleScore]) -> float:
        found = defaultdict(list)
        for one in scores:
            found[(one.sample_metadata or {})["complexity"]].append(one.score.as_float())
        return sum(sum(some) / len(some) for some in found.values()) / len(found) if found else float("nan")

    return even


SECOND = {"pairs": pairs, "balanced": balanced}
"""The second means that some scorers have, by name."""


def seconds(found: list[dict[str, Any]]) -> list[Metric]:
    """Return the second means of the scorers of these rows."""
    named = {METRICS.facts(row["scorer"]).aggregate for row in found}
    return [made() for name, made in SECOND.items() if name in named]
