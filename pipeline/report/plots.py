"""Figures of scores with the numbers behind them: over length, by complexity, cumulative, by depth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pipeline.figures.scores import Guess, Heat, Line, Point, curve_picture, heat_picture
from pipeline.figures.style import Picture, kilo
from pipeline.report.blocks import Block, Gallery, Heading, Note, Table
from pipeline.report.models import Cells, Model, columns_of, grouped, row_of
from pipeline.score.cells import BINS
from pipeline.score.results import Cell

LENGTH, UP_TO = "length", "up_to"
AXES = {LENGTH: "length", UP_TO: "up to length"}


def curves(models: Sequence[Model]) -> Iterator[Block]:
    """Yield a figure of score over length for each family, and the numbers behind it."""
    yield Note(
        "Each model is a line, with a band for its 95 % interval. The thin lines show guessing: dotted is chance, "
        "dashed the best constant reply. All figures have the same axes, with lengths doubling from left to right."
    )
    families = grouped(models, lambda tables: tables.by("family", LENGTH), "family")
    yield Gallery(
        [_curve(models, f"length-{family}", str(family), cells, constant=True) for (family,), cells in families.items()]
    )
    for (family,), cells in families.items():
        yield _numbers(models, f"{family}: score by length, %", cells, LENGTH)


def slices(models: Sequence[Model]) -> Iterator[Block]:
    """Yield a figure for each complexity of the families that have several."""
    groups = grouped(models, lambda tables: tables.by("family", "complexity", LENGTH), "family", "complexity")
    families: dict[str, list[Picture]] = defaultdict(list)
    for (family, complexity), cells in groups.items():
        name, title = f"complexity-{family}-{complexity}", f"{family}, complexity {complexity}"
        families[str(family)].append(_curve(models, name, title, cells))
    sliced = {family: pictures for family, pictures in families.items() if len(pictures) > 1}
    if sliced:
        yield Note("Complexity is the number of relevant updates; it is 0 where the text does not contain the answer.")
    for family, pictures in sliced.items():
        yield Heading(family)
        yield Gallery(pictures)


def cumulative(models: Sequence[Model]) -> Iterator[Block]:
    """Yield a figure of the cumulative average score for all families together and for each, and the numbers."""
    yield Note(
        "The mean over all rows up to a length. If several tiers are stacked, rows of a bucket are weighted by one "
        "over the number of tiers that hold it, so that short rows do not outweigh long ones."
    )
    groups = grouped(models, lambda tables: tables.cumulative("family"), "family")
    found = {str(family): cells for (family,), cells in groups.items()}
    if len(found) > 1:
        whole = grouped(models, lambda tables: tables.cumulative())
        found = {"all families alike": next(iter(whole.values())), **found}
    yield Gallery(
        [
            _curve(models, f"cumulative-{title.partition(' ')[0]}", title, cells, column=UP_TO)
            for title, cells in found.items()
        ]
    )
    for title, cells in found.items():
        yield _numbers(models, f"{title}: cumulative average score, %", cells, UP_TO)


def heat_maps(models: Sequence[Model]) -> Iterator[Block]:
    """Yield a table of colors for each family and model: depth by length."""
    groups = grouped(models, lambda tables: tables.by("family", "depth", LENGTH), "family", "depth")
    families: dict[str, dict[int, list[Heat]]] = defaultdict(lambda: defaultdict(list))
    for (family, depth), cells in groups.items():
        for at, some in cells.items():
            families[str(family)][at] += [_heat(float(depth), cell) for cell in some]
    if families:
        yield Note(
            "Rows with one relevant segment, grouped by the share of filler before it; 0 is the start of the prompt."
        )
    for family, found in families.items():
        yield Heading(family)
        yield Gallery([_heat_map(family, models[at], cells) for at, cells in sorted(found.items())])


def _heat(depth: float, cell: Cell) -> Heat:
    return Heat(int(cell.place[LENGTH]), round(depth * BINS), cell.mean, cell.units)


def _heat_map(family: str, model: Model, cells: Sequence[Heat]) -> Picture:
    bins = [f"{at / BINS:.1f}-{(at + 1) / BINS:.1f}" for at in range(BINS)]
    counts = [cell.units for cell in cells]
    caption = f"{family}, {model.mark.label}: mean score in percent; {_span(counts)} rows per cell."
    name = f"depth-{family}-{model.mark.style + 1}"
    return heat_picture(name, model.mark.label, caption, cells, bins)


def _curve(
    models: Sequence[Model], name: str, title: str, cells: Cells, *, column: str = LENGTH, constant: bool = False
) -> Picture:
    lines = [
        Line(models[at].mark.label, models[at].mark.style, [_point(cell, column) for cell in some])
        for at, some in sorted(cells.items())
    ]
    known = {int(cell.place[column]): cell for some in cells.values() for cell in some}
    chance = {at: cell.chance for at, cell in known.items() if cell.chance is not None}
    best = {at: cell.best_constant for at, cell in known.items() if constant and cell.best_constant is not None}
    guesses = [Guess("chance", 0, chance), Guess("best constant", 1, best)]
    rows = _span([cell.rows for cell in known.values()])
    caption = f"{title}: {rows} rows {'up to' if column == UP_TO else 'at'} each length."
    return curve_picture(name, title, caption, lines, guesses, AXES[column])


def _span(counts: Sequence[int]) -> str:
    least, most = min(counts), max(counts)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _point(cell: Cell, column: str) -> Point:
    return Point(int(cell.place[column]), cell.mean, cell.low, cell.high, cell.units)


def _numbers(models: Sequence[Model], caption: str, cells: Cells, column: str) -> Table:
    found = {at: {int(cell.place[column]): cell for cell in some} for at, some in cells.items()}
    lengths = sorted({length for known in found.values() for length in known})
    rows = [[kilo(length), *row_of([found.get(at, {}).get(length) for at in range(len(models))])] for length in lengths]
    return Table(caption, columns_of(models, AXES[column]), rows, folded=True)
