"""The three tasks of the family."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import lru_cache
from pipeline.errors import RecipeError
from pipeline.languages import digest, language, only
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Permutation, Streams, deal, stream, words
from pipeline.tasks.base import (
    CorpusKnob,
    Filler,
    Key,
    Layout,
    Placed,
    Plain,
    PoolSpec,
    PublishedRow,
    Sample,
    Task,
    Unit,
    depths,
)
from pipeline.tasks.graph import solve as solver
from pipeline.tasks.graph import text
from pipeline.tasks.graph.walks import Walk, alone, drawn_route, drawn_search, reach
from pipeline.worlds.graphs import WORLD, Graph, GraphShape, graph

BRANCHES = {"branch": (1.5, 2.0, 3.0)}
"""Mean numbers of edges out of a node."""
BLUR = 24

Degrees = tuple[int, ...]


def _degrees(*nodes: int) -> Degrees:
    """Return the degrees in a block, given the numbers of nodes of degree 0, 1 and so on."""
    return tuple(degree for degree, count in enumerate(nodes) for _ in range(count))


EVEN_DEGREES = {1.5: _degrees(0, 12, 6, 2), 2.0: _degrees(0, 6, 8, 6), 3.0: _degrees(0, 0, 6, 8, 6)}
"""In- and out-degrees of twenty nodes."""
HUB_PARENTS = {
    1.5: (*_degrees(7, 40, 12, 0, 4), 16),
    2.0: (*_degrees(0, 30, 25, 0, 8), 16),
    3.0: (*_degrees(0, 4, 38, 0, 20), 16, 16),
}
"""Numbers of parents of 64 nodes."""
CHILDREN = {1.5: _degrees(0, 38, 20, 6), 2.0: _degrees(0, 19, 26, 19), 3.0: _degrees(0, 0, 19, 26, 19)}
"""Numbers of children of 64 nodes."""
ROUTE_SHAPE = GraphShape(_degrees(0, 5), _degrees(1, 3, 1), blur=3, ahead=3)
"""Five nodes: one edge leads out of each, and two lead into one of them."""
SHAPES = {
    **{("bfs", branch): GraphShape(even, even, BLUR) for branch, even in EVEN_DEGREES.items()},
    **{
        ("parents", branch): GraphShape(HUB_PARENTS[branch], CHILDREN[branch], BLUR, turned=True)
        for branch in HUB_PARENTS
    },
    **{("route", branch): ROUTE_SHAPE for branch in EVEN_DEGREES},
}
SPARES = slice(24, 25)
"""The place of the spare edge in the order. There is only one, so that the next edges close gaps."""
PARTS = 16
"""The share of the other nodes that come before the core is a whole number of these parts."""
TIE_BITS = 16
"""Bits that order edges that enter together."""


def spec_of(stratum: Stratum) -> PoolSpec:
    """Return the pool of a stratum."""
    name = f"graph-{kind_of(stratum)}-{branch_of(stratum):g}-{stratum.tier}"
    return PoolSpec(name, 1, stratum.tier, WORLD, make)


def kind_of(stratum: Stratum) -> str:
    """Return the subtask of a stratum, without its language."""
    return stratum.subtask.partition("-")[0]


def branch_of(stratum: Stratum) -> float:
    """Return the mean number of edges out of a node."""
    return float(stratum.knob("branch", BRANCHES["branch"][0]))


def graph_of(streams: Streams, stratum: Stratum) -> Graph:
    """Return the graph that a stratum asks about."""
    return graph(streams, stratum.tier, SHAPES[kind_of(stratum), branch_of(stratum)])


def make(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every edge of a graph, in the order of the world."""
    _, subtask, branch, tier = spec.name.split("-")
    return Plain(graph(streams, tier, SHAPES[subtask, float(branch)]).texts())


def filler(stratum: Stratum, core: Sequence[int], without: Collection[int], row_streams: Streams) -> Filler:
    """Return the filler around the `core`, a stretch of nodes, without some edges."""
    known, rng = graph_of(row_streams, stratum), row_streams.of("filler")
    ranks = (_drawn(len(known.far)) * np.uint32(rng.getrandbits(32) | 1)).astype(np.int64)
    order = Around(known, core, without, rng.randrange(1, PARTS), ranks)
    return Filler(spec_of(stratum).name, order, order.spares, "ranked", ranks)


