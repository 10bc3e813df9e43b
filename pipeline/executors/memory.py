"""Memory of this process: how much it uses and may use, and returning free memory to the system."""

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
    """Return the bytes of memory that this process uses now, or, without ``/proc``, the most that it has used."""
    with suppress(OSError, ValueError, LookupError):
        return int(STATM.read_text(encoding="ascii").split()[1]) * resource.getpagesize()
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024


def keep_below(most: int | None) -> None:
    """Set how many bytes this process may use, such as the limit at which Dask would pause it."""
    _most[0] = most


def most_allowed(most: int) -> int:
    """Return the smaller of `most` and the limit of `keep_below`, if set."""
    return min(most, _most[0] or most)


def give_back() -> None:
    """Return freed memory to the system, since the C library keeps it for later allocations."""
    with suppress(OSError, AttributeError):  # only glibc has the call
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def without_collection() -> Iterator[None]:
    """Switch off cyclic garbage collection while a job runs.

    Jobs make many objects that stay in use, and hardly any cycles: collecting took a fifth of a build's time. The few
    cycles are collected between jobs.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
