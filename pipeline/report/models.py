"""Several models side by side: their results, marks, and matching cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

from pipeline.figures.scores import Gap, difference_picture, signed
from pipeline.figures.style import Picture, short
from pipeline.report.page import Block, Column, Fold, Gallery, Mark, Note, Table
from pipeline.rows import kilo
from pipeline.score.cells import Tables
from pipeline.score.lengths import (
    EVERYWHERE,
    Curve,
    Curves,
    Difference,
    Effective,
    Where,
    answered,
    difference,
    effective_length,
    shared,
)
from pipeline.score.results import Cell, Scored

NOTHING = "-"
"""The text of a table cell without a number."""

Place = tuple[str | int | float, ...]
Cells = dict[int, list[Cell]]
"""Cells by the index of their model."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model's results.

    Attributes:
        mark: its name and style.
        tables: means in which rows without a reply count as 0.
        replied: means over the rows that have a reply.
        curves: scores over length, over the rows that have a reply.
    """

    mark: Mark
    tables: Tables
    replied: Tables
    curves: Curves

    @property
    def scored(self) -> Scored:
        """The model's scored predictions."""
        return self.tables.scored


def model_of(mark: Mark, scored: Scored) -> Model:
    """Return a model with its mark."""
    replied = replace(scored, records=tuple(answered(scored.records)))
    return Model(mark, Tables(scored), Tables(replied), Curves(scored))


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The subject of a page: models, simulated readers by name, and the share of the score that must be kept."""

    models: Sequence[Model]
    readers: dict[str, Curves]
    threshold: float

    def curves(self, place: Where = EVERYWHERE) -> list[Curve]:
        """Return the curve of each model at a place."""
        asked_lengths = shared([model.curves.asked_lengths(place) for model in self.models])
        return [model.curves.curve(place, asked_lengths) for model in self.models]

    def readings(self, place: Where = EVERYWHERE) -> dict[str, Curve]:
        """Return the curve of each simulated reader at a place."""
        asked_lengths = shared([model.curves.asked_lengths(place) for model in self.models])
        return {name: reader.curve(place, asked_lengths) for name, reader in self.readers.items()}

    def effective(self, place: Where = EVERYWHERE) -> list[Effective]:
        """Return the effective length of each model at a place."""
        return [effective_length(curve, self.threshold) for curve in self.curves(place)]

    @property
    def subtasks(self) -> dict[str, list[str]]:
        """The subtasks of each family that every model was asked, both in order."""
        found: dict[str, set[str]] = defaultdict(set)
        for kind in shared([model.curves.asked_lengths() for model in self.models]):
            found[kind[0]].add(kind[1])
        return {family: sorted(found[family]) for family in sorted(found)}


def grouped(models: Sequence[Model], made: Callable[[Model], Iterable[Cell]], *names: str) -> dict[Place, Cells]:
    """Return the cells that `made` returns for each model, grouped by the columns `names` of their places, in order."""
    groups: dict[Place, Cells] = {}
    for at, model in enumerate(models):
        for cell in made(model):
            place = tuple(cell.place[name] for name in names)
            groups.setdefault(place, defaultdict(list))[at].append(cell)
    return dict(sorted(groups.items()))


def side_by_side(
    models: Sequence[Model], made: Callable[[Model], Iterable[Cell]], *names: str
) -> dict[Place, list[Cell | None]]:
    """Return, for each place, the only cell of each model, or None."""
    found = grouped(models, made, *names)
    return {place: [next(iter(cells.get(at, ())), None) for at in range(len(models))] for place, cells in found.items()}


def columns_of(models: Sequence[Model], *first: str, naive: bool = False) -> list[Column]:
    """Return the columns of `row_of`, after those that name a place."""
    return [
        *(Column(title) for title in first),
        Column("rows", numeric=True),
        *(Column(model.mark.label, numeric=True, mark=model.mark) for model in models),
        Column("chance", numeric=True),
        Column("best constant", numeric=True),
        *([Column("best naive baseline")] if naive else []),
    ]


def row_of(cells: Sequence[Cell | None], *naive: str) -> list[str]:
    """Return a table row: the number of rows, each model's mean with its interval, and guessers, in percent."""
    known = next(cell for cell in cells if cell)
    return [f"{known.rows:,}", *map(interval, cells), share(known.chance), share(known.best_constant), *naive]


