"""Reads a prompt's last graph and answers its question, by code that shares nothing with what drew it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from pipeline.metrics import NO_MEMBERS
from pipeline.tasks.finding import whole_lines
from pipeline.tasks.line_cache import PROMPT

NODE = "[0-9a-f]{10}"
ARROW = " -> "
EDGES = re.compile(rf"(?:{NODE}{ARROW}{NODE}\n)*+")
LINE = 25
"""Characters of an edge, with its newline."""
GRAPH = re.compile(r"^--- Graph \d+ ---\n", re.MULTILINE)
END = re.compile(r"^--- End of graph \d+ ---\n", re.MULTILINE)
ASKED = re.compile(
    rf"Question: Which nodes are (?:at a distance of exactly (?P<far>\d+) from node (?P<root>{NODE})"
    rf"|the parents of node (?P<child>{NODE})"
    rf"|reached, in order, from node (?P<start>{NODE}) in the first (?P<steps>\d+) steps)\?"
)
ANSWER = re.compile(rf"\nFinal Answer: \[({NODE}(?:, {NODE})*)\]\n")
Edge = tuple[str, str]


@dataclass(frozen=True)
class Asked:
    """A question: what kind it is, the node that it names, and a distance or number of steps (0 for parents)."""

    kind: str
    node: str
    count: int


@dataclass(frozen=True)
class Listed:
    """A graph as it was read: where its edges begin in the text, and the edges in order."""

    begins: int
    edges: Sequence[Edge]
    asked: Asked

    @cached_property
    def children(self) -> Mapping[str, Sequence[str]]:
        """The nodes that edges lead to from each node."""
        return gathered(self.edges)

    @cached_property
    def answer(self) -> str:
        """The answer as keys state it.

        Raises:
            ValueError: if there is none.
        """
        asked = self.asked
        if asked.kind == "route":
            return ", ".join(way(self.children, asked.node, asked.count))
        if asked.kind == "parents":
            return ", ".join(sorted(source for source, target in self.edges if target == asked.node)) or NO_MEMBERS
        found = [node for node, far in distances(self).items() if far == asked.count]
        if not found:
            raise ValueError(f"no node is the answer to {asked}")
        return ", ".join(sorted(found))


def gathered(pairs: Iterable[Edge]) -> dict[str, list[str]]:
    """Return the second names of pairs by the first."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for one, other in pairs:
        found[one].append(other)
    return dict(found)


def distances(graph: Listed) -> dict[str, int]:
    """Return the distance of every node that is no further than asked."""
    found = {graph.asked.node: 0}
    queue = [graph.asked.node]
    for node in queue:
        if found[node] < graph.asked.count:
            new = [child for child in dict.fromkeys(graph.children.get(node, ())) if child not in found]
            found.update(dict.fromkeys(new, found[node] + 1))
            queue += new
    return found


def way(children: Mapping[str, Sequence[str]], node: str, steps: int) -> list[str]:
    """Return the nodes of a route.

    Raises:
        ValueError: if the way ends too early, or parts.
    """
    found = [node]
    for _ in range(steps):
        on = children.get(found[-1], ())
        if len(on) != 1:
            raise ValueError(f"{len(on)} edges lead on from node {found[-1]}")
        found.append(on[0])
    return found[1:]


@PROMPT.of
def read(text: str) -> Listed:
    """Read the last graph of a prompt, and the question about it.

    Raises:
        ValueError: if it is not this task's.
    """
    starts = [mark.end() for mark in whole_lines(GRAPH, "--- Graph ", text)]
    end = next(whole_lines(END, "--- End of graph ", text), None)
    if not starts or not end:
        raise ValueError("the prompt does not hold a graph between its two marks")
    behind = ASKED.search(text, end.end())
    if not behind or behind.end() != len(text):
        raise ValueError("the prompt does not end in a question about a graph")
    return Listed(starts[-1], _edges(text[starts[-1] : end.start()]), _asked(behind))


def demonstrations(text: str) -> list[tuple[Listed, str]]:
    """Return the graphs before the last one, each with the answer that is shown.

    Raises:
        ValueError: if one is not this task's.
    """
    starts, found = list(whole_lines(GRAPH, "--- Graph ", text)), []
    for one, other in pairwise(starts):
        said = text[one.end() : other.start()]
        asked, shown = ASKED.search(said), ANSWER.search(said)
        if not asked or not shown or shown.start() != asked.end() or shown.end() != len(said):
            raise ValueError("a demonstration does not end in a question and its answer")
        found.append((Listed(one.end(), _edges(said[: asked.start()]), _asked(asked)), shown[1]))
    return found


def _asked(found: re.Match[str]) -> Asked:
    if found["far"]:
        return Asked("bfs", found["root"], int(found["far"]))
    if found["child"]:
        return Asked("parents", found["child"], 0)
    return Asked("route", found["start"], int(found["steps"]))


def _edges(body: str) -> list[Edge]:
    """Return the edges of a body.

    Raises:
        ValueError: for a line that is no edge.
    """
    known = EDGES.match(body)
    end = known.end() if known else 0
    if end < len(body):
        raise ValueError(f"line {body[end : end + 80].partition(chr(10))[0]!r} is no edge")
    nodes = body.replace(ARROW, "\n").split("\n")
    return list(zip(nodes[::2], nodes[1::2], strict=False))


def solve(text: str) -> tuple[str, ...]:
    """Return the one answer of a prompt.

    Raises:
        ValueError: if it cannot be read, or has no answer, or no edge has the asked node.
    """
    graph = read(text)
    if graph.answer == NO_MEMBERS and graph.asked.node not in graph.children:
        raise ValueError(f"no node is the answer to {graph.asked}, since no edge leads to that node or from it")
    return (graph.answer,)
