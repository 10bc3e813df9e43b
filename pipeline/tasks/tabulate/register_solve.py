"""Writes the table from a prompt with a register alone, in any language, and proves its decoys.

It reads no words but the sentence of the order, which it looks up in the files of the languages.
"""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.languages import CODES, language
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.registers import Stated, found_in, places_of, register_faults
from pipeline.tasks.solving import ReadError

AFTER = 4
"""Lines between the entries and the question: the end, how to reply, the head of the table, a blank one."""
ORDERS = ("order_text", "order_lowest", "order_highest")


def order_asked(text: str) -> str:
    """Return the name of the sentence that says in which order rows are asked for."""
    names = [name for code in CODES for name in ORDERS if text.endswith(language(code).sentence(name))]
    if len(names) != 1:
        raise ReadError("the question does not say in which order")
    return names[0]


def head(text: str, columns: int = 3) -> str:
    """Return the first line of the table, which precedes the question."""
    lines = text.split("\n")[-3:-2]
    if not lines or lines[0].count("\t") != columns - 1:
        raise ReadError("the prompt does not state the columns of the table")
    return lines[0]


def row_of(entry: Stated) -> str:
    """Return the row of an entry."""
    return f"{entry.code}\t{entry.year}\t{entry.amount}"


def table(text: str) -> str:
    """Return the table that is asked for."""
    entries, order = found_in(text), order_asked(text)
    if order != "order_text":
        entries.sort(key=lambda one: one.amount, reverse=order == "order_highest")
    return "\n".join([head(text), *map(row_of, entries)])


def faults(row: PublishedRow, decoys: float) -> Iterator[str]:
    """Yield what is wrong with a row that promises decoys for a share of what is asked."""
    both, label, district = places_of(row.text)
    yield from register_faults(row, AFTER, both, label + district)
    if len(both) != row.stratum.complexity:
        yield f"{len(both)} entries are asked for, expected {row.stratum.complexity}"
    for what, misses in (("label", label), ("district", district)):
        if len(misses) != round(decoys * len(both)):
            yield f"{len(misses)} near misses have the {what}, expected {round(decoys * len(both))}"
    amounts = [one.amount for one in found_in(row.text)]
    if len({*amounts}) < len(amounts):
        yield "two entries that are asked for have the same amount"
