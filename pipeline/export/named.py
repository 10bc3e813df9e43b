"""Rows under RULER's and HELMET's names of tasks, so that their own graders apply.

HELMET's counterparts of `icl` and `summ` have names here too, but no files: HELMET reads its own.
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
    """The strings that a right reply contains: any one of them, or all."""

    wanted: tuple[str, ...]
    all_required: bool = False


ORDER = "the question asks for names in an order, which the rule cannot see"


def wanted_strings(row: Row) -> Strings | str:
    """Return the strings that a right reply contains, or the reason why strings cannot grade it."""
    scorer = facts(row["scorer"])
    return scorer.ungraded or SHAPES[scorer.shape](row)


def parts(row: Row) -> tuple[str, ...]:
    """Return the parts of a row's target, worded as in the text."""
    return tuple(row["target"].split(PART))


def _one(row: Row) -> Strings | str:
    return Strings(tuple(row["answers"]))


def _several(row: Row) -> Strings | str:
    wanted = parts(row)
    return ORDER if all(part in row["question"] for part in wanted) else Strings(wanted, all_required=True)


def _sourced(row: Row) -> Strings | str:
    halves = [part.rpartition(" [") for part in parts(row)]
    return Strings(tuple(text for value, _, label in halves for text in (value, f"[{label}")), all_required=True)


def _pair(row: Row) -> Strings | str:
    free = "any pair of people whose ages differ as asked is right, but the rule does not know ages"
    return Strings(tuple(row["answers"])) if len(row["answers"]) == 2 else free


def _members(row: Row) -> Strings | str:
    if row["target"] in (NO_MEMBERS, EMPTY_LIST):
        return "the set asked for is empty, and a rule that looks for strings has none to look for"
    return Strings(tuple(row["target"].split(MEMBERS)), all_required=True)


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
"""HELMET's name of the data set of rankings."""
SHARE = 40
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


@dataclass(frozen=True, slots=True)
class Names:
    """RULER's and HELMET's names, if any, of a subtask at one complexity."""

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
"""HELMET's names of its data sets of labelled texts, by number of labels."""
HELMET_SUMMARIES = ("infbench_sum", "multi_lexsum")
"""HELMET's names of its data sets of summaries."""
OTHER_TASKS: Mapping[str, object] = {"asks": "value", "order": "asked", "operations": "none", "ratio": 10, "alpha": 2.0}
"""Knobs that turn a subtask into another task, each with the value that does not."""
QUESTIONS: Mapping[str, object] = {"decoys": 0, "negatives": "random"}
"""The values of knobs in RULER's question answering."""


def names_of(row: Row) -> Names:
    """Return the names of a row's task, which are empty if a harness has no such task of this complexity."""
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
    """Return HELMET's name of its data set with as many labels as a row of icl.intents; empty if there is none."""
    return HELMET_ICL.get(row["complexity"], "") if (row["family"], row["subtask"]) == ("icl", "intents") else ""


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
