"""Progress of long work, as a bar on a terminal or else as occasional lines; and CPU time by stage."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from resource import RUSAGE_CHILDREN, getrusage
from threading import Lock
from typing import Any

import click

from pipeline.terminal.printing import below_bar, say
from pipeline.terminal.text import percent, plain, row_count

EVERY = 60.0
"""Seconds between two lines if there is no terminal: a few hundred in a night's log."""


@dataclass(slots=True)
class Meter:
    """Counts and shows the rows and tokens of one stage."""

    bar: Any
    label: str = ""
    total: int = 0
    rows: int = 0
    tokens: int = 0
    idle: int = 0
    """Tokens of rows that took no work, such as those of an earlier run."""
    started: float = field(default_factory=time.monotonic)
    printed: float = field(default_factory=time.monotonic)

    def advance(self, rows: int, tokens: int, *, worked: bool = True) -> None:
        """Add rows that are finished; those that were not `worked` on do not count for the speed."""
        self.rows += rows
        self.tokens += tokens
        self.idle += 0 if worked else tokens
        if self.bar is not None:
            self.bar.update(max(tokens, 1), self)
        elif self.total and (now := time.monotonic()) - self.printed >= EVERY:
            self.printed = now
            say(f"{self.label}: {percent(min(self.tokens / self.total, 1.0))}, {self}", err=True)

    def __str__(self) -> str:
        """Return the rows done, and the tokens per second."""
        if not self.tokens:
            return f"{self.rows:,} done"
        if self.idle == self.tokens:
            return row_count(self.rows)
        rate = (self.tokens - self.idle) / max(time.monotonic() - self.started, 1e-9)
        fast = f"{rate / 1e6:.1f}M" if rate >= 1e6 else plain(max(rate, 1.0), 3 if rate < 1000 else 2)
        return f"{row_count(self.rows)}, {fast} tokens/s"


PAUSE = 10.0
"""Seconds of silence after a line about waiting, since many requests may wait for the same thing."""


def at_times(tell: Callable[[str], None], pause: float = PAUSE) -> Callable[[str], None]:
    """Return a function that passes a line to `tell`, unless it passed one less than `pause` seconds ago."""
    lock, last = Lock(), [float("-inf")]

    def limited(line: str) -> None:
        with lock:
            if time.monotonic() - last[0] < pause:
                return
            last[0] = time.monotonic()
        tell(line)

    return limited


@contextmanager
def meter(label: str, total: int, *, quiet: bool = False) -> Iterator[Meter]:
    """Show on stderr how much of `total` tokens is done while the block runs, with rows and tokens per second.

    A terminal shows a bar with the time left; anything else gets a line every minute.
    """
    if quiet or total == 0:
        yield Meter(None)
        return
    if not sys.stderr.isatty():
        yield Meter(None, label, total)
        return
    bar: Any
    with (
        click.progressbar(
            length=total, label=f"{label:<8}", file=sys.stderr, item_show_func=lambda item: str(item or "")
        ) as bar,
        below_bar(),
    ):
        yield Meter(bar, label, total)


class Spent(dict[str, float]):
    """Seconds of CPU time by stage, in the order in which the stages began."""

    counted = 0.0
    """CPU seconds of this process that are counted in any stage."""

    def add(self, more: Mapping[str, float]) -> None:
        """Add the times of a worker."""
        for stage, seconds in more.items():
            self[stage] = self.get(stage, 0.0) + seconds

    @contextmanager
    def on(self, stage: str) -> Iterator[None]:
        """Add the CPU time of a block, over all threads of this process, to a stage.

        Time that nested blocks add to stages is not counted again.
        """
        started = _untold()
        try:
            yield
        finally:
            seconds = _untold() - started
            Spent.counted += seconds
            self.add({stage: seconds})

    def settle(self, stage: str) -> None:
        """Add the remaining CPU time of this process and its finished workers to a stage."""
        workers = getrusage(RUSAGE_CHILDREN)
        rest = time.process_time() + workers.ru_utime + workers.ru_stime - sum(self.values())
        self.add({stage: max(0.0, rest)})  # workers on other machines may have spent more


def _untold() -> float:
    return time.process_time() - Spent.counted
