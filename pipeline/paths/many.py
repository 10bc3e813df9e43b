"""Many places asked together: a store answers dozens of questions in the time of one."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from pipeline.paths.objects import held
from pipeline.paths.store import StorePath

T = TypeVar("T")
R = TypeVar("R")
AT_ONCE = 32
"""Questions that wait for an answer at a time."""


def in_order(act: Callable[[T], R], items: Iterable[T], where: Path) -> Iterator[R]:
    """Yield what a function returns for each item, in their order.

    Args:
        act: asks for places below `where`; in a store AT_ONCE of them at the same time, by threads.
        items: what it is asked about.
        where: a folder; on a disk one thing is done after the other.
    """
    if not isinstance(where, StorePath):
        yield from map(act, items)
        return
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="carrara-store") as threads:
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(threads.submit(act, item))
                if len(waiting) > AT_ONCE:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def fetched_ahead(paths: Iterable[Path], where: Path) -> Iterator[Path]:
    """Yield paths, each readable from memory in its turn, while those that follow it are fetched from their store."""
    for path, whole in in_order(_fetched, paths, where):
        with held({str(path): whole} if whole is not None else {}):
            yield path


def _fetched(path: Path) -> tuple[Path, bytes | None]:
    return path, path.read_bytes() if isinstance(path, StorePath) else None
