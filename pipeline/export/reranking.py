"""Rows of `rerank.conditions` as HELMET's loader of MS MARCO reads them (`load_msmarco_rerank`)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from pipeline.metrics import worth_of
from pipeline.rows import Row, known_by

NAME = "msmarco_rerank_psg"
"""HELMET's name of the data set."""
SHARE = 40
"""One more token for so many of a row's: HELMET's words round each document are longer than the row's."""
QUERY = (
    "{question} A document is the more relevant, the more of the three conditions are met by what it says. "
    "Name the ten most relevant alone."
)
OWN_QUERY = "{question} Name the ten most relevant alone."
DOCUMENT = re.compile(r"^Document \[(?P<id>\d{5})\] \(title: (?P<title>[^()\n]+)\) (?P<text>.+)$", re.MULTILINE)
OWN_DOCUMENT = re.compile(r"^Document \[(?P<id>\d+)\]:? (?P<text>.+)$", re.MULTILINE)
"""A passage of a user's own, which may have no title; any stays in its text."""
START = "\nDocuments:\n"
EXAMPLE = re.compile(r"^Example \d+, .+:\n((?:Document .+\n)+)Question: (.+)\nAnswer: (.+)\n", re.MULTILINE)


def line_of(row: Row) -> Row:
    """Return a row's line: the documents in order, each with what it is worth."""
    body = row["prompt"][: row["question_start"]].rpartition(START)[2]
    return {"id": row["id"], **_asked(row, known_by(row["id"]), row["question"], body, worth_of(row))}


def demonstrations(row: Row) -> Iterator[Row]:
    """Yield the lines of a row's own demonstrations, of which HELMET draws two from all rows.

    What a document of a demonstration is worth is told by its place in the answer.
    """
    for number, (documents, question, answer) in enumerate(EXAMPLE.findall(row["prompt"]), start=1):
        ranking = answer.split(" > ")
        worth = {one: len(ranking) - place for place, one in enumerate(ranking)}
        yield _asked(row, known_by(f"{row['id']}.{number}"), question, documents, worth)


def _asked(row: Row, name: str, question: str, documents: str, worth: Mapping[str, int]) -> Row:
    query, form = (OWN_QUERY, OWN_DOCUMENT) if _is_own(row) else (QUERY, DOCUMENT)
    found = [one.groupdict() | {"label": worth.get(one["id"], 0)} for one in form.finditer(documents)]
    return {"qid": name, "query": query.format(question=question), "ctxs": found}


def _is_own(row: Row) -> bool:
    """Tell whether a row is about a user's own passages."""
    return bool(json.loads(row["metadata"]).get("knobs", {}).get("corpus"))
