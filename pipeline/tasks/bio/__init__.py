"""LongBioBench's biographies: one world of people, asked in several ways."""

from pipeline.tasks.bio.standard import TASKS

__all__ = ["TASKS"]
