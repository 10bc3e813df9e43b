"""Mixtures of streams, whose weights may follow a policy's rewards: `mix` and `Curriculum`.

A cell is a task at one length and complexity. Methods that compare replies in groups learn nothing from a group with
equal rewards, so a cell with mean reward p is drawn in proportion to p(1 - p). The cell of row i depends on the seed,
on i, and on earlier rewards; these are logged, so that a run can be repeated.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate
from pathlib import Path
from typing import Any

from pipeline.errors import RecipeError
from pipeline.recipe import Knob
from pipeline.rows import Row
from pipeline.streams import stream as generator
from pipeline.streams import words
from pipeline.tasks import TASKS
from pipeline.training.apart import Known, read_known
from pipeline.training.epochs import EPOCH
from pipeline.training.iterable import to_iterable
from pipeline.training.stream import Stream, stream

ALL = 1 << 32
OUTSIDE, LEAST = 0.1, 0.002
"""The factor for cells outside the range of a curriculum; the least weight of an open cell."""


@dataclass(frozen=True, slots=True)
class Curriculum:
    """Weights of a mixture's cells by their mean rewards.

    A task begins at its shortest length and least complexity. A cell whose mean is at least `high` opens the next
    length and the next complexity. Cells between `low` and `high` are drawn most, and those at or below `rest` rarely.

    Attributes:
        low, high: the range of means in which a cell has its full weight.
        rest: the mean up to which a cell has the least weight.
        enough: reports of a cell before its mean counts.
        memory: the time constant of the running mean, in reports.
    """

    low: float = 0.2
    high: float = 0.8
    rest: float = 0.05
    enough: int = 16
    memory: int = 64

    def weight(self, mean: float, reports: int) -> float:
        """Return the weight of an open cell."""
        if reports < self.enough:
            return 0.25
        if mean <= self.rest:
            return LEAST
        return max(LEAST, mean * (1 - mean) * (1 if self.low <= mean <= self.high else OUTSIDE))


@dataclass(slots=True)
class Cell:
    """A stream of a mixture, its place among its task's lengths and complexities, and its reported mean reward."""

    rows: Stream
    share: float
    rungs: tuple[int, int]
    open: bool
    mean: float = 0.5
    reports: int = 0


