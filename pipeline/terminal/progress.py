"""Progress of long work, shown on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import click


@dataclass(slots=True)
class Meter:
    """Counts rows and tokens of one stage and shows them."""

    bar: Any
    rows: int = 0
    tokens: int = 0
    started: float = field(default_factory=time.monotonic)

    def advance(self, rows: int, tokens: int) -> None:
        """Add finished work."""
        self.rows += rows
        self.tokens += tokens
        if self.bar is not None:
            self.bar.update(max(tokens, 1), self)

    def __str__(self) -> str:
        """Say how many rows are done, and how fast tokens are."""
        if not self.tokens:
            return f"{self.rows:,} done"
        rate = self.tokens / max(time.monotonic() - self.started, 1e-9)
        return f"{self.rows:,} rows, {rate / 1e6:.1f}M tokens/s"


PAUSE = 10.0
"""Seconds without a line after one that says what is waited for: many requests may wait for the same."""


def at_times(tell: Callable[[str], None], pause: float = PAUSE) -> Callable[[str], None]:
    """Return what passes a line on, unless it has passed one on just before."""
    lock, last = Lock(), [float("-inf")]

    def told(said: str) -> None:
        with lock:
            if time.monotonic() - last[0] < pause:
                return
            last[0] = time.monotonic()
        tell(said)

    return told


@contextmanager
def meter(label: str, total: int, *, quiet: bool = False) -> Iterator[Meter]:
    """Show a bar of `total` tokens on stderr while the block runs, with rows, tokens per second and time left."""
    if quiet or total == 0 or not sys.stderr.isatty():
        yield Meter(None)
        return
    bar: Any
    with click.progressbar(
        length=total, label=f"{label:<8}", file=sys.stderr, item_show_func=lambda item: str(item or "")
    ) as bar:
        yield Meter(bar)
