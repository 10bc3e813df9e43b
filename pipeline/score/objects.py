"""Single predictions: an object of JSON that a shape reads, or a fault that says where it stands."""

from __future__ import annotations

import json
from typing import Any

from pipeline.errors import first_line
from pipeline.score.results import Fault
from pipeline.score.shapes import Entry, Shape

LONGEST_LINE = 256 * 1024 * 1024
"""Bytes of a line that are read; a logged sample of a million tokens takes up to 20 MB."""
FORMS = (
    "give JSON Lines or Parquet with id and prediction, or the output of carrara run, of a batch, or of a harness that "
    "rows are exported to"
)
UNREADABLE = (ValueError, RecursionError)

Found = Entry | Fault


def object_of(where: str, line: bytes) -> dict[str, Any] | Fault:
    """Return the object that a line is."""
    try:
        found = json.loads(line)
    except UNREADABLE as fault:
        kind = "the line is incomplete" if not line.endswith(b"\n") else "no JSON"
        return Fault("unreadable", f"{where}: {kind} ({first_line(fault)})")
    if not isinstance(found, dict):
        return Fault("unreadable", f"{where}: {type(found).__name__} instead of an object")
    return found


def misfit(where: str, shape: Shape) -> Fault:
    """Return the fault of an object that is not in the format of those before it."""
    return Fault("unreadable", f"{where}: not in the format of the lines before it ({shape.name})")
