"""Bounds of time that hold on any machine: by growth, or in seconds of the one that they were set on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

TURNS, SECONDS = 2_000_000, 0.08
"""A loop, and what it took there."""
TRIFLE = 0.1
"""Seconds below which growth does not matter."""


@contextmanager
def within(seconds: float, what: object = "") -> Iterator[None]:
    """Hold the processor time of a block to a bound; `what` is named if it takes longer."""
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took < seconds or took < seconds * slowness(), what


def slowness() -> float:
    """Return how many times as long as there the loop takes now, at least 1."""
    began = time.process_time()
    for _ in range(TURNS):
        pass
    return max(1.0, (time.process_time() - began) / SECONDS)


def cost(run: Callable[[int], object], size: int) -> float:
    """Return the processor time of a run over something of a size."""
    began = time.process_time()
    run(size)
    return time.process_time() - began


def grows_like_its_size(run: Callable[[int], object], size: int, what: object = "") -> None:
    """Hold what a run takes to twice a growth in step with the size, from a quarter of it, or to a trifle."""
    whole = cost(run, size)
    assert whole < TRIFLE or whole < 2 * 4 * cost(run, size // 4), what
