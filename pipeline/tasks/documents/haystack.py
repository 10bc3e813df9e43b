"""Documents about an invented land as a haystack: pools of passages, and filler ranked by a search."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from pipeline.caches import lru_cache
from pipeline.recipe import (
    Stratum,
)
from pipeline.streams import Given, Indices, Shuffled, Streams, words
from pipeline.tasks.base import CorpusKnob, Filler, PoolSpec, Unit, unit
from pipeline.tasks.documents.text import document, numbered
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.gazetteer import WORLD, Passage, gazetteer, ids, source_digest
from pipeline.worlds.ranking import Index

NEGATIVES, TITLES = ("hard", "random"), (True, False)
FEWEST_TOKENS, SPARE_PASSAGES = 64, 400
"""Fewer tokens than any passage has; and extra passages, to close gaps and to replace those that are left out."""
PACKED_INDEX = np.dtype("<i4")


def has_titles(stratum: Stratum) -> bool:
    """Return whether the documents of a stratum have titles."""
    return bool(stratum.knob("titles", TITLES[0]))


def make_passages(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every passage of a tier."""
    for passage in gazetteer(streams, spec.tier).passages:
        yield unit(document(passage, titled="untitled" not in spec.name), "filler", stated(passage))


def make_numbered(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every passage of a tier with its id."""
    passages = gazetteer(streams, spec.tier).passages
    for passage, number in zip(passages, ids(streams, spec.tier), strict=True):
        yield unit(numbered(passage, number), "filler", stated(passage))


def stated(passage: Passage) -> tuple[str, ...]:
    """Return the facts of a passage, each as ``kind|subject|relation|value``."""
    thing = (passage.thing.kind, passage.thing.name)
    return tuple("|".join((*thing, relation, value)) for relation, value in passage.facts.items())


def spec(stratum: Stratum) -> PoolSpec:
    """Return the pool of passages of a tier, with titles or without."""
    name = f"gazetteer-{stratum.tier}" if has_titles(stratum) else f"gazetteer-untitled-{stratum.tier}"
    return PoolSpec(name, 1, stratum.tier, f"{WORLD}:{source_digest()}", make_passages)


def numbered_spec(tier: str) -> PoolSpec:
    """Return the pool of passages of a tier with their ids."""
    return PoolSpec(f"gazetteer-ids-{tier}", 1, tier, f"{WORLD}:{source_digest()}", make_numbered)


def index(streams: Streams, tier: str) -> Index:
    """Return the index of all passages of a tier, titles included; `streams` are any below the same seed."""
    return _index(Streams((streams.path[0],)), tier)


@lru_cache(maxsize=len(TIERS))
def _index(streams: Streams, tier: str) -> Index:
    return Index(f"{passage.title} {passage.text}" for passage in gazetteer(streams, tier).passages)


def ranking(row_streams: Streams, stratum: Stratum, question: str) -> bytes:
    """Return the passages that a search for a question ranks first, as many as a prompt may need.

    Empty if the knob ``negatives`` is ``random``.
    """
    if stratum.knob("negatives", NEGATIVES[0]) == "random":
        return b""
    order, _ = index(row_streams, stratum.tier).ranking(question, row_streams.of("ties"))
    return order[: stratum.length // FEWEST_TOKENS + SPARE_PASSAGES].astype(PACKED_INDEX).tobytes()


def places(ranked: bytes) -> Indices:
    """Return a ranking as indices of the pool."""
    return np.frombuffer(ranked, dtype=PACKED_INDEX).astype(np.int64)


def filler(
    row_streams: Streams, stratum: Stratum, ranked: bytes, out: Iterable[int], *, shuffled: bool, pool: str = ""
) -> Filler:
    """Return a row's filler without the passages that are `out`; `pool` is by default the stratum's own.

    Passages enter the prompt as a search `ranked` them, and in random order if nothing is ranked. Ranked passages are
    in the text best first, or `shuffled`.
    """
    gone, name, size = frozenset(out), pool or spec(stratum).name, len(gazetteer(row_streams, stratum.tier).passages)
    if not ranked:
        return Filler(name, Shuffled(row_streams.of("filler"), size, gone))
    order = places(ranked)
    ranks = np.full(size, size, dtype=np.int64)
    ranks[order] = np.arange(len(order))
    if shuffled:
        ranks = words(row_streams.of("places"), size).astype(np.int64)
    return Filler(name, Given(order[~np.isin(order, sorted(gone))]), policy="ranked", ranks=ranks)


ANSWERED = CorpusKnob("a corpus's SHA-256", frozenset({"passages", "questions", "answers"}))
JUDGED = CorpusKnob("a corpus's SHA-256", frozenset({"passages", "questions"}))
FACTS = CorpusKnob("a corpus's SHA-256", frozenset({"passages", "questions", "answers", "facts"}))
GRADED = CorpusKnob("a corpus's SHA-256", frozenset({"passages", "questions", "grades"}))
"""The tables that a corpus must have for each kind of task, see `pipeline.tasks.corpus`."""
