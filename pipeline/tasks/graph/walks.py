"""Finds the relevant edges of a graph: those that lead to the nodes at a distance, or along a route."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from random import Random

from pipeline.worlds.graphs import Graph

MOST_NODES_SPANNED = 16 * 24
"""The most nodes of the world from the first relevant one to the last."""
NODES_SPANNED_PER_STEP = 4
"""The same for each step of a long route."""
TRIES, MISLED_DISTANCE = 20_000, 3
"""Nodes to try; the distance from which on the answer must differ from that of a walker without memory."""
THINNING_SHARE = {False: 0.7, True: 0.85}
"""How often an edge is left out if one can be, by whether the graph is turned; this removes half of the surplus."""


@dataclass(frozen=True, slots=True)
class Walk:
    """The walk of a question, from a `root` to its `answers`, over `relevant` edges.

    `decoys` are the other edges out of the same nodes, which lead back or to dead ends. If several edges lead to a node
    at the same distance, all but one are `left_out`, so that this one is needed.
    """

    root: int
    answers: tuple[int, ...]
    relevant: tuple[int, ...]
    decoys: tuple[int, ...]
    left_out: tuple[int, ...]
    nodes: tuple[int, ...]
    reached_without_memory: tuple[int, ...]
    """The nodes, without the root, that a walker without memory reaches in as many steps."""

    @property
    def core(self) -> tuple[int, int]:
        """The first and the last node of the world that are reached."""
        return min(self.nodes), max(self.nodes)

    @property
    def trapped(self) -> bool:
        """Whether a walker without memory ends elsewhere."""
        return {*self.reached_without_memory} != {*self.answers}

    @property
    def near(self) -> bool:
        """Whether all its nodes are close together in the world."""
        first, last = self.core
        return last - first <= MOST_NODES_SPANNED

    def thinned(self, graph: Graph, rng: Random) -> list[int]:
        """Draw edges from elsewhere into the answers, to be left out.

        A node with two such edges is reached twice as often as a node with one. Leaving out half of the surplus edges
        gives answers as many edges as other nodes have.
        """
        found = list[int]()
        for node in self.answers:
            others = [edge for edge in graph.entering(node) if int(graph.near[edge]) not in self.nodes]
            spared = [edge for edge in others if len(graph.leaving(int(graph.near[edge]))) > 1]
            if spared and rng.random() < THINNING_SHARE[graph.turned]:
                found.append(rng.choice(spared))
        return found


@dataclass(frozen=True, slots=True)
class Reach:
    """All nodes within a distance from a node, in the order in which they are reached.

    `by` maps each node to the edge that reaches it, and `level` are the nodes at the distance. `others` are edges to
    nodes reached at an earlier step, and `left_out` edges to nodes reached at the same step.
    """

    graph: Graph
    root: int
    distance: int
    by: dict[int, int]
    level: list[int]
    others: list[int]
    left_out: list[int]

    def walk(self) -> Walk:
        """Separate the needed edges from the others."""
        known = {*self.by.values(), *self.others}
        relevant = self._on_the_way()
        relevant |= {
            edge for edge in self.by.values() if edge not in relevant and self._at(known - {edge}) != self.level
        }
        decoys, left_out = sorted(known - relevant), sorted(self.left_out)
        return Walk(
            self.root,
            tuple(self.level),
            tuple(sorted(relevant)),
            tuple(decoys),
            tuple(left_out),
            (self.root, *self.by),
            tuple(sorted(self._reached_without_memory(known) - {self.root})),
        )

    def _on_the_way(self) -> set[int]:
        """Return the edges on the ways to the nodes of the level; no other edges lead there as quickly."""
        found: set[int] = set()
        todo = [self.by[node] for node in self.level]
        while todo:
            edge = todo.pop()
            node = int(self.graph.near[edge])
            if edge not in found and node in self.by:
                todo.append(self.by[node])
            found.add(edge)
        return found

    def _at(self, known: set[int]) -> list[int]:
        """Return the nodes at the distance if only some edges are known, in the order of `by`."""
        reached, level = {self.root}, {self.root}
        for _ in range(self.distance):
            level = self._ahead(level, known) - reached
            reached |= level
        return [node for node in self.by if node in level]

    def _reached_without_memory(self, known: set[int]) -> set[int]:
        """Return the nodes that a walker without memory reaches in as many steps."""
        level = {self.root}
        for _ in range(self.distance):
            level = self._ahead(level, known)
        return level

    def _ahead(self, level: set[int], known: set[int]) -> set[int]:
        return {self.graph.ends[edge] for node in level for edge in self.graph.leaving(node) if edge in known}


def reach(graph: Graph, root: int, distance: int) -> Reach:
    """Return all nodes within a distance from a node."""
    steps, found = {root: 0}, Reach(graph, root, distance, {}, [root], [], [])
    for step in range(1, distance + 1):
        here = found.level[:]
        found.level.clear()
        for edge in (edge for node in here for edge in graph.leaving(node)):
            node = graph.ends[edge]
            if node not in steps:
                steps[node], found.by[node] = step, edge
                found.level.append(node)
            else:
                (found.left_out if steps[node] == step else found.others).append(edge)
    return found


def alone(graph: Graph, root: int) -> Walk:
    """Return the walk from a node that is not the near end of any edge, so that there are no answers.

    Decoys are the edges whose far end it is, which are all that a prompt says about it.
    """
    return Walk(root, (), (), tuple(graph.entering(root)), (), (root,), ())


def follow(graph: Graph, root: int, steps: int) -> Walk | None:
    """Return the route of `steps` steps from a node, or None if it comes to a node twice."""
    nodes, edges = [root], list[int]()
    for _ in range(steps):
        (edge,) = graph.leaving(nodes[-1])
        edges.append(edge)
        nodes.append(graph.ends[edge])
    if len({*nodes}) < len(nodes):
        return None
    return Walk(root, tuple(nodes[1:]), tuple(edges), (), (), tuple(nodes), ())


def drawn_search(graph: Graph, distance: int, size: int, rng: Random, taken: AbstractSet[int]) -> Walk:
    """Draw the walk of a node, not taken, with `size` nodes at a distance; from `MISLED_DISTANCE` on it is trapped.

    Raises:
        ValueError: if there is none.
    """
    for _ in range(TRIES):
        node = rng.randrange(graph.nodes)
        found = None if node in taken else reach(graph, node, distance)
        if found and len(found.level) == size:
            walk = found.walk()
            if walk.near and (walk.trapped or distance < MISLED_DISTANCE):
                return walk
    raise ValueError(f"no node has {size} nodes at distance {distance}")


def drawn_route(graph: Graph, steps: int, rng: Random, taken: AbstractSet[int]) -> Walk:
    """Draw the walk of a node, not taken, from which a route of `steps` steps leads.

    Raises:
        ValueError: if there is none.
    """
    for _ in range(TRIES):
        node = rng.randrange(graph.nodes)
        walk = None if node in taken else follow(graph, node, steps)
        if walk and walk.core[1] - walk.core[0] <= max(MOST_NODES_SPANNED, NODES_SPANNED_PER_STEP * steps):
            return walk
    raise ValueError(f"no node has a route of {steps} steps")
