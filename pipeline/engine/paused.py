"""Workers that Dask has paused: one that comes near its limit of memory gets no more jobs, and keeps those it has."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Worker = Mapping[str, Any]
"""What a scheduler says of a worker."""


def held_up(workers: Mapping[str, Worker]) -> str:
    """Return which worker holds jobs up, and what would be right; nothing if all can end.

    A paused worker runs its job to the end, so only one without any does: if others wait in it, or all are paused.

    Args:
        workers: all workers of a cluster, by their addresses.
    """
    paused = [name for name, each in workers.items() if each["status"] == "paused" and not _has(each, "executing")]
    holding = [name for name in paused if _has(workers[name], "ready")]
    name = min(holding or (paused if len(paused) == len(workers) else []), default="")
    return f"worker {name} {_said(workers[name])}" if name else ""


def _has(worker: Worker, state: str) -> int:
    """Return how many tasks in a state a worker has."""
    return int(worker.get("metrics", {}).get("task_counts", {}).get(state, 0))


def _said(worker: Worker) -> str:
    limit = (worker.get("memory_limit") or 0) >> 20
    return f"is paused for lack of memory, and jobs wait: start workers with more than {limit:,} MiB (--memory-limit)"
