"""Reads a prompt's last graph and answers its question, with code that shares nothing with what drew it."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain, pairwise

from pipeline.metrics import EMPTY_LIST, NO_MEMBERS, listed
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.solving import PROMPT, ReadError, whole_lines

NODE = "[0-9a-f]{10}"
ARROW = " -> "
EDGES = re.compile(rf"(?:{NODE}{ARROW}{NODE}\n)*+")
EDGE_CHARACTERS = 25
"""Characters of an edge, with its newline."""
GRAPH = re.compile(r"^--- Graph \d+ ---\n", re.MULTILINE)
END = re.compile(r"^--- End of graph \d+ ---\n", re.MULTILINE)
ASKED = re.compile(
    rf"Question: Which nodes are (?:at a distance of exactly (?P<far>\d+) from node (?P<root>{NODE})"
    rf"|the parents of node (?P<child>{NODE})"
    rf"|reached, in order, from node (?P<start>{NODE}) in the first (?P<steps>\d+) steps)\?"
)
ANSWER = re.compile(rf"\nFinal Answer: \[({NODE}(?:, {NODE})*)\]\n")
NAMED_GRAPH = re.compile(r"^--- [^\d\n]+ \d+ ---\n", re.MULTILINE)
NAMED_END = re.compile(r"^--- [^\d\n]+ ---\n", re.MULTILINE)
NAMED_ANSWER = re.compile(rf"\n<answer>\[({NODE}(?:, {NODE})*)\]</answer>\n")
"""The same in other languages, without reading a word: a question is understood by its node and its number."""
Edge = tuple[str, str]


@dataclass(frozen=True)
class Question:
    """A question: its kind, the node that it names, and a distance or number of steps (0 for parents)."""

    kind: str
    node: str
    count: int


@dataclass(frozen=True)
class Listed:
    """A graph as read: where its edges begin in the text, the edges in order, and the question."""

    begins: int
    edges: Sequence[Edge]
    asked: Question

    @cached_property
    def children(self) -> Mapping[str, Sequence[str]]:
        """The nodes to which edges lead from each node."""
        return gathered(self.edges)

    @cached_property
    def answer(self) -> str:
        """The answer in the form of a key."""
        asked = self.asked
        if asked.kind == "route":
            return ", ".join(way(self.children, asked.node, asked.count))
        if asked.kind == "parents":
            return ", ".join(sorted(source for source, target in self.edges if target == asked.node)) or NO_MEMBERS
        found = [node for node, far in distances(self).items() if far == asked.count]
        if not found:
            raise ReadError(f"no node is the answer to {asked}")
        return ", ".join(sorted(found))


def gathered(pairs: Iterable[Edge]) -> dict[str, list[str]]:
    """Group the second names of pairs by the first."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for one, other in pairs:
        found[one].append(other)
    return dict(found)


def distances(graph: Listed) -> dict[str, int]:
    """Return the distance of every node within the asked distance."""
    found = {graph.asked.node: 0}
    queue = [graph.asked.node]
    for node in queue:
        if found[node] < graph.asked.count:
            new = [child for child in dict.fromkeys(graph.children.get(node, ())) if child not in found]
            found.update(dict.fromkeys(new, found[node] + 1))
            queue += new
    return found


def way(children: Mapping[str, Sequence[str]], node: str, steps: int) -> list[str]:
    """Return the nodes of a route."""
    found = [node]
    for _ in range(steps):
        on = children.get(found[-1], ())
        if len(on) != 1:
            raise ReadError(f"{len(on)} edges lead on from node {found[-1]}")
        found.append(on[0])
    return found[1:]


@PROMPT.cached
def read(text: str, kind: str = "") -> Listed:
    """Read the last graph of a prompt, and the question about it; `kind` is needed in languages other than English."""
    starts = [mark.end() for mark in _starts(text, kind)]
    end = next(whole_lines(NAMED_END, "--- ", text) if kind else whole_lines(END, "--- End of graph ", text), None)
    if not starts or not end:
        raise ReadError("the prompt does not hold a graph between its two marks")
    edges = _edges(text[starts[-1] : end.start()])
    if kind:
        return Listed(starts[-1], edges, _named(text[text.rfind("\n") + 1 :], kind))
    asked = ASKED.search(text, end.end())
    if not asked or asked.end() != len(text):
        raise ReadError("the prompt does not end in a question about a graph")
    return Listed(starts[-1], edges, _asked(asked))


