"""Rows as lines of text files, each added as it comes, so that no more than one is in memory."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from pipeline.export.base import Written
from pipeline.rows import Row


@dataclass(slots=True)
class Tally:
    """Counts the rows that are written, and keeps the ids of those left out, by reason."""

    rows: int = 0
    left: dict[str, list[str]] = field(default_factory=dict)

    def leave(self, row: Row, reason: str) -> None:
        """Note that a row is left out, and why."""
        self.left.setdefault(reason, []).append(row["id"])

    @property
    def written(self) -> Written:
        """What the export reports."""
        return Written(self.rows, {reason: tuple(ids) for reason, ids in sorted(self.left.items())})


def add_line(path: Path, value: object) -> None:
    """Add a value as one line of JSON, in ASCII, to a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a", encoding="ascii", newline="\n") as file:
        file.write(json.dumps(value) + "\n")


def group_name(row: Row) -> str:
    """Return tier and length of a row: samples of two tiers never share a file."""
    return f"{row['tier']}-{row['length']}"


def group_counts(held: Iterable[Row]) -> dict[str, int]:
    """Return how many rows each tier and length has, shorter ones first."""
    return dict(Counter(group_name(row) for row in sorted(held, key=lambda row: int(row["length"]))))


def task_name(row: Row) -> str:
    """Return family and subtask of a row in letters, digits and underscores."""
    return f"{row['family']}_{row['subtask']}".replace("-", "_")
