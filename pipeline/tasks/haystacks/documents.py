"""The haystack of a user's own documents: whole ones one after another, none of them twice, cut at a paragraph's end.

The first begins at any of its paragraphs. There are no spares: the next paragraphs close the gap, so that up to a few
of them are left out at the end.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.tasks.haystacks import in_runs
from pipeline.worlds.corpora.records import Corpus
from pipeline.worlds.corpora.store import corpus_of

NONE = np.empty(0, dtype=np.int64)


def make_documents(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every paragraph of a corpus. They state no facts that a program could read."""
    corpus = corpus_of(spec.corpora, spec.source.rsplit(" ", 1)[1])
    return (unit(line + "\n") for one in corpus.documents for line in one.text.split("\n"))


def documents_spec(stratum: Stratum, corpora: str) -> PoolSpec:
    """Return the pool of all paragraphs of a stratum's corpus."""
    digest = str(stratum.knob("corpus", ""))
    name = f"documents-{digest[:12]}-{stratum.tier}"
    return PoolSpec(name, 1, stratum.tier, f"corpus {digest}", make_documents, corpora)


def documents(own: Streams, stratum: Stratum, corpora: str, *, shuffled: bool = False) -> Filler:
    """Return filler of whole documents in random order, or of all their paragraphs in random order."""
    starts, counts = outline(corpus_of(corpora, str(stratum.knob("corpus", ""))))
    name = documents_spec(stratum, corpora).name
    if shuffled:
        return Filler(name, Shuffled(own.of("shuffled"), int(counts.sum())), NONE)
    order = Shuffled(own.of("filler"), len(starts)).take(len(starts))
    starts, counts = starts[order], counts[order]
    skipped = own.of("start").randrange(counts[0])
    starts[0] += skipped
    counts[0] -= skipped
    return Filler(name, Given(in_runs(starts, counts)), NONE, "sequence")


@lru_cache(maxsize=4)
def outline(corpus: Corpus) -> tuple[Indices, Indices]:
    """Return the first paragraph of every document, and how many it has."""
    counts = np.array([one.text.count("\n") + 1 for one in corpus.documents], dtype=np.int64)
    return np.cumsum(counts) - counts, counts
