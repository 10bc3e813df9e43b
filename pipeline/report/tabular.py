"""Tables of scores: the summary, subtasks, refusals, and what was missing or wrong."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pipeline.report.blocks import Block, Column, Listing, Note, Table
from pipeline.report.models import Model, columns_of, interval, row_of, share, side_by_side
from pipeline.score.results import Fault
from pipeline.score.views import SAID

NAMED = 50
"""Faults of one kind that a page lists."""


def summary(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the scores of each family, and of all together."""
    yield Note(
        "Mean scores in percent over all rows, with their 95 % intervals. Chance is a blind guess among all answers; "
        "the best constant is the score of the best single reply for each kind of question."
    )
    families = side_by_side(models, lambda tables: tables.by("family"), "family")
    rows = [[str(family), *row_of(cells)] for (family,), cells in families.items()]
    if len(families) > 1:
        rows.append(["all, families alike", *row_of([model.tables.overall for model in models])])
    yield Table("Scores by family, %", columns_of(models, "family"), rows)


def subtasks(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the scores of each subtask."""
    found = side_by_side(models, lambda tables: tables.by("family", "subtask"), "family", "subtask")
    rows = [[f"{family}.{subtask}", *row_of(cells)] for (family, subtask), cells in found.items()]
    yield Table("Scores by subtask, %", columns_of(models, "family and subtask"), rows)


def refusals(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the accuracy of each class on rows where refusing may be right."""
    rows = [
        [
            f"{each.place['family']}.{each.place['subtask']}",
            model.mark.label,
            *map(interval, (each.stated, each.unstated)),
            share(each.balanced),
            interval(each.pairs),
        ]
        for model in models
        for each in model.tables.classes()
    ]
    if not rows:
        return
    yield Note(
        "Rows scored one by one. Balanced is the plain mean of both classes, so that always refusing scores 50. "
        "A pair counts if "
        "both of its forms are right."
    )
    titles = ("stated", "not stated", "balanced", "pairs")
    columns = [Column("family and subtask"), Column("model"), *(Column(title, numeric=True) for title in titles)]
    yield Table("Accuracy by class, %", columns, sorted(rows, key=lambda row: row[0]))


def figures(models: Sequence[Model]) -> Iterator[Block]:
    """Yield the figures that scores are made of, where they are several."""
    places = ("family", "subtask", "figure")
    found = side_by_side(models, lambda tables: tables.figures(), *places)
    rows = [[f"{family}.{subtask}: {figure}", *row_of(cells)] for (family, subtask, figure), cells in found.items()]
    if rows:
        yield Note("Scores of these subtasks are made of several figures, which tell apart what goes wrong.")
        yield Table("Figures apart, %", columns_of(models, "family, subtask and figure"), rows)


def faults(models: Sequence[Model]) -> Iterator[Block]:
    """Yield how many rows have a reply that counts, and everything that was wrong with the predictions."""
    states = ("rows", "answered", "missing", "unusable", "predictions")
    columns = [Column("model"), *(Column(state, numeric=True) for state in states)]
    rows = [[model.mark.label, *(f"{model.scored.counts[state]:,}" for state in states)] for model in models]
    yield Table("Rows and replies", columns, rows)
    if all(not model.scored.faults for model in models):
        yield Note("Every row has exactly one reply, and every reply belongs to a row.")
    for model in models:
        yield from _listings(model)


def _listings(model: Model) -> Iterator[Block]:
    kinds: dict[str, list[Fault]] = defaultdict(list)
    for fault in model.scored.faults:
        kinds[fault.kind].append(fault)
    for kind, found in kinds.items():
        lines = [fault.said for fault in found[:NAMED]]
        more = [f"... and {len(found) - NAMED:,} more"] if len(found) > NAMED else []
        yield Listing(f"{model.mark.label}: {len(found):,} {SAID[kind]}", [*lines, *more])
