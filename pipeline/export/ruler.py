"""RULER: its JSON Lines, as a benchmark beside its own, with each task's limit of reply tokens.

Rows of RULER's own tasks have its names, so that its own benchmark reads them too.
"""

from __future__ import annotations

import json
from pathlib import Path

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Tally, Written, add_line, group_name, task_name
from pipeline.export.common import as_yaml, need_keys, template, why_not_sent
from pipeline.export.upstream_names import names_of
from pipeline.export.wanted import Strings, wanted_strings
from pipeline.rows import Row

COLUMNS = (
    *("id", "family", "subtask", "tier", "length", "complexity", "context_tokens", "prompt_tokens", "max_new_tokens"),
    *("scorer", "question", "target", "answers", "answer_prefix", "metadata", "messages", "prompt"),
)
RULES = {False: "string_match_part", True: "string_match_all"}
"""RULER's names of its rules: any of the references, or the share of them, which all its tasks but QA use."""

ANSWERED = ("qa_1", "qa_2")
"""Its tasks for which any reference is enough."""


def write(split: Split, selection: Selection, out: Path) -> Written:
    """Write ``data/<tier>-<length>/<task>/validation.jsonl`` and the files that name the tasks to RULER."""
    need_keys(split, "RULER")
    tally = Tally()
    tasks: dict[str, tuple[int, str]] = {}
    numbers: dict[Path, int] = {}
    for row in split.rows(COLUMNS, selection):
        wanted = why_not_sent(row, turns=False) or wanted_strings(row)
        if isinstance(wanted, str):
            tally.leave(row, wanted)
            continue
        own = names_of(row).ruler
        name = own or task_name(row)
        path = path_below(out, "data", group_name(row), name, "validation.jsonl")
        limit = min(row["max_new_tokens"], tasks.get(name, (row["max_new_tokens"], ""))[0])
        tasks[name] = limit, RULES[wanted.all_required or (bool(own) and own not in ANSWERED)]
        numbers[path] = numbers.get(path, -1) + 1
        add_line(path, _line(row, numbers[path], wanted))
        tally.rows += 1
    _name_tasks(out / "scripts", dict(sorted(tasks.items())))
    return tally.written


def _line(row: Row, number: int, wanted: Strings) -> Row:
    return {
        "index": number,
        "input": row["prompt"],
        "outputs": list(wanted.wanted),
        "length": row["prompt_tokens"] + row["max_new_tokens"],
        "answer_prefix": row["answer_prefix"],
        "others": {"id": row["id"]},
    }


def _name_tasks(scripts: Path, tasks: dict[str, tuple[int, str]]) -> None:
    """Write what RULER looks up for ``--benchmark carrara``: a YAML file, and tables of reply limits and rules."""
    limits = {
        name: {"tokens_to_generate": limit, "template": "", "answer_prefix": ""} for name, (limit, _) in tasks.items()
    }
    for name, text in (
        ("carrara.yaml", as_yaml({name: {"task": name, "args": {}} for name in tasks})),
        ("data/carrara/constants.py", template("ruler/data_constants.py")),
        ("data/carrara/tasks.json", json.dumps(limits, indent=1) + "\n"),
        ("eval/carrara/constants.py", template("ruler/eval_constants.py")),
        ("eval/carrara/tasks.json", json.dumps({name: rule for name, (_, rule) in tasks.items()}, indent=1) + "\n"),
    ):
        path = scripts / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")


EXPORT = Export(
    name="ruler",
    title="RULER: JSON Lines, tasks and rules for its own scripts",
    harness="RULER",
    write=write,
    sampling="The command above sends `temperature` 0; RULER adds `top_k` 32 and `random_seed` 0, which greedy "
    "decoding ignores.",
    headline="RULER's `summary.csv` has one number per task, by its own rules, and no mean: that of its paper is over "
    "13 tasks at one length. Its predictions, scored by Carrara's rules, have a headline.",
)
