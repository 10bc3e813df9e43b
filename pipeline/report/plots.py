"""Other figures of scores: cumulative averages, and depth by length."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pipeline.figures.heat import FEW, UNSURE, Heat, heat_picture
from pipeline.figures.scores import Guess, Line, Point, curve_picture
from pipeline.figures.style import Picture
from pipeline.report.blocks import Block, Gallery, Heading, Note, Table
from pipeline.report.curves import span_of
from pipeline.report.models import Cells, Model, columns_of, grouped, row_of
from pipeline.rows import kilo
from pipeline.score.cells import BINS
from pipeline.score.results import Cell

LENGTH, UP_TO = "length", "up_to"


def cumulative(models: Sequence[Model]) -> Iterator[Block]:
    """Yield a figure of the cumulative average score for all families together and for each, and the numbers."""
    groups = grouped(models, lambda model: model.replied.cumulative("family"), "family")
    if not groups:
        return
    yield Note(
        "The mean over all rows with a reply up to a length. If several tiers are stacked, rows of a bucket are "
        "weighted by one over the number of tiers that hold it, so that short rows do not outweigh long ones."
    )
    found = {str(family): cells for (family,), cells in groups.items()}
    if len(found) > 1:
        whole = grouped(models, lambda model: model.replied.cumulative())
        found = {"all families alike": next(iter(whole.values())), **found}
    yield Gallery(
        [_cumulative(models, f"cumulative-{title.partition(' ')[0]}", title, cells) for title, cells in found.items()]
    )
    for title, cells in found.items():
        yield _numbers(models, f"{title}: cumulative average score, %", cells)


def heat_maps(models: Sequence[Model]) -> Iterator[Block]:
    """Yield a table of colours for each family and model: depth by length."""
    groups = grouped(models, lambda model: model.replied.by("family", "depth", LENGTH), "family", "depth")
    families: dict[str, dict[int, list[Heat]]] = defaultdict(lambda: defaultdict(list))
    for (family, depth), cells in groups.items():
        for at, some in cells.items():
            families[str(family)][at] += [_heat(float(depth), cell) for cell in some]
    if families:
        yield Note(
            "Rows with one relevant segment and a reply, grouped by the share of filler before it; 0 is the start of "
            f"the prompt. Below each mean is its 95 % interval, or, where there are fewer than {FEW} rows, how many. "
            f"These cells, and those whose interval is {100 * UNSURE:.0f} points wide or more, are framed, not filled: "
            "their rows are too few for a colour."
        )
    for family, found in families.items():
        yield Heading(family)
        yield Gallery([_heat_map(family, models[at], cells) for at, cells in sorted(found.items())])


def _heat(depth: float, cell: Cell) -> Heat:
    return Heat(int(cell.place[LENGTH]), round(depth * BINS), cell.mean, cell.low, cell.high, cell.units)


def _heat_map(family: str, model: Model, cells: Sequence[Heat]) -> Picture:
    bins = [f"{at / BINS:.1f}-{(at + 1) / BINS:.1f}" for at in range(BINS)]
    counts = [cell.units for cell in cells]
    caption = f"{family}, {model.mark.label}: mean score in percent; {span_of(counts)} rows per cell."
    name = f"depth-{family}-{model.mark.style + 1}"
    return heat_picture(name, model.mark.label, caption, cells, bins)


def _cumulative(models: Sequence[Model], name: str, title: str, cells: Cells) -> Picture:
    lines = [
        Line(models[at].mark.label, models[at].mark.style, [_point(cell) for cell in some])
        for at, some in sorted(cells.items())
    ]
    known = {int(cell.place[UP_TO]): cell for some in cells.values() for cell in some}
    chance = {at: cell.chance for at, cell in known.items() if cell.chance is not None}
    caption = f"{title}: {span_of([cell.rows for cell in known.values()])} rows up to each length."
    return curve_picture(name, title, caption, lines, [Guess("chance", 0, chance)], "up to length")


def _point(cell: Cell) -> Point:
    return Point(int(cell.place[UP_TO]), cell.mean, cell.low, cell.high, cell.rows)


def _numbers(models: Sequence[Model], caption: str, cells: Cells) -> Table:
    found = {at: {int(cell.place[UP_TO]): cell for cell in some} for at, some in cells.items()}
    lengths = sorted({length for known in found.values() for length in known})
    rows = [[kilo(length), *row_of([found.get(at, {}).get(length) for at in range(len(models))])] for length in lengths]
    return Table(caption, columns_of(models, "up to length"), rows, folded=True)
