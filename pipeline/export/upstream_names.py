"""RULER's and HELMET's names of tasks, so that their own graders apply.

HELMET's counterparts of `icl` and `summ` have names here too, but no files: HELMET reads its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.rows import Row


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
HELMET_RANKING = "msmarco_rerank_psg"
"""HELMET's name of its data set of rankings."""
HELMET_SUMMARIES = ("infbench_sum", "multi_lexsum")
"""HELMET's names of its data sets of summaries."""
OTHER_TASKS: Mapping[str, object] = {"asks": "value", "order": "asked", "operations": "none", "ratio": 10, "alpha": 2.0}
"""Knobs that turn a subtask into another task, each with the value that does not."""
QUESTIONS: Mapping[str, object] = {"decoys": 0, "negatives": "random"}
"""The values of knobs in RULER's question answering."""


def names_of(row: Row) -> Names:
    """Return the names of a row's task, which are empty if a harness has no such task of this complexity."""
    if (row["family"], row["subtask"]) == ("rerank", "conditions"):
        return Names(row["complexity"], "", HELMET_RANKING)
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
