"""RULER: its JSON Lines, as a benchmark beside its own, with the room for replies that the rows are cut for."""

from __future__ import annotations

from pathlib import Path

from pipeline.export.base import Export, Written
from pipeline.export.lines import Tally, add_line, group_name, task_name
from pipeline.export.parts import TURNS, need_keys
from pipeline.export.substring import Strings, strings
from pipeline.rows import Row
from pipeline.store.split import Selection, Split

COLUMNS = (
    *("id", "family", "subtask", "tier", "length", "context_tokens", "prompt_tokens", "max_new_tokens", "scorer"),
    *("question", "target", "answers", "answer_prefix", "messages", "prompt"),
)
RULES = {False: "string_match_part", True: "string_match_all"}
"""RULER's names of its rules: one of the references, or the share of them."""

DATA = '''"""How many tokens RULER asks for: what the rows leave free."""

TASKS = {
'''
EVAL = '''"""Which of RULER's rules grades a task."""

from synthetic.constants import string_match_all, string_match_part

TASKS = {
'''


def write(split: Split, selection: Selection, out: Path) -> Written:
    """Write ``data/<tier>-<length>/<task>/validation.jsonl`` and the files that name the tasks to RULER."""
    need_keys(split, "RULER")
    tally = Tally()
    tasks: dict[str, tuple[int, str]] = {}
    numbers: dict[Path, int] = {}
    for row in split.rows(COLUMNS, selection):
        wanted = TURNS if row["messages"] is not None else strings(row)
        if isinstance(wanted, str):
            tally.leave(row, wanted)
            continue
        name, path = task_name(row), out / "data" / group_name(row) / task_name(row) / "validation.jsonl"
        room = min(row["max_new_tokens"], tasks.get(name, (row["max_new_tokens"], ""))[0])
        tasks[name] = room, RULES[wanted.each]
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
    """Write what RULER looks up by ``--benchmark carrara``: a YAML, and constants for replies and for rules."""
    listed = "".join(f"{name}:\n  task: {name}\n  args: {{}}\n" for name in tasks)
    rooms = "".join(
        f'    "{name}": {{"tokens_to_generate": {room}, "template": "", "answer_prefix": ""}},\n'
        for name, (room, _) in tasks.items()
    )
    rules = "".join(f'    "{name}": {{"metric_fn": {rule}}},\n' for name, (_, rule) in tasks.items())
    for name, text in (
        ("carrara.yaml", listed),
        ("data/carrara/constants.py", f"{DATA}{rooms}}}\n"),
        ("eval/carrara/constants.py", f"{EVAL}{rules}}}\n"),
    ):
        path = scripts / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="ascii")


EXPORT = Export("ruler", "RULER: JSON Lines, tasks and rules for its own scripts", "RULER", "ruler", write)
