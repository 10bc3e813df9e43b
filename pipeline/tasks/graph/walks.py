"""What is relevant of a graph: the edges that lead to the nodes at a distance, or along a route."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from random import Random

from pipeline.worlds.graphs import Graph

SPAN = 16 * 24
"""Nodes of the world between the first and the last that are relevant, at most."""
TRIES, TRAPPED = 20_000, 3
"""Nodes that are tried; the distance from which on every answer is another than that of who walks without memory."""
THINNED = 0.7
"""How often an edge is left out where one can be: for half of the answers that have another edge than the relevant."""


@dataclass(frozen=True, slots=True)
class Walk:
    """Where a question leads: from a node to its `answers`, over `relevant` edges.

    `decoys` are the other edges out of the same nodes: they lead back, or to dead ends. Of edges that lead to one node
    at the same distance all but one are `left_out`, so that it is needed.
    """

    root: int
    answers: tuple[int, ...]
    relevant: tuple[int, ...]
    decoys: tuple[int, ...]
    left_out: tuple[int, ...]
    nodes: tuple[int, ...]
    forgetful: tuple[int, int]
    """To how many other nodes so many steps lead that may lead back, and how many of these belong to the answer."""

    @property
    def core(self) -> tuple[int, int]:
        """The first and last node of the world that are reached."""
        return min(self.nodes), max(self.nodes)

    @property
    def trapped(self) -> bool:
        """Whether who does not remember where they have been gets elsewhere."""
        return self.forgetful != (len(self.answers), len(self.answers))

    @property
    def near(self) -> bool:
        """Whether all of it lies near together."""
        first, last = self.core
        return last - first <= SPAN

    def neighbours(self, graph: Graph) -> tuple[int, int]:
        """Return to how many nodes an edge leads from the asked one, and how many of these belong to the answer."""
        edges = graph.entering(self.root) if graph.turned else graph.leaving(self.root)
        ends = {int(graph.near[edge]) if graph.turned else graph.ends[edge] for edge in edges}
        return len(ends), len(ends.intersection(self.answers))

    def thinned(self, graph: Graph, rng: Random) -> list[int]:
        """Draw edges into the answers from elsewhere that are to be left out.

        A node with more edges is reached more often: in twice as many cases if it has two in place of one. Without
        half of the edges that are too many, answers have as many edges as other nodes.
        """
        found = list[int]()
        for node in self.answers:
            others = [edge for edge in graph.entering(node) if int(graph.near[edge]) not in self.nodes]
            spared = [edge for edge in others if len(graph.leaving(int(graph.near[edge]))) > 1]
            if spared and rng.random() < THINNED:
                found.append(rng.choice(spared))
        return found


def search(graph: Graph, root: int, distance: int) -> Walk:
    """Return all nodes at a distance from a node, and what leads there."""
    reached, by = {root: 0}, dict[int, int]()
    level, others, left_out = [root], list[int](), list[int]()
    for step in range(1, distance + 1):
        level, here = [], level
        for edge in (edge for node in here for edge in graph.leaving(node)):
            node = graph.ends[edge]
            if node not in reached:
                reached[node], by[node] = step, edge
                level.append(node)
            else:
                (left_out if reached[node] == step else others).append(edge)
    known = [*by.values(), *others]
    relevant = _on_the_way(graph, level, by)
    relevant |= {edge for edge in by.values() if edge not in relevant and _changes(graph, root, distance, known, edge)}
    lost = _forgetful(graph, root, distance, {*known}) - {root}
    return Walk(
        root,
        tuple(level),
        tuple(sorted(relevant)),
        tuple(sorted({*known} - relevant)),
        tuple(sorted(left_out)),
        tuple(reached),
        (len(lost), len(lost & {*level})),
    )


def _on_the_way(graph: Graph, level: Iterable[int], by: dict[int, int]) -> set[int]:
    """Return the edges by which the nodes of a level were reached: each of them is on all short ways to one of them."""
    found: set[int] = set()
    todo = [by[node] for node in level]
    while todo:
        edge = todo.pop()
        node = int(graph.near[edge])
        if edge not in found and node in by:
            todo.append(by[node])
        found.add(edge)
    return found


def _changes(graph: Graph, root: int, distance: int, known: Iterable[int], left_out: int) -> bool:
    """Tell whether the node that an edge leads to is at the distance, or leads there, without the edge."""
    return _at(graph, root, distance, {*known}) != _at(graph, root, distance, {*known} - {left_out})


def _at(graph: Graph, root: int, distance: int, known: set[int]) -> set[int]:
    """Return the nodes at a distance over some edges."""
    reached, level = {root}, {root}
    for _ in range(distance):
        ahead = {graph.ends[edge] for node in level for edge in graph.leaving(node) if edge in known}
        level = ahead - reached
        reached |= level
    return level


def _forgetful(graph: Graph, root: int, distance: int, known: set[int]) -> set[int]:
    """Return where so many steps lead that may lead back."""
    level = {root}
    for _ in range(distance):
        level = {graph.ends[edge] for node in level for edge in graph.leaving(node) if edge in known}
    return level


def follow(graph: Graph, root: int, steps: int) -> Walk | None:
    """Return the route of so many steps from a node, or None if it comes back to where it was."""
    nodes, edges = [root], list[int]()
    for _ in range(steps):
        (edge,) = graph.leaving(nodes[-1])
        edges.append(edge)
        nodes.append(graph.ends[edge])
    if len({*nodes}) < len(nodes):
        return None
    return Walk(root, tuple(nodes[1:]), tuple(edges), (), (), tuple(nodes), (steps, steps))


def drawn_search(graph: Graph, distance: int, size: int, rng: Random) -> Walk:
    """Draw a node with so many nodes at a distance from it; from three steps on with a trap.

    Raises:
        ValueError: if there is none.
    """
    for _ in range(TRIES):
        walk = search(graph, rng.randrange(graph.nodes), distance)
        if len(walk.answers) == size and walk.near and (walk.trapped or distance < TRAPPED):
            return walk
    raise ValueError(f"no node has {size} nodes at distance {distance}")


def drawn_route(graph: Graph, steps: int, rng: Random) -> Walk:
    """Draw a node from which a route of so many steps leads.

    Raises:
        ValueError: if there is none.
    """
    for _ in range(TRIES):
        walk = follow(graph, rng.randrange(graph.nodes), steps)
        if walk and walk.near:
            return walk
    raise ValueError(f"no node has a route of {steps} steps")
