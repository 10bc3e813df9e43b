"""The text of a prompt about graphs: an instruction, small graphs as demonstrations, the graph, and the question."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pipeline.languages import joined, language
from pipeline.metrics import EMPTY_LIST, NO_MEMBERS
from pipeline.tasks.base import Piece
from pipeline.worlds.graphs import line

NODES, EDGES, TRIES = 8, 11, 1000
"""Nodes and edges of a demonstration."""
GREATEST_DISTANCE = 3
"""The greatest distance, or number of parents or steps, in a demonstration."""

FORM = (
    "A directed graph is given as a list of its edges, in random order. Each line is one edge: `a -> b` leads from "
    "node a to node b, and in that direction alone."
)
RULES = {
    "bfs": (
        "The distance from one node to another is the number of edges on the shortest path from the first to the "
        "second. You will be asked for all nodes at exactly a given distance from one node: a node to which there "
        "is also a shorter path does not belong to the answer. The order of the answer does not matter."
    ),
    "parents": (
        "The parents of a node are the nodes from which an edge leads directly to it. You will be asked for all the "
        "parents of one node; if it has none, the list in your answer is to be empty, []. The order of the answer does "
        "not matter."
    ),
    "route": (
        "At most one edge leads out of any node, so there is never a choice of where to go next. You will be asked for "
        "the nodes that are reached from a given node, one for each step, in order; the starting node itself is not "
        "one of them."
    ),
}
REPLY = "End your reply with one line of this form: Final Answer: [node, node, ...]"
EXAMPLES = {
    1: "One small graph comes first, as an example; the question to answer is about the graph after it.",
    2: "Two small graphs come first, as examples; the question to answer is about the graph after them.",
    3: "Three small graphs come first, as examples; the question to answer is about the graph after them.",
}
QUESTIONS = {
    "bfs": "Which nodes are at a distance of exactly {count} from node {node}?",
    "parents": "Which nodes are the parents of node {node}?",
    "route": "Which nodes are reached, in order, from node {node} in the first {count} steps?",
}


class Wording:
    """The English wording of a prompt, and a key's form for no nodes."""

    none = NO_MEMBERS

    def instruction(self, subtask: str, shots: int) -> str:
        """Return the text before all graphs."""
        examples = [EXAMPLES[shots]] if shots else []
        return "\n\n".join([" ".join([FORM, RULES[subtask]]), " ".join([*examples, REPLY])]) + "\n"

    def opening(self, number: int) -> str:
        """Return the line before the edges of a graph."""
        return f"--- Graph {number} ---\n"

    def ending(self, number: int, question: str) -> str:
        """Return the text after the edges of the last graph."""
        return f"--- End of graph {number} ---\n{REPLY}\n\n{self.asked(question)}"

    def question(self, subtask: str, node: str, count: int) -> str:
        """Return a question about a node."""
        return QUESTIONS[subtask].format(node=node, count=count)

    def asked(self, question: str) -> str:
        """Return a question after its heading."""
        return f"Question: {question}"

    def answer(self, nodes: str) -> str:
        """Return the line with the answer of a demonstration."""
        return f"Final Answer: [{nodes}]"


class InLanguage(Wording):
    """The wording in another language, with the answer between tags instead of after English words."""

    def __init__(self, code: str) -> None:
        """Set the language by its code."""
        self.none = EMPTY_LIST
        self._language = language(code)

    def instruction(self, subtask: str, shots: int) -> str:
        known = self._language
        named = ["graph", f"graph_{subtask}", *(["graph_examples"] if shots else [])]
        return f"{joined(*map(known.sentence, named))}\n{known.sentence('reply_nodes')}\n"

    def opening(self, number: int) -> str:
        return f"--- {self._language.heads.graph} {number} ---\n"

    def ending(self, number: int, question: str) -> str:
        known = self._language
        return f"--- {known.heads.end} ---\n{known.sentence('reply_nodes')}\n\n{self.asked(question)}"

    def question(self, subtask: str, node: str, count: int) -> str:
        slots = {"node": node} if subtask == "parents" else {"node": node, "count": count}
        return self._language.sentence(f"asks_{subtask}", **slots)

    def asked(self, question: str) -> str:
        return self._language.question(question)

    def answer(self, nodes: str) -> str:
        return f"<answer>[{nodes}]</answer>"


