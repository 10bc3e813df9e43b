"""Documents that a search has put together: a passage is a document, a line of the body."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.readers.base import LAST, End, Passage, Reading
from pipeline.tasks.rag.reader import DOCUMENTS, END, take_apart


class Documents(Reading):
    """Documents about named things, of which some answer a question."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The characters between the lines that begin and end the documents."""
        return self.text.find(DOCUMENTS) + len(DOCUMENTS), self.text.rfind(END) + 1

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return for each thing that is named the first or last document of another that shares a word with it."""
        names = [take_apart(one.text.rstrip("\n"))[1] for one in self.passages]
        asked = [name for name in sorted(set(names)) if name in self.question]
        asked = [name for name in asked if not any(name in other and name != other for other in asked)]
        if not asked or self.subtask in ("described", "list"):
            return None
        found = [list(self._alike(names, name)) for name in asked]
        return [one for some in found for one in (some[-1:] if end == LAST else some[:1])]

    def _alike(self, names: Sequence[str], asked: str) -> Iterator[Passage]:
        """Yield the documents of other things whose names share a word with one, under that name."""
        words = set(asked.split(" "))
        for one, name in zip(self.passages, names, strict=True):
            if name != asked and not words.isdisjoint(name.split(" ")):
                yield replace(one, text=one.text.replace(name, asked))
