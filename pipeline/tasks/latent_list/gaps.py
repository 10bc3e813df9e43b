"""Lines that do nothing, placed so that the lines beside an operation do not tell whether it is relevant.

What an addition of filler is followed by, and what a removal comes after, would tell: most often the operation that
undoes it. So a line that does nothing stands behind every addition and before every removal, and between two reverses,
in filler and round relevant operations alike. Further off stands a reverse, nearly always: filler reverses the list
between most of its additions and removals, and relevant ones stand between reverses as well. What `surroundings` draws
goes with what units of filler begin and end with: a reverse, now and then an addition, and a removal.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from pipeline.worlds.blocks import draw_block
from pipeline.worlds.programs import DO_NOTHING, Operation

CLASS = {"append": "add", "insert": "add", "pop": "take", "remove": "take", "reverse": "reverse", "sort": "reverse"}
"""What decides the lines beside an operation; a sort, which filler does not have, is surrounded as a reverse is."""
IDLE = f"{DO_NOTHING}\n"
AROUND: Mapping[str, Mapping[str, int]] = {
    "add": {"rr.-": 76, "artr.-": 12, ".-": 5, "-.-": 7},
    "take": {"rr-.": 56, "rr-.-": 4, "artr-.": 12, "-.": 25, "-.-": 3},
    "reverse": {".at": 20, ".-at": 29, "-.at": 30, "-.-at": 21},
}
"""What stands before and behind a relevant operation, the dot, and how often of a hundred: the steps of a block, and
`-` for a line that does nothing. No other reverse may touch a relevant one, so it comes before a pair."""
LOOSE = 0.05
"""How often a line that does nothing stands where it need not: behind a removal, or between reverse and addition."""


def parted(before: Operation, after: Operation, rng: Random) -> bool:
    """Tell whether a line that does nothing stands between two operations of a block."""
    left, right = CLASS[before.name], CLASS[after.name]
    if left == "add" or right == "take" or left == right == "reverse":
        return True
    return rng.random() < LOOSE


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
    around = AROUND[CLASS[name]]
    before, _, behind = rng.choices(list(around), list(around.values()))[0].partition(".")
    return (
        spaced(draw_block(rng, before.rstrip("-")), rng) + IDLE * before.count("-"),
        IDLE * behind.count("-") + spaced(draw_block(rng, behind.lstrip("-")), rng),
    )
