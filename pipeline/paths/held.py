"""Objects that several steps of a job read, fetched once."""

from __future__ import annotations

from contextlib import AbstractContextManager
from pathlib import Path

from pipeline.paths import objects
from pipeline.paths.store import StorePath


def held_once(*paths: Path) -> AbstractContextManager[None]:
    """Fetch objects once: while the block runs, this thread reads them from memory. Files of a disk are left alone.

    Raises:
        FileNotFoundError: if one is not there.
    """
    return objects.held({str(path): path.read_bytes() for path in paths if isinstance(path, StorePath)})


def held_there(*paths: Path) -> AbstractContextManager[None]:
    """Fetch objects once, as `held_once` does, and remember which are not there until this thread puts them."""
    return objects.held({str(path): _there(path) for path in paths if isinstance(path, StorePath)})


def _there(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
