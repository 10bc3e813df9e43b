"""Rankings of documents: a passage is a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property

from pipeline.readers.base import FIRST, End, Passage
from pipeline.readers.rag import Documents
from pipeline.streams import stream
from pipeline.tasks.rag.reader import take_apart
from pipeline.tasks.rerank.reader import Wanted, wanted
from pipeline.worlds.ranking import Index

PLACES = 10
"""How many documents are asked for."""


@dataclass(frozen=True, slots=True)
class Taken(Passage):
    """A document that is taken for one that is asked for, whatever it says."""


class Rankings(Documents):
    """Documents of which the ten best are to be named."""

    @cached_property
    def wanted(self) -> Wanted:
        """What is asked."""
        return wanted(self.question)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return the ranking of the documents seen; those that are taken stand as they come."""
        if seen and all(isinstance(one, Taken) for one in seen):
            return " > ".join(take_apart(one.text.rstrip("\n"))[3] for one in seen)
        return super().answer(seen) or self.guess()

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last ten documents that name all that is asked, in whatever role."""
        named = [re.compile(rf"(?<!\w){re.escape(value)}(?!\w)") for value in self.wanted.values.values()]
        found = [one for one in self.passages if all(each.search(one.text) for each in named)]
        found = found[:PLACES] if end == FIRST else found[: -PLACES - 1 : -1]
        return [Taken(*(getattr(one, field.name) for field in fields(one))) for one in found]

    def alike(self) -> Sequence[Passage]:
        """Return the ten documents that a search for the question ranks first (BM25, over the documents alone)."""
        ranking, _ = Index(one.text for one in self.passages).ranking(self.question, stream("readers", self.row_id))
        return [self.passages[place] for place in sorted(ranking[:PLACES].tolist())]
