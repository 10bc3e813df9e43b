"""rag.single and rag.described: one document answers (HELMET, section 2.1, after NQ and PopQA; RULER, qa_1)."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Digest, Key, Sample, Task
from pipeline.tasks.rag import own, own_running
from pipeline.tasks.rag.frame import KNOBS, Rag
from pipeline.tasks.recall import depths


class Single(Rag):
    """A relation of a thing that is named."""

    subtask = "single"
    title = "a fact about a named thing, among documents that a search finds for it"
    knobs: Mapping[str, tuple[Any, ...] | Digest] = MappingProxyType(
        {**KNOBS, **depths.DEPTH, **depths.CROSSED, "corpus": own.CORPUS}
    )
    shuffled = False

    def of(self, stratum: Stratum) -> Task:
        """Return the task about a user's own passages, where a knob names them."""
        return own_running.of_corpus(stratum) if stratum.knob("corpus", "") else self

    def drawing(self, stratum: Stratum, index: int, row: Streams, shared: Streams) -> tuple[Streams, int]:
        """Return the streams of a row's question, which by the knob ``crossed`` six rows share."""
        return depths.shared_by_six(stratum, index, row, shared), depths.question(stratum, index)

    def depths(self, stratum: Stratum, index: int, shared: Streams) -> list[float]:
        """Return the depth of the document that is needed, by the knob ``depth``."""
        return [depths.depth(stratum, index, shared)]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a guess, and of a reader that takes the value from the first hit of a search."""
        return {"uniform": 0.0, "first_hit": float(sample.latent["first_hit"])}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the relation that is asked for, unless six rows share it, and the point of the grid."""
        relation = {} if depths.is_crossed(sample.stratum) else super().dealt(sample)
        return {**relation, **depths.dealt(sample.latent["depths"][0], sample.stratum)}


class Described(Single):
    """A relation of a thing that two attributes tell from all others."""

    subtask = "described"
    title = "a fact about a thing that is described by two others, among documents that a search finds for it"
    knobs: Mapping[str, tuple[Any, ...] | Digest] = MappingProxyType({**KNOBS, **depths.DEPTH, **depths.CROSSED})
