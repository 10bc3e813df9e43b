"""Progress of long work, shown on a terminal only."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
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