def demonstrations(text: str, kind: str = "") -> list[tuple[Listed, str]]:
    """Return the graphs before the last one, each with its stated answer; `kind` is as in `read`."""
    found = []
    for one, other in pairwise(_starts(text, kind)):
        section = text[one.end() : other.start()]
        shown = (NAMED_ANSWER if kind else ANSWER).search(section)
        start = section.rfind("\n", 0, shown.start()) + 1 if shown else 0
        asked = None if kind else ASKED.search(section)
        if not shown or shown.end() != len(section) or not (kind or (asked and asked.end() == shown.start())):
            raise ReadError("a demonstration does not end in a question and its answer")
        question = _asked(asked) if asked else _named(section[start : shown.start()], kind)
        found.append((Listed(one.end(), _edges(section[: asked.start() if asked else start]), question), shown[1]))
    return found


def _starts(text: str, kind: str) -> list[re.Match[str]]:
    return list(whole_lines(NAMED_GRAPH, "--- ", text) if kind else whole_lines(GRAPH, "--- Graph ", text))


def _named(line: str, kind: str) -> Question:
    """Read a question in any language: it names one node, and a number if it asks for a distance or for steps."""
    nodes = re.findall(NODE, line)
    numbers = re.findall(r"\d+", re.sub(NODE, "", line))
    if len(nodes) != 1 or len(numbers) != (kind != "parents"):
        raise ReadError(f"the question {line!r} names {len(nodes)} nodes and {len(numbers)} numbers")
    return Question(kind, nodes[0], int(numbers[0]) if numbers else 0)


def _asked(found: re.Match[str]) -> Question:
    if found["far"]:
        return Question("bfs", found["root"], int(found["far"]))
    if found["child"]:
        return Question("parents", found["child"], 0)
    return Question("route", found["start"], int(found["steps"]))


def _edges(body: str) -> list[Edge]:
    """Return the edges of a body."""
    known = EDGES.match(body)
    end = known.end() if known else 0
    if end < len(body):
        raise ReadError(f"line {body[end : end + 80].partition(chr(10))[0]!r} is not an edge")
    nodes = body.replace(ARROW, "\n").split("\n")
    return list(zip(nodes[::2], nodes[1::2], strict=False))


def solve(text: str, kind: str = "") -> tuple[str, ...]:
    """Return the one answer of a prompt; `kind` is as in `read`."""
    graph = read(text, kind)
    if graph.answer == NO_MEMBERS and graph.asked.node not in graph.children:
        raise ReadError(f"no node is the answer to {graph.asked}, since no edge leads to that node or from it")
    return (EMPTY_LIST if kind and graph.answer == NO_MEMBERS else graph.answer,)


MOST_ANSWERS, MISLED_DISTANCE = 40, 3
"""The most nodes in an answer; the distance from which on a walker without memory is always misled."""


def faults(row: PublishedRow, subtask: str, shots: int, *, named: bool = False) -> Iterator[str]:
    """Yield what is wrong with a row; a `named` one is in a language other than English."""
    kind = subtask if named else ""
    graph = read(row.text, kind)
    asked = graph.asked
    if asked.kind != subtask or not row.text.endswith(row.question if named else f"\nQuestion: {row.question}"):
        yield f"{asked} is asked, the question is {row.question!r}"
    if asked.count not in (row.stratum.complexity, 0):
        yield f"{asked} is asked at complexity {row.stratum.complexity}"
    if row.key.answers != (row.key.target,):
        yield "the key accepts another answer than its target"
    yield from _not_plain(graph)
    yield from _wrong_demonstrations(demonstrations(row.text, kind), graph, subtask, shots)
    yield from _wrong_size(row, subtask)
    yield from _wrong_marks(row, graph)
    if subtask == "route":
        yield from _parting(graph)


def _not_plain(graph: Listed) -> Iterator[str]:
    """Find loops, duplicate edges, and an answer that contains the asked node."""
    loops = [source for source, target in graph.edges if source == target]
    if loops:
        yield f"an edge leads from node {loops[0]} to itself"
    if len({*graph.edges}) < len(graph.edges):
        yield f"the edge {Counter(graph.edges).most_common(1)[0][0]} is there twice"
    if graph.asked.node in graph.answer.split(", "):
        yield "the asked node is part of the answer"


