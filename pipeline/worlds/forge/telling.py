"""Steps in words: as a question describes them, and as a docstring does."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from pipeline.worlds.forge.names import words
from pipeline.worlds.forge.steps import Step, near_misses

NONE, TRUE, MISLEADING = "none", "true", "misleading"
JOINED = ", then "
ROOM = 77
"""Characters of what a docstring of one line says."""


def told(rng: Random, steps: Sequence[Step]) -> str:
    """Return steps in words, in their order."""
    return JOINED.join(rng.choice(words()[f"say_{step.kind}"]).replace("N", str(step.number)) for step in steps)


def told_in_doc(rng: Random, steps: Sequence[Step], docs: str) -> str:
    """Return what a docstring says of steps: nothing, what they do, or what they do not.

    One line has no room for all: it tells the first one and the last, or one of them.
    """
    if docs == NONE:
        return ""
    if docs == MISLEADING:
        steps = near_misses(rng, steps, 1)[0]
    parts = [[steps[0], steps[-1]], [steps[0]], [steps[-1]]]
    said = next(said for said in (told(rng, part) for part in parts) if len(said) <= ROOM)
    return f"{said[0].upper()}{said[1:]}."
