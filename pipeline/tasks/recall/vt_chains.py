"""The chains of a row of variable tracking: the asked one, its twins, others that it writes, and filler of more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from pipeline.streams import Indices, Shuffled, Streams, words
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.tasks.haystacks import SPARES, in_runs
from pipeline.worlds.chains import (
    NUMBERS,
    SINGLES,
    STEPS,
    WORLD,
    Line,
    Outline,
    copied,
    draw_chain,
    names,
    outline,
    pooled,
    restarted,
    start,
)

OTHERS = 3
"""Chains with other numbers that stand beside the asked one."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a row writes: the asked number, the lines that its answer needs, and all chains line by line."""

    number: int
    chains: list[list[Line]]
    needed: list[int]
    holders: list[str]


def draw(own: Streams, complexity: int, operations: str, twins: int) -> Drawn:
    """Draw the asked chain, of which `complexity` variables hold the asked number, `twins` and other chains."""
    rng = own.of("chains")
    number = rng.choice(NUMBERS)
    size = complexity if operations == "none" else 2 * complexity
    fresh = iter(names(own, own.of("names"), size * (1 + twins + OTHERS)))
    take = [[next(fresh) for _ in range(size)] for _ in range(1 + twins + OTHERS)]
    asked = _asked(rng, take[0], complexity, operations, number)
    holders = [line.name for line in asked if line.value == number]
    needed = _needed(asked, number)
    if rng.random() < 1 / 2:
        asked, needed = restarted(rng, asked, _other(rng, number)), [place + 1 for place in needed]
    broken = [_twin(rng, variables, operations, number) for variables in take[1 : 1 + twins]]
    others = [_apart(rng, variables, operations, number) for variables in take[1 + twins :]]
    return Drawn(number, [asked, *broken, *others], needed, holders)


def _asked(rng: Random, variables: Sequence[str], complexity: int, operations: str, number: int) -> list[Line]:
    """Draw a chain in which just so many variables hold a number; with operations it is never written down."""
    if operations == "none":
        return draw_chain(rng, variables, operations, number)
    hits = {*rng.sample(range(1, len(variables)), complexity)}
    lines = [start(variables[0], number - rng.choice(STEPS))]
    for place, name in enumerate(variables[1:], 1):
        lines.append(_step(rng, name, lines, number, operations, hit=place in hits))
    return lines


def _step(rng: Random, name: str, lines: Sequence[Line], number: int, operations: str, *, hit: bool) -> Line:
    """Draw a line after which a variable holds the number, or does not."""
    if hit:
        source = rng.choice([line for line in lines if line.value == number or abs(number - line.value) in STEPS])
        return copied(name, source, number - source.value)
    least, most = (number - STEPS[-1], number - 1) if operations == "add" else (number - STEPS[-1], number + STEPS[-1])
    source = rng.choice([line for line in lines if line.value != number])
    reach = range(max(least, source.value if operations == "add" else least), most + 1)
    value = rng.choice([each for each in reach if each != number and abs(each - source.value) <= STEPS[-1]])
    return copied(name, source, value - source.value)


def _needed(chain: Sequence[Line], number: int) -> list[int]:
    """Return the places of the lines that variables with a number take their values from, and their own."""
    wanted, needed = set[str](), list[int]()
    for place in range(len(chain) - 1, -1, -1):
        if chain[place].value == number or chain[place].name in wanted:
            needed.append(place)
            wanted.add(chain[place].given.removeprefix("VAR ").split(" ")[0])
    return needed[::-1]


def _twin(rng: Random, variables: Sequence[str], operations: str, number: int) -> list[Line]:
    """Draw a chain that starts with the asked number, and starts anew with another before anything is copied."""
    return restarted(rng, _apart(rng, variables, operations, number), number)


def _apart(rng: Random, variables: Sequence[str], operations: str, number: int) -> list[Line]:
    """Draw a chain of which no variable holds a number."""
    while True:
        chain = draw_chain(rng, variables, operations)
        if all(line.value != number for line in chain):
            return chain


def _other(rng: Random, number: int) -> int:
    return rng.choice([one for one in rng.sample(NUMBERS, 2) if one != number])


def spec(tier: str, operations: str) -> PoolSpec:
    """Return the pool of further chains, line by line."""
    return PoolSpec(f"chains-{operations}-{tier}", 1, tier, WORLD, make_chains)


def make_chains(streams: Streams, spec: PoolSpec) -> list[Unit]:
    """Write the lines of a tier's chains."""
    operations = spec.name.split("-")[1]
    chains = pooled(streams, spec.tier, operations)
    return [unit(f"{line}\n", facts=(f"value({line.name}, {line.value})",)) for chain in chains for line in chain]


def filler(own: Streams, tier: str, operations: str, number: int) -> Filler:
    """Return whole chains in random order, their lines interleaved, none of which ever holds a number."""
    shape = outline(own.world(), tier, operations)
    whole = len(shape.starts) - SINGLES
    touched = np.unique(shape.chain[shape.values == number])
    order = Shuffled(own.of("filler"), whole, frozenset(touched[touched < whole].tolist()))
    singles = np.setdiff1d(np.arange(whole, len(shape.starts)), touched)
    spares = shape.starts[singles[Shuffled(own.of("spares"), len(singles)).take(SPARES)]]
    name = spec(tier, operations).name
    return Filler(name, _Chains(order, shape), spares, "ranked", ranks=_interleaved(own.of("ranks"), shape))


def _interleaved(rng: Random, shape: Outline) -> Indices:
    """Return a random rank for each line, such that those of one chain keep their order."""
    drawn = words(rng, len(shape.chain)).astype(np.int64)
    return drawn[np.lexsort((drawn, shape.chain))]


class _Chains:
    """The lines of chains in random order."""

    def __init__(self, order: Shuffled, shape: Outline) -> None:
        self._order, self._shape = order, shape

    def take(self, count: int) -> Indices:
        """Return the first `count` lines."""
        chains = self._order.take(count // 2 + 1)
        lines = in_runs(self._shape.starts[chains], self._shape.counts[chains])
        return lines[:count]
