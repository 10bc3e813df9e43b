"""Where the CPU time of a build goes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from resource import RUSAGE_CHILDREN, getrusage


class Spent(dict[str, float]):
    """Seconds of CPU time by stage, in the order in which the stages began."""

    told = 0.0
    """Seconds of this process that are in any stage."""

    def add(self, more: Mapping[str, float]) -> None:
        """Add what a worker spent."""
        for stage, seconds in more.items():
            self[stage] = self.get(stage, 0.0) + seconds

    @contextmanager
    def on(self, stage: str) -> Iterator[None]:
        """Add the CPU time of a block, that of all threads of this process, to a stage.

        What blocks within the block tell of stages of their own is not told again.
        """
        started = _untold()
        try:
            yield
        finally:
            seconds = _untold() - started
            Spent.told += seconds
            self.add({stage: seconds})

    def settle(self, stage: str) -> None:
        """Add all other time of this process, and of its workers that have ended, to a stage."""
        workers = getrusage(RUSAGE_CHILDREN)
        rest = time.process_time() + workers.ru_utime + workers.ru_stime - sum(self.values())
        self.add({stage: max(0.0, rest)})  # workers on other machines may have spent more


def _untold() -> float:
    return time.process_time() - Spent.told
