"""Garbage in cycles, and when it is looked for."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
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
