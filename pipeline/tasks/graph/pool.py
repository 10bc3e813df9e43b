"""The filler of graphs: edges of the world, a stretch of it round the asked node, in random order.

A prompt takes the edges among the nodes near what is relevant, and grows to both sides of them: an edge enters as soon
as both its ends have. So it is one connected graph at every length, and all nodes but those at its two ends have all
their edges.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams, stream, words
from pipeline.tasks.base import Filler, Plain, PoolSpec, Unit
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
WAY = Shape(_degrees(0, 5), _degrees(1, 3, 1), blur=3, ahead=3)
"""One way on from every node, and two ways into one of five."""
SHAPES = {
    **{("bfs", branch): Shape(even, even, BLUR) for branch, even in EVEN.items()},
    **{("parents", branch): Shape(HUBS[branch], CHILDREN[branch], BLUR, turned=True) for branch in HUBS},
    **{("route", branch): WAY for branch in EVEN},
}
SPARES = slice(24, 25)
"""The place in the order of the edge that is a spare: only one, so that gaps are closed by the edges that come next."""
PARTS = 16
"""A whole number of these parts of the nodes beside the core stands before it."""
TIES = 16
"""Bits that order the edges that enter together."""


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
    return Plain(graph(streams, tier, SHAPES[subtask, float(branch)]).texts())


def filler(stratum: Stratum, core: Sequence[int], without: Collection[int], own: Streams) -> Filler:
    """Return the filler round a stretch of nodes, the `core`; some edges are no filler."""
    known, rng = graph_of(own, stratum), own.of("filler")
    ranks = (_drawn(len(known.far)) * np.uint32(rng.getrandbits(32) | 1)).astype(np.int64)
    order = Around(known, core, without, rng.randrange(1, PARTS), ranks)
    return Filler(spec_of(stratum).name, order, order.spares, "ranked", ranks)


@lru_cache(maxsize=4)
def _drawn(size: int) -> NDArray[np.uint32]:
    """Return random ranks, which every row multiplies by an odd number of its own."""
    return words(stream("graph", "ranks"), size)


class Around:
    """The edges among the nodes of a stretch, then those among more and more nodes on both sides of it.

    One edge is left to be a spare.
    """

    def __init__(self, known: Graph, core: Sequence[int], without: Collection[int], share: int, ranks: Indices) -> None:
        self._graph, self._core, self._share, self._ranks = known, core, share, ranks
        self._without = np.array(sorted(without), dtype=np.int64)
        self._found, self._steps = np.empty(0, dtype=np.int64), 0

    @property
    def spares(self) -> Indices:
        """The edges that the order leaves out."""
        return self._grown(SPARES.stop)[SPARES]

    def take(self, count: int) -> Indices:
        """Return the first `count` edges, or all there are."""
        return np.delete(self._grown(count + SPARES.stop), SPARES)[:count]

    def _grown(self, count: int) -> Indices:
        """Return `count` edges or more, in order, or all there are."""
        nodes = self._graph.nodes
        while len(self._found) < count and self._steps < PARTS * nodes:
            missing = (count - len(self._found)) * nodes // len(self._graph.far)
            self._steps += missing + missing // 8 + self._steps // 4 + 8
            self._found = self._entered()
        return self._found

    def _entered(self) -> Indices:
        """Return the edges whose ends have both entered, in the order in which they have."""
        drawn = self._reached()
        entered = np.maximum(self._step(self._graph.near[drawn]), self._step(self._graph.far[drawn]))
        drawn, entered = drawn[entered <= self._steps], entered[entered <= self._steps]
        keys = ((entered << TIES) + (self._ranks[drawn] >> TIES)) * len(self._graph.far) + drawn
        return np.asarray(drawn[np.argsort(keys)], dtype=np.int64)

    def _reached(self) -> Indices:
        """Return the edges whose near ends have entered."""
        first = max(self._core[0] - self._steps * self._share // PARTS, 0)
        last = min(self._core[1] + self._steps * (PARTS - self._share) // PARTS, self._graph.nodes - 1)
        drawn = np.arange(self._graph.starts[first], self._graph.starts[last + 1])
        return np.asarray(drawn[~np.isin(drawn, self._without)], dtype=np.int64)

    def _step(self, ends: Indices) -> Indices:
        """Return the step with which nodes enter: those of the core at once, then some on either side."""
        before, ahead = self._core[0] - ends, ends - self._core[1]
        steps = np.maximum(-(-before * PARTS // self._share), -(-ahead * PARTS // (PARTS - self._share)))
        return np.asarray(np.maximum(steps, 0), dtype=np.int64)
