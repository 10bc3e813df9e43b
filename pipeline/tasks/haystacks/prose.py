"""The haystack of prose: a pool of paragraphs of essays, of which a prompt takes whole essays one after another.

It names nobody and states no number, so that texts about people can be told from it by their looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams
from pipeline.tasks.base import Filler, Joints, Plain, PoolSpec, Unit
from pipeline.tasks.haystacks import SPARES, in_runs
from pipeline.worlds.essays import MIDDLES, WORLD, Essay, essays, paragraphs, source_digest


def make_essays(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every paragraph of a tier. They state no facts."""
    return Plain(paragraph + "\n" for paragraph in paragraphs(streams, spec.tier))


def essays_spec(stratum: Stratum) -> PoolSpec:
    """Return the pool of paragraphs of a tier."""
    return PoolSpec(f"essays-{stratum.tier}", 1, stratum.tier, f"{WORLD}:{source_digest()}", make_essays)


def prose(own: Streams, stratum: Stratum, *, shuffled: bool = False) -> Filler:
    """Return filler of whole essays in random order, or of all their paragraphs in random order.

    Spares are notes: between essays, or anywhere.
    """
    every = essays(own, stratum.tier)
    whole, notes, joints = _kinds(every)
    spares, name = notes[Shuffled(own.of("spares"), len(notes)).take(SPARES)], essays_spec(stratum).name
    if shuffled:
        return Filler(name, Shuffled(own.of("shuffled"), len(joints), frozenset(notes.tolist())), spares)
    return Filler(name, _Essays(own, whole), spares, "sequence", joints=joints)


@lru_cache(maxsize=4)
def _kinds(every: Sequence[Essay]) -> tuple[Indices, Indices, Joints]:
    """Return first paragraph and number of paragraphs of every essay, the notes, and where a text begins."""
    whole = np.array([(essay.start, essay.count) for essay in every if essay.count > 1], dtype=np.int64)
    joints = np.zeros(every[-1].start + every[-1].count, dtype=np.bool_)
    joints[[essay.start for essay in every]] = True
    return whole, np.array([essay.start for essay in every if essay.count == 1], dtype=np.int64), joints


class _Essays:
    """Paragraphs in the order of their essays, and essays in random order."""

    def __init__(self, own: Streams, whole: Indices) -> None:
        self._order, self._whole = Shuffled(own.of("filler"), len(whole)), whole

    def take(self, count: int) -> Indices:
        """Return the first `count` paragraphs."""
        starts, counts = self._whole[self._order.take(count // (MIDDLES[0] + 2) + 1)].T
        return in_runs(starts, counts)[:count]
