"""Figures of score over length with the numbers behind them: of all rows, families, subtasks and complexities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pipeline.figures.labels import PANEL, Size
from pipeline.figures.scores import Guess, Line, Point, curve_picture
from pipeline.figures.style import Picture
from pipeline.report.blocks import Block, Column, Fold, Gallery, Heading, Note, Table
from pipeline.report.models import NOTHING, Asked, ranged, share
from pipeline.rows import kilo
from pipeline.score.lengths import EVERYWHERE, Curve, LengthScore, Where, shared


def families(asked: Asked) -> Iterator[Block]:
    """Yield a figure of score over length for each family, its subtasks behind a summary, and the numbers."""
    if not asked.subtasks:
        return
    readers = " Other grey lines are simulated readers." if asked.readers else ""
    yield Note(
        "Bands are 95 % intervals. Grey lines show guessing: dotted is chance, dash-dotted the best constant reply, "
        f"chosen with knowledge of the answers.{readers} All figures have the same axes, lengths doubling from left to "
        "right."
    )
    yield Gallery([curve_of(asked, f"length-{family}", family, {"family": family}) for family in asked.subtasks])
    for family, subtasks in asked.subtasks.items():
        parts: list[Where] = [{"family": family, "subtask": subtask} for subtask in subtasks]
        drawn = [curve_of(asked, f"length-{family}-{part['subtask']}", str(part["subtask"]), part) for part in parts]
        tables = [_numbers(asked, f"{family}: score by length, %", {"family": family})]
        if len(parts) > 1:
            tables += [_numbers(asked, f"{family}.{part['subtask']}: score by length, %", part) for part in parts]
        count = f"{len(parts)} subtasks" if len(parts) > 1 else "numbers"
        yield Fold(f"{family}: {count}", [*([Gallery(drawn)] if len(parts) > 1 else []), *tables])


def slices(asked: Asked) -> Iterator[Block]:
    """Yield a figure for each complexity of the families that have several."""
    found: dict[str, set[int]] = defaultdict(set)
    for family, _, complexity in shared([model.curves.held() for model in asked.models]):
        found[family].add(complexity)
    sliced = {family: sorted(found[family]) for family in sorted(found) if len(found[family]) > 1}
    if sliced:
        yield Note("Complexity is the number of relevant updates; it is 0 where the text does not contain the answer.")
    for family, complexities in sliced.items():
        yield Heading(family)
        yield Gallery(
            [
                curve_of(
                    asked, f"complexity-{family}-{complexity}", f"{family}, complexity {complexity}",
                    {"family": family, "complexity": complexity}, readers=False,
                )
                for complexity in complexities
            ]
        )  # fmt: skip


def curve_of(
    asked: Asked, name: str, title: str, place: Where = EVERYWHERE, size: Size = PANEL, *, readers: bool = True
) -> Picture:
    """Return a figure of all models, guessers and, if it is to have them, simulated readers at a place."""
    curves, reaches = asked.curves(place), asked.effective(place)
    lines = [
        Line(model.mark.label, model.mark.style, list(map(_point, curve.points)), found.length)
        for model, curve, found in zip(asked.models, curves, reaches, strict=True)
    ]
    points = [point for curve in curves for point in curve.points]
    chance = {point.length: point.chance for point in points if point.chance is not None}
    best = {point.length: point.best_constant for point in points if point.best_constant is not None}
    guesses = [Guess("chance", 0, chance), Guess("best constant", 1, best)]
    for at, (label, read) in enumerate(asked.readings(place).items() if readers else (), start=2):
        means = {point.length: point.mean for point in read.points if point.mean is not None}
        guesses.append(Guess(label, at, means))
    return curve_picture(name, title, _caption(title, curves), lines, guesses, size=size)


def _point(point: LengthScore) -> Point:
    return Point(point.length, point.mean, point.low, point.high, point.rows, point.answered)


def _caption(title: str, curves: Sequence[Curve]) -> str:
    curve, counts = curves[0], [[point.rows for point in each.points] for each in curves]
    span = span_of([max(rows) for rows in zip(*counts, strict=True)])
    most = f" Without {', '.join(curve.left_out)}, not asked at all of these lengths." if curve.left_out else ""
    return f"{title}: {span} rows at each length.{most}"


def _numbers(asked: Asked, caption: str, place: Where) -> Table:
    curves = asked.curves(place)
    readers = list(asked.readings(place).values())
    columns = [Column("length"), Column("rows", numeric=True)]
    columns += [Column(model.mark.label, numeric=True, mark=model.mark) for model in asked.models]
    columns += [Column(title, numeric=True) for title in ("chance", "best constant", *asked.readers)]
    rows = []
    for at in range(len(curves[0].points)):
        same = [curve.points[at] for curve in curves]
        point, told = max(same, key=lambda each: each.rows), [_told(each) for each in same]
        simulated = [_reading(reader, point.length) for reader in readers]
        guessed = [share(point.chance), share(point.best_constant)]
        rows.append([kilo(point.length), f"{point.rows:,}", *told, *guessed, *simulated])
    return Table(caption, columns, rows, folded=True)


def _told(point: LengthScore) -> str:
    """Return a score with its interval, and how many replies it is of where some are missing."""
    if not point.rows:
        return "not asked"
    count = "" if point.answered == point.rows else f"{point.answered:,} of {point.rows:,} answered"
    if point.mean is None:
        return count
    score = ranged(point.mean, point.low, point.high)
    return f"{score}; {count}" if count else score


def _reading(curve: Curve, length: int) -> str:
    return next((share(point.mean) for point in curve.points if point.length == length), NOTHING)


def span_of(counts: Sequence[int]) -> str:
    """Return the least and the most of some counts.

    >>> [span_of([3, 3]), span_of([1200, 7])]
    ['3', '7 to 1,200']
    """
    least, most = min(counts), max(counts)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"
