"""Subtasks asked about a user's own corpus, which the knob ``corpus`` names by its SHA-256."""

from __future__ import annotations

from pipeline.tasks.corpus.base import CorpusTask
from pipeline.tasks.corpus.cited import Facets, Listing
from pipeline.tasks.corpus.labelled import Labels
from pipeline.tasks.corpus.questions import Bridge, Listed, Single
from pipeline.tasks.corpus.ranked import Best

__all__ = ["TASKS", "CorpusTask"]

TASKS: dict[tuple[str, str], CorpusTask] = {
    (task.family, task.subtask): task for task in (Single(), Bridge(), Listed(), Facets(), Listing(), Best(), Labels())
}
"""The tasks over corpora, by family and subtask; mrcr and recall have their own."""
