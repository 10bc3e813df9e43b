"""The world of chains: variables that take their values from one another (RULER, section 3.2, variable tracking).

A chain is a run of assignments. The first gives a variable a number; each further one gives a new variable the value of
an earlier one. With operations, some add to that value or subtract from it (Zhou et al. 2025, GSM-Infinite). In a few
chains the first variable gets another number before anything is copied from it. No two variables of a prompt have the
same name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import lru_cache
from pipeline.streams import Indices, Permutation, Streams
from pipeline.typed import (
    TIERS,
)

WORLD = "chains@1"
LETTERS = 5
NAMES = len(ascii_uppercase) ** LETTERS
POOLED = 1_000_000
"""Names that pools may use; the rest are for the rows' own chains."""
NUMBERS = range(10_000, 100_000)
OPERATIONS = ("none", "add", "mixed")
"""Copies only; also additions; also additions and subtractions."""
STEPS = range(1, 100)
"""What an operation adds or subtracts."""
LONGEST = 12
"""The most variables of a pool's chain."""
RESTARTED = 5
"""One in this many chains of a pool starts with a number that is replaced."""
TOKENS_PER_LINE = 7
"""Tokens of the tier per line: a pool has about twice what a prompt can hold."""
SINGLES = 1024
"""Chains of one line at the end of a pool, to fill gaps."""


@dataclass(frozen=True, slots=True)
class Line:
    """An assignment: a variable, the expression that it is given, and the number that it then holds."""

    name: str
    expression: str
    value: int

    def __str__(self) -> str:
        """Return the line as programs have it."""
        return f"VAR {self.name} = {self.expression}"


@dataclass(frozen=True, slots=True)
class Outline:
    """All lines of a pool as arrays: where each chain starts, how many lines it has, and every line's value."""

    starts: Indices
    counts: Indices
    values: NDArray[np.int64]
    chain: Indices


def names(streams: Streams, rng: Random, count: int) -> list[str]:
    """Draw names that no pool has."""
    order = _names(streams)
    drawn = [order[place] for place in rng.sample(range(POOLED, NAMES), count)]
    return _spelled(np.array(drawn, dtype=np.int64))


def start(name: str, number: int) -> Line:
    """Return the line that gives a variable a number."""
    return Line(name, str(number), number)


def copied(name: str, source: Line, add: int = 0) -> Line:
    """Return the line that gives a variable what another holds, plus a number."""
    sign = "+" if add > 0 else "-"
    return Line(name, f"VAR {source.name}" + (f" {sign} {abs(add)}" if add else ""), source.value + add)


def draw_chain(rng: Random, variables: Sequence[str], operations: str, number: int = 0) -> list[Line]:
    """Draw a chain of some variables; each takes from one of the last two before it."""
    first, *others = variables
    lines = [start(first, number or rng.choice(NUMBERS))]
    for name in others:
        lines.append(_next(rng, name, lines[-2:], operations))
    return lines


def _next(rng: Random, name: str, before: Sequence[Line], operations: str) -> Line:
    source = rng.choice(before)
    if operations == "none" or rng.random() < 1 / 2:
        return copied(name, source)
    return copied(name, source, rng.choice(STEPS) * (rng.choice((1, -1)) if operations == "mixed" else 1))


def restarted(rng: Random, chain: Sequence[Line], number: int = 0) -> list[Line]:
    """Return a chain preceded by a line that gives its first variable a number that is then replaced."""
    return [start(chain[0].name, number or rng.choice(NUMBERS)), *chain]


def pooled(streams: Streams, tier: str, operations: str) -> Iterator[list[Line]]:
    """Yield the chains of a tier: those with several lines, then the single ones."""
    rng, sizes = streams.world(WORLD, tier, operations).of("chains"), [*_sizes(streams, tier, operations)]
    names = iter(_spelled(_names(streams).run(0, sum(sizes))))
    for size in sizes:
        chain = draw_chain(rng, [*islice(names, size)], operations)
        yield restarted(rng, chain) if size > 1 and rng.randrange(RESTARTED) == 0 else chain


def _sizes(streams: Streams, tier: str, operations: str) -> Iterator[int]:
    rng, left = streams.world(WORLD, tier, operations).of("sizes"), TIERS[tier] // TOKENS_PER_LINE
    while left > 0:
        size = rng.randint(2, LONGEST)
        left -= size
        yield size
    yield from [1] * SINGLES


@lru_cache(maxsize=4)
def outline(seed: Streams, tier: str, operations: str) -> Outline:
    """Return where the chains of a tier are in its pool; `seed` is ``streams.world()`` of any streams."""
    chains = list(pooled(seed, tier, operations))
    counts = np.array([len(chain) for chain in chains], dtype=np.int64)
    values = np.array([line.value for chain in chains for line in chain], dtype=np.int64)
    return Outline(np.cumsum(counts) - counts, counts, values, np.arange(len(counts)).repeat(counts))


def _names(streams: Streams) -> Permutation:
    return Permutation(streams.world(WORLD).of("names"), NAMES)


def _spelled(numbers: Indices) -> list[str]:
    """Return numbers as names: their digits in base 26, the lowest first."""
    places = numbers[:, None] // len(ascii_uppercase) ** np.arange(LETTERS) % len(ascii_uppercase)
    letters = np.frombuffer(ascii_uppercase.encode(), dtype=np.uint8)[places].tobytes().decode()
    return [letters[at : at + LETTERS] for at in range(0, len(letters), LETTERS)]
