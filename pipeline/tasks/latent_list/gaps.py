"""Lines that do nothing, placed so that the lines beside an operation do not tell whether it is relevant.

What an addition of filler is followed by, and what a removal comes after, would tell: most often the operation that
undoes it. So a line that does nothing stands behind every addition and before every removal, and between two reverses,
in filler and round relevant operations alike. On their other sides operations of filler have neighbours of a few kinds,
and relevant ones are given the same, as often: `surroundings` draws them. As runs of reverses in filler, a relevant
reverse has a pair behind it, so that no other reverse follows and it may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from pipeline.worlds.blocks import draw_block
from pipeline.worlds.programs import DO_NOTHING, REVERSE, Operation

CLASS = {"append": "add", "insert": "add", "pop": "take", "remove": "take", "reverse": "reverse", "sort": "reverse"}
"""What decides the lines beside an operation; a sort, which filler does not have, is surrounded as a reverse is."""
IDLE = f"{DO_NOTHING}\n"
TURNED = f"{REVERSE.text}\n{IDLE}{REVERSE.text}\n"
"""Two reverses, which cancel."""
SURROUNDINGS: Mapping[str, Mapping[tuple[str, str], int]] = {
    "add": {("", IDLE): 16, (TURNED, IDLE): 80, (IDLE, IDLE): 4},
    "take": {(IDLE, ""): 96, (IDLE, IDLE): 4},
    "reverse": {("", ""): 19, ("", IDLE): 23, (IDLE, ""): 22, (IDLE, IDLE): 36},
}
"""What stands before and behind a relevant operation, and how often of a hundred; nothing leaves it beside a block."""


def parted(before: Operation, after: Operation) -> bool:
    """Tell whether a line that does nothing stands between two operations of a block."""
    left, right = CLASS[before.name], CLASS[after.name]
    return left == "add" or right == "take" or left == right == "reverse"


def spaced(block: Iterable[Operation]) -> str:
    """Return the lines of a block of filler."""
    text, last = "", None
    for operation in block:
        text += IDLE if last and parted(last, operation) else ""
        text += f"{operation.text}\n"
        last = operation
    return text


def surroundings(rng: Random, name: str) -> tuple[str, str]:
    """Draw the lines before and behind a relevant operation."""
    choices = SURROUNDINGS[CLASS[name]]
    before, behind = rng.choices(list(choices), list(choices.values()))[0]
    return before, behind + (spaced(draw_block(rng, 1)) if name == REVERSE.name else "")