@dataclass
class Mix:
    """An endless mixture; iteration continues where it stopped, also after `load_state_dict` or from a log."""

    cells: list[Cell]
    seed: int
    curriculum: Curriculum | None = None
    log: Path | None = None
    rank: int = 0
    world: int = 1
    drawn: int = 0
    dropped: dict[str, int] = field(default_factory=dict)
    reported: list[tuple[int, str, float]] = field(default_factory=list)
    _counts: list[int] = field(default_factory=list)

    def __iter__(self) -> Iterator[Row]:
        """Yield rows without end."""
        return self

    def __next__(self) -> Row:
        """Return the next row that fits, and shares nothing with known releases for evaluation."""
        while True:
            cell, index = self._draw()
            row = cell.rows.kept(index)
            if not isinstance(row, str):
                return row
            self.dropped[row] = self.dropped.get(row, 0) + 1

    def _draw(self) -> tuple[Cell, int]:
        """Return the next row's cell and its index there; each 4,096 draws use one epoch of every cell."""
        number, place = divmod(self.drawn, EPOCH)
        if not place:
            self._counts = [0] * len(self.cells)
            self._uniform = words(generator(f"train/{self.seed}", "mix", self.rank, number), EPOCH).tolist()
        sums = list(accumulate(self.weights()))
        which = min(bisect_right(sums, self._uniform[place] / ALL * sums[-1]), len(sums) - 1)
        index = (number * self.world + self.rank) * EPOCH + self._counts[which]
        self._counts[which] += 1
        self.drawn += 1
        return self.cells[which], index

    def weights(self) -> list[float]:
        """Return the present weight of each cell."""
        if self.curriculum is None:
            return [cell.share for cell in self.cells]
        rule = self.curriculum
        return [cell.share * rule.weight(cell.mean, cell.reports) if cell.open else 0.0 for cell in self.cells]

    def report(self, name: str, reward: float) -> None:
        """Report the reward of a reply to a row, which updates weights and is logged.

        Raises:
            RecipeError: if no cell has a row with this id.
        """
        cell = next((each for each in self.cells if name.endswith(f"-{each.rows.spec.tag}")), None)
        if cell is None:
            raise RecipeError(f"row {name!r} is of no cell of this mixture: report the id of a row that it gave")
        self._learn(cell, reward)
        self.reported.append((self.drawn, name, reward))
        if self.log:
            with self.log.open("a", encoding="ascii") as file:
                file.write(json.dumps(self.reported[-1]) + "\n")

    def _learn(self, cell: Cell, reward: float) -> None:
        rule = self.curriculum or Curriculum()
        cell.reports += 1
        cell.mean += (reward - cell.mean) / min(cell.reports, rule.memory)
        if self.curriculum and cell.open and cell.reports >= rule.enough and cell.mean >= rule.high:
            for other in self._next(cell):
                other.open = True

    def _next(self, cell: Cell) -> list[Cell]:
        """Return the cells of the same task with the next length or the next complexity."""
        (length, complexity), task = cell.rungs, cell.rows.spec.task
        up = ((length + 1, complexity), (length, complexity + 1))
        return [other for other in self.cells if other.rows.spec.task == task and other.rungs in up]

    def state_dict(self) -> dict[str, Any]:
        """Return what a copy of this mixture needs to continue with the next row, as plain values."""
        return {"drawn": self.drawn, "reported": [list(each) for each in self.reported]}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Continue from a state, by repeating all its draws and reports without making rows.

        Raises:
            RecipeError: if this mixture has already begun.
        """
        if self.drawn or self.reported:
            raise RecipeError("this mixture has begun: load a state into a new one")
        log, self.log = self.log, None
        for drawn, name, reward in state["reported"]:
            self._advance(drawn)
            self.report(name, reward)
        self._advance(state["drawn"])
        self.log = log

    def _advance(self, drawn: int) -> None:
        while self.drawn < drawn:
            self._draw()

    def shard(self, rank: int, world: int) -> Mix:
        """Return the share of one of `world` processes, with its own means; no two shares have a row in common.

        Raises:
            RecipeError: if there is no such rank, or this mixture has begun or is a share.
        """
        if not 0 <= rank < world or self.drawn or self.world > 1:
            raise RecipeError(f"rank {rank} of {world}: give 0 to {world - 1}, of a whole mixture that has not begun")
        log = self.log.with_name(f"{self.log.stem}-{rank}{self.log.suffix}") if self.log else None
        share = Mix([replace(cell) for cell in self.cells], self.seed, self.curriculum, log, rank, world)
        return _resumed(share)

    def to_iterable(self) -> Any:
        """Return the rows as an endless `datasets.IterableDataset` for trainers such as TRL."""
        return to_iterable([self])


def mix(
    tasks: Mapping[str, float],
    *,
    tokenizer: str,
    lengths: Sequence[int] = (4096,),
    complexities: Sequence[int] | None = None,
    curriculum: Curriculum | None = None,
    seed: int = 0,
    ids: bool = False,
    quotes: bool = False,
    reserve: int | None = None,
    known: Known | str | Path | None = None,
    log: str | Path | None = None,
    knobs: Mapping[str, Knob] | None = None,
) -> Mix:
    """Return an endless mixture of tasks.

    Args:
        tasks: the share of each task, such as ``{"bio.multihop": 2, "rag.bridge": 1}``.
        tokenizer: a profile's name or file.
        lengths: the lengths of each task, except those below its `shortest`.
        complexities: the complexities to use; by default all that a task has.
        curriculum: how weights follow reported rewards; without one, all cells of a task have the same weight.
        seed: see `stream`.
        ids: see `stream`.
        quotes: see `stream`.
        reserve: see `stream`.
        known: see `stream`.
        log: a JSON Lines file to which reports are appended. If it has some, the mixture continues after them.
        knobs: see `stream`.

    Raises:
        RecipeError: as `stream` does, or if a task fits none of the lengths.
    """
    known = read_known(known) if isinstance(known, str | Path) else known
    of = partial(
        stream, tokenizer=tokenizer, seed=seed, ids=ids, quotes=quotes, reserve=reserve, known=known, knobs=knobs
    )
    cells: list[Cell] = []
    for task, share in tasks.items():
        streams = _ladder(partial(of, task), task, lengths, complexities)
        for rungs, rows in streams.items():
            begins = curriculum is None or rungs == (0, 0)
            cells.append(Cell(rows, share / len(streams) if curriculum is None else share, rungs, begins))
    if not cells or min(cell.share for cell in cells) <= 0:
        raise RecipeError(f"mixture {dict(tasks)!r}: give at least one task, each with a share above 0")
    return _resumed(Mix(cells, seed, curriculum, Path(log) if log else None))


def _ladder(
    of: Callable[..., Stream], task: str, lengths: Sequence[int], complexities: Sequence[int] | None
) -> dict[tuple[int, int], Stream]:
    """Return the streams of a task by the indices of their length and complexity."""
    cell = of(length=max(lengths, default=4096)).spec.cell
    known = TASKS[cell.family, cell.subtask]
    fits = sorted({length for length in lengths if length >= known.shortest})
    asked = [each for each in known.complexities if complexities is None or each in complexities]
    if not fits or not asked:
        raise RecipeError(
            f"{task} has no cell here: give a length of at least {known.shortest}, and complexities of "
            f"{list(known.complexities)}"
        )
    return {(i, j): of(length=length, complexity=each) for i, length in enumerate(fits) for j, each in enumerate(asked)}


def _resumed(fresh: Mix) -> Mix:
    """Return a mixture after replaying the reports in its log; an incomplete last line is dropped."""
    if fresh.log and fresh.log.is_file():
        text = fresh.log.read_text(encoding="ascii")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            fresh.log.write_text(whole, encoding="ascii")
        lines = [json.loads(line) for line in whole.splitlines()]
        fresh.load_state_dict({"drawn": lines[-1][0] if lines else 0, "reported": lines})
    return fresh
