"""Several models side by side: their results, signs, and matching cells."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from pipeline.report.blocks import Column, Mark
from pipeline.score.cells import Tables
from pipeline.score.results import Cell, Scored

NOTHING = "-"
"""What stands in a table where there is no number."""

Place = tuple[str | int | float, ...]
Cells = dict[int, list[Cell]]
"""Cells by the number of their model."""


@dataclass(frozen=True, slots=True)
class Model:
    """One model's results with its sign."""

    mark: Mark
    tables: Tables

    @property
    def scored(self) -> Scored:
        """Its records."""
        return self.tables.scored


def grouped(models: Sequence[Model], made: Callable[[Tables], Iterable[Cell]], *names: str) -> dict[Place, Cells]:
    """Return the cells that `made` gives of each model, by the columns `names` of their places, in order of these."""
    groups: dict[Place, Cells] = {}
    for at, model in enumerate(models):
        for cell in made(model.tables):
            place = tuple(cell.place[name] for name in names)
            groups.setdefault(place, defaultdict(list))[at].append(cell)
    return dict(sorted(groups.items()))


def side_by_side(
    models: Sequence[Model], made: Callable[[Tables], Iterable[Cell]], *names: str
) -> dict[Place, list[Cell | None]]:
    """Return for each place the one cell of each model, None where it has none."""
    found = grouped(models, made, *names)
    return {place: [next(iter(cells.get(at, ())), None) for at in range(len(models))] for place, cells in found.items()}


def columns_of(models: Sequence[Model], *first: str) -> list[Column]:
    """Return the columns of `row_of`, after those that name a place."""
    return [
        *(Column(title) for title in first),
        Column("rows", numeric=True),
        *(Column(model.mark.label, numeric=True, mark=model.mark) for model in models),
        Column("chance", numeric=True),
        Column("best constant", numeric=True),
    ]


def row_of(cells: Sequence[Cell | None]) -> list[str]:
    """Return how many rows there are, each model's mean with its interval, chance and the best constant, in percent."""
    known = next(cell for cell in cells if cell)
    return [f"{known.rows:,}", *map(interval, cells), share(known.chance), share(known.best_constant)]


def interval(cell: Cell | None) -> str:
    """Return a mean and its interval in percent."""
    return NOTHING if cell is None else f"{100 * cell.mean:.1f} ({100 * cell.low:.1f} to {100 * cell.high:.1f})"


def share(value: float | None) -> str:
    """Return a share in percent."""
    return NOTHING if value is None else f"{100 * value:.1f}"
