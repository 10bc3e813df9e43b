"""What guessers score who do not follow the edges.

``uniform`` names as many nodes as the answer has, drawn from all nodes that a prompt of the length holds; for a route
it is the share of its nodes that are right in their places. ``neighbours`` names the nodes to which an edge leads from
the asked one. ``surroundings`` knows all nodes that are no further than asked, but not how far they are, and names as
many of them as the answer has. ``forgetful`` takes as many steps as are asked, and does not remember where it has been.
``one_step`` knows where a route begins, and no more.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from pipeline.tasks.base import Sample
from pipeline.tasks.graph.walks import Walk
from pipeline.worlds.graphs import Graph

TOKENS_PER_NODE = 24
"""Tokens of a prompt for each of its nodes, about: at 15 tokens an edge, three edges for two nodes."""


def baselines(sample: Sample) -> dict[str, float]:
    """Return the scores of guessers."""
    size, nodes = len(sample.relevant) and len(sample.key.target.split(", ")), sample.stratum.length // TOKENS_PER_NODE
    uniform = 1 / nodes if sample.stratum.subtask == "route" else size / max(nodes, size)
    return {"uniform": uniform, **sample.latent["guessers"]}


def guessers(subtask: str, graph: Graph, walk: Walk) -> dict[str, float]:
    """Return the scores of those who know what lies around the asked node."""
    right = {*walk.answers}
    if subtask == "route":
        return {"one_step": round(1 / len(right), 6)}
    edges = graph.entering(walk.root) if graph.turned else graph.leaving(walk.root)
    ends = {int(graph.near[edge]) if graph.turned else graph.ends[edge] for edge in edges}
    found = {"neighbours": _f1(ends, right)}
    if subtask == "bfs":
        found |= {"surroundings": len(right) / (len(walk.nodes) - 1), "forgetful": _f1({*walk.forgetful}, right)}
    return {name: round(value, 6) for name, value in found.items()}


def _f1(named: AbstractSet[int], right: AbstractSet[int]) -> float:
    return 2 * len(named & right) / max(1, len(named) + len(right))
