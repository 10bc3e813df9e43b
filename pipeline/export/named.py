"""Rows under the names that RULER and HELMET give their tasks, so that their own graders apply.

The data sets of HELMET that `icl` and `summ` are like have names here too, but no files: HELMET reads theirs itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from pipeline.metrics import EMPTY_LIST, MEMBERS, NO_MEMBERS, NUMBER, PART, facts, worth_of
from pipeline.rows import Row, known_by
from pipeline.tasks.recall.json_kv import SHOWN, question
from pipeline.tasks.recall.json_kv import START as OBJECT
from pipeline.tasks.recall.niah_solve import parse_question
from pipeline.tasks.recall.niah_text import START as NIAH_TEXT_START


@dataclass(frozen=True, slots=True)
class Strings:
    """What is looked for in a reply: one of the strings, or each of them."""

    wanted: tuple[str, ...]
    each: bool = False


ORDER = "the question asks for names in an order, which the rule cannot see"


def strings(row: Row) -> Strings | str:
    """Return what a reply to a row has to contain, or why that does not tell a right reply."""
    scorer = facts(row["scorer"])
    return scorer.ungraded or SHAPES[scorer.shape](row)


def parts(row: Row) -> tuple[str, ...]:
    """Return the parts of an answer that has several, worded as in the text."""
    return tuple(row["target"].split(PART))


def _one(row: Row) -> Strings | str:
    return Strings(tuple(row["answers"]))


def _several(row: Row) -> Strings | str:
    wanted = parts(row)
    return ORDER if all(part in row["question"] for part in wanted) else Strings(wanted, each=True)


def _sourced(row: Row) -> Strings | str:
    halves = [part.rpartition(" [") for part in parts(row)]
    return Strings(tuple(text for value, _, label in halves for text in (value, f"[{label}")), each=True)


def _pair(row: Row) -> Strings | str:
    free = "any pair of people whose ages differ as asked is right, but the rule does not know ages"
    return Strings(tuple(row["answers"])) if len(row["answers"]) == 2 else free


def _members(row: Row) -> Strings | str:
    none = "the set asked for is empty, and a rule that looks for strings has none to look for"
    return (
        none if row["target"] in (NO_MEMBERS, EMPTY_LIST) else Strings(tuple(row["target"].split(MEMBERS)), each=True)
    )


def _view(row: Row) -> Strings | str:
    return Strings(tuple(row["answers"])) if row["subtask"].partition("-")[0] == "print" else NUMBER


SHAPES: dict[str, Callable[[Row], Strings | str]] = {
    "parts": _several,
    "cited": _sourced,
    "value": _one,
    "view": _view,
    "pair": _pair,
    "members": _members,
}


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


def ranking_line(row: Row) -> Row:
    """Return a row's line: the documents in order, each with what it is worth."""
    body = row["prompt"][: row["question_start"]].rpartition(START)[2]
    return {"id": row["id"], **_asked(row, known_by(row["id"]), row["question"], body, worth_of(row))}


def demonstrations(row: Row) -> Iterator[Row]:
    """Yield the lines of a row's own demonstrations, of which HELMET draws two from all rows.

    What a document of a demonstration is worth is told by its place in the answer.
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


@dataclass(frozen=True, slots=True)
class Names:
    """What a subtask at one complexity is called: by RULER, and by HELMET where that has a data set for it."""

    complexity: int
    ruler: str = ""
    helmet: str = ""


NAMES: Mapping[tuple[str, str], Names] = {
    ("recall", "niah_s1"): Names(1, "niah_single_1", "ruler_niah_s_1"),
    ("recall", "niah_s2"): Names(1, "niah_single_2", "ruler_niah_s_2"),
    ("recall", "niah_s3"): Names(1, "niah_single_3", "ruler_niah_s_3"),
    ("recall", "niah_mk1"): Names(1, "niah_multikey_1", "ruler_niah_mk_1"),
    ("recall", "niah_mk2"): Names(1, "niah_multikey_2", "ruler_niah_mk_2"),
    ("recall", "niah_mk3"): Names(1, "niah_multikey_3", "ruler_niah_mk_3"),
    ("recall", "niah_mv"): Names(4, "niah_multivalue", "ruler_niah_mv"),
    ("recall", "niah_mq"): Names(4, "niah_multiquery", "ruler_niah_mq"),
    ("recall", "vt"): Names(5, "vt"),
    ("recall", "cwe"): Names(10, "cwe"),
    ("recall", "fwe"): Names(3, "fwe"),
    ("recall", "json_kv"): Names(1, "", "json_kv"),
    ("rag", "single"): Names(1, "qa_1"),
    ("rag", "bridge"): Names(2, "qa_2"),
}
HELMET_ICL: Mapping[int, str] = {
    6: "icl_trec_coarse",
    50: "icl_trec_fine",
    68: "icl_nlu",
    77: "icl_banking77",
    151: "icl_clinic150",
}
"""What HELMET calls its data sets of labelled texts, by how many labels they have."""
HELMET_SUMMARIES = ("infbench_sum", "multi_lexsum")
"""What HELMET calls its data sets of summaries."""
OTHER_TASKS: Mapping[str, object] = {"asks": "value", "order": "asked", "operations": "none", "ratio": 10, "alpha": 2.0}
"""Knobs that make another task of a subtask, with the values that do not."""
QUESTIONS: Mapping[str, object] = {"decoys": 0, "negatives": "random"}
"""Knobs of RULER's question answering."""


def names_of(row: Row) -> Names:
    """Return the names of a row's task; none where the harness has no task of this kind and complexity."""
    if (row["family"], row["subtask"]) == ("rerank", "conditions"):
        return Names(row["complexity"], "", NAME)
    known = NAMES.get((row["family"], row["subtask"]), Names(0))
    if known.complexity != row["complexity"]:
        return Names(row["complexity"])
    knobs = json.loads(row["metadata"]).get("knobs", {})
    changed = any(name in knobs and knobs[name] != value for name, value in OTHER_TASKS.items())
    if row["family"] == "rag":
        changed = any(knobs.get(name) != value for name, value in QUESTIONS.items())
    return Names(row["complexity"]) if changed else known


def helmet_icl(row: Row) -> str:
    """Return what HELMET calls its data set of as many labels as a row's; nothing for a row of another kind."""
    return HELMET_ICL.get(row["complexity"], "") if (row["family"], row["subtask"]) == ("icl", "intents") else ""


def helmet_line(row: Row) -> Row:
    """Return what HELMET's loader of a row's data set reads: `load_json_kv`, `load_ruler` or `load_msmarco_rerank`.

    Raises:
        ValueError: if the prompt asks for something else than its task does.
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
