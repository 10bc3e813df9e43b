"""Lines that do nothing, placed so that the lines beside an operation do not tell whether it is relevant.

What an addition of filler is followed by, and what a removal comes after, would tell: most often the operation that
undoes it. So a line that does nothing stands behind every addition and before every removal, and between two reverses,
in filler and round relevant operations alike. On their other sides operations of filler have neighbours of a few kinds,
and relevant ones are given the same, as often: `surroundings` draws them. A relevant reverse stands between two blocks,
so that no other reverse touches it wherever it stands.
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
BEFORE: Mapping[str, Mapping[str, int]] = {
    "add": {TURNED: 30, f"{TURNED}{IDLE}": 8, "": 36, IDLE: 26},
    "take": {f"{TURNED}{IDLE}": 36, IDLE: 64},
    "reverse": {IDLE: 72, "": 28},
}
BEHIND: Mapping[str, Mapping[str, int]] = {
    "add": {f"{IDLE}{TURNED}": 18, IDLE: 82},
    "take": {TURNED: 12, f"{IDLE}{TURNED}": 8, "": 55, IDLE: 25},
    "reverse": {IDLE: 72, "": 28},
}
"""What stands before and behind a relevant operation, and how often of a hundred; nothing leaves it beside a block."""
LOOSE = 0.12
"""How often a line that does nothing stands where it need not: behind a removal, or between reverse and addition."""


def parted(before: Operation, after: Operation, rng: Random) -> bool:
    """Tell whether a line that does nothing stands between two operations of a block."""
    left, right = CLASS[before.name], CLASS[after.name]
    if left == "add" or right == "take" or left == right == "reverse":
        return True
    return left != right and rng.random() < LOOSE


def spaced(block: Iterable[Operation], rng: Random) -> str:
    """Return the lines of a block of filler."""
    text, last = "", None
    for operation in block:
        text += IDLE if last and parted(last, operation, rng) else ""
        text += f"{operation.text}\n"
        last = operation
    return text


def surroundings(rng: Random, name: str) -> tuple[str, str]:
    """Draw the lines before and behind a relevant operation."""
    before, behind = (
        rng.choices(list(side[CLASS[name]]), list(side[CLASS[name]].values()))[0] for side in (BEFORE, BEHIND)
    )
    if name != REVERSE.name:
        return before, behind
    return spaced(draw_block(rng, 1), rng) + before, behind + spaced(draw_block(rng, 1), rng)
