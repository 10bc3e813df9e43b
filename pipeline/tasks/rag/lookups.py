"""rag.single and rag.described: one document answers (HELMET, section 2.1, after NQ and PopQA; RULER, qa_1)."""

from __future__ import annotations

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.rag.frame import KNOBS, Rag
from pipeline.tasks.recall import depths


class Single(Rag):
    """A relation of a thing that is named."""

    subtask = "single"
    title = "a fact about a named thing, among documents that a search finds for it"
    knobs = {**KNOBS, **depths.DEPTH}
    shuffled = False

    def depths(self, stratum: Stratum, index: int, shared: Streams) -> list[float]:
        """Return the depth of the document that is needed, by the knob ``depth``."""
        return [depths.depth(stratum, index, shared)]


class Described(Single):
    """A relation of a thing that two attributes tell from all others."""

    subtask = "described"
    title = "a fact about a thing that is described by two others, among documents that a search finds for it"
