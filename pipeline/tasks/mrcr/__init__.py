"""Michelangelo's multi-round coreference resolution: give back the n-th reply to a request among many like it."""

from pipeline.tasks.mrcr.task import TASKS

__all__ = ["TASKS"]
