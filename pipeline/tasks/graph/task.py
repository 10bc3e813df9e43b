"""The three tasks of the family."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from pipeline.errors import RecipeError
from pipeline.metrics import NO_MEMBERS
from pipeline.recipe import Stratum
from pipeline.streams import Permutation, Streams, deal
from pipeline.tasks.base import Digest, Key, Layout, Placed, PoolSpec, Published, Sample, Task, Turns, unit
from pipeline.tasks.depths import depths
from pipeline.tasks.graph import chance, pool, proof, reader, text
from pipeline.tasks.graph.walks import Walk, alone, drawn_route, drawn_search, reach
from pipeline.worlds.graphs import Graph

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
"""How many nodes an answer has that are dealt, by branch and distance."""


class GraphTask(Task):
    """A graph of which a prompt holds a part, with all that the answer depends on."""

    family = "graph"
    scorer = "members"
    max_new_tokens = 1024
    shots = 2
    most_shots = 3
    shortest = 8192
    knobs: Mapping[str, tuple[Any, ...] | Digest] = MappingProxyType(pool.BRANCHES)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of the edges of a graph."""
        return (pool.spec_of(stratum),)

    @abstractmethod
    def walk(self, graph: Graph, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Walk:
        """Draw what is asked, and all that is relevant."""

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw a node anywhere in the graph, and look up what the answer depends on."""
        graph = pool.graph_of(own, stratum)
        walk = self.walk(graph, stratum, index, own, shared)
        latent = {
            "relevant": list(walk.relevant),
            "decoys": list(walk.decoys),
            "left_out": [*walk.left_out, *walk.thinned(graph, own.of("thinned"))],
            "core": list(walk.core),
            "guessers": chance.guessers(self.subtask, graph, walk),
            "effective_complexity": len(walk.relevant),
        }
        names = [graph.names[node] for node in walk.answers]
        target = ", ".join(names if self.subtask == "route" else sorted(names)) or NO_MEMBERS
        asked = text.question_of(self.subtask, graph.names[walk.root], stratum.complexity)
        return Sample("", stratum, index, latent, tuple(map(graph.text, walk.relevant)), asked, Key(target, (target,)))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put relevant edges at depths that are uniform over the stratum, and decoys anywhere."""
        stratum, latent, graph = sample.stratum, sample.latent, pool.graph_of(own, sample.stratum)
        anywhere, shots = own.of("decoys"), self.shots_of(stratum)
        wanted = depths(shared, own, stratum.rows, sample.index, len(sample.relevant))
        placed = [Placed(unit(line, "relevant"), depth) for line, depth in zip(sample.relevant, wanted, strict=True)]
        placed += [Placed(unit(graph.text(edge), "decoy"), anywhere.random()) for edge in latent["decoys"]]
        kept_out = {*latent["relevant"], *latent["decoys"], *latent["left_out"]}
        return Layout(
            head=text.head(self.subtask, stratum.complexity, shots, graph.reserved, own.of("demo")),
            placed=tuple(placed),
            filler=pool.filler(stratum, latent["core"], kept_out, own),
            tail=text.tail(sample.question, shots),
        )

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read all edges and answer the question.

        Raises:
            ValueError: if the text cannot be read, or has no answer.
        """
        return reader.solve(turns[-1][1])

    def check(self, row: Published) -> list[str]:
        """Prove that marked edges are relevant, decoys and all others not, and that the graph is a plain one.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        return list(proof.faults(row, self.subtask, self.shots_of(row.stratum)))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return what guessers score who do not follow the edges."""
        return chance.baselines(sample)


class Bfs(GraphTask):
    """All nodes at one exact distance from a node; `complexity` is the distance."""

    subtask = "bfs"
    title = "all nodes of a graph at one exact distance from a node"
    complexities = (1, 2, 4, 8)

    def walk(self, graph: Graph, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Walk:
        """Deal the size of the answer, and draw any node that has such an answer.

        Raises:
            RecipeError: where nodes have too many edges for the distance.
        """
        sizes = _sizes(stratum)
        size = sizes[deal(shared.of("size"), stratum.rows, index, len(sizes))]
        return drawn_search(graph, stratum.complexity, size, own.of("node"))

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the size of the answer."""
        size = len(sample.key.target.split(", "))
        return {f"size of the answer at {sample.stratum.complexity}": (size, len(_sizes(sample.stratum)))}


class Parents(GraphTask):
    """All nodes with an edge to a node; `complexity` is their number, which may be none."""

    subtask = "parents"
    title = "all parents of a node of a graph"
    complexities = (1, 4, 16, 0)

    def walk(self, graph: Graph, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Walk:
        """Draw any node with so many parents, none twice in a stratum while there are others.

        Raises:
            RecipeError: where no node has so many.
        """
        nodes = graph.of_degree(stratum.complexity)
        if not len(nodes):
            branch = pool.branch_of(stratum)
            raise RecipeError(f"{stratum}: every node has a parent where branch = {branch}: give branch = 1.5")
        turn, place = divmod(index, len(nodes))
        node = int(nodes[Permutation(shared.of("node", turn), len(nodes))[place]])
        return reach(graph, node, 1).walk() if stratum.complexity else alone(graph, node)


class Route(GraphTask):
    """The nodes on the only route from a node; `complexity` is the number of steps."""

    subtask = "route"
    title = "the nodes on the only route from a node of a graph, in order"
    scorer = "route"
    complexities = (4, 16, 64)
    knobs = MappingProxyType({})

    def walk(self, graph: Graph, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Walk:
        """Draw any node."""
        return drawn_route(graph, stratum.complexity, own.of("node"))


def _sizes(stratum: Stratum) -> range:
    branch = pool.branch_of(stratum)
    if (branch, stratum.complexity) not in SIZES:
        fit = [distance for other, distance in SIZES if other == branch]
        raise RecipeError(f"{stratum}: answers are too long where branch = {branch}: give a complexity of {fit}")
    return SIZES[branch, stratum.complexity]
