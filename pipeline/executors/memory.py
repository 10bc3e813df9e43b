"""Memory of this process: how much it has, and how what it no longer needs is given back."""

from __future__ import annotations

import ctypes
import gc
import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

STATM = Path("/proc/self/statm")

_most: list[int | None] = [None]


def resident() -> int:
    """Return the bytes of memory that this process has now, or, where the system does not say, the most it had."""
    with suppress(OSError, ValueError, LookupError):
        return int(STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def keep_below(most: int | None) -> None:
    """Say how many bytes this process may have in all, as where it is given no more work from there on."""
    _most[0] = most


def most_allowed(most: int) -> int:
    """Return how many bytes this process may have in all if it would take `most` of itself."""
    return min(most, _most[0] or most)


def give_back() -> None:
    """Hand memory that is free again back to the system: the C library keeps what large jobs had for the next ones."""
    with suppress(OSError, AttributeError):  # only glibc has the call
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def without_collection() -> Iterator[None]:
    """Look for no garbage in cycles while a job runs.

    What jobs read makes many objects that are all in use, and hardly any cycles: looking through them again and again
    took a fifth of the time of a build. What few there are is found between jobs.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
