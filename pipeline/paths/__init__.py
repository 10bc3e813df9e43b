"""Paths that users give: on a disk of this machine, or in any store that fsspec reaches.

A place in a store is a `StorePath`, which is a `pathlib.Path` for whatever joins and takes apart names, and asks the
store where a path of a disk would ask the kernel. `place` makes one of what a user typed.
"""

from pipeline.paths.asking import StoreError
from pipeline.paths.given import on_disk, place, written
from pipeline.paths.held import held_once, held_there
from pipeline.paths.lease import Lease, clear_dead, holder_of
from pipeline.paths.local import NO_LOCKS, aside_of, checked_file, clear_unheld, opened_to_lock, read_text
from pipeline.paths.many import fetched_ahead, in_order
from pipeline.paths.naming import renaming, short_names
from pipeline.paths.ranges import readable, streamed
from pipeline.paths.store import StorePath

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
