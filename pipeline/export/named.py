"""Rows under the names that RULER and HELMET give their tasks, so that their own graders apply.

The data sets of HELMET that `icl` and `summ` are like have names here too, but no files: HELMET reads theirs itself.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.export import reranking
from pipeline.metrics import MEMBERS
from pipeline.rows import Row
from pipeline.tasks.recall.json_kv import SHOWN, question
from pipeline.tasks.recall.json_kv import START as OBJECT
from pipeline.tasks.recall.niah_text import START, read_asked


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
        return Names(row["complexity"], "", reranking.NAME)
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
        return reranking.line_of(row)
    text, tail = row["prompt"][: row["question_start"]], row["prompt"][row["question_start"] :]
    if row["subtask"] == "json_kv":
        head, begin, body = text.partition(OBJECT)
        demos = [list(pair) for pair in SHOWN.findall(head)]
        asked = {"question": question(tail)[1], "answer": row["target"], "demos": demos}
        return {"id": row["id"], "context": begin + body, **asked, "num_kvs": body.count('": "')}
    *most, last = read_asked(tail)
    query = f"{', '.join(most)}, and {last}" if most else last
    wanted = "access codes" if row["scorer"] == "members" else "access code"
    line = {"id": row["id"], "context": text.partition(f"\n{START}")[2], "query": query, "type_needle_v": wanted}
    return {**line, "outputs": row["target"].split(MEMBERS)}
