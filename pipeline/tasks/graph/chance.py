"""What guessers score who do not follow the edges.

``uniform`` names as many nodes as the answer has, drawn from all nodes that a prompt of the length holds; for a route
it is the share of its nodes that are right in their places. ``surroundings`` knows all nodes that are no further than
asked, but not how far they are, and names as many of them as the answer has. ``neighbours`` names the nodes to which an
edge leads from the asked one. ``forgetful`` takes as many steps as are asked, and does not remember where it has been.
"""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.tasks.base import Sample

TOKENS_PER_NODE = 24
"""Tokens of a prompt for each of its nodes, about: at 15 tokens an edge, three edges for two nodes."""


def baselines(subtask: str, sample: Sample) -> dict[str, float]:
    """Return the scores of guessers."""
    size, asked = len(sample.key.target.split(", ")), sample.stratum.complexity
    nodes = sample.stratum.length // TOKENS_PER_NODE
    if subtask == "route":
        return {"uniform": 1 / nodes, "one_step": 1 / asked}
    chances = {"uniform": size / max(nodes, size), "neighbours": _f1(sample.latent["neighbours"], size)}
    if subtask == "parents":
        return chances
    surroundings, forgetful = size / sample.latent["reached"], _f1(sample.latent["forgetful"], size)
    return {**chances, "surroundings": surroundings, "forgetful": forgetful}


def _f1(found: Sequence[int], size: int) -> float:
    """Return the F1 of so many nodes, of which so many are right."""
    named, right = found
    return 2 * right / (named + size)
