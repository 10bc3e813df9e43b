"""Averages of records: mean scores by any columns, classes of refusals, and the cumulative average score.

Every mean is taken over families, of the means over their subtasks, of the means over their lengths
(`metrics.headline`), as HELMET averages its categories: no task weighs more for having more rows or lengths.

The exception is the cumulative average score at length x (Michelangelo, section 3.2): the mean over all rows of length
up to x, each weighted by 1 / r. r is the number of stacked sets (tiers of the given splits) that have rows of the same
task in the row's bucket. If 32k, 128k and 1m are stacked, rows in the 32k bucket weigh 1/3, in the 128k bucket 1/2, in
the 1m bucket 1. With one tier all weights are 1. Over several families it is the plain mean of their scores.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from math import fsum, prod
from typing import TYPE_CHECKING

import numpy as np

from pipeline.artifacts.split import frame_type
from pipeline.errors import PredictionsError, unknown
from pipeline.score.intervals import Resampler, Stratum, Units
from pipeline.score.results import ANSWERED, CHANCE, EMPTY, REFUSED, Cell, Classes, Record, Scored, plain_result

if TYPE_CHECKING:
    from pandas import DataFrame

BINS = 5
GROUPS = ("family", "subtask", "tier", "bucket", "length", "complexity", "depth", "kind", "language")
HEADLINE = ("family", "subtask", "length")
"""The levels of every mean but the cumulative one, as in `metrics.headline`."""
Value = Callable[[Record], float]


class Tables:
    """Tables of one model's records.

    Args:
        scored: the records.
        bins: the number of equal parts of depth.
    """

    def __init__(self, scored: Scored, *, bins: int = BINS) -> None:
        self.scored, self._bins = scored, bins
        self._resampler = Resampler()

    @cached_property
    def weights(self) -> dict[str, float]:
        """The weight of each row in the cumulative average score, by id."""
        holders: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        for record in self.scored.records:
            holders[record.family, record.subtask, record.bucket].add(record.subset)
        return {each.id: 1 / len(holders[each.family, each.subtask, each.bucket]) for each in self.scored.records}

    @property
    def overall(self) -> Cell | None:
        """The headline: the mean over all rows; None without rows."""
        return next(iter(self.by()), None)

    def by(self, *names: str) -> list[Cell]:
        """Return a cell for each combination of values of some of GROUPS that occurs, in order.

        Rows without a depth, a kind or a language are left out of tables by it. Depth is the lower edge of its part.

        Raises:
            PredictionsError: for a name that is not in GROUPS.
        """
        for name in names:
            if name not in GROUPS:
                raise PredictionsError(unknown("column to group by:", name, GROUPS))
        groups: dict[tuple[str | int | float, ...], list[Record]] = defaultdict(list)
        for record in self.scored.records:
            place = tuple(self._value(record, name) for name in names)
            if "" not in place:
                groups[place].append(record)
        return [self.cell(dict(zip(names, place, strict=True)), groups[place]) for place in sorted(groups)]

    def frame(self, *names: str) -> DataFrame:
        """Return a pandas DataFrame: without names a line for each row of the split, else one for each cell of `by`.

        Raises:
            PredictionsError: for a name that is not in GROUPS.
            SplitError: if pandas is not installed.
        """
        frame = frame_type()
        if not names:
            return frame([plain_result(record) for record in self.scored.records])
        cells = [plain_result(cell) for cell in self.by(*names)]
        return frame([{**cell.pop("place"), **cell} for cell in cells])

    def _value(self, record: Record, name: str) -> str | int | float:
        if name == "depth":
            return "" if record.depth is None else min(self._bins - 1, int(record.depth * self._bins)) / self._bins
        value: str | int = getattr(record, name)
        return value

    def cumulative(self, *names: str) -> list[Cell]:
        """Return the cumulative average score up to each length, by the given columns (such as family).

        Each point is a cell whose place ends in ``up_to``; lengths are those of the rows of its group.
        """
        points = []
        for cell in self.by(*names):
            rows = [each for each in self.scored.records if _is_in(each, cell.place)]
            for length in sorted({each.length for each in rows}):
                place = {**cell.place, "up_to": length}
                some = [each for each in rows if each.length <= length]
                points.append(self._cell(place, some, self._stacked(some)))
        return points

    def classes(self) -> list[Classes]:
        """Return accuracy by class for every subtask in which a refusal may be right."""
        kinds = sorted({(each.family, each.subtask) for each in self.scored.records if each.kind})
        return [self._classes(family, subtask) for family, subtask in kinds]

    def _classes(self, family: str, subtask: str) -> Classes:
        place = {"family": family, "subtask": subtask}
        rows = [each for each in self.scored.records if each.kind and _is_in(each, place)]
        found = {kind: [each for each in rows if each.kind == kind] for kind in ("stated", "unstated")}
        cells = {kind: self.cell({**place, "kind": kind}, some, alone) for kind, some in found.items() if some}
        means = [cell.mean for cell in cells.values()]
        return Classes(
            place,
            cells.get("stated"),
            cells.get("unstated"),
            sum(means) / 2 if len(means) == 2 else None,
            self.cell(place, rows) if any(each.pair for each in rows) else None,
        )

    def figures(self) -> list[Cell]:
        """Return a cell for each figure behind the scores of a subtask; its place ends in ``figure``."""
        kinds = sorted({(each.family, each.subtask) for each in self.scored.records if each.figures})
        found = []
        for family, subtask in kinds:
            rows = [each for each in self.scored.records if (each.family, each.subtask) == (family, subtask)]
            for name in rows[0].figures:
                place = {"family": family, "subtask": subtask, "figure": name}
                cell = self.cell(place, rows, partial(_figure, name))
                found.append(replace(cell, chance=None, best_constant=None, baselines={}))
        return found

    def cell(self, place: Mapping[str, str | int | float], rows: Sequence[Record], value: Value | None = None) -> Cell:
        """Return the cell of some rows: their mean, its interval, and the score of guessing."""
        return self._cell(place, rows, nested_shares(rows), value or counted_score)

    def _cell(
        self,
        place: Mapping[str, str | int | float],
        rows: Sequence[Record],
        shares: Mapping[str, float],
        value: Value | None = None,
    ) -> Cell:
        value = value or counted_score
        states = Counter(each.state for each in rows)
        answered = [each for each in rows if each.state == ANSWERED]
        low, high = self._resampler.interval(strata_of(rows, shares, value))
        known = {name for each in rows for name in each.baselines} - {"best_constant", *CHANCE[:1]}
        chance = {each.id: each.chance for each in rows if each.chance is not None}
        return Cell(
            place=place,
            rows=len(rows),
            units=len({each.pair or each.id for each in rows}),
            answered=len(answered),
            mean=_mean(rows, shares, value) or 0.0,
            low=low,
            high=high,
            answered_mean=_mean(answered, shares, value),
            chance=_mean([each for each in rows if each.id in chance], shares, lambda each: chance[each.id]),
            best_constant=_mean(rows, shares, best_constant) if has_constant(rows) else None,
            baselines={name: _guessed(rows, shares, name) or 0.0 for name in sorted(known)},
            empty=states[EMPTY],
            refused=states[REFUSED],
            unparsed=sum(each.unparsed for each in rows),
            cut=sum(each.cut for each in rows),
        )

    def naive(self, cell: Cell) -> tuple[str, float] | None:
        """Return the best naive baseline on a cell's rows, of those that most rows have, and its score.

        The score is over the rows that have it. None if there is none besides chance and the best constant.
        """
        rows = [each for each in self.scored.records if _is_in(each, cell.place)]
        counts = Counter(name for each in rows for name in each.baselines)
        stated = [name for name in cell.baselines if 2 * counts[name] > len(rows)]
        best = max(stated, key=lambda name: (cell.baselines[name], name), default=None)
        return None if best is None else (best.replace("_", " "), cell.baselines[best])

    def _stacked(self, rows: Iterable[Record]) -> dict[str, float]:
        """Return the share of each row in a cumulative average, by id; they sum to 1, and families weigh the same."""
        totals: dict[str, float] = defaultdict(float)
        rows = list(rows)
        for each in rows:
            totals[each.family] += self.weights[each.id]
        return {each.id: self.weights[each.id] / totals[each.family] / len(totals) for each in rows}


def nested_shares(rows: Iterable[Record], levels: Sequence[str] = HEADLINE) -> dict[str, float]:
    """Return the weight of each row, by id, in the plain mean of plain means, level by level; they sum to 1."""
    places = {each.id: tuple(getattr(each, level) for level in levels) for each in rows}
    sizes = Counter(places.values())
    below = Counter(
        prefix[:-1] for prefix in {path[:depth] for path in sizes for depth in range(1, len(levels) + 1)}
    )  # the number of parts of each part
    weights = {path: 1 / prod(below[path[:depth]] for depth in range(len(levels))) for path in sizes}
    return {row_id: weights[path] / sizes[path] for row_id, path in places.items()}


def counted_score(record: Record) -> float:
    """Return the score that counts: for a pair, that of both rows."""
    return record.score


def alone(record: Record) -> float:
    """Return the score of a row by itself."""
    return record.alone


def _figure(name: str, record: Record) -> float:
    """Return one of the figures behind a row's score."""
    return record.figures.get(name, 0.0)


