"""Needles hidden in a user's own documents: the tasks in prose with another haystack, and solved as these are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Digest, Layout, Piece, PoolSpec, Sample
from pipeline.tasks.haystacks.documents import documents, documents_spec
from pipeline.tasks.recall import haystack
from pipeline.tasks.recall import niah_text as text
from pipeline.tasks.recall.niah import Niah

CORPUS = Digest("a corpus's SHA-256", frozenset({"documents"}))
OWN = "own"
"""The haystack of a user's documents, among those of `niah_text`."""


@dataclass(frozen=True, slots=True)
class InProse(Niah):
    """A task with needles in prose, or by the knob ``corpus`` in documents of a user's own."""

    corpora: str = ""
    """The folder of frozen corpora."""

    @property
    def knobs(self) -> Mapping[str, tuple[Any, ...] | Digest]:  # type: ignore[override]
        """What the form leaves open, and a corpus by its digest."""
        return {**Niah.knobs.fget(self), "corpus": CORPUS}  # type: ignore[attr-defined]

    def at(self, corpora: str) -> InProse:
        """Return the task with the folder that frozen corpora lie in."""
        return replace(self, corpora=corpora)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of the haystack."""
        if stratum.knob("corpus", ""):
            return (documents_spec(stratum, self.corpora),)
        return Niah.pools(self, stratum)

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Lay the needles out among prose; the documents of a corpus take its place."""
        stratum = sample.stratum
        if not stratum.knob("corpus", ""):
            return Niah.layout(self, sample, own, shared)
        plain = tuple((name, value) for name, value in stratum.knobs if name not in ("corpus", "haystack"))
        among_noise = replace(self, haystacks=("noise",))
        laid = Niah.layout(among_noise, replace(sample, stratum=replace(stratum, knobs=plain)), own, shared)
        shuffled = stratum.knob("haystack_order", haystack.ORDER[0]) == "shuffled"
        head = laid.head[0].text.replace(text.HAYSTACKS["noise"], text.HAYSTACKS[OWN])
        return replace(
            laid,
            head=(Piece(head, "instruction"),),
            filler=documents(own, stratum, self.corpora, shuffled=shuffled),
        )

    def _haystack(self, stratum: Stratum) -> str:
        return OWN if stratum.knob("corpus", "") else Niah._haystack(self, stratum)


def in_documents(task: Niah) -> Niah:
    """Return a task in prose as one that takes a user's documents too; others as they are."""
    if task.haystacks[0] not in haystack.PROSE:
        return task
    return InProse(**{each.name: getattr(task, each.name) for each in fields(task)})