ENGLISH = Wording()


def head(
    subtask: str, count: int, shots: int, names: Sequence[str], rng: Random, wording: Wording = ENGLISH
) -> tuple[Piece, ...]:
    """Return all that precedes the edges. Nodes of demonstrations have some of the given names, each used once."""
    drawn = rng.sample(names, shots * NODES)
    own = (drawn[place * NODES : (place + 1) * NODES] for place in range(shots))
    demos = (_demo(subtask, _shown(subtask, count, rng), nodes, rng, wording) for nodes in own)
    return (
        Piece(wording.instruction(subtask, shots), "instruction"),
        *(Piece(f"{wording.opening(place)}{demo}", "demo") for place, demo in enumerate(demos, 1)),
        Piece(wording.opening(shots + 1), "instruction"),
    )


def tail(question: str, shots: int, wording: Wording = ENGLISH) -> tuple[Piece, ...]:
    """Return all that follows the edges."""
    return (Piece(wording.ending(shots + 1, question), "question"),)


def _shown(subtask: str, count: int, rng: Random) -> int:
    """Return the count for a demonstration; a number of parents is random, so that it reveals nothing."""
    return rng.randint(1, GREATEST_DISTANCE) if subtask == "parents" else min(count, GREATEST_DISTANCE)


def _demo(subtask: str, count: int, names: Sequence[str], rng: Random, wording: Wording) -> str:
    """Draw a small graph with a question about its first node that has one to three answers."""
    for _ in range(TRIES):
        edges = _edges(subtask, rng)
        found = ANSWERS[subtask](edges, count)
        if found:
            lines = "".join(line(names[source], names[target]) for source, target in edges)
            answer = ", ".join(names[node] for node in found)
            asked = wording.asked(wording.question(subtask, names[0], count))
            return f"{lines}{asked}\n{wording.answer(answer)}\n"
    raise ValueError(f"no small graph suits {subtask} {count}")


def _edges(subtask: str, rng: Random) -> list[tuple[int, int]]:
    """Draw the edges of a small graph."""
    if subtask == "route":
        return [(node, rng.choice([other for other in range(NODES) if other != node])) for node in _shuffled(rng)]
    pairs = [(source, target) for source in range(NODES) for target in range(NODES) if source != target]
    return rng.sample(pairs, EDGES)


def _shuffled(rng: Random) -> list[int]:
    return rng.sample(range(NODES), NODES)


Edges = Sequence[tuple[int, int]]


def _far(edges: Edges, distance: int) -> list[int]:
    """Return the nodes at a distance from node 0; empty if they are too many, or if no edge leads back."""
    reached, level = {0}, {0}
    for _ in range(distance):
        level = {target for source, target in edges if source in level}
        again, level = level & reached, level - reached
        reached |= level
    return sorted(level) if len(level) in (1, 2, 3) and (again or distance == 1) else []


def _parents(edges: Edges, count: int) -> list[int]:
    """Return the parents of node 0; empty unless there are `count`."""
    found = [source for source, target in edges if target == 0]
    return found if len(found) == count else []


def _route(edges: Edges, steps: int) -> list[int]:
    """Return the route from node 0; empty if it comes to a node twice."""
    leads, nodes = dict(edges), [0]
    for _ in range(steps):
        nodes.append(leads[nodes[-1]])
    return nodes[1:] if len({*nodes}) == len(nodes) else []


ANSWERS = {"bfs": _far, "parents": _parents, "route": _route}
