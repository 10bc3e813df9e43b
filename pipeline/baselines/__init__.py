"""Simulated readers: functions of the prompt, each with a stated weakness.

They are the naive baselines of a split, the curves of its example report, and a test of each family: a shortcut that
scores above chance is to be mended, or documented as a limit.
"""

from __future__ import annotations

from pipeline.baselines.annals import Annals, Summaries
from pipeline.baselines.base import READERS, PromptView, Reader
from pipeline.baselines.bio import Biographies
from pipeline.baselines.documents import CitedDocuments, Documents, Rankings
from pipeline.baselines.messages import Examples, Lines
from pipeline.baselines.michelangelo import Program, Stories, Talk
from pipeline.baselines.recall import Edges, Recall
from pipeline.baselines.register import Register
from pipeline.baselines.repositories import Repositories
from pipeline.baselines.tables import Entries, Tables
from pipeline.baselines.traces import Traces
from pipeline.errors import CarraraError, unknown
from pipeline.languages import asking
from pipeline.rows import Row
from pipeline.tasks.recall import FORMS as RECALLED

__all__ = ["COLUMNS", "READERS", "PromptView", "Reader", "open_reading", "reader_of"]

COLUMNS = ["id", "family", "subtask", "question", "prompt_tokens", "messages", "prompt"]
"""The columns of a row that a reader gets: nothing of its key."""
READINGS: dict[str, type[PromptView]] = {
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
    "trace": Traces,
    "code": Repositories,
    "tabulate": Tables,
}

IN_LANGUAGES: dict[tuple[str, str], type[PromptView]] = {
    **{("recall", subtask): Register for subtask in RECALLED},
    **{("tabulate", subtask): Entries for subtask in ("extract", "sort")},
    **{("tally", subtask): Entries for subtask in ("count", "most", "users")},
    ("bio", "standard"): PromptView,
    ("longqa", "state"): PromptView,
}
"""The readings of forms in several languages, where these differ."""


def open_reading(row: Row) -> PromptView:
    """Return a row as readers see it; any family without a view of its own is read by lines."""
    subtask, *languages = asking(row["subtask"]) or (row["subtask"],)
    named = IN_LANGUAGES.get((row["family"], subtask)) if languages else None
    return (named or READINGS.get(row["family"], PromptView))(row)


def reader_of(name: str) -> Reader:
    """Return a reader by its name.

    Raises:
        CarraraError: if there is none, with the nearest right name.
    """
    if name not in READERS:
        raise CarraraError(unknown("reader", name, READERS))
    return READERS[name]
