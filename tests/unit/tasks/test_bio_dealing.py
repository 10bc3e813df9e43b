"""What biographies deal is dealt evenly, and the subtasks among essays are dealt what the plain ones are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks import TASKS
from pipeline.tasks.base import Sample, Task
from pipeline.verify.statistics import balance_faults

BIO = [task for (family, _), task in TASKS.items() if family == "bio"]
LENGTHS = (4096, 8192, 16384, 32768)


def drawn(task: Task, cell: Stratum, seed: int = 3) -> Iterator[Sample]:
    path = (seed, f"{cell.family}.{cell.subtask}@{task.version}", cell.tier, cell.length, cell.complexity)
    for index in range(cell.rows):
        yield task.sample(cell, index, Streams((*path, index)), Streams(path))


@pytest.mark.parametrize("task", BIO, ids=lambda task: task.subtask)
@pytest.mark.parametrize("rows", [3, 12, pytest.param(25, marks=pytest.mark.slow)])
def test_biographies_are_dealt_evenly(task: Task, rows: int) -> None:
    cells = [
        Stratum("bio", task.subtask, "128k", length, complexity, rows, 0)
        for length in LENGTHS
        for complexity in task.complexities
    ]
    found = [sample for cell in cells for sample in drawn(task, cell)]
    assert all(task.dealt(sample) for sample in found)
    assert list(balance_faults(found)) == []


@pytest.mark.parametrize("rows", [3, 12])
def test_few_rows_do_not_get_the_first_kinds(rows: int) -> None:
    """In rank of five the first-named is the answer's first no more often than chance, however few rows there are."""
    task, first = TASKS["bio", "rank"], Counter[bool]()
    for seed in range(40):
        for sample in drawn(task, Stratum("bio", "rank", "32k", 8192, 5, rows, 0), seed):
            first[sample.latent["named"][0] == sample.latent["right"][0]] += 1
    assert abs(first[True] / first.total() - 0.2) < 4 * (0.16 / first.total()) ** 0.5


@pytest.mark.parametrize("task", [task for task in BIO if task.twin], ids=lambda task: task.subtask)
def test_essays_ask_what_the_plain_subtask_asks(task: Task) -> None:
    """Whatever the number of rows: the same question about the same people with the same namesakes."""
    plain = TASKS["bio", task.twin]
    for complexity in task.complexities:
        cell = Stratum("bio", task.subtask, "32k", 8192, complexity, 6)
        twins = drawn(plain, replace(cell, subtask=plain.subtask, rows=25))
        for one, other in zip(drawn(task, cell), twins, strict=False):
            assert (one.latent, one.question, one.key) == (other.latent, other.question, other.key)
