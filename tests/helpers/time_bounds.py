"""Bounds of time in seconds of the machine that they were set on: a slower or a busy one gets as much more."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

TURNS, SECONDS = 2_000_000, 0.08
"""A loop, and what it took there."""


@contextmanager
def within(seconds: float, what: object = "") -> Iterator[None]:
    """Hold the processor time of a block to a bound; `what` is named if it takes longer.

    Nothing is collected meanwhile: that would take as long as what other tests of the process have left is large.
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
    """Return how many times as long as there the loop takes now, at least 1."""
    began = time.process_time()
    for _ in range(TURNS):
        pass
    return max(1.0, (time.process_time() - began) / SECONDS)
