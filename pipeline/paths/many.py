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
AHEAD = 64 * 1024 * 1024
"""Bytes of answers that are under way, or wait to be used."""


def _weightless(_: object) -> int:
    return 0


def in_order(
    act: Callable[[T], R], items: Iterable[T], where: Path, weigh: Callable[[T], int] = _weightless
) -> Iterator[R]:
    """Yield what a function returns for each item, in their order.

    Args:
        act: asks for places below `where`; in a store AT_ONCE of them at the same time, by threads.
        items: what it is asked about.
        where: a folder; on a disk one thing is done after the other.
        weigh: the bytes that an answer takes; those asked for at the same time take AHEAD, or are one.
    """
    if not isinstance(where, StorePath):
        yield from map(act, items)
        return
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="carrara-store") as threads:
        waiting: deque[tuple[int, Future[R]]] = deque()
        try:
            for item in items:
                weight = weigh(item)
                while waiting and (len(waiting) >= AT_ONCE or weight + sum(each for each, _ in waiting) > AHEAD):
                    yield waiting.popleft()[1].result()
                waiting.append((weight, threads.submit(act, item)))
            while waiting:
                yield waiting.popleft()[1].result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def fetched_ahead(files: Iterable[tuple[Path, int]], where: Path) -> Iterator[Path]:
    """Yield paths, each readable from memory in its turn, while those that follow it are fetched from their store.

    Args:
        files: the paths and the bytes of each.
        where: the folder that they are below.
    """
    for path, whole in in_order(_fetched, files, where, lambda file: file[1]):
        with held({str(path): whole} if whole is not None else {}):
            yield path


def _fetched(file: tuple[Path, int]) -> tuple[Path, bytes | None]:
    path, _ = file
    return path, path.read_bytes() if isinstance(path, StorePath) else None
