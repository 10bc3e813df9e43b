"""Graphs: a passage is an edge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.readers.base import FIRST, LAST, End, Passage, Reading
from pipeline.tasks.graph.reader import LINE, Edge, Listed, gathered, read


class Edges(Reading):
    """A question about one node of a graph."""

    @cached_property
    def listed(self) -> Listed:
        """The graph as it was sent."""
        return read(self.text)

    @cached_property
    def body(self) -> tuple[int, int]:
        """The characters that the edges span."""
        return self.listed.begins, self.listed.begins + LINE * len(self.listed.edges)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return what the edges seen tell; a way that ends early is told as far as it goes."""
        edges = [edge_of(passage.text) for passage in seen]
        if self.subtask == "route":
            return ", ".join(self._way(edges)) or self.guess()
        try:
            return replace(self.listed, edges=edges).answer
        except ValueError:
            return self.guess()

    def _way(self, edges: Iterable[Edge]) -> list[str]:
        """Follow the edges from node to node, of several that lead on the first to a new node."""
        children, asked = gathered(edges), self.listed.asked
        found = {asked.node: None}
        while len(found) <= asked.count:
            on = [child for child in children.get(next(reversed(found)), ()) if child not in found]
            if not on:
                break
            found[on[0]] = None
        return list(found)[1:]

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return every edge in both directions, the first or the last ones first: half of it matches either node."""
        seen = self.passages if end == FIRST else self.passages[::-1]
        return [each for one in seen for each in (one, replace(one, text=_turned(one.text)))]

    def last_match(self) -> Sequence[Passage]:
        """Return the last edge out of every node, or into the asked; on a route, where each has one, by half of it."""
        if self.subtask == "route":
            return self.half_known(LAST)
        place = 1 if self.subtask == "parents" else 0
        last = {edge_of(passage.text)[place]: passage for passage in self.passages}
        return sorted(last.values(), key=lambda one: one.start)


def edge_of(line: str) -> Edge:
    """Return the two nodes of a line."""
    source, target = line.rstrip("\n").split(" -> ")
    return source, target


def _turned(line: str) -> str:
    source, target = edge_of(line)
    return f"{target} -> {source}\n"
