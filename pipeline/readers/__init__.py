"""Simulated readers: pure functions of the text that is sent, each with a stated weakness.

They are the naive baselines of a split, the curves of its example report, and what tests hold a family against: a
shortcut that scores above chance is to be mended, or named as a limit.
"""

from __future__ import annotations

from pipeline.errors import CarraraError, unknown
from pipeline.readers.base import Reading
from pipeline.readers.bio import Biographies
from pipeline.readers.cite import CitedDocuments
from pipeline.readers.graph import Edges
from pipeline.readers.idk import Stories
from pipeline.readers.latent_list import Program
from pipeline.readers.longqa import Annals
from pipeline.readers.messages import Examples, Lines
from pipeline.readers.mrcr import Talk
from pipeline.readers.rag import Documents
from pipeline.readers.recall import Recall
from pipeline.readers.rerank import Rankings
from pipeline.readers.summ import Summaries
from pipeline.readers.views import READERS, Reader
from pipeline.rows import Row

__all__ = ["COLUMNS", "READERS", "Reader", "Reading", "open_reading", "reader_of"]

COLUMNS = ["id", "family", "subtask", "question", "prompt_tokens", "messages", "prompt"]
"""What a reader gets of a row: nothing of its key."""
READINGS: dict[str, type[Reading]] = {
    "latent_list": Program,
    "mrcr": Talk,
    "idk": Stories,
    "bio": Biographies,
    "recall": Recall,
    "graph": Edges,
    "rag": Documents,
    "cite": CitedDocuments,
    "rerank": Rankings,
    "icl": Examples,
    "tally": Lines,
    "longqa": Annals,
    "summ": Summaries,
}


def open_reading(row: Row) -> Reading:
    """Return a row as readers see it; any family without a reading of its own is read by lines."""
    return READINGS.get(row["family"], Reading)(row)


def reader_of(name: str) -> Reader:
    """Return a reader by its name.

    Raises:
        CarraraError: if there is none, with the nearest right name.
    """
    if name not in READERS:
        raise CarraraError(unknown("reader", name, READERS))
    return READERS[name]