@lru_cache(maxsize=4)
def _drawn(size: int) -> NDArray[np.uint32]:
    """Return random ranks, which every row multiplies by an odd number of its own."""
    return words(stream("graph", "ranks"), size)


class Around:
    """The edges among the nodes of a stretch, then among more and more nodes on both sides of it, without a spare."""

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
        """Return at least `count` edges, in order, or all there are."""
        nodes = self._graph.nodes
        while len(self._found) < count and self._steps < PARTS * nodes:
            missing = (count - len(self._found)) * nodes // len(self._graph.far)
            self._steps += missing + missing // 8 + self._steps // 4 + 8
            self._found = self._entered()
        return self._found

    def _entered(self) -> Indices:
        """Return the edges both of whose ends have entered, in the order in which they did."""
        drawn = self._reached()
        entered = np.maximum(self._step(self._graph.near[drawn]), self._step(self._graph.far[drawn]))
        drawn, entered = drawn[entered <= self._steps], entered[entered <= self._steps]
        keys = ((entered << TIE_BITS) + (self._ranks[drawn] >> TIE_BITS)) * len(self._graph.far) + drawn
        return np.asarray(drawn[np.argsort(keys)], dtype=np.int64)

    def _reached(self) -> Indices:
        """Return the edges whose near ends have entered."""
        first = max(self._core[0] - self._steps * self._share // PARTS, 0)
        last = min(self._core[1] + self._steps * (PARTS - self._share) // PARTS, self._graph.nodes - 1)
        drawn = np.arange(self._graph.starts[first], self._graph.starts[last + 1])
        return np.asarray(drawn[~np.isin(drawn, self._without)], dtype=np.int64)

    def _step(self, ends: Indices) -> Indices:
        """Return the step at which nodes enter: those of the core at 0, then some on either side."""
        before, ahead = self._core[0] - ends, ends - self._core[1]
        steps = np.maximum(-(-before * PARTS // self._share), -(-ahead * PARTS // (PARTS - self._share)))
        return np.asarray(np.maximum(steps, 0), dtype=np.int64)


TOKENS_PER_NODE = 24
"""About the number of a prompt's tokens per node: 15 tokens an edge, and three edges for two nodes."""


def baselines(sample: Sample) -> dict[str, float]:
    """Return the scores of guessers."""
    size, nodes = len(sample.relevant) and len(sample.key.target.split(", ")), sample.stratum.length // TOKENS_PER_NODE
    uniform = 1 / nodes if kind_of(sample.stratum) == "route" else size / max(nodes, size)
    return {"uniform": uniform, **sample.latent["guessers"]}


def guessers(subtask: str, graph: Graph, walk: Walk) -> dict[str, float]:
    """Return the scores of guessers that know the surroundings of the asked node."""
    right = {*walk.answers}
    if subtask == "route":
        return {"one_step": round(1 / len(right), 6)}
    edges = graph.entering(walk.root) if graph.turned else graph.leaving(walk.root)
    ends = {int(graph.near[edge]) if graph.turned else graph.ends[edge] for edge in edges}
    found = {"neighbours": _f1(ends, right)}
    if subtask == "bfs":
        found |= {
            "surroundings": len(right) / (len(walk.nodes) - 1),
            "forgetful": _f1({*walk.reached_without_memory}, right),
        }
    return {name: round(value, 6) for name, value in found.items()}


def _f1(named: AbstractSet[int], right: AbstractSet[int]) -> float:
    return 2 * len(named & right) / max(1, len(named) + len(right))


SIZES = {
    (1.5, 1): range(1, 4),
    (1.5, 2): range(2, 5),
    (1.5, 4): range(2, 9),
    (1.5, 8): range(4, 16),
    (2.0, 1): range(1, 4),
    (2.0, 2): range(2, 7),
    (2.0, 4): range(5, 15),
    (2.0, 8): range(12, 25),
    (3.0, 1): range(2, 5),
    (3.0, 2): range(5, 12),
    (3.0, 4): range(17, 33),
}
"""The dealt sizes of answers, by branch and distance."""


REPLY_TOKENS = {256: 4096, 512: 8192}
"""Tokens for the reply, for routes with this many steps."""


class GraphTask(Task):
    """A question about a part of a graph that contains all that the answer depends on."""

    family = "graph"
    scorer = "members"
    max_new_tokens = 1024
    shots = 2
    most_shots = 3
    shortest = 8192
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType(BRANCHES)
    prompt_wording: text.Wording = text.ENGLISH
    """The wording of its prompts."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec_of(stratum),)

    @abstractmethod
    def walk(self, graph: Graph, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Walk:
        """Draw a question's walk."""

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a node anywhere in the graph, and find what the answer depends on."""
        graph = graph_of(row_streams, stratum)
        walk = self.walk(graph, stratum, index, row_streams, stratum_streams)
        latent = {
            "relevant": list(walk.relevant),
            "decoys": list(walk.decoys),
            "left_out": [*walk.left_out, *walk.thinned(graph, row_streams.of("thinned"))],
            "core": list(walk.core),
            "guessers": guessers(kind_of(stratum), graph, walk),
            "effective_complexity": len(walk.relevant),
        }
        names = [graph.names[node] for node in walk.answers]
        target = ", ".join(names if kind_of(stratum) == "route" else sorted(names)) or self.prompt_wording.none
        asked = self.prompt_wording.question(kind_of(stratum), graph.names[walk.root], stratum.complexity)
        return Sample("", stratum, index, latent, tuple(map(graph.text, walk.relevant)), asked, Key.accepting(target))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put relevant edges at depths that are uniform over the stratum, and decoys at random."""
        stratum, latent, graph = sample.stratum, sample.latent, graph_of(row_streams, sample.stratum)
        anywhere, shots = row_streams.of("decoys"), self.shots_of(stratum)
        wanted = depths(stratum_streams, row_streams, stratum.rows, sample.index, len(sample.relevant))
        placed = [Placed.line(line, "relevant", depth) for line, depth in zip(sample.relevant, wanted, strict=True)]
        placed += [Placed.line(graph.text(edge), "decoy", anywhere.random()) for edge in latent["decoys"]]
        kept_out = {*latent["relevant"], *latent["decoys"], *latent["left_out"]}
        return Layout(
            head=text.head(
                kind_of(stratum), stratum.complexity, shots, graph.reserved, row_streams.of("demo"), self.prompt_wording
            ),
            placed=tuple(placed),
            filler=filler(stratum, latent["core"], kept_out, row_streams),
            tail=text.tail(sample.question, shots, self.prompt_wording),
        )

    def answers(self, text: str) -> tuple[str, ...]:
        return solver.solve(text, self.twin)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return solver.faults(row, kind_of(row.stratum), self.shots_of(row.stratum), named=bool(self.languages))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return what guessers score without following the edges."""
        return baselines(sample)


class Searching(GraphTask):
    """A task that tries nodes until one fits, none twice in a stratum while there are others.

    So each row depends on the nodes of the rows before it, which are drawn again if it is made alone.
    """

    version = 2

    @abstractmethod
    def search(self, graph: Graph, stratum: Stratum, index: int, streams: Streams, taken: AbstractSet[int]) -> Walk:
        """Draw the walk of row `index` from a node that is not taken, with streams that the stratum's rows share.

        Raises:
            ValueError: if no node fits.
        """

    def walk(self, graph: Graph, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Walk:
        return _in_turn(self, replace(stratum, blocks=1, full=1), stratum_streams).of(index)


class InTurn:
    """The walks of a stratum's rows, drawn in order as far as needed."""

    def __init__(self, task: Searching, stratum: Stratum, streams: Streams) -> None:
        self._task, self._stratum, self._streams = task, stratum, streams
        self._graph = graph_of(streams, stratum)
        self._found = list[Walk]()
        self._taken = set[int]()

    def of(self, index: int) -> Walk:
        """Return the walk of a row."""
        while len(self._found) <= index:
            walk = self._next()
            self._found.append(walk)
            self._taken.add(walk.root)
        return self._found[index]

    def _next(self) -> Walk:
        drawn = (self._graph, self._stratum, len(self._found), self._streams)
        try:
            return self._task.search(*drawn, self._taken)
        except ValueError:
            if not self._taken:
                raise
            self._taken.clear()  # every fitting node was asked about
            return self._task.search(*drawn, self._taken)


@lru_cache(maxsize=32)
def _in_turn(task: Searching, stratum: Stratum, streams: Streams) -> InTurn:
    return InTurn(task, stratum, streams)


class Bfs(Searching):
    """All nodes at one exact distance from a node; `complexity` is the distance."""

    subtask = "bfs"
    title = "all nodes of a graph at one exact distance from a node"
    complexities = (1, 2, 4, 8)

    def search(self, graph: Graph, stratum: Stratum, index: int, streams: Streams, taken: AbstractSet[int]) -> Walk:
        """Deal the size of the answer, and draw any node with such an answer.

        Raises:
            RecipeError: if nodes have too many edges for the distance.
        """
        sizes = _sizes(stratum)
        size = sizes[deal(streams.of("size"), stratum.rows, index, len(sizes))]
        return drawn_search(graph, stratum.complexity, size, streams.of("node", index), taken)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        size = len(sample.key.target.split(", "))
        return {f"size of the answer at {sample.stratum.complexity}": (size, len(_sizes(sample.stratum)))}


class Parents(GraphTask):
    """All nodes with an edge to a node; `complexity` is their number, which may be none."""

    subtask = "parents"
    title = "all parents of a node of a graph"
    complexities = (1, 4, 16, 0)

    def walk(self, graph: Graph, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Walk:
        """Draw any node with as many parents, none twice in a stratum while there are others.

        Raises:
            RecipeError: if no node has as many.
        """
        nodes = graph.of_degree(stratum.complexity)
        if not len(nodes):
            branch = branch_of(stratum)
            raise RecipeError(f"{stratum}: every node has a parent where branch = {branch}: give branch = 1.5")
        turn, place = divmod(index, len(nodes))
        node = int(nodes[Permutation(stratum_streams.of("node", turn), len(nodes))[place]])
        return reach(graph, node, 1).walk() if stratum.complexity else alone(graph, node)


class Route(Searching):
    """The nodes on the only route from a node; `complexity` is the number of steps."""

    subtask = "route"
    title = "the nodes on the only route from a node of a graph, in order"
    scorer = "route"
    complexities = (4, 16, 64, 256, 512)
    fits = MappingProxyType({256: 16_384, 512: 32_768})
    knobs = MappingProxyType({})

    def max_new_tokens_of(self, stratum: Stratum) -> int:
        """Return the tokens for the reply, more for the longest routes."""
        return REPLY_TOKENS.get(stratum.complexity, self.max_new_tokens)

    def search(self, graph: Graph, stratum: Stratum, index: int, streams: Streams, taken: AbstractSet[int]) -> Walk:
        """Draw any node."""
        return drawn_route(graph, stratum.complexity, streams.of("node", index), taken)


def in_language(plain: GraphTask) -> Callable[[str, str], GraphTask]:
    """Return a function that makes the task in a language; it raises `RecipeError` for two, as edges have none."""

    def form(one: str, other: str) -> GraphTask:
        made, asked = copy(plain), only(plain.subtask, one, other)
        made.subtask = f"{plain.subtask}-{asked}"
        made.twin, made.drawn_as = plain.subtask, f"{plain.subtask}@{plain.version}"
        made.version = plain.version + language(asked).version - 1
        made.languages, made.wording, made.prompt_wording = (asked, asked), digest(asked), text.InLanguage(asked)
        return made

    return form


def _sizes(stratum: Stratum) -> range:
    branch = branch_of(stratum)
    if (branch, stratum.complexity) not in SIZES:
        fit = [distance for other, distance in SIZES if other == branch]
        raise RecipeError(f"{stratum}: answers are too long where branch = {branch}: give a complexity of {fit}")
    return SIZES[branch, stratum.complexity]