def _is_in(record: Record, place: Mapping[str, object]) -> bool:
    return all(getattr(record, name) == value for name, value in place.items())


def _mean(rows: Sequence[Record], shares: Mapping[str, float], value: Value) -> float | None:
    whole = fsum(shares[each.id] for each in rows)
    return min(1.0, fsum(shares[each.id] * value(each) for each in rows) / whole) if rows else None


def _guessed(rows: Sequence[Record], shares: Mapping[str, float], name: str) -> float | None:
    return _mean([each for each in rows if name in each.baselines], shares, lambda each: each.baselines[name])


def has_constant(rows: Iterable[Record]) -> bool:
    """Return whether the best constant of any row's kind of question is known."""
    return any("best_constant" in each.baselines for each in rows)


def best_constant(record: Record) -> float:
    """Return the score of the best constant on a row; where it is not known, chance counts."""
    return record.baselines.get("best_constant", record.chance or 0.0)


def strata_of(rows: Iterable[Record], shares: Mapping[str, float], value: Value) -> dict[Stratum, Units]:
    """Return the units of each stratum; both rows of a pair are one unit, in a stratum over all complexities."""
    units: dict[Stratum, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    weights: dict[Stratum, float] = {}
    for each in rows:
        level = -1 if each.pair else each.complexity
        stratum = (each.subset, each.family, each.subtask, each.length, level)
        units[stratum][each.pair or each.id] += value(each)
        weights[stratum] = shares[each.id]
    return {
        stratum: Units(np.fromiter(some.values(), dtype=np.float64), weights[stratum])
        for stratum, some in units.items()
    }
