"""Michelangelo's IDK: a detail of an invented story that may never have been told."""

from pipeline.tasks.idk.task import TASKS

__all__ = ["TASKS"]
