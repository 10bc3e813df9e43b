"""Runs idempotent jobs on any executor."""

from __future__ import annotations

from pipeline.executors.memory import without_collection
from pipeline.executors.run import IN_FLIGHT, LIVES, Inline, MonitoredExecutor, SharedExecutor, processes, run
from pipeline.executors.shared_folder import MARK_PREFIX

__all__ = [
    "IN_FLIGHT",
    "LIVES",
    "MARK_PREFIX",
    "Inline",
    "MonitoredExecutor",
    "SharedExecutor",
    "processes",
    "run",
    "without_collection",
]
