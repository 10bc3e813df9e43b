"""Lines of JSON as HELMET's loaders read them: of keys, needles and rankings."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping

from pipeline.metrics import MEMBERS, worth_of
from pipeline.rows import Row, known_by
from pipeline.tasks.recall.json_kv import SHOWN, question
from pipeline.tasks.recall.json_kv import START as OBJECT
from pipeline.tasks.recall.niah_solve import parse_question
from pipeline.tasks.recall.niah_text import START as NIAH_TEXT_START

WORDS_SHARE = 40
"""A row's tokens per extra token: HELMET's words around each document are longer than the row's."""
QUERY = (
    "{question} A document is the more relevant, the more of the three conditions are met by what it says. "
    "Name the ten most relevant alone."
)
OWN_QUERY = "{question} Name the ten most relevant alone."
DOCUMENT = re.compile(r"^Document \[(?P<id>\d{5})\] \(title: (?P<title>[^()\n]+)\) (?P<text>.+)$", re.MULTILINE)
OWN_DOCUMENT = re.compile(r"^Document \[(?P<id>\d+)\]:? (?P<text>.+)$", re.MULTILINE)
"""A user's own passage, which may have a title; it stays in the text."""
START = "\nDocuments:\n"
EXAMPLE = re.compile(r"^Example \d+, .+:\n((?:Document .+\n)+)Question: (.+)\nAnswer: (.+)\n", re.MULTILINE)


def ranking_line(row: Row) -> Row:
    """Return a row's line for HELMET: the documents in order, each with its worth."""
    body = row["prompt"][: row["question_start"]].rpartition(START)[2]
    return {"id": row["id"], **_asked(row, known_by(row["id"]), row["question"], body, worth_of(row))}


def demonstrations(row: Row) -> Iterator[Row]:
    """Yield the lines of a row's own demonstrations; HELMET draws two from those of all rows.

    A document's worth follows from its place in the demonstration's answer.
    """
    for number, (documents, asked, answer) in enumerate(EXAMPLE.findall(row["prompt"]), start=1):
        ranking = answer.split(" > ")
        worth = {one: len(ranking) - place for place, one in enumerate(ranking)}
        yield _asked(row, known_by(f"{row['id']}.{number}"), asked, documents, worth)


def _asked(row: Row, name: str, question: str, documents: str, worth: Mapping[str, int]) -> Row:
    query, form = (OWN_QUERY, OWN_DOCUMENT) if _is_own(row) else (QUERY, DOCUMENT)
    found = [one.groupdict() | {"label": worth.get(one["id"], 0)} for one in form.finditer(documents)]
    return {"qid": name, "query": query.format(question=question), "ctxs": found}


def _is_own(row: Row) -> bool:
    """Tell whether a row is about a user's own passages."""
    return bool(json.loads(row["metadata"]).get("knobs", {}).get("corpus"))


def helmet_line(row: Row) -> Row:
    """Return a row's line for HELMET's loader: `load_json_kv`, `load_ruler` or `load_msmarco_rerank`.

    Raises:
        ValueError: if the prompt's question is not of its task's form.
    """
    if row["family"] == "rerank":
        return ranking_line(row)
    text, tail = row["prompt"][: row["question_start"]], row["prompt"][row["question_start"] :]
    if row["subtask"] == "json_kv":
        head, begin, body = text.partition(OBJECT)
        demos = [list(pair) for pair in SHOWN.findall(head)]
        asked = {"question": question(tail)[1], "answer": row["target"], "demos": demos}
        return {"id": row["id"], "context": begin + body, **asked, "num_kvs": body.count('": "')}
    *most, last = parse_question(tail)
    query = f"{', '.join(most)}, and {last}" if most else last
    wanted = "access codes" if row["scorer"] == "members" else "access code"
    line = {
        "id": row["id"],
        "context": text.partition(f"\n{NIAH_TEXT_START}")[2],
        "query": query,
        "type_needle_v": wanted,
    }
    return {**line, "outputs": row["target"].split(MEMBERS)}
