"""What tasks deal is dealt evenly, and uneven dealing is found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations

import pytest

from pipeline.prove.balance import Drawn, balance_faults, bound, spread_of
from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, stream
from pipeline.tasks import TASKS
from pipeline.tasks.base import Task

BIO = [task for (family, _), task in TASKS.items() if family == "bio"]
LENGTHS = (4096, 8192, 16384, 32768)


def drawn(task: Task, cell: Stratum, seed: int = 3) -> Iterator[Drawn]:
    plain = task.subtask.removesuffix("-essay")
    path = (seed, f"{cell.family}.{cell.subtask}@{task.version}", cell.tier, cell.length, cell.complexity)
    assert plain
    for index in range(cell.rows):
        sample = task.sample(cell, index, Streams((*path, index)), Streams(path))
        yield Drawn(f"{cell.subtask} {cell.complexity}", str(cell), task.dealt(sample))


@pytest.mark.parametrize("task", BIO, ids=lambda task: task.subtask)
@pytest.mark.parametrize("rows", [3, 12, 25])
def test_biographies_are_dealt_evenly(task: Task, rows: int) -> None:
    cells = [
        Stratum("bio", task.subtask, "128k", length, complexity, rows, 0)
        for length in LENGTHS
        for complexity in task.complexities
    ]
    found = [row for cell in cells for row in drawn(task, cell)]
    assert all(row.dealt for row in found)
    assert balance_faults(found) == []


@pytest.mark.parametrize("rows", [3, 12])
def test_few_rows_do_not_get_the_first_kinds(rows: int) -> None:
    """In rank of five no order of names is the answer more often than chance, however few rows a stratum has."""
    task = TASKS["bio", "rank"]
    first = Counter[bool]()
    for seed in range(40):
        cell = Stratum("bio", "rank", "32k", 8192, 5, rows, 0)
        for row in drawn(task, cell, seed):
            kind, kinds = row.dealt["named"]
            first[list(permutations(range(5)))[kind][0] == 0] += 1
            assert kinds == 120
    assert abs(first[True] / first.total() - 0.2) < 4 * (0.16 / first.total()) ** 0.5


def test_essays_ask_what_the_plain_subtask_asks() -> None:
    """Whatever the number of rows: the same question about the same people with the same namesakes."""
    for task in BIO:
        if not task.subtask.endswith("-essay"):
            continue
        plain = TASKS["bio", task.subtask.removesuffix("-essay")]
        for complexity in task.complexities:
            cell = Stratum("bio", task.subtask, "32k", 8192, complexity, 6)
            twin = replace(cell, subtask=plain.subtask, rows=25)
            paths = [(3, f"bio.{each.subtask}@{each.version}", "32k", 8192, complexity) for each in (task, plain)]
            for index in range(6):
                one, other = (
                    each.sample(of, index, Streams((*path, index)), Streams(path))
                    for each, of, path in zip((task, plain), (cell, twin), paths, strict=True)
                )
                assert (one.latent, one.question, one.key) == (other.latent, other.question, other.key)


def rows_of(cells: int, rows: int, kinds: int, *, first: bool) -> list[Drawn]:
    """Deal `rows` rows in each of some cells, by rounds or, wrongly, the first kinds only."""
    return [
        Drawn("all", f"cell {cell}", {"thing": (row if first else deal(stream(cell), rows, row, kinds), kinds)})
        for cell in range(cells)
        for row in range(rows)
    ]


@pytest.mark.parametrize(("cells", "rows", "kinds"), [(9, 12, 120), (30, 3, 6), (60, 1, 2), (20, 20, 28)])
def test_the_first_kinds_alone_are_found(cells: int, rows: int, kinds: int) -> None:
    assert balance_faults(rows_of(cells, rows, kinds, first=False)) == []
    assert "which no chance does" in balance_faults(rows_of(cells, rows, kinds, first=True))[0]


def test_an_uneven_stratum_is_found() -> None:
    made = [Drawn("all", "cell", {"thing": (kind, 3)}) for kind in (0, 0, 0, 1, 2)]
    assert balance_faults(made) == ["cell: the kinds of thing are dealt 3, 1, 1 times"]
    with pytest.raises(ValueError, match="not one of 3"):
        balance_faults([Drawn("all", "cell", {"thing": (3, 3)})])


def test_the_bound_is_far_out() -> None:
    """About the quantile of one in a thousand million of chi-square with 5 and 119 degrees of freedom."""
    assert 45 < bound(6) < 56
    assert 220 < bound(120) < 240
    assert bound(1) == spread_of([7]) == 0.0
