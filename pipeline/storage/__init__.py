"""Paths on a disk, or in any store that fsspec reaches.

A place in a store is a `StorePath`: a `pathlib.Path` whose methods ask the store instead of the kernel.
`parse_location` makes a path from what a user typed.
"""

from __future__ import annotations

from pipeline.storage.lease import Lease, clear_dead, holder_of
from pipeline.storage.locations import checked_file, on_disk, parse_location, read_text, renaming, short_names
from pipeline.storage.path import StorePath, map_in_order, prefetch, prefetched, prefetched_existing, readable, streamed
from pipeline.storage.requests import StoreError
from pipeline.storage.temporary import (
    NO_LOCKS,
    clear_temporary,
    clear_unlocked,
    open_for_lock,
    temporary_folder,
    temporary_path,
    write_file,
)

__all__ = [
    "NO_LOCKS",
    "Lease",
    "StoreError",
    "StorePath",
    "checked_file",
    "clear_dead",
    "clear_temporary",
    "clear_unlocked",
    "holder_of",
    "map_in_order",
    "on_disk",
    "open_for_lock",
    "parse_location",
    "prefetch",
    "prefetched",
    "prefetched_existing",
    "read_text",
    "readable",
    "renaming",
    "short_names",
    "streamed",
    "temporary_folder",
    "temporary_path",
    "write_file",
]
