"""Models against each other on the same questions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from pipeline.figures.differences import Gap, difference_picture, signed
from pipeline.figures.labels import short
from pipeline.figures.style import Picture
from pipeline.report.blocks import Block, Column, Fold, Gallery, Note, Table
from pipeline.report.models import NOTHING, Asked
from pipeline.rows import kilo
from pipeline.score.lengths import Where
from pipeline.score.paired import Difference, difference

ALL = "all"
Pair = Sequence[tuple[str, Difference]]
"""What a difference is of, and the difference."""


def differences(asked: Asked) -> Iterator[Block]:
    """Yield how much better one model is than another, by family and by length; nothing of a single model."""
    scored = [replace(model.scored, model=model.mark.label) for model in asked.models]
    pairs = [(first, second) for second, first in combinations(scored, 2)]
    if not pairs:
        return
    yield Note(
        "Differences in points on the same questions, those that both models replied to, with 95 % intervals from a "
        "bootstrap over questions. A mark is filled where the interval leaves out 0. Above 0 the first of the two is "
        "better. Two intervals of single models may overlap where their difference is certain."
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
    titles = ("rows of both", "difference (95 %)", "better in", "worse in", "equal in")
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
