"""Inspect: a file with a task for each family and tier, real turns as messages, and scores grouped for curves."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pipeline.artifacts.split import Selection, Split
from pipeline.errors import ExportError
from pipeline.export.base import Export, Written
from pipeline.export.common import Part, copy_metrics, need_keys, template, write_parts
from pipeline.rows import Row

TASK = '''

@task
def {name}(
    subtask: str | None = None, length: int | None = None, complexity: int | None = None, limit: int | None = None
) -> Task:
    """Return the rows of a family in a tier, of one subtask, length or complexity if asked for."""
    return rows_task(
        "{name}", limit, family="{family}", tier="{tier}", subtask=subtask, length=length, complexity=complexity
    )
'''
EVERYTHING = '''

@task
def everything(
    family: str | None = None, tier: str | None = None, length: int | None = None, limit: int | None = None
) -> Task:
    """Return all rows, or those of a family, tier or length; the metric `headline` is the one score of all."""
    return rows_task("everything", limit, family=family, tier=tier, length=length)
'''


def write(split: Split, selection: Selection, folder: Path) -> Written:
    """Write ``carrara.py``, ``everything.py``, ``data`` and metrics.py."""
    need_keys(split, "Inspect")
    parts = write_parts(split, selection, folder / "data", turns=True)
    if parts.rows:
        copy_metrics(folder)
        shared = template("inspect/carrara.py")
        (folder / "carrara.py").write_text(shared + "".join(_tasks(parts.rows)), encoding="ascii")
        (folder / "everything.py").write_text(shared + EVERYTHING, encoding="ascii")
    return parts.written


def _tasks(parts: Iterable[Part]) -> Iterable[str]:
    """Yield the tasks as source code: Inspect finds them by parsing the file, not by running it.

    Raises:
        ExportError: if a name is not an identifier.
    """
    for family, tier in dict.fromkeys((part.family, part.tier) for part in parts):
        name = f"{family}_{tier}"
        if not name.isidentifier():
            raise ExportError(f"a task of Inspect cannot be called {name!r}: give letters, digits and underscores")
        yield TASK.format(name=name, family=family, tier=tier)


def _values(split: Split, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the greatest length of each task."""
    lengths: dict[str, int] = {}
    for row in rows:
        task = f"{row['family']}_{row['tier']}"
        lengths[task] = max(row["length"], lengths.get(task, 0))
    return {"lengths": lengths}


EXPORT = Export(
    name="inspect",
    title="a file of tasks and scorers for Inspect, with real turns as messages",
    harness="Inspect",
    write=write,
    values=_values,
    sampling="Every task sets `temperature` 0 and no seed; Inspect's own `--temperature` and `--seed` replace them.",
    headline="It is the metric `headline` of `everything.py@everything`, to the digit, and in `carrara.py` that of "
    "each family; `mean` and `stderr` are Inspect's own, over all rows.",
)
