"""The filler of graphs: edges of the world, a stretch of it round the asked node, in random order.

A prompt takes all edges near what is relevant, then grows to both sides of it. So it is one connected graph at every
length, in which all nodes but those at its two ends have all their edges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache
from random import Random

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams, stream, words
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.worlds.graphs import WORLD, Graph, Shape, graph

BRANCHES = {"branch": (1.5, 2.0, 3.0)}
"""Mean numbers of edges out of a node."""
BLUR = 24

Degrees = tuple[int, ...]


def _degrees(*nodes: int) -> Degrees:
    """Return the degrees of a block that has so many nodes of degree 0, of degree 1 and so on."""
    return tuple(degree for degree, count in enumerate(nodes) for _ in range(count))


EVEN = {1.5: _degrees(0, 12, 6, 2), 2.0: _degrees(0, 6, 8, 6), 3.0: _degrees(0, 0, 6, 8, 6)}
"""Degrees of twenty nodes, in and out."""
HUBS = {
    1.5: (*_degrees(7, 40, 12, 0, 4), 16),
    2.0: (*_degrees(0, 30, 25, 0, 8), 16),
    3.0: (*_degrees(0, 4, 38, 0, 20), 16, 16),
}
"""Numbers of parents of 64 nodes."""
CHILDREN = {1.5: _degrees(0, 38, 20, 6), 2.0: _degrees(0, 19, 26, 19), 3.0: _degrees(0, 0, 19, 26, 19)}
"""Numbers of children of 64 nodes."""
WAY = Shape(_degrees(0, 20), _degrees(6, 9, 4, 1), blur=3, ahead=3)
SHAPES = {
    **{("bfs", branch): Shape(even, even, BLUR) for branch, even in EVEN.items()},
    **{("parents", branch): Shape(HUBS[branch], CHILDREN[branch], BLUR, turned=True) for branch in HUBS},
    **{("route", branch): WAY for branch in EVEN},
}
SPARES = 4
"""Units that stand for the size of all: the edges that come next close the gap."""
WHOLE = 32
"""Bits of a share."""


def spec_of(stratum: Stratum) -> PoolSpec:
    """Return the pool of a stratum."""
    name = f"graph-{stratum.subtask}-{branch_of(stratum):g}-{stratum.tier}"
    return PoolSpec(name, 1, stratum.tier, WORLD, make)


def branch_of(stratum: Stratum) -> float:
    """Return the mean number of edges out of a node."""
    return float(stratum.knob("branch", BRANCHES["branch"][0]))


def graph_of(streams: Streams, stratum: Stratum) -> Graph:
    """Return the graph that a stratum asks about."""
    return graph(streams, stratum.tier, SHAPES[stratum.subtask, branch_of(stratum)])


def make(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every edge of a graph, in the order of the world."""
    _, subtask, branch, tier = spec.name.split("-")
    return map(unit, graph(streams, tier, SHAPES[subtask, float(branch)]).texts())


def filler(stratum: Stratum, size: int, core: Sequence[int], without: Collection[int], own: Streams) -> Filler:
    """Return the filler round a stretch of edges, the `core`, of which some are no filler."""
    order = Around(size, core, without, own.of("filler"))
    return Filler(spec_of(stratum).name, order, order.spares, "ranked", _ranks(size, own.of("ranks")))


class Around:
    """The edges of a stretch in random order, then those on both sides of it, at an even pace that is drawn for each.

    Edges form a ring. The first edges beside the stretch are left to be spares.
    """

    def __init__(self, size: int, core: Sequence[int], without: Collection[int], rng: Random) -> None:
        first, last = core
        inner = np.setdiff1d(np.arange(first, last), np.array(sorted(without), dtype=np.int64))
        self._inner = inner[np.argsort(words(rng, len(inner)), kind="stable")]
        self._size, self._first, self._last = size, first, last
        self._share = rng.getrandbits(WHOLE)

    @property
    def spares(self) -> Indices:
        """The edges that the order leaves out."""
        return self._outer(0, SPARES)

    def take(self, count: int) -> Indices:
        """Return the first `count` edges, or all there are."""
        outer = min(count - len(self._inner), self._size - (self._last - self._first) - SPARES)
        return np.concatenate([self._inner[:count], self._outer(SPARES, SPARES + max(outer, 0))])

    def _outer(self, start: int, stop: int) -> Indices:
        steps = np.arange(start, stop + 1, dtype=np.int64)
        behind = steps * self._share >> WHOLE
        ahead = steps - behind
        found = np.where(np.diff(behind) > 0, self._first - 1 - behind[:-1], self._last + ahead[:-1])
        return np.asarray(found % self._size, dtype=np.int64)


def _ranks(size: int, rng: Random) -> Indices:
    """Return random ranks for all edges: drawn once, and multiplied by an odd number for each row."""
    return (_drawn(size) * np.uint32(rng.getrandbits(32) | 1)).astype(np.int64)


@lru_cache(maxsize=4)
def _drawn(size: int) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    return words(stream("graph", "ranks"), size)
