"""How far models read: effective lengths, and the first figure of a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.figures.labels import NARROW, WIDE
from pipeline.report.blocks import Block, Column, Fold, Front, Note, Table, Verdict, Verdicts
from pipeline.report.curves import curve_of, span_of
from pipeline.report.models import Asked, share
from pipeline.rows import kilo
from pipeline.score.effective import Effective, interval_of, told
from pipeline.score.lengths import Curve, Where
from pipeline.terminal.numbers import plain


def reach(asked: Asked) -> Iterator[Block]:
    """Yield how far each model reads, the curve that tells it, and the same of families and subtasks."""
    curves, found = asked.curves(), asked.effective()
    lengths = [point.length for point in curves[0].points]
    if not lengths:
        yield Note("These models were asked no subtask in common, so there is no curve to compare them by.")
        return
    yield Note(
        f"Effective length: the longest up to which a model keeps {plain(100 * asked.kept)} % of its score at "
        f"{kilo(lengths[0])} and stays above guessing. In brackets its 95 % interval."
        + (" Rows of one length do not tell it: ask longer ones." if len(lengths) == 1 else "")
    )
    yield Verdicts(
        [
            Verdict(model.mark, told(each), f"({interval_of(each)})", _why(curve, each))
            for model, curve, each in zip(asked.models, curves, found, strict=True)
        ]
    )
    title = "all families" if len(asked.subtasks) > 1 else next(iter(asked.subtasks))
    yield Front(
        curve_of(asked, "length-all", title, size=WIDE),
        curve_of(asked, "length-all-narrow", title, size=NARROW),
        _what(curves[0]),
    )
    if len(asked.subtasks) > 1:
        places: list[Where] = [{"family": family} for family in asked.subtasks]
        yield _table(asked, "Effective length by family", "family", places)
    every: list[Where] = [{"family": family, "subtask": name} for family, own in asked.subtasks.items() for name in own]
    yield Fold("Effective length by subtask", [_table(asked, "Effective length by subtask", "subtask", every)])


def _why(curve: Curve, found: Effective) -> str:
    """Return the scores at both ends, and where replies are missing."""
    points = [point for point in curve.points if point.mean is not None]
    ends = [f"{share(point.mean)} % at {kilo(point.length)}" for point in (*points[:1], *points[1:][-1:])]
    gaps = [point for point in curve.points if point.mean is None]
    lost = [
        f"{point.answered} of {point.rows} rows replied to at {kilo(point.length)}"
        if point.rows
        else f"not asked at {kilo(point.length)}"
        for point in gaps
    ]
    return "; ".join([*([", ".join(ends)] if ends else []), *lost])


def _what(curve: Curve) -> str:
    """Return what a curve is of."""
    span = " to ".join(kilo(curve.points[at].length) for at in (0, -1))
    rows = span_of([point.rows for point in curve.points if point.rows])
    rest = f" Others have figures of their own below: {', '.join(curve.left_out)}."
    return (
        f"Each point is the mean of the same {len(curve.subtasks)} subtasks, asked at every length from {span} in "
        f"{rows} rows, families and their subtasks alike.{rest if curve.left_out else ''} Rows without a reply are no "
        "zeros: a mark is hollow where some lack one, and where over half do there is a gap with a count. Rings "
        "mark effective lengths. Where refusing may be right, the score is balanced accuracy, the mean of both classes."
    )


def _table(asked: Asked, caption: str, first: str, places: Sequence[Where]) -> Table:
    columns = [Column(first), Column("from", numeric=True), Column("to", numeric=True)]
    columns += [Column(model.mark.label, mark=model.mark) for model in asked.models]
    rows = []
    for place in places:
        found, curve = asked.effective(place), asked.curves(place)[0]
        ends = [kilo(curve.points[at].length) for at in (0, -1)]
        cells = [f"{told(each)} ({interval_of(each)})" if each.shortest else told(each) for each in found]
        rows.append([".".join(str(value) for value in place.values()), *ends, *cells])
    return Table(caption, columns, rows)
