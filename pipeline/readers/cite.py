"""Documents with ids: a passage is a document, and what the ones that are seen say is told with their ids."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.readers.base import End, Passage
from pipeline.readers.rag import Documents
from pipeline.tasks.cite import text
from pipeline.tasks.cite.reader import known
from pipeline.tasks.rag.reader import entries


class CitedDocuments(Documents):
    """Documents of which some state what is asked, in part or in whole."""

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return all that the documents seen say of what is asked."""
        found = list(entries("".join(one.text for one in seen)))
        told = {fact.value: sorted(fact.ids) for fact in known(found, self.question)}
        as_asked = text.as_items if self.subtask == "listing" else text.as_sentences
        return as_asked(told)[0] if told else self.missed(seen)

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return documents of another thing that shares a word with the one that is named; a list names none."""
        return None if self.subtask == "listing" else super().half_known(end)
