"""Concurrent requests, each in a thread that does not delay the end of the process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from queue import SimpleQueue
from threading import Event, Thread
from typing import TypeVar

J = TypeVar("J")
R = TypeVar("R")


def asked(
    take: Callable[[], J | None], ask: Callable[[J], R], workers: int, stop: Event
) -> Iterator[tuple[J, R | Exception]]:
    """Yield jobs with what came of them, in the order in which it comes, with `workers` of them under way.

    `take` returns the next job, or None while there is none; `ask` runs in a thread. `stop` is set at the end, whatever
    ends it: requests that are still under way should look at it.
    """
    replies: SimpleQueue[tuple[J, R | Exception]] = SimpleQueue()

    def run(job: J) -> None:
        try:
            replies.put((job, ask(job)))
        except Exception as fault:
            replies.put((job, fault))

    running = 0
    try:
        while True:
            while running < workers and (job := take()) is not None:
                Thread(target=run, args=(job,), daemon=True).start()
                running += 1
            if not running:
                return
            running -= 1
            yield replies.get()
    finally:
        stop.set()
