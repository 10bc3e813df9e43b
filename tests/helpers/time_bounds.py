"""Time bounds in seconds of a reference machine, scaled up on slower or busy machines."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

TURNS, SECONDS = 2_000_000, 0.08
"""The length of a loop, and the seconds that it takes on the reference machine."""


@contextmanager
def within(seconds: float, what: object = "") -> Iterator[None]:
    """Assert that the CPU time of a block is within a bound; `what` is the message otherwise.

    Garbage collection is off meanwhile, since its time depends on what other tests have left in memory.
    """
    gc.disable()
    began = time.process_time()
    try:
        yield
        took = time.process_time() - began
    finally:
        gc.enable()
    assert took < seconds or took < seconds * slowness(), what


def slowness() -> float:
    """Return how much slower than the reference machine this one is now, at least 1."""
    began = time.process_time()
    for _ in range(TURNS):
        pass
    return max(1.0, (time.process_time() - began) / SECONDS)
