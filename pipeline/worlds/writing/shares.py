"""How texts are shared out among formats and topics: each format as often, each topic as often, in pairs that fit.

Not every format suits every topic, so pairs cannot all be equally frequent. Of all ways to share out that give the same
to each format and the same to each topic, the one with the most entropy is taken.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from math import fsum
from random import Random

ROUNDS = 60
"""Rescalings; a pairing in which most pairs fit needs about ten until nothing moves any more."""
WHOLE = 10**9
"""What each format's shares sum to, but for rounding. Integers are the same on every machine."""


def shares(forms: Sequence[str], about: Sequence[str], fits: Callable[[str, str], bool]) -> list[list[int]]:
    """Return the share of each pair, a line for each format and a column for each topic; 0 where they do not fit.

    Lines and columns are rescaled in turn (Sinkhorn and Knopp 1967, Concerning nonnegative matrices and doubly
    stochastic matrices).

    Raises:
        ValueError: naming a format or topic that fits nothing.
    """
    table = [[1.0 if fits(form, topic) else 0.0 for topic in about] for form in forms]
    lonely = [form for form, line in zip(forms, table, strict=True) if not any(line)]
    lonely += [topic for topic, *column in zip(about, *table, strict=True) if not any(column)]
    if lonely:
        raise ValueError(f"no pair has {lonely[0]!r}: give formats and topics that suit each other")
    for _ in range(ROUNDS):
        columns = [fsum(column) * len(about) / len(forms) for column in zip(*table, strict=True)]
        table = [_scaled([share / column for share, column in zip(line, columns, strict=True)]) for line in table]
    return [[round(share * WHOLE) for share in line] for line in table]


def _scaled(line: Sequence[float]) -> list[float]:
    total = fsum(line)
    return [share / total for share in line]


def place_of(level: float, line: Sequence[int]) -> int:
    """Return the place in a line of shares that a level in [0, 1) falls on."""
    sums = list(accumulate(line))
    return bisect_right(sums, int(level * sums[-1]))


def sample(rng: Random, line: Sequence[int], count: int) -> list[int]:
    """Return up to `count` places of a line, all different, each draw in proportion to the shares that are left."""
    left, drawn = list(line), list[int]()
    while len(drawn) < count and any(left):
        drawn.append(place_of(rng.random(), left))
        left[drawn[-1]] = 0
    return drawn
