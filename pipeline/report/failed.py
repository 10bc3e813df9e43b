"""Lists of failed rows: of all lengths, longest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from pipeline.report.blocks import Column, Table
from pipeline.report.failures import by_id, failed
from pipeline.report.models import NOTHING, Model
from pipeline.rows import kilo
from pipeline.score.results import ANSWERED, Record

LISTED = 40
"""Failed rows of a family that a page lists."""


def lists_of_failures(models: Sequence[Model]) -> dict[str, Table]:
    """Return a list of the rows of each family that some model failed, the same number of each length if it can be."""
    own = by_id([model.scored for model in models])
    found: dict[str, dict[str, Record]] = defaultdict(dict)
    for records in own:
        for record in records.values():
            if failed(record):
                found[record.family].setdefault(record.id, record)
    return {family: _list(family, models, own, list(rows.values())) for family, rows in sorted(found.items())}


def _list(family: str, models: Sequence[Model], own: Sequence[dict[str, Record]], rows: Sequence[Record]) -> Table:
    columns = [Column("row"), Column("subtask"), Column("length", numeric=True), Column("complexity", numeric=True)]
    columns += [
        Column("depth", numeric=True),
        *(Column(each.mark.label, numeric=True, mark=each.mark) for each in models),
    ]
    shown = list(_shown(rows))
    count = f"{len(rows):,}" if len(shown) == len(rows) else f"{len(shown):,} of {len(rows):,}"
    lines = [
        [
            each.id,
            each.subtask,
            kilo(each.length),
            str(each.complexity),
            NOTHING if each.depth is None else f"{each.depth:.2f}",
            *(_score(records.get(each.id)) for records in own),
        ]
        for each in shown
    ]
    return Table(f"{family}: {count} rows that a model failed, longest first", columns, lines, folded=True)


def _shown(rows: Sequence[Record]) -> Iterator[Record]:
    """Yield as many rows as are listed, dealt from all lengths in turns."""
    lengths: dict[int, list[Record]] = defaultdict(list)
    for each in sorted(rows, key=lambda each: (each.alone, each.subtask, each.id)):
        lengths[each.length].append(each)
    turns = sorted((turn, -length, each.id) for length, own in lengths.items() for turn, each in enumerate(own))
    chosen = {row_id for _, _, row_id in turns[:LISTED]}
    for length in sorted(lengths, reverse=True):
        yield from (each for each in lengths[length] if each.id in chosen)


def _score(record: Record | None) -> str:
    if record is None:
        return "not asked"
    return f"{record.alone:.2f}" if record.state == ANSWERED else record.state
