"""The common part of all exports: a folder that appears complete or not at all, its README, and the rows left out."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from pipeline.artifacts.asked import ASKED, asked_record_of, write_asked
from pipeline.artifacts.files import atomic_folder
from pipeline.artifacts.split import Selection, Split
from pipeline.errors import ExportError
from pipeline.rows import Row

README_COLUMNS = ("id", "family", "subtask", "tier", "length", "context_tokens", "max_new_tokens")
"""The columns of written rows that READMEs use."""


@dataclass(frozen=True, slots=True)
class Written:
    """The number of rows that an export wrote, and the ids that it left out, by reason."""

    rows: int
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Export:
    """The export for one harness.

    `write` writes the selected rows of a split into an empty folder. ``templates/<name>/README.md`` (``_`` for ``-``)
    is the template of its README: the exact command, the length to set, what the harness cuts silently, and which rows
    it cannot carry.
    `values` returns variables for that template besides the common ones, from the `README_COLUMNS` of the rows that
    were written. `sampling` says what is sent besides the prompt, and `headline` how the harness's own numbers compare
    with the headline of `carrara score` (empty if nothing is scored); both are Markdown sentences. `read` is whether
    `carrara score` reads the harness's output, and `calls` whether tool calls are sent.
    """

    name: str
    title: str
    harness: str
    write: Callable[[Split, Selection, Path], Written]
    values: Callable[[Split, Sequence[Row]], Mapping[str, Any]] = lambda split, rows: {}
    sampling: str = "Nothing is sent from here: send `temperature` 0 and no seed."
    headline: str = "The harness does not know it."
    read: bool = True
    calls: bool = False


def export(chosen: Export, split: Split, selection: Selection, out: Path) -> Written:
    """Write a split into a new folder, in the format of a harness.

    Raises:
        ExportError: if the folder exists and is not empty, no row can be written, or needed keys are withheld.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"--out {str(out)!r} exists and is not empty: give a new folder, or remove it first")
    with atomic_folder(out) as aside:
        try:
            written = chosen.write(split, selection, aside)
        except (ArithmeticError, LookupError, TypeError, ValueError) as fault:
            raise ExportError(
                f"{split.title} has rows that {chosen.name} cannot carry ({fault!r}): verify the split with --against"
            ) from fault
        if not written.rows:
            reasons = "; ".join(f"{reason}: {len(ids)} rows" for reason, ids in written.left_out.items())
            raise ExportError(f"there are no rows to export to {chosen.name} ({reasons or 'the selection is empty'})")
        rows, paths = _written_rows(split, selection, written), (path for path in aside.rglob("*") if path.is_file())
        if not rows:
            raise ExportError(f"{split.title} has rows with the same id: verify the split with --against")
        names = sorted(path.relative_to(aside).as_posix() for path in paths)
        left = {row_id: reason for reason, ids in written.left_out.items() for row_id in ids}
        write_asked(aside / ASKED, asked_record_of(split, chosen.harness, [selection], left.values()), left)
        (aside / "README.md").write_text(_readme(chosen, split, rows, written, names), encoding="utf-8")
    return written


def _written_rows(split: Split, selection: Selection, written: Written) -> list[Row]:
    """Return the `README_COLUMNS` of the rows that were written: those left out may have other lengths and names."""
    left = {row_id for ids in written.left_out.values() for row_id in ids}
    return [row for row in split.rows(README_COLUMNS, selection) if row["id"] not in left]


def _readme(chosen: Export, split: Split, rows: Sequence[Row], written: Written, names: Sequence[str]) -> str:
    """Fill in the README template of a harness for the rows that were written.

    The variables of every template include ``files`` (the paths of all files), ``windows`` (the true window of each
    length, in tokens), ``window`` (the largest of them), ``reply`` (the most tokens of a reply) and ``chat`` (whether
    rows are for a chat template).
    """
    windows = {row["length"]: row["context_tokens"] for row in sorted(rows, key=lambda row: int(row["length"]))}
    known = {
        "harness": chosen.harness,
        "split": split,
        "manifest": split.manifest,
        "written": written,
        "files": names,
        "windows": windows,
        "window": max(windows.values()),
        "reply": max(row["max_new_tokens"] for row in rows),
        "chat": split.manifest.frame == "chat",
        "sampling": chosen.sampling,
        "headline": chosen.headline,
        "read": chosen.read,
        "calls": chosen.calls,
        **chosen.values(split, rows),
    }
    return _environment().get_template(f"{chosen.name.replace('-', '_')}/README.md").render(known)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    templates = files("pipeline.export") / "templates"
    loader = FunctionLoader(lambda name: (templates / name).read_text(encoding="utf-8"))
    return Environment(loader=loader, undefined=StrictUndefined, trim_blocks=True, keep_trailing_newline=True)


@dataclass(slots=True)
class Tally:
    """Counts written rows, and collects the ids of those left out, by reason."""

    rows: int = 0
    left: dict[str, list[str]] = field(default_factory=dict)

    def leave(self, row: Row, reason: str) -> None:
        """Record that a row is left out, and why."""
        self.left.setdefault(reason, []).append(row["id"])

    @property
    def written(self) -> Written:
        """What the export reports."""
        return Written(self.rows, {reason: tuple(ids) for reason, ids in sorted(self.left.items())})


def add_line(path: Path, value: object) -> None:
    """Append a value to a file as one line of JSON, in ASCII."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="ascii", newline="\n") as file:
        file.write(json.dumps(value) + "\n")


def group_name(row: Row) -> str:
    """Return tier and length of a row as a name, since samples of two tiers never share a file."""
    return f"{row['tier']}-{row['length']}"


def group_counts(rows: Iterable[Row]) -> dict[str, int]:
    """Return the number of rows of each tier and length, shorter ones first."""
    return dict(Counter(group_name(row) for row in sorted(rows, key=lambda row: int(row["length"]))))


def task_name(row: Row) -> str:
    """Return family and subtask of a row in letters, digits and underscores."""
    return f"{row['family']}_{row['subtask']}".replace("-", "_")
