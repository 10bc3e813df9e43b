"""The world of graphs: directed graphs of named nodes that look alike in every part, so that any part represents all.

Nodes are in a row, and edges join nodes that are near each other in it. So the edges out of any stretch of the row are
nearly closed in themselves: a prompt that takes one is a connected graph with the degrees of the whole, whether it has
fifty edges or fifty thousand, and the surroundings of a node are the same at every length. Names are random, so that
the row is hidden. Degrees are dealt: every block of nodes has the same ones.

An edge leads from its near end, by which edges are sorted, to its far end. A question starts at the near end: the
source of an edge, or its target where the world is turned around to ask for parents.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random

import numpy as np

from pipeline.caches import lru_cache
from pipeline.streams import Indices, Streams, words
from pipeline.typed import (
    TIERS,
)

WORLD = "graphs@1"
TOKENS_PER_EDGE, LEAST = 8, 16_384
"""Tokens of the tier per edge, about twice what a prompt can hold; and the least number of edges."""
DIGITS = 10
RESERVED = 1024
"""Names for demonstrations, which no node of the graph has."""
UNIT = 16
"""Bits of a step in the row, below which places are blurred."""
TRIES = 1000


@dataclass(frozen=True, slots=True)
class GraphShape:
    """The shape of a graph: for the nodes of a block, how many edges have near ends there, and how many far ends.

    Far ends are on average `ahead` places further in the row than near ends, give or take about `blur`.
    """

    near: tuple[int, ...]
    far: tuple[int, ...]
    blur: int
    ahead: int = 0
    turned: bool = False

    def __post_init__(self) -> None:
        """Check that a block has as many near ends as far ends.

        Raises:
            ValueError: if it does not.
        """
        if len(self.near) != len(self.far) or sum(self.near) != sum(self.far):
            raise ValueError(f"a block has {sum(self.near)} near ends of edges, but {sum(self.far)} far ends")


@dataclass(frozen=True)
class Graph:
    """A graph: the `near` and `far` node of every edge, sorted by near ends; the names of nodes, then spare names."""

    near: Indices
    far: Indices
    names: Sequence[str]
    turned: bool

    @property
    def nodes(self) -> int:
        """How many nodes there are."""
        return len(self.names) - RESERVED

    @property
    def reserved(self) -> Sequence[str]:
        """The names that no node has."""
        return self.names[self.nodes :]

    @cached_property
    def starts(self) -> Indices:
        """Where the edges of each node begin, and where those of the last one end."""
        return np.asarray(np.searchsorted(self.near, np.arange(self.nodes + 1)), dtype=np.int64)

    @cached_property
    def _places(self) -> list[int]:
        places: list[int] = self.starts.tolist()
        return places

    @cached_property
    def ends(self) -> list[int]:
        """The far end of every edge."""
        ends: list[int] = self.far.tolist()
        return ends

    @cached_property
    def _into(self) -> tuple[Indices, Indices]:
        order = np.argsort(self.far, kind="stable")
        return order, np.searchsorted(self.far[order], np.arange(self.nodes + 1))

    def of_degree(self, degree: int) -> Indices:
        """Return the nodes that are the near ends of `degree` edges."""
        return np.flatnonzero(np.diff(self.starts) == degree)

    def leaving(self, node: int) -> range:
        """Return the edges whose near end is a node."""
        return range(self._places[node], self._places[node + 1])

    def entering(self, node: int) -> list[int]:
        """Return the edges whose far end is a node."""
        order, starts = self._into
        edges: list[int] = order[starts[node] : starts[node + 1]].tolist()
        return edges

    def text(self, edge: int) -> str:
        """Return an edge as a line."""
        near, far = self.names[self.near[edge]], self.names[self.ends[edge]]
        return line(far, near) if self.turned else line(near, far)

    def texts(self) -> list[str]:
        """Return every edge as a line."""
        ends = zip(self.near.tolist(), self.ends, strict=True)
        names = self.names
        if self.turned:
            return [f"{names[far]} -> {names[near]}\n" for near, far in ends]
        return [f"{names[near]} -> {names[far]}\n" for near, far in ends]


def line(source: str, target: str) -> str:
    """Return an edge as a line, with its newline."""
    return f"{source} -> {target}\n"


def graph(streams: Streams, tier: str, shape: GraphShape) -> Graph:
    """Return the graph of a tier: one per seed and shape.

    Args:
        streams: any streams below the seed.
        tier: names the size, and the draw.
        shape: what the graph is like.
    """
    return _graph(streams.world(WORLD, tier, *_path(shape)), tier, shape)


@lru_cache(maxsize=4)
def _graph(row_streams: Streams, tier: str, shape: GraphShape) -> Graph:
    blocks = max(TIERS[tier] // TOKENS_PER_EDGE, LEAST) // sum(shape.near)
    near = np.repeat(np.arange(blocks * len(shape.near)), _dealt(row_streams.of("near"), shape.near, blocks))
    far = np.repeat(np.arange(blocks * len(shape.far)), _dealt(row_streams.of("far"), shape.far, blocks))
    joined = _joined(near, far, shape, row_streams.of("edges"))
    mended = _mended(near, joined, shape.blur, row_streams.of("mended"))
    order = np.lexsort((mended, near))
    return Graph(
        near[order], mended[order], _names(row_streams.of("names"), blocks * len(shape.near) + RESERVED), shape.turned
    )


def _path(shape: GraphShape) -> tuple[str, int, int]:
    return " ".join(map(str, (*shape.near, "to", *shape.far))), shape.blur, shape.ahead


def _dealt(rng: Random, degrees: Sequence[int], blocks: int) -> Indices:
    """Return the degrees of all nodes: in each block in random order."""
    order = np.argsort(words(rng, blocks * len(degrees)).reshape(blocks, -1), axis=1, kind="stable")
    return np.asarray(degrees, dtype=np.int64)[order].ravel()


def _joined(near: Indices, far: Indices, shape: GraphShape, rng: Random) -> Indices:
    """Return a far end for every near end: both sorted by their blurred places, and shifted by some steps."""
    by_near, by_far = (
        np.argsort((ends << UNIT) + (words(rng, len(ends)) >> (32 - UNIT)).astype(np.int64) * shape.blur, kind="stable")
        for ends in (near, far)
    )
    joined = np.empty_like(far)
    joined[by_near] = far[np.roll(by_far, -shape.ahead * len(near) // (near[-1] + 1))]
    return joined


def _mended(near: Indices, far: Indices, blur: int, rng: Random) -> Indices:
    """Return the far ends without loops and double edges: these swap ends with an edge nearby.

    Raises:
        ValueError: if some remain after many rounds.
    """
    far = far.copy()
    for _ in range(TRIES):
        bad = _bad(near, far)
        if not len(bad):
            return far
        for edge in bad.tolist():
            step = rng.randint(1, blur)
            other = edge + step if edge + step < len(far) else edge - step
            far[edge], far[other] = far[other], far[edge]
    raise ValueError("a graph has loops or double edges that do not go away")


def _bad(near: Indices, far: Indices) -> Indices:
    """Return the loops, and all but the first of equal edges."""
    pairs = near * (int(far.max()) + 1) + far
    again = np.ones(len(pairs), dtype=np.bool_)
    again[np.unique(pairs, return_index=True)[1]] = False
    return np.flatnonzero(again | (near == far))


def _names(rng: Random, count: int) -> tuple[str, ...]:
    """Draw distinct names, each with a digit and a letter, so that none can be taken for a number or a word."""
    distinct: dict[str, None] = {}
    while len(distinct) < count:
        drawn = np.frombuffer(rng.randbytes(8 * (count - len(distinct))), dtype="<u8") >> (64 - 4 * DIGITS)
        names = (f"{number:0{DIGITS}x}" for number in drawn.tolist())
        distinct.update(dict.fromkeys(name for name in names if not name.isdigit() and not name.isalpha()))
    return tuple(distinct)
