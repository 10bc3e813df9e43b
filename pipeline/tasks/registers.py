"""Reads registers in any language by its punctuation alone, without knowing a word of it.

A question quotes labels exactly as in the text; an entry begins with a label and a code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.solving import LINES, PROMPT, Lines, ReadError, Span

COLON = "(?:\u00a0?: |\uff1a)"
LABEL = "[^\\s:\uff1a][^:\uff1a\n]*?"
CODE = "[A-Z]{2,4}-[0-9]{3}"
MARKS = '"\u201e\u201c\u201d\u00ab\u00bb\u300c\u300d'
QUOTED = re.compile(f"[{MARKS}]\u00a0?([^{MARKS}\n]+?)\u00a0?[{MARKS}]")
"""A quotation in any of the languages."""
FIELD, JOINT = "[^\\s0-9:\uff1a,\u3001\u060c]+", "(?:, |\u3001|\u060c )"
FIELDS = "[^\\s0-9:\uff1a,\u3001\u060c][^0-9:\uff1a,\u3001\u060c\n]*?"
"""The name of a field, of one word or of several."""
ENTRY = re.compile(
    rf"({LABEL}) ({CODE}){COLON}{FIELD} ([0-9]{{3}}){JOINT}{FIELD} ([0-9]{{4}}){JOINT}{FIELD} ([0-9]{{5}})"
)
"""An entry of a ledger."""
LINES_BEFORE = 3
"""Lines before the entries: the instruction, a blank line, and the heading."""


class Stated(NamedTuple):
    """What an entry of a ledger states."""

    label: str
    code: str
    district: str
    year: str
    amount: int


class Register(NamedTuple):
    """The lines of a prompt, the line numbers of a ledger's entries, and what each entry states."""

    lines: Lines
    numbers: list[int]
    stated: list[Stated]

    @property
    def body(self) -> Span:
        """The span from the first entry to the last."""
        return self.lines.span(self.numbers[0])[0], self.lines.span(self.numbers[-1])[1]


def quoted(text: str) -> list[str]:
    """Return what the question, the last line of a prompt, quotes.

    Raises:
        ReadError: if it quotes nothing.
    """
    found = QUOTED.findall(text[text.rfind("\n") + 1 :])
    if not found:
        raise ReadError("the last line quotes nothing that it asks about")
    return found


@PROMPT.cached
def place_asked(text: str) -> tuple[str, str]:
    """Return the label and the district that the last line of a prompt asks about."""
    labels, digits = quoted(text), re.findall("[0-9]+", QUOTED.sub("", text[text.rfind("\n") + 1 :]))
    if len(labels) != 1 or len(digits) != 1:
        raise ReadError(f"the question is about the labels {labels} and the districts {digits}, not about one each")
    return labels[0], digits[0]


@LINES.cached_map
def entry(line: str) -> tuple[str, ...]:
    """Return the label, code, district, year and amount that a line states; empty if it is not an entry."""
    found = ENTRY.fullmatch(line)
    return found.groups() if found else ()


@PROMPT.cached
def register(text: str) -> Register:
    """Return the entries of a prompt."""
    lines = Lines(text)
    entries = entry(lines.texts)
    numbers = [number for number, each in enumerate(entries) if each]
    if not numbers:
        raise ReadError("the prompt has no entries")
    return Register(lines, numbers, [_stated(*entries[number]) for number in numbers])


def _stated(label: str, code: str, district: str, year: str, amount: str) -> Stated:
    return Stated(label, code, district, year, int(amount))


def found_in(text: str) -> list[Stated]:
    """Return the entries that a prompt asks about, in order.

    Raises:
        ReadError: if there are none.
    """
    asked = place_asked(text)
    found = [one for one in register(text).stated if (one.label, one.district) == asked]
    if not found:
        raise ReadError(f"no entry has the label {asked[0]!r} and the district {asked[1]}")
    return found


class Places(NamedTuple):
    """The line numbers of entries with both the label and the district that are asked for, or with only one of them."""

    both: list[int]
    label: list[int]
    district: list[int]


def places_of(text: str) -> Places:
    """Return which lines of a prompt have the label or the district that is asked for."""
    (label, district), found = place_asked(text), register(text)
    same = [(one.label == label, one.district == district) for one in found.stated]
    kinds = (True, True), (True, False), (False, True)
    return Places(*([at for at, one in zip(found.numbers, same, strict=True) if one == kind] for kind in kinds))


def one_differs(one: str, other: str) -> bool:
    """Return whether two texts of the same length differ in one character."""
    return len(one) == len(other) and sum(map(str.__ne__, one, other)) == 1


def body_faults(row: PublishedRow, found: Lines, numbers: list[int], codes: Sequence[str], after: int) -> Iterator[str]:
    """Yield what is wrong with the lines of a row: `numbers` are those of its entries, one for each of `codes`.

    `after` lines separate the register from the question.
    """
    if not row.text.endswith(row.question):
        yield "the prompt does not end in the question"
    if numbers != list(range(LINES_BEFORE, len(found.texts) - after)):
        yield "a line of the register is no entry"
    if len({*codes}) < len(codes):
        yield "two entries have the same code"


def register_faults(row: PublishedRow, lines_after: int, relevant: list[int], decoys: list[int]) -> Iterator[str]:
    """Yield what is wrong with a row's register, which `lines_after` lines separate from the question.

    `relevant` and `decoys` are the numbers of the lines that must have these marks.
    """
    found = register(row.text)
    yield from body_faults(row, found.lines, found.numbers, [one.code for one in found.stated], lines_after)
    for role, wanted in (("relevant", relevant), ("decoy", decoys)):
        if row.spans(role) != [found.lines.span(at) for at in sorted(wanted)]:
            yield f"the marks of role {role} are not its lines"
