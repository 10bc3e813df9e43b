"""Queries and their pages: rows with a number, a status and an amount, in the forms that databases show."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from pipeline.worlds.desk.calls import aligned
from pipeline.worlds.desk.lexicon import SentenceWriter, words
from pipeline.worlds.desk.reads import Shown

HEAD = ("id", "status", "qty", "by")
SIZE = 6
"""The most rows of a page."""
LEAST = 3
"""The fewest rows of a page that no question is about."""
BROKEN = 2
"""The most rows that come before a call breaks off."""


class Entry(NamedTuple):
    """A row of a query."""

    number: str
    status: str
    amount: int
    by: str


class Page(NamedTuple):
    """A page of a query: its number of how many, its rows, and how many rows every page but the last has."""

    query: str
    number: int
    pages: int
    rows: Sequence[Entry]
    size: int = SIZE


def entry(sentences: SentenceWriter, status: str, taken: Collection[str] = ()) -> Entry:
    """Draw a row with a status and a number that is not taken."""
    while (number := f"R{sentences.rng.randrange(100_000, 1_000_000)}") in taken:
        pass
    return Entry(number, status, sentences.rng.randrange(2, 90), sentences.slot("person"))


def _markdown(page: Page, ref: str) -> str:
    lines = ["| " + " | ".join(map(str, row)) + " |" for row in (HEAD, *page.rows)]
    return "\n".join([f"Page {page.number} of {page.pages} (ref {ref})", lines[0], "|---|---|--:|---|", *lines[1:]])


def _terminal(page: Page, ref: str) -> str:
    cells = [[f"{one:>{len(HEAD[2])}}" if isinstance(one, int) else one for one in row] for row in page.rows]
    widths = [max(map(len, column)) for column in zip(HEAD, *cells, strict=True)]
    rows = [[f"{name:^{width}}" for name, width in zip(HEAD, widths, strict=True)]]
    rows += [[f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)] for row in cells]
    head, *lines = (f" {' | '.join(row)}".rstrip() for row in rows)
    rule = "+".join("-" * (width + 2) for width in widths)
    title, count = f"page {page.number}/{page.pages} ({ref})", f"({len(lines)} row{'s' * (len(lines) > 1)})"
    return "\n".join([title, head, rule, *lines, count])


def _csv(page: Page, ref: str) -> str:
    return "\n".join(
        [f"# {ref} page={page.number}/{page.pages}", *(",".join(map(str, row)) for row in (HEAD, *page.rows))]
    )


def _arrays(page: Page, ref: str) -> str:
    body = {"ref": ref, "page": page.number, "of": page.pages, "columns": HEAD, "rows": [[*row] for row in page.rows]}
    return json.dumps(body)


def _objects(page: Page, ref: str) -> str:
    lines = [json.dumps(dict(zip(HEAD, row, strict=True))) for row in page.rows]
    return "\n".join([*lines, json.dumps({"page": page.number, "of": page.pages, "ref": ref})])


def _columns(page: Page, ref: str) -> str:
    return f"{ref}, page {page.number} of {page.pages}\n" + aligned([[name.upper() for name in HEAD]], page.rows)


FORMS: Sequence[Callable[[Page, str], str]] = (_markdown, _terminal, _csv, _arrays, _objects, _columns)


def shown(page: Page, form: int) -> Shown:
    """Return the call for a page, with its result in one of the forms."""
    args: dict[str, str | int] = {"page": page.number, "query": page.query, "size": page.size}
    return Shown("rows", args, lambda ref: FORMS[form](page, ref))


def broken(sentences: SentenceWriter, page: Page, form: int) -> Shown:
    """Return the call for a page, with a result that ends before all of its rows have come."""
    sent = page.rows[: sentences.rng.randrange(1, BROKEN + 1)]
    wait, gone = sentences.rng.randrange(10, 60), len(page.rows) - len(sent)

    last = f"timed out after {wait} s, {gone} row{'s' * (gone > 1)} missing"
    tool, args, begun = shown(page._replace(rows=sent), form)
    return Shown(tool, args, lambda ref: f"{begun(ref)}\n{last}")


def any_page(sentences: SentenceWriter, query: str) -> Page:
    """Draw a page of a query that no question is about."""
    rng, pages = sentences.rng, sentences.rng.randrange(2, 20)
    number, size = rng.randrange(1, pages + 1), rng.randrange(LEAST, SIZE + 1)
    count = size if number < pages else rng.randrange(LEAST, size + 1)
    rows = [entry(sentences, rng.choice(words()["status"])) for _ in range(count)]
    return Page(query, number, pages, rows, size)
