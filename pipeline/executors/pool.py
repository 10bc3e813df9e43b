"""A pool of worker processes that assigns jobs to the workers which already have their worlds in memory.

A job may have an `affinity`, such as a family. What jobs of one affinity need (worlds, pools, grammars) is made by a
process's first such job, and kept there while there is room. So a job goes to a worker that has run jobs of its
affinity, preferably as its last job. Jobs of a new affinity go to any free worker, and an idle worker takes jobs from
affinities with several jobs waiting.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

from pipeline.terminal.startup import tune_startup

R = TypeVar("R")
SPARE = 2
"""Jobs that must be waiting for busy workers before an idle one takes one of them, since making a world takes time."""


class Waiting(NamedTuple):
    """A call that is not assigned to a worker yet."""

    future: Future[Any]
    affinity: object
    call: Callable[[], Any]


@dataclass(eq=False, slots=True)
class Worker:
    """One worker process, the affinities of its jobs so far, and the affinity of its last job (`at`)."""

    pool: ProcessPoolExecutor
    affinities: set[object] = field(default_factory=set)
    at: object = None


class AffinityPool(Executor):
    """Worker processes, started when needed.

    They are spawned, never forked, since the Rust encoders have threads.
    """

    def __init__(self, workers: int) -> None:
        self._lock = threading.RLock()
        self._free = [self._member() for _ in range(workers)][::-1]
        self._members = list(self._free)
        self._waiting: list[Waiting] = []
        self._broken: BrokenProcessPool | None = None

    @staticmethod
    def _member() -> Worker:
        context = multiprocessing.get_context("spawn")
        return Worker(ProcessPoolExecutor(1, mp_context=context, initializer=settle))

    @property
    def _processes(self) -> dict[int, Any]:
        """The running processes by number, as `ProcessPoolExecutor` has them."""
        return {pid: one for member in self._members for pid, one in (member.pool._processes or {}).items()}

    def submit(self, fn: Callable[..., R], /, *args: Any, **kwargs: Any) -> Future[R]:
        """Assign a call to a worker, or queue it; its affinity is that of its first argument.

        Raises:
            BrokenProcessPool: if a worker died.
        """
        future: Future[R] = Future()
        affinity = getattr(args[0], "affinity", None) if args else None
        with self._lock:
            if self._broken:
                raise self._broken
            self._waiting.append(Waiting(future, affinity, partial(fn, *args, **kwargs)))
            self._assign()
        return future

    def _assign(self) -> None:
        """Assign waiting calls to free workers while possible.

        The lists are checked anew after each, since a call that ends at once also assigns calls.
        """
        while self._assign_one():
            pass

    def _assign_one(self) -> bool:
        for member in self._free[::-1]:
            chosen = self._chosen(member)
            if chosen is not None:
                self._free.remove(member)
                self._start(member, self._waiting.pop(chosen))
                return True
        return False

    def _chosen(self, member: Worker) -> int | None:
        """Return the index of the next call for a free worker: of its last affinity, else as `_elsewhere` says."""
        same = (
            place
            for place, call in enumerate(self._waiting)
            if call.affinity is not None and call.affinity == member.at
        )
        first = next(same, None)
        return self._elsewhere(member) if first is None else first

    def _elsewhere(self, member: Worker) -> int | None:
        taken = {affinity for other in self._members for affinity in other.affinities}
        theirs: dict[object, list[int]] = {}
        fresh = None
        for place, call in enumerate(self._waiting):
            if call.affinity is None or call.affinity in member.affinities:
                return place
            if call.affinity not in taken:
                fresh = place if fresh is None else fresh
            else:
                theirs.setdefault(call.affinity, []).append(place)
        if fresh is not None:
            return fresh
        if sum(map(len, theirs.values())) < SPARE:
            return None
        return max(theirs.values(), key=len)[-1]

    def _start(self, member: Worker, call: Waiting) -> None:
        if not call.future.set_running_or_notify_cancel():
            self._free.append(member)
            return
        member.affinities.add(call.affinity)
        member.at = call.affinity
        try:
            inner = member.pool.submit(call.call)
        except BrokenProcessPool as fault:
            self._break(fault)
            call.future.set_exception(fault)
        else:
            inner.add_done_callback(partial(self._ended, member, call.future))

    def _ended(self, member: Worker, outer: Future[Any], inner: Future[Any]) -> None:
        """Hand over a result, and assign the worker its next call."""
        fault = inner.exception() if not inner.cancelled() else BrokenProcessPool("a worker was stopped")
        with self._lock:
            if isinstance(fault, BrokenProcessPool):
                self._break(fault)
            else:
                self._free.append(member)
                self._assign()
        if fault:
            outer.set_exception(fault)
        else:
            outer.set_result(inner.result())

    def _break(self, fault: BrokenProcessPool) -> None:
        """Fail all waiting calls, since a pool that lost a worker runs no more calls."""
        self._broken = fault
        calls, self._waiting = self._waiting, []
        for call in calls:
            if call.future.set_running_or_notify_cancel():
                call.future.set_exception(fault)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:  # noqa: FBT001, FBT002
        """Stop the workers after their current calls; waiting calls fail."""
        with self._lock:
            self._break(self._broken or BrokenProcessPool("the pool is shut down"))
        for member in self._members:
            member.pool.shutdown(wait=wait, cancel_futures=cancel_futures)


def settle() -> None:
    """Set up a worker: ignore Ctrl-C, limit encoders to one thread, and exit when the parent is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RAYON_NUM_THREADS"] = "1"
    tune_startup()
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
