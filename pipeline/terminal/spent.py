"""Where the CPU time of a build goes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class Spent(dict[str, float]):
    """Seconds of CPU time by stage, in the order in which the stages began."""

    def add(self, more: Mapping[str, float]) -> None:
        """Add what a worker spent."""
        for stage, seconds in more.items():
            self[stage] = self.get(stage, 0.0) + seconds

    @contextmanager
    def on(self, stage: str) -> Iterator[None]:
        """Add the CPU time of a block, that of all threads of this process, to a stage."""
        started = time.process_time()
        try:
            yield
        finally:
            self.add({stage: time.process_time() - started})
