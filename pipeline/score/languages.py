"""Scores by language, and their difference from English on the same rows.

Forms of a task in several languages have the same rows by number, with the same keys, values and depths: only the
subtask's name in their ids differs. So the difference between two languages is measured on pairs of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pipeline.languages import CODES, asking
from pipeline.score.cells import Tables
from pipeline.score.lengths import Difference, difference
from pipeline.score.results import Cell, Record, Scored

ENGLISH = CODES[0]


@dataclass(frozen=True, slots=True)
class InLanguage:
    """The score of rows with a text in one language, asked in the same or another, and their difference from English.

    `tasks` lists their tasks; `english` is None if the same rows are not asked in English.
    """

    text: str
    asked: str
    tasks: tuple[str, ...]
    cell: Cell
    english: Difference | None


def by_language(tables: Tables) -> list[InLanguage]:
    """Return the scores by language: English first, then the other languages, then the forms that cross two."""
    found: dict[tuple[str, str], list[Record]] = {}
    for each in tables.scored.records:
        if named := asking(each.subtask):
            found.setdefault(named[1:], []).append(each)
    order = sorted(found, key=lambda pair: (pair[0] != pair[1], *map(CODES.index, pair)))
    return [_in_language(tables, pair, found[pair], found.get((ENGLISH, ENGLISH), [])) for pair in order]


def _in_language(
    tables: Tables, pair: tuple[str, str], records: Sequence[Record], english: Sequence[Record]
) -> InLanguage:
    own = [_named_alike(each) for each in records]
    tasks = {(each.family, each.subtask): None for each in own}
    other = [named for each in english if ((named := _named_alike(each)).family, named.subtask) in tasks]
    cell = tables.cell({"text": pair[0], "asked": pair[1]}, records)
    both = difference(_of(tables.scored, other, ENGLISH), _of(tables.scored, own, "-".join(pair)))
    paired = both if other and pair != (ENGLISH, ENGLISH) else None
    return InLanguage(*pair, tuple(".".join(task) for task in tasks), cell, paired)


def _named_alike(record: Record) -> Record:
    """Return a record with the id and subtask that it shares with all languages."""
    named = asking(record.subtask)
    if not named:
        return record
    row_id = record.id.replace(f"{record.family}-{record.subtask}-", f"{record.family}-{named[0]}-", 1)
    return replace(record, id=row_id, subtask=named[0])


def _of(scored: Scored, records: Sequence[Record], label: str) -> Scored:
    return replace(scored, records=tuple(records), model=label)
