"""HELMET: JSON Lines for its data sets of keys, needles and rankings, with settings; two of these carry other tasks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Tally, Written, add_line, group_name, task_name
from pipeline.export.common import as_yaml, need_keys, why_not_sent
from pipeline.export.helmet_lines import WORDS_SHARE, demonstrations, helmet_line
from pipeline.export.upstream_names import HELMET_RANKING, HELMET_SUMMARIES, helmet_icl, names_of
from pipeline.export.wanted import wanted_strings
from pipeline.languages import asking
from pipeline.metrics import facts
from pipeline.rows import Row

ROOM = 1024
"""Tokens for HELMET's words around a row, and for the 100 tokens that some of its backends keep free."""

ONE, SEVERAL = "ruler_qa_1", "ruler_niah_mv"
"""HELMET's data sets for other tasks: one accepts any of the answers (normalised), one scores the share of them."""

COLUMNS = (
    *("id", "family", "subtask", "tier", "length", "complexity", "context_tokens", "max_new_tokens", "scorer"),
    *("question", "question_start", "target", "answers", "metadata", "messages", "prompt"),
)
CUE = "\nAnswer:"
PAIRS = {4096: "k50", 8192: "k105", 16384: "k220", 32768: "k440", 65536: "k900", 131072: "k1800"}
"""The name of HELMET's file for each length, after the number of pairs in its own objects."""
JSON_KV, SHOTS = "json_kv", 2
"""A data set to which HELMET adds demonstrations, as it does to rankings, and their number."""


@dataclass(frozen=True, order=True, slots=True)
class Test:
    """One test file: its path, HELMET's name of its data set, and the window and the limit of replies in tokens."""

    file: str
    dataset: str
    context_tokens: int
    max_new_tokens: int

    @property
    def demos(self) -> str:
        """The file from which HELMET draws demonstrations, if any."""
        return f"demos/{self.file.removeprefix('data/')}" if self.dataset == HELMET_RANKING else ""

    @property
    def tokens(self) -> int:
        """HELMET's limit of tokens for prompt and reply."""
        more = self.context_tokens // WORDS_SHARE if self.dataset == HELMET_RANKING else 0
        return self.context_tokens + more + ROOM


def write(split: Split, selection: Selection, out: Path) -> Written:
    """Write ``data/<task>_<tier>-<length>.jsonl``, HELMET's own files, and ``configs/<tier>-<length>.yaml``."""
    need_keys(split, "HELMET")
    tally = Tally()
    tests: dict[str, set[Test]] = {}
    for row in split.rows(COLUMNS, selection):
        made = line_of(row)
        if isinstance(made, str):
            tally.leave(row, made)
            continue
        dataset, line = made
        test = Test(_file(row), dataset, row["context_tokens"], row["max_new_tokens"])
        tests.setdefault(group_name(row), set()).add(test)
        add_line(path_below(out, test.file), line)
        for shown in demonstrations(row) if test.demos else ():
            add_line(path_below(out, test.demos), shown)
        tally.rows += 1
    for name, some in tests.items():
        path = path_below(out, "configs", f"{name}.yaml")
        path.parent.mkdir(exist_ok=True)
        path.write_text(_config(sorted(some), chat=split.manifest.frame == "chat"), encoding="ascii")
    return tally.written


def _file(row: Row) -> str:
    """Return the path of a row's file: HELMET's own, within a folder for each tier, or one for the row's task."""
    own = names_of(row)
    if own.helmet == HELMET_RANKING:
        return f"data/{row['tier']}/msmarco/test_reranking_data_{row['length']}_{row['complexity']}.jsonl"
    if own.helmet and own.ruler:
        return f"data/{row['tier']}/ruler/{own.ruler}/validation_{row['length']}.jsonl"
    if own.helmet:
        return f"data/{row['tier']}/{own.helmet}/test_{PAIRS.get(row['length'], row['length'])}_dep6.jsonl"
    return f"data/{task_name(row)}_{group_name(row)}_{row['max_new_tokens']}.jsonl"


def line_of(row: Row) -> tuple[str, Row] | str:
    """Return the data set that grades a row, and the row's line for it; or the reason why there is none."""
    if why := why_not_sent(row, turns=False):
        return why
    if asking(row["subtask"]):
        return "HELMET puts English words around rows, but this one asks in another language"
    if own := helmet_icl(row):
        return f"HELMET draws the examples of {own} itself, and reads no file (score with --quirk label=em)"
    if row["family"] == "summ":
        return f"HELMET takes the documents of {' and '.join(HELMET_SUMMARIES)} from the Hub, and has a model judge"
    own = names_of(row).helmet
    if own == HELMET_RANKING and any(demonstrations(row)):
        return own, helmet_line(row)
    wanted = wanted_strings(row)
    if isinstance(wanted, str) or facts(row["scorer"]).unnormalised:
        return wanted if isinstance(wanted, str) else facts(row["scorer"]).unnormalised
    if own:
        return own, helmet_line(row)
    start = row["question_start"]
    line = {"id": row["id"], "context": row["prompt"][:start], "outputs": list(wanted.wanted)}
    if not wanted.all_required:
        return ONE, {**line, "question": row["prompt"][start:].removesuffix(CUE)}
    lead = "this question" if facts(row["scorer"]).shape == "members" else "the following questions, in their order"
    question = " ".join(row["question"].split("\n"))
    return SEVERAL, {**line, "query": f"{lead}: {question}", "type_needle_v": "answers"}


def _config(tests: Sequence[Test], *, chat: bool) -> str:
    lists: dict[str, list[object]] = {
        "datasets": [each.dataset for each in tests],
        "test_files": [f"carrara/{each.file}" for each in tests],
        "demo_files": [f"carrara/{each.demos}" if each.demos else "" for each in tests],
        "input_max_length": [each.tokens for each in tests],
        "generation_max_length": [each.max_new_tokens for each in tests],
    }
    joined = {name: ",".join(map(str, values)) for name, values in lists.items()}
    shots = SHOTS if {JSON_KV, HELMET_RANKING} & {each.dataset for each in tests} else 0
    return as_yaml({**joined, "use_chat_template": chat, "shots": shots, "stop_new_line": False})


EXPORT = Export(
    name="helmet",
    title="HELMET: JSON Lines and configurations for its data sets",
    harness="HELMET",
    write=write,
    values=lambda split, rows: {"room": ROOM, "one": ONE, "several": SEVERAL},
    sampling="HELMET's own defaults are `do_sample` false and `temperature` 0; its `seed` 42 draws demonstrations "
    "and is not sent.",
    headline="HELMET has one number per data set and length, by its own metrics and prompts, and averages seven "
    "categories of its own. Its results, scored by Carrara's rules, have a headline.",
)
