"""What all exports share: a folder that appears whole or not at all, its README, and the rows it leaves out by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.errors import ExportError
from pipeline.store.files import tree_aside
from pipeline.store.split import Selection, Split


@dataclass(frozen=True, slots=True)
class Written:
    """What an export wrote: how many rows, and the ids that it left out, by reason."""

    rows: int
    left_out: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Export:
    """One harness.

    `write` puts the selected rows of a split below an empty folder; `readme` returns the text of its README.md: the
    exact command, the length to set, what the harness cuts silently, and which rows it cannot carry.
    """

    name: str
    title: str
    write: Callable[[Split, Selection, Path], Written]
    readme: Callable[[Split, Selection, Written], str]


def export(harness: Export, split: Split, selection: Selection, out: Path) -> Written:
    """Write a split in the shape of a harness into a new folder.

    Raises:
        ExportError: if the folder is there and not empty, no row is selected, or the split has no keys.
        BuildError: if it cannot be written.
    """
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise ExportError(f"--out {str(out)!r} is there and not empty: give a new folder, or remove it first")
    with tree_aside(out) as aside:
        written = harness.write(split, selection, aside)
        if not written.rows:
            reasons = "; ".join(f"{reason}: {len(ids)} rows" for reason, ids in written.left_out.items())
            raise ExportError(f"no row is left to export to {harness.name} ({reasons or 'the selection is empty'})")
        (aside / "README.md").write_text(harness.readme(split, selection, written), encoding="utf-8")
        if written.left_out:
            lines = [f"{row_id}\t{reason}\n" for reason, ids in written.left_out.items() for row_id in ids]
            (aside / "left_out.tsv").write_text("".join(lines), encoding="ascii")
    return written
