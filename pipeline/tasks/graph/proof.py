"""What must hold for a published row, judged from its text and marks alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, pairwise

from pipeline.metrics import NO_MEMBERS, listed
from pipeline.tasks.base import Published
from pipeline.tasks.graph.reader import LINE, Edge, Listed, demonstrations, distances, read

MOST, TRAPPED = 40, 3
"""Nodes that an answer has at most; the distance from which on to forget where one has been is always to be misled."""


def faults(row: Published, subtask: str, shots: int) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    graph = read(row.text)
    asked = graph.asked
    if asked.kind != subtask or not row.text.endswith(f"\nQuestion: {row.question}"):
        yield f"{asked} is asked, the question is {row.question!r}"
    if asked.count not in (row.stratum.complexity, 0):
        yield f"{asked} is asked at complexity {row.stratum.complexity}"
    if row.key.answers != (row.key.target,):
        yield "the key accepts another answer than its target"
    yield from _not_plain(graph)
    yield from _wrong_demonstrations(row.text, graph, subtask, shots)
    yield from _wrong_size(row, subtask)
    yield from _wrong_marks(row, graph)
    if subtask == "route":
        yield from _parting(graph)


def _not_plain(graph: Listed) -> Iterator[str]:
    """Find loops and double edges, and an asked node that is not there."""
    loops = [source for source, target in graph.edges if source == target]
    if loops:
        yield f"an edge leads from node {loops[0]} to itself"
    if len({*graph.edges}) < len(graph.edges):
        yield f"the edge {Counter(graph.edges).most_common(1)[0][0]} is there twice"
    if graph.asked.node in graph.answer.split(", "):
        yield "the asked node is part of the answer"


def _wrong_demonstrations(text: str, graph: Listed, subtask: str, shots: int) -> Iterator[str]:
    demos = demonstrations(text)
    if len(demos) != shots:
        yield f"{len(demos)} demonstrations in place of {shots}"
    nodes = {*chain.from_iterable(graph.edges)}
    for number, (demo, shown) in enumerate(demos, 1):
        ordered = shown if subtask == "route" else ", ".join(sorted(shown.split(", ")))
        if demo.asked.kind != subtask or demo.answer != ordered:
            yield f"demonstration {number} shows {shown!r} for {demo.asked}"
        own = {*chain.from_iterable(demo.edges)}
        if own & nodes:
            yield f"demonstration {number} has nodes of another graph"
        nodes |= own


def _wrong_size(row: Published, subtask: str) -> Iterator[str]:
    nodes, complexity = listed({"target": row.key.target}), row.stratum.complexity
    if len({*nodes}) < len(nodes):
        yield "the answer names a node twice"
    if subtask != "bfs" and len(nodes) != complexity:
        yield f"the answer has {len(nodes)} nodes in place of {complexity}"
    if subtask == "bfs" and not (1 if complexity == 1 else 2) <= len(nodes) <= MOST:
        yield f"the answer has {len(nodes)} nodes"


def _wrong_marks(row: Published, graph: Listed) -> Iterator[str]:
    """Take each edge away that the question's walk meets: the answer changes without those that are relevant alone."""
    met, right = _met(graph), graph.answer
    marked: dict[str, list[Edge]] = {"relevant": [], "decoy": []}
    for needle in row.needles:
        place, rest = divmod(needle.char_start - graph.begins, LINE)
        if needle.role == "demo":
            continue
        if rest or needle.char_end - needle.char_start != LINE or not 0 <= place < len(graph.edges):
            yield f"the mark at character {needle.char_start} is no edge"
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
    if graph.asked.kind == "bfs" and graph.asked.count >= TRAPPED and _forgetful(graph) == {*right.split(", ")}:
        yield "nobody who forgets where they have been is misled"


def _met(graph: Listed) -> list[Edge]:
    """Return the edges that the question leads over: those out of nodes before the last step, or into the asked.

    Where none leads into the asked node, they are those that lead out of it.
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
    """Return the answer that is left without an edge: no distance gets shorter, so no other edges can matter."""
    try:
        return replace(graph, edges=[each for each in met if each != edge]).answer
    except ValueError:
        return ""


def _forgetful(graph: Listed) -> set[str]:
    """Return where as many steps lead as are asked, but for the asked node: replies that name it are not punished."""
    level = {graph.asked.node}
    for _ in range(graph.asked.count):
        level = {child for node in level for child in graph.children.get(node, ())}
    return level - {graph.asked.node}


def _parting(graph: Listed) -> Iterator[str]:
    parting = [node for node, children in graph.children.items() if len(children) > 1]
    if parting:
        yield f"{len(graph.children[parting[0]])} edges lead on from node {parting[0]}"
