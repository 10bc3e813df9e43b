"""Lines that do nothing: as many behind a relevant operation as behind one of filler.

Every operation of a program, relevant or not, is followed by a number of such lines that is drawn in the same way. So
neither the line before an operation nor the one behind it tells whether it is relevant.
"""

from __future__ import annotations

from collections.abc import Iterable
from random import Random

from pipeline.worlds.programs import DO_NOTHING, Operation

GAPS = (0,) * 12 + (1,) * 4 + (2, 3)
"""How many lines that do nothing follow an operation: one in two on average, about geometric."""


def gap(rng: Random) -> str:
    """Draw the lines that follow one operation."""
    return f"{DO_NOTHING}\n" * rng.choice(GAPS)


def spaced(rng: Random, operations: Iterable[Operation]) -> str:
    """Return the lines of operations, each with what follows it."""
    return "".join(f"{operation.text}\n{gap(rng)}" for operation in operations)
