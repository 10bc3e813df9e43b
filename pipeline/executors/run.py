"""Running jobs on an executor: results are yielded on completion, and jobs of a broken pool run again on a new one."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import nullcontext
from functools import partial
from typing import TypeVar

from pipeline.errors import BuildError
from pipeline.executors.pool import AffinityPool
from pipeline.storage import clear_temporary
from pipeline.terminal.startup import interrupts_held

J = TypeVar("J")
R = TypeVar("R")
LIVES = 3
IN_FLIGHT = 64
ENDING = 5.0
"""Seconds to wait for a killed process to end."""


class Inline(Executor):
    """Runs each job immediately in this process."""

    def submit(self, fn: Callable[..., R], /, *args: object, **kwargs: object) -> Future[R]:
        """Run a call and return its finished future."""
        future: Future[R] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as fault:
            future.set_exception(fault)
        return future


class MonitoredExecutor(Executor):
    """An executor that may lose its workers silently, so that it is checked while no job ends.

    Attributes:
        pulse: seconds between checks.
        window: how many jobs may be in flight; it may change while jobs run.
    """

    pulse: float = 2.0
    window: int = IN_FLIGHT

    def check(self) -> None:
        """Check that jobs can still end.

        Raises:
            BrokenExecutor: if a new executor may finish them.
            BuildError: if no executor can.
        """


def processes(workers: int) -> Callable[[], Executor]:
    """Return a factory of pools of worker processes; with one worker or none, jobs run in this process."""
    return Inline if workers <= 1 else partial(AffinityPool, workers)


class SharedExecutor:
    """Opens an executor once for several runs, so that workers start once and keep their caches."""

    def __init__(self, open_executor: Callable[[], Executor]) -> None:
        self._open = open_executor
        self._executor: Executor | None = None

    def __call__(self) -> Executor:
        """Return the executor, opened if it is not."""
        if self._executor is None:
            self._executor = self._open()
        return self._executor

    def __enter__(self) -> SharedExecutor:
        """Return itself; the end of the block shuts the executor down."""
        return self

    def __exit__(self, *_: object) -> None:
        """Shut the executor down, if one is open."""
        executor = self.release()
        if executor is not None:
            with interrupts_held():
                executor.shutdown()

    def release(self) -> Executor | None:
        """Forget the executor, for example a broken one, and return it."""
        executor, self._executor = self._executor, None
        return executor


def run(fn: Callable[[J], R], jobs: Iterable[J], open_executor: Callable[[], Executor]) -> Iterator[R]:
    """Yield the result of each job as it ends.

    Raises:
        BuildError: if workers die LIVES times.
    """
    owed = dict(enumerate(jobs))
    why = ""
    for _ in range(LIVES):
        if not owed:
            return
        why = yield from _one_pool(fn, owed, open_executor)
    if owed:
        raise BuildError(
            f"workers were killed {LIVES} times{why}, perhaps for lack of memory: lower --workers, or give each more "
            "memory, and run it again"
        )


def _one_pool(
    fn: Callable[[J], R], owed: dict[int, J], open_executor: Callable[[], Executor]
) -> Generator[R, None, str]:
    """Run jobs until all are done or the pool breaks; finished jobs are removed from `owed`. Return why it broke."""
    executor = open_executor()
    kept = open_executor if isinstance(open_executor, SharedExecutor) else None
    waiting = list(owed.items())[::-1]
    flying: dict[Future[R], int] = {}
    finished = False
    try:
        while waiting or flying:
            while waiting and len(flying) < _window(executor):
                number, job = waiting.pop()
                with nullcontext() if isinstance(executor, Inline) else interrupts_held():
                    flying[executor.submit(fn, job)] = number
            for future in _ended(flying, executor):
                number = flying.pop(future)
                result = future.result()
                del owed[number]
                yield result
        finished = True
        return ""
    except BrokenProcessPool:
        return ""
    except (BrokenExecutor, CancelledError) as fault:
        return f" ({fault})" if str(fault) else ""
    finally:
        if not finished:
            _kill(executor)
        if kept and not finished:
            kept.release()
        if not (kept and finished):
            with interrupts_held():
                executor.shutdown()


def _window(executor: Executor) -> int:
    """Return how many jobs may be in flight, which may change as workers come and go."""
    return 1 if isinstance(executor, Inline) else getattr(executor, "window", IN_FLIGHT)


def _ended(flying: Iterable[Future[R]], executor: Executor) -> set[Future[R]]:
    """Wait until some jobs have ended; meanwhile check a `MonitoredExecutor`."""
    watched = executor if isinstance(executor, MonitoredExecutor) else None
    while not (done := wait(flying, watched.pulse if watched else None, FIRST_COMPLETED).done):
        if watched:
            watched.check()
    return done


def _kill(executor: Executor) -> None:
    """Kill worker processes; files that they were writing have temporary names, so none is taken for complete."""
    processes = dict(getattr(executor, "_processes", None) or {})
    for process in processes.values():
        process.kill()
    for process in processes.values():
        process.join(ENDING)
    clear_temporary(processes)
