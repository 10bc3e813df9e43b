"""Figures of score over length, with the numbers behind them: for all rows, families, subtasks and complexities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pipeline.figures.scores import FEW, UNSURE, Guess, Heat, Line, Point, curve_picture, heat_picture
from pipeline.figures.style import NARROW, PANEL, WIDE, Picture, Size
from pipeline.report.models import NOTHING, Cells, Model, QuestionSet, columns_of, grouped, ranged, row_of, share
from pipeline.report.page import Block, Column, Fold, Front, Gallery, Heading, Note, Table, Verdict, Verdicts
from pipeline.rows import kilo
from pipeline.score.cells import BINS
from pipeline.score.lengths import EVERYWHERE, Curve, Effective, LengthScore, Where, in_words, interval_of, shared
from pipeline.score.results import Cell
from pipeline.terminal.text import plain, row_count


def families(asked: QuestionSet) -> Iterator[Block]:
    """Yield a figure of score over length for each family and, folded, those of its subtasks and the numbers."""
    if not asked.subtasks:
        return
    readers = " Other grey lines are simulated readers." if asked.readers else ""
    yield Note(
        "Bands are 95% intervals. Grey lines show guessing: dotted is chance, dash-dotted the best constant reply, "
        f"chosen with knowledge of the answers.{readers} All figures share the vertical axis; the axis of "
        "lengths is logarithmic."
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


def slices(asked: QuestionSet) -> Iterator[Block]:
    """Yield a figure for each complexity of the families that have several."""
    found: dict[str, set[int]] = defaultdict(set)
    for family, _, complexity in shared([model.curves.asked_lengths() for model in asked.models]):
        found[family].add(complexity)
    sliced = {family: sorted(found[family]) for family in sorted(found) if len(found[family]) > 1}
    if sliced:
        yield Note(
            "Complexity is usually the number of relevant passages; at 0 (except in graph) the text does not give the "
            "answer."
        )
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
    asked: QuestionSet, name: str, title: str, place: Where = EVERYWHERE, size: Size = PANEL, *, readers: bool = True
) -> Picture:
    """Return a figure of all models, guessers and, if `readers`, simulated readers at a place."""
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
    curve = curves[0]
    most = f" Without {', '.join(curve.left_out)}, asked at only some lengths." if curve.left_out else ""
    return f"{title}: {_rows_at_each_length(curves)} at each length.{most}"


def _rows_at_each_length(curves: Sequence[Curve]) -> str:
    """Return how many rows a length has, of the model that was asked the most there."""
    counts = [[point.rows for point in each.points] for each in curves]
    return span_of([max(rows) for rows in zip(*counts, strict=True)])


def _numbers(asked: QuestionSet, caption: str, place: Where) -> Table:
    curves = asked.curves(place)
    readers = list(asked.readings(place).values())
    columns = [Column("length"), Column("rows", numeric=True)]
    columns += [Column(model.mark.label, numeric=True, mark=model.mark) for model in asked.models]
    columns += [Column(title, numeric=True) for title in ("chance", "best constant", *asked.readers)]
    rows = []
    for at in range(len(curves[0].points)):
        same = [curve.points[at] for curve in curves]
        point, values = max(same, key=lambda each: each.rows), [_shown(each) for each in same]
        simulated = [_reading(reader, point.length) for reader in readers]
        guessed = [share(point.chance), share(point.best_constant)]
        rows.append([kilo(point.length), f"{point.rows:,}", *values, *guessed, *simulated])
    return Table(caption, columns, rows, folded=True)


def _shown(point: LengthScore) -> str:
    """Return a score with its interval and, if replies are missing, their number."""
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
    """Return the range of some numbers of rows.

    >>> [span_of([1, 1]), span_of([1200, 7])]
    ['1 row', '7 to 1,200 rows']
    """
    least, most = min(counts), max(counts)
    return row_count(most) if least == most else f"{least:,} to {row_count(most)}"


LENGTH, UP_TO = "length", "up_to"


def cumulative(models: Sequence[Model]) -> Iterator[Block]:
    """Yield figures of the cumulative average score for all families together and for each, and the numbers."""
    groups = grouped(models, lambda model: model.replied.cumulative("family"), "family")
    if not groups:
        return
    yield Note(
        "The mean over all answered rows up to a length. If several tiers are stacked, a row is weighted by one over "
        "the number of tiers with such rows, so that short rows do not outweigh long ones."
    )
    found = {str(family): cells for (family,), cells in groups.items()}
    if len(found) > 1:
        whole = grouped(models, lambda model: model.replied.cumulative())
        found = {"all families, weighted equally": next(iter(whole.values())), **found}
    yield Gallery(
        [_cumulative(models, f"cumulative-{title.partition(' ')[0]}", title, cells) for title, cells in found.items()]
    )
    for title, cells in found.items():
        yield _plot_numbers(models, f"{title}: cumulative average score, %", cells)


def heat_maps(models: Sequence[Model]) -> Iterator[Block]:
    """Yield a heat map for each family and model: depth by length."""
    groups = grouped(models, lambda model: model.replied.by("family", "depth", LENGTH), "family", "depth")
    families: dict[str, dict[int, list[Heat]]] = defaultdict(lambda: defaultdict(list))
    for (family, depth), cells in groups.items():
        for at, some in cells.items():
            families[str(family)][at] += [_heat(float(depth), cell) for cell in some]
    if families:
        yield Note(
            "Rows with a reply and one relevant segment are grouped by the share of filler before the segment; 0 is "
            f"the start of the prompt. Below each mean is its 95% interval or, for fewer than {FEW} rows, their "
            f"number. Cells with so few rows, and those whose interval is {100 * UNSURE:.0f} points wide or more, are "
            "framed, not filled: their rows are too few for a colour."
        )
    for family, found in families.items():
        yield Heading(family)
        yield Gallery([_heat_map(family, models[at], cells) for at, cells in sorted(found.items())])


def _heat(depth: float, cell: Cell) -> Heat:
    return Heat(int(cell.place[LENGTH]), round(depth * BINS), cell.mean, cell.low, cell.high, cell.units)


def _heat_map(family: str, model: Model, cells: Sequence[Heat]) -> Picture:
    bins = [f"{at / BINS:.1f}-{(at + 1) / BINS:.1f}" for at in range(BINS)]
    counts = [cell.units for cell in cells]
    caption = f"{family}, {model.mark.label}: mean score in percent; {span_of(counts)} per cell."
    name = f"depth-{family}-{model.mark.style + 1}"
    return heat_picture(name, model.mark.label, caption, cells, bins)


def _cumulative(models: Sequence[Model], name: str, title: str, cells: Cells) -> Picture:
    lines = [
        Line(models[at].mark.label, models[at].mark.style, [_depth_point(cell) for cell in some])
        for at, some in sorted(cells.items())
    ]
    known = {int(cell.place[UP_TO]): cell for some in cells.values() for cell in some}
    chance = {at: cell.chance for at, cell in known.items() if cell.chance is not None}
    caption = f"{title}: {span_of([cell.rows for cell in known.values()])} up to each length."
    return curve_picture(name, title, caption, lines, [Guess("chance", 0, chance)], "up to length")


def _depth_point(cell: Cell) -> Point:
    return Point(int(cell.place[UP_TO]), cell.mean, cell.low, cell.high, cell.rows)


def _plot_numbers(models: Sequence[Model], caption: str, cells: Cells) -> Table:
    found = {at: {int(cell.place[UP_TO]): cell for cell in some} for at, some in cells.items()}
    lengths = sorted({length for known in found.values() for length in known})
    rows = [[kilo(length), *row_of([found.get(at, {}).get(length) for at in range(len(models))])] for length in lengths]
    return Table(caption, columns_of(models, "up to length"), rows, folded=True)


def reach(asked: QuestionSet) -> Iterator[Block]:
    """Yield the effective length of each model, the curve behind it, and the same for families and subtasks."""
    curves, found = asked.curves(), asked.effective()
    lengths = [point.length for point in curves[0].points]
    if not lengths:
        yield Note("These models were asked no subtask in common, so there is no curve to compare them by.")
        return
    yield Note(
        f"Effective length: the longest length up to which a model keeps {plain(100 * asked.threshold)}% of its score "
        f"at {kilo(lengths[0])} and beats guessing (95% interval in brackets)."
        + (" All rows have one length, so this is only a bound: run longer rows too." if len(lengths) == 1 else "")
    )
    yield Verdicts(
        [
            Verdict(model.mark, in_words(each), f"({interval_of(each)})", _evidence(curve, each))
            for model, curve, each in zip(asked.models, curves, found, strict=True)
        ]
    )
    title = "all families" if len(asked.subtasks) > 1 else next(iter(asked.subtasks))
    yield Front(
        curve_of(asked, "length-all", title, size=WIDE),
        curve_of(asked, "length-all-narrow", title, size=NARROW),
        _what(curves),
    )
    if len(asked.subtasks) > 1:
        places: list[Where] = [{"family": family} for family in asked.subtasks]
        yield _table(asked, "Effective length by family", "family", places)
    every: list[Where] = [{"family": family, "subtask": name} for family, own in asked.subtasks.items() for name in own]
    yield Fold("Effective length by subtask", [_table(asked, "Effective length by subtask", "subtask", every)])


def _evidence(curve: Curve, found: Effective) -> str:
    """Return the scores at both ends of a curve, and the lengths where replies are missing."""
    points = [point for point in curve.points if point.mean is not None]
    ends = [f"{share(point.mean)}% at {kilo(point.length)}" for point in (*points[:1], *points[1:][-1:])]
    gaps = [point for point in curve.points if point.mean is None]
    lost = [
        f"{point.answered} of {point.rows} rows replied to at {kilo(point.length)}"
        if point.rows
        else f"not asked at {kilo(point.length)}"
        for point in gaps
    ]
    return "; ".join([*([", ".join(ends)] if ends else []), *lost])


def _what(curves: Sequence[Curve]) -> str:
    """Return the explanation of the first figure."""
    curve = curves[0]
    first, last = (kilo(curve.points[at].length) for at in (0, -1))
    span = first if first == last else f"every length from {first} to {last}"
    rows = _rows_at_each_length(curves)
    rest = f" Others have figures of their own below: {', '.join(curve.left_out)}."
    families = len({name.partition(".")[0] for name in curve.subtasks})
    subtasks = len(curve.subtasks)
    what = f"{subtasks} subtasks" if subtasks > 1 else "subtask"
    if curve.lite:
        what = f"{families} families, in the size lite" if families > 1 else "family, in the size lite"
    asks_idk = any(name.startswith("idk.") for name in curve.subtasks)
    balanced = " In idk, the score is balanced accuracy, the mean of both classes."
    return (
        f"Each point is the mean of the same {what}, asked at {span} ({rows} at each length); "
        f"families count equally, as do a family's subtasks.{rest if curve.left_out else ''} Rows without a reply do "
        "not count as 0: a mark is hollow where some replies are missing; where more than half are, there is a gap "
        f"with a count. Rings mark effective lengths.{balanced if asks_idk and not curve.lite else ''}"
    )


def _table(asked: QuestionSet, caption: str, first: str, places: Sequence[Where]) -> Table:
    columns = [Column(first), Column("from", numeric=True), Column("to", numeric=True)]
    columns += [Column(model.mark.label, mark=model.mark) for model in asked.models]
    rows = []
    for place in places:
        found, curve = asked.effective(place), asked.curves(place)[0]
        ends = [kilo(curve.points[at].length) for at in (0, -1)]
        cells = [f"{in_words(each)} ({interval_of(each)})" if each.shortest else in_words(each) for each in found]
        rows.append([".".join(str(value) for value in place.values()), *ends, *cells])
    return Table(caption, columns, rows)
