"""Runs idempotent jobs on any executor."""

from __future__ import annotations

from pipeline.executors.memory import without_collection
from pipeline.executors.run import IN_FLIGHT, LIVES, Inline, MonitoredExecutor, SharedExecutor, processes, run
from pipeline.executors.shared_folder import NAME as MARK

__all__ = [
    "IN_FLIGHT",
    "LIVES",
    "MARK",
    "Inline",
    "MonitoredExecutor",
    "SharedExecutor",
    "processes",
    "run",
    "without_collection",
]
