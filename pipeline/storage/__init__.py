"""Paths that users give: on a disk of this machine, or in any store that fsspec reaches.

A place in a store is a `StorePath`, which is a `pathlib.Path` for whatever joins and takes apart names, and asks the
store where a path of a disk would ask the kernel. `place` makes one of what a user typed.
"""

from __future__ import annotations

from pipeline.storage.lease import Lease, clear_dead, holder_of
from pipeline.storage.locations import (
    NO_LOCKS,
    aside_of,
    checked_file,
    clear_unheld,
    on_disk,
    opened_to_lock,
    place,
    read_text,
    renaming,
    short_names,
    written,
)
from pipeline.storage.path import StorePath, fetched_ahead, held_once, held_there, in_order, readable, streamed
from pipeline.storage.requests import StoreError

__all__ = [
    "NO_LOCKS",
    "Lease",
    "StoreError",
    "StorePath",
    "aside_of",
    "checked_file",
    "clear_dead",
    "clear_unheld",
    "fetched_ahead",
    "held_once",
    "held_there",
    "holder_of",
    "in_order",
    "on_disk",
    "opened_to_lock",
    "place",
    "read_text",
    "readable",
    "renaming",
    "short_names",
    "streamed",
    "written",
]