def naive_of(cells: Sequence[Cell | None], models: Sequence[Model]) -> str:
    """Return the best naive baseline on the rows of some cells, with its score in percent."""
    known, model = next((cell, model) for cell, model in zip(cells, models, strict=True) if cell)
    best = model.tables.naive(known)
    return NOTHING if best is None else f"{best[0]} {share(best[1])}"


def interval(cell: Cell | None) -> str:
    """Return a mean and its interval in percent."""
    return NOTHING if cell is None else ranged(cell.mean, cell.low, cell.high)


def ranged(mean: float, low: float | None, high: float | None) -> str:
    """Return a mean and its interval in percent.

    >>> ranged(0.5, 0.25, 0.75)
    '50.0 (25.0 to 75.0)'
    """
    return share(mean) if low is None or high is None else f"{share(mean)} ({share(low)} to {share(high)})"


def share(value: float | None) -> str:
    """Return a share in percent."""
    return NOTHING if value is None else f"{100 * value:.1f}"


ALL = "all"
Pair = Sequence[tuple[str, Difference]]
"""Labels of places, with the difference of two models in each."""


def differences(asked: QuestionSet) -> Iterator[Block]:
    """Yield the differences of each pair of models, by family and by length; nothing for a single model."""
    scored = [replace(model.scored, model=model.mark.label) for model in asked.models]
    pairs = [(first, second) for second, first in combinations(scored, 2)]
    if not pairs:
        return
    yield Note(
        "Differences in points on the questions that both models answered, with 95% intervals from a bootstrap over "
        "questions. A mark is filled where the interval excludes 0. Above 0, the first model is better. Two models' "
        "own intervals may overlap even if they differ significantly."
    )
    places: dict[str, Where] = {ALL: {}, **{family: {"family": family} for family in asked.subtasks}}
    if len(places) == 2:
        del places[ALL]
    found = [[(label, difference(*pair, place)) for label, place in places.items()] for pair in pairs]
    if drawn := [_picture(at, pair) for at, pair in enumerate(found) if pair[0][1].rows]:
        yield Gallery(drawn)
    yield _table("Differences over all rows, points", [pair[0][1] for pair in found])
    lengths = sorted({record.length for record in scored[0].records})
    by_length = [(kilo(length), [difference(*pair, {"length": length}) for pair in pairs]) for length in lengths]
    by_family = [(label, [pair[at][1] for pair in found]) for at, label in enumerate(places)]
    yield Fold("Differences by length and by family", [
        _wide("Differences by length, points", "length", by_length),
        _wide("Differences by family, points", "family", by_family),
    ])  # fmt: skip


def _picture(at: int, pair: Pair) -> Picture:
    first = pair[0][1]
    title = f"{short(first.second, 22)} minus {short(first.first, 22)}"
    gaps = [
        Gap(label, each.mean, each.low, each.high)
        for label, each in pair
        if each.mean is not None and each.low is not None and each.high is not None
    ]
    caption = f"{first.second} minus {first.first}: {first.rows:,} of {first.asked:,} rows replied to by both."
    return difference_picture(f"difference-{at + 1}", title, caption, gaps)


def _table(caption: str, found: Sequence[Difference]) -> Table:
    titles = ("rows of both", "difference (95%)", "better", "worse", "equal")
    columns = [Column("models"), *(Column(title, numeric=True) for title in titles)]
    rows = [
        [
            f"{each.second} minus {each.first}",
            f"{each.rows:,}",
            _said(each),
            *(f"{count:,}" for count in (each.better, each.worse, each.rows - each.better - each.worse)),
        ]
        for each in found
    ]
    return Table(caption, columns, rows)


def _wide(caption: str, first: str, found: Sequence[tuple[str, Sequence[Difference]]]) -> Table:
    pairs = [f"{each.second} minus {each.first}" for each in found[0][1]]
    columns = [Column(first), *(Column(title, numeric=True) for title in pairs)]
    return Table(caption, columns, [[label, *map(_said, some)] for label, some in found])


def _said(each: Difference) -> str:
    if each.mean is None or each.low is None or each.high is None:
        return NOTHING
    return f"{signed(each.mean)} ({signed(each.low)} to {signed(each.high)})"
