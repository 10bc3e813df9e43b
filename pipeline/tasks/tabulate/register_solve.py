"""Writes the table from a prompt with a register alone, in any language, and proves what stands beside its entries.

No word is read but the sentence of the order, which is looked up in the files of the languages: a question quotes a
label and gives a district, and an entry begins with a label and a code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.languages import CODES, language
from pipeline.tasks.base import Published
from pipeline.tasks.registers import CODE, COLON, LABEL, QUOTED, quoted
from pipeline.tasks.solving import LINES, PROMPT, Lines, ReadError
from pipeline.tasks.tabulate.solve import mark_faults

FIELD, JOINT = "[^\\s0-9:\uff1a,\u3001\u060c]+", "(?:, |\u3001|\u060c )"
ENTRY = re.compile(
    rf"({LABEL}) ({CODE}){COLON}{FIELD} ([0-9]{{2}}){JOINT}{FIELD} ([0-9]{{4}}){JOINT}{FIELD} ([0-9]{{5}})"
)
BEFORE, BEHIND = 3, 4
"""Lines before the entries: instruction, blank, heading; and behind them: end, form, head, blank, not the question."""
ORDERS = ("order_text", "order_lowest", "order_highest")


class Stated(NamedTuple):
    """What an entry states."""

    label: str
    code: str
    district: str
    year: str
    amount: int

    @property
    def row(self) -> str:
        """Its row."""
        return f"{self.code}\t{self.year}\t{self.amount}"


class Asked(NamedTuple):
    """What is asked: a label, a district, and the name of the sentence that says in which order."""

    label: str
    district: str
    order: str


def _stated(label: str, code: str, district: str, year: str, amount: str) -> Stated:
    return Stated(label, code, district, year, int(amount))


@LINES.of_each
def entry(said: str) -> tuple[str, ...]:
    """Return what a line states: a label, a code, a district, a year and an amount; of no entry nothing."""
    found = ENTRY.fullmatch(said)
    return found.groups() if found else ()


@PROMPT.of
def asked(text: str) -> Asked:
    """Return what a prompt asks in its last line."""
    last = text[text.rfind("\n") + 1 :]
    labels, digits = quoted(text), re.findall("[0-9]+", QUOTED.sub("", last))
    if len(labels) != 1 or len(digits) != 1:
        raise ReadError(f"the question is about the labels {labels} and the districts {digits}, not about one each")
    found = [name for code in CODES for name in ORDERS if last.endswith(language(code).said(name))]
    if len(found) != 1:
        raise ReadError(f"the question {last!r} does not say in which order")
    return Asked(labels[0], digits[0], found[0])


@PROMPT.of
def register(text: str) -> tuple[Lines, list[int], list[Stated]]:
    """Return the lines of a prompt, the numbers of those that are entries, and what each states."""
    lines = Lines(text)
    said = list(entry(lines.texts))
    numbers = [number for number, each in enumerate(said) if each]
    if not numbers:
        raise ReadError("the prompt has no entries")
    return lines, numbers, [_stated(*said[number]) for number in numbers]


def head(text: str) -> str:
    """Return the first line of the table, which stands before the question."""
    found = text.split("\n")[-3:-2]
    if not found or found[0].count("\t") != 2:
        raise ReadError("the prompt does not state the columns of the table")
    return found[0]


def table(text: str) -> str:
    """Return the table that is asked for."""
    wanted, (_, _, stated) = asked(text), register(text)
    found = [one for one in stated if (one.label, one.district) == wanted[:2]]
    if wanted.order != "order_text":
        found.sort(key=lambda one: one.amount, reverse=wanted.order == "order_highest")
    if not found:
        raise ReadError(f"no entry has the label {wanted.label!r} and the district {wanted.district}")
    return "\n".join([head(text), *(one.row for one in found)])


def faults(row: Published, decoys: float) -> Iterator[str]:
    """Yield what is wrong with a row that promises near misses for such a share of what is asked."""
    wanted, (lines, numbers, stated) = asked(row.text), register(row.text)
    if not row.text.endswith(row.question):
        yield "the prompt does not end in the question"
    if numbers != list(range(BEFORE, len(lines.texts) - BEHIND)):
        yield "a line of the register is no entry"
    if len({one.code for one in stated}) < len(stated):
        yield "two entries have the same code"
    same = [(one.label == wanted.label, one.district == wanted.district) for one in stated]
    right = [at for at, both in enumerate(same) if all(both)]
    yield from mark_faults(
        row, lines, [numbers[at] for at in right], [numbers[at] for at, (one, other) in enumerate(same) if one != other]
    )
    if len(right) != row.stratum.complexity:
        yield f"{len(right)} entries are asked for, expected {row.stratum.complexity}"
    for what, halves in (("label", (True, False)), ("district", (False, True))):
        if same.count(halves) != round(decoys * len(right)):
            yield f"{same.count(halves)} near misses have the {what}, expected {round(decoys * len(right))}"
    if len({stated[at].amount for at in right}) < len(right):
        yield "two entries that are asked for have the same amount"


def body_of(text: str) -> tuple[int, int]:
    """Return the characters of the register, from its first entry to its last."""
    lines, numbers, _ = register(text)
    return lines.span(numbers[0])[0], lines.span(numbers[-1])[1]
