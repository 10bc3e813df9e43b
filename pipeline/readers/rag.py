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
        """Return the first or last document of a thing that shares a word with the named one, as if it were that."""
        names = [take_apart(one.text.rstrip("\n"))[1] for one in self.passages]
        asked = [name for name in sorted(set(names), key=len) if name in self.question]
        if not asked or self.subtask in ("described", "compare", "list"):
            return None
        found = self._alike(names, asked[-1])
        return list(found)[-1:] if end == LAST else list(found)[:1]

    def _alike(self, names: Sequence[str], asked: str) -> Iterator[Passage]:
        """Yield the documents of other things whose names share a word with one, under that name."""
        words = set(asked.split(" "))
        for one, name in zip(self.passages, names, strict=True):
            if name != asked and not words.isdisjoint(name.split(" ")):
                yield replace(one, text=one.text.replace(name, asked))
