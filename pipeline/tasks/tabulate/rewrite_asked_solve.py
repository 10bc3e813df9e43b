"""Writes the table from a prompt with a log alone, in any language, without reading a word of it.

It reads the rules by their examples, the columns by where their names recur, and the exceptions by what they quote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.registers import COLON, FIELD, QUOTED, quoted
from pipeline.tasks.solving import PROMPT, Lines, ReadError
from pipeline.tasks.tabulate.register_solve import head
from pipeline.tasks.tabulate.solve import LOGGED, AskedLog, Form, lines_of, log_faults

RULE = re.compile(rf"^([1-5])\. ({FIELD}){COLON}(.+)$", re.MULTILINE)
CODED = re.compile(r"([a-z]+) -> ([A-Z]|[0-9])(?![A-Z0-9:])")
ADDED = re.compile(r" = ([0-9]+) \(")
EXAMPLE = re.compile(r"\(([0-9:]+) -> ([0-9:]+)\)$")
AFTER = 5
"""Lines after the log: its end, how to reply, the head of the table, a blank one, the question."""


@PROMPT.cached
def asked_log(text: str) -> AskedLog:
    """Return what a prompt asks.

    Raises:
        ReadError: if it cannot be read.
    """
    first = re.search(rf"^{LOGGED.pattern}$", text, re.MULTILINE)
    if not first:
        raise ReadError("the prompt has no log")
    end = len(text) - len("\n".join(text.split("\n")[-AFTER:]))
    lines, form = Lines(text, first.start(), end), form_of(text[: first.start()], head(text, columns=4))
    return AskedLog(quoted(text)[0], lines, lines_of(lines.texts), form)


def form_of(before: str, columns_line: str) -> Form:
    """Return the form that is stated by five rules before the log, and the head of the table."""
    rules = RULE.findall(before)
    if [number for number, _, _ in rules] != ["1", "2", "3", "4", "5"]:
        raise ReadError("the prompt does not state three rules and two exceptions")
    (_, time, timed), (_, level, coded), (_, number, numbered), *exceptions = rules
    columns = {time: "time", level: "level", number: "number"}
    examples = [EXAMPLE.search(value) for value in (timed, numbered)]
    codes, names = dict(CODED.findall(coded)), columns_line.split("\t")
    if len(codes) != 4 or not all(examples) or len(columns) != 3 or len({*names}) != 4 or not {*names} > {*columns}:
        raise ReadError("the prompt does not state what is written in each column")
    spared = {columns.get(column, ""): QUOTED.findall(value) for _, column, value in exceptions}
    if len(spared) != 2 or "" in spared or not all(spared.values()):
        raise ReadError("the prompt does not state two exceptions")
    (early, late), (given, told) = (found.groups() for found in examples if found)
    doubled = told != given.zfill(4)
    if doubled and int(told) != 2 * int(given):
        raise ReadError(f"no rule makes {told} of {given}")
    hours = (int(late[:2]) - int(early[:2])) % 24 if ":" in late else None
    if ADDED.findall(timed) != ([] if hours is None else [str(hours)]):
        raise ReadError(f"the rule for times does not make {late} of {early}")
    return Form(tuple(columns.get(name, "unit") for name in names), hours, codes, doubled, spared, left_out=None)


def table(text: str) -> str:
    """Return the table that is asked for."""
    return "\n".join([head(text, columns=4), *asked_log(text).rows])


def faults(row: PublishedRow, decoys: float, twins: int) -> Iterator[str]:
    """Yield what is wrong with a row that promises decoys for a share of the lines asked for."""
    yield from log_faults(row, asked_log(row.text), decoys, twins)
