"""lighteval: a file with a custom task for each subtask and length, and lists of them for families and lengths."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

from pipeline.artifacts.files import path_below
from pipeline.artifacts.split import Selection, Split
from pipeline.export.base import Export, Written
from pipeline.export.common import Part, copy_metrics, need_keys, task_prefix, template, write_card, write_parts


def write(split: Split, selection: Selection, folder: Path) -> Written:
    """Write ``carrara_tasks.py``, ``tasks.json``, ``lists``, ``data`` and metrics.py."""
    need_keys(split, "lighteval")
    parts = write_parts(split, selection, folder / "data", turns=False)
    if parts.rows:
        copy_metrics(folder)
        write_card(folder / "data", parts.rows)
        (folder / "headline.py").write_text(template("headline.py"), encoding="ascii")
        (folder / "carrara_tasks.py").write_text(template("lighteval/carrara_tasks.py"), encoding="ascii")
        names = {part: f"{task_prefix(split)}:{part.name}" for part in parts.rows}
        stops = parts.stops(split)
        tasks = [
            {"name": name, "config": part.name, "room": part.max_new_tokens, "stops": stops[part]}
            for part, name in names.items()
        ]
        (folder / "tasks.json").write_text(json.dumps(tasks, indent=1) + "\n", encoding="ascii")
        _write_lists(folder / "lists", names)
    return parts.written


def _write_lists(folder: Path, names: dict[Part, str]) -> None:
    """Write lists of tasks, whose paths lighteval accepts in place of a task's name."""
    lists: dict[str, list[str]] = defaultdict(list)
    for part, name in names.items():
        lists[f"{part.family}_{part.tier}"].append(name)
        lists[f"{part.tier}_{part.length}"].append(name)
    folder.mkdir()
    for title, members in lists.items():
        path_below(folder, f"{title}.txt").write_text("".join(f"{name}\n" for name in members), encoding="ascii")


EXPORT = Export(
    name="lighteval",
    title="a file of custom tasks for lighteval",
    harness="lighteval",
    write=write,
    values=lambda split, rows: {"prefix": task_prefix(split)},
    sampling="lighteval's own default is `temperature` 0; give no other in `generation_parameters`, and no seed.",
    headline="lighteval's `all` is the plain mean of its tasks, which differs where families have different numbers "
    "of them; the headline of its details, to the digit, is printed by `headline.py` here (see above).",
)