def _wrong_demonstrations(
    demos: Sequence[tuple[Listed, str]], graph: Listed, subtask: str, shots: int
) -> Iterator[str]:
    if len(demos) != shots:
        yield f"expected {shots} demonstrations, found {len(demos)}"
    nodes = {*chain.from_iterable(graph.edges)}
    for number, (demo, shown) in enumerate(demos, 1):
        ordered = shown if subtask == "route" else ", ".join(sorted(shown.split(", ")))
        if demo.asked.kind != subtask or demo.answer != ordered:
            yield f"demonstration {number} shows {shown!r} for {demo.asked}"
        own = {*chain.from_iterable(demo.edges)}
        if own & nodes:
            yield f"demonstration {number} has nodes of another graph"
        nodes |= own


def _wrong_size(row: PublishedRow, subtask: str) -> Iterator[str]:
    nodes, complexity = listed({"target": row.key.target}), row.stratum.complexity
    if len({*nodes}) < len(nodes):
        yield "the answer names a node twice"
    if subtask != "bfs" and len(nodes) != complexity:
        yield f"expected {complexity} nodes in the answer, found {len(nodes)}"
    if subtask == "bfs" and not (1 if complexity == 1 else 2) <= len(nodes) <= MOST_ANSWERS:
        yield f"the answer has {len(nodes)} nodes"


def _wrong_marks(row: PublishedRow, graph: Listed) -> Iterator[str]:
    """Remove each edge of the question's walk in turn: the answer must change only for relevant ones."""
    met, right = _met(graph), graph.answer
    marked: dict[str, list[Edge]] = {"relevant": [], "decoy": []}
    for needle in row.needles:
        place, rest = divmod(needle.char_start - graph.begins, EDGE_CHARACTERS)
        if needle.role == "demo":
            continue
        if rest or needle.char_end - needle.char_start != EDGE_CHARACTERS or not 0 <= place < len(graph.edges):
            yield f"the mark at character {needle.char_start} is not an edge"
            return
        marked[needle.role].append(graph.edges[place])
    if sorted(marked["relevant"] + marked["decoy"]) != sorted(met):
        yield "the marks are not the edges that the question leads over"
        return
    for role, edges in marked.items():
        for edge in edges:
            same = _without(graph, met, edge) == right
            if same == (role == "relevant"):
                found = "the same" if same else "another"
                yield f"the edge {edge} is marked as {role}, but the answer without it is {found}"
    if (
        graph.asked.kind == "bfs"
        and graph.asked.count >= MISLED_DISTANCE
        and _reached_without_memory(graph) == {*right.split(", ")}
    ):
        yield "nobody who forgets where they have been is misled"


def _met(graph: Listed) -> list[Edge]:
    """Return the edges of the question's walk: those out of nodes before the last step, or into the asked node.

    If a question for parents has no answer, they are the edges out of the asked node.
    """
    if graph.asked.kind == "parents":
        end = 0 if graph.answer == NO_MEMBERS else 1
        return [edge for edge in graph.edges if edge[end] == graph.asked.node]
    if graph.asked.kind == "route":
        nodes = [graph.asked.node, *graph.answer.split(", ")]
        return list(pairwise(nodes))
    far = distances(graph)
    return [(node, child) for node in far if far[node] < graph.asked.count for child in graph.children.get(node, ())]


def _without(graph: Listed, met: Sequence[Edge], edge: Edge) -> str:
    """Return the answer without an edge, "" if there is none. No distance gets shorter, so no other edges matter."""
    try:
        return replace(graph, edges=[each for each in met if each != edge]).answer
    except ValueError:
        return ""


def _reached_without_memory(graph: Listed) -> set[str]:
    """Return the nodes that a walker without memory reaches, without the asked node, which the scorer ignores."""
    level = {graph.asked.node}
    for _ in range(graph.asked.count):
        level = {child for node in level for child in graph.children.get(node, ())}
    return level - {graph.asked.node}


def _parting(graph: Listed) -> Iterator[str]:
    parting = [node for node, children in graph.children.items() if len(children) > 1]
    if parting:
        yield f"{len(graph.children[parting[0]])} edges lead on from node {parting[0]}"
