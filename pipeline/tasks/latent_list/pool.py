"""The filler of latent lists: a third of its lines from each of three strategies that leave every list as it is.

Unit 0 prints; units 1 to 3 reverse the list two, four or six times; the rest are blocks that cancel. What a unit's
index says about its lines is fixed, whatever the streams draw, so that one wheel serves every build.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from random import Random

import numpy as np

from pipeline.streams import Indices, Streams, Wheel
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.worlds.blocks import cancels, draw_block
from pipeline.worlds.programs import DO_NOTHING, REVERSE, Operation

RUNS = (2, 4, 6)
QUOTAS = (972, 902, 818, 738, 658)
"""How many blocks of 2, 4, 6, 8 and 10 lines."""
BLOCKS = sum(QUOTAS)
BLOCK_LINES = sum(2 * pairs * quota for pairs, quota in enumerate(QUOTAS, 1))
STAND = 2
"""How often each block stands on the wheel; the other multiplicities follow from its lines, and sum to a power of 2."""
SMALL = sum(QUOTAS[:3])
MIXED, MORE = 72, 32
"""Spares: units as the wheel has them, then blocks, for the variety of their token counts."""


def specs(tier: str) -> tuple[PoolSpec, ...]:
    """Return the one pool of a tier."""
    return (PoolSpec(name=f"blocks-{tier}", version=1, tier=tier, source="", make=make),)


def make(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Make the units of a pool, each block proven and no two equal.

    Raises:
        ValueError: for a block that does not cancel at every state.
    """
    rng = streams.of("blocks", spec.tier)
    yield unit(f"{DO_NOTHING}\n")
    for run in RUNS:
        yield block_unit((REVERSE,) * run)
    seen: set[tuple[Operation, ...]] = set()
    for pairs, quota in enumerate(QUOTAS, 1):
        for _ in range(quota):
            yield block_unit(_fresh(rng, pairs, seen))


def _fresh(rng: Random, pairs: int, seen: set[tuple[Operation, ...]]) -> tuple[Operation, ...]:
    while True:
        block = draw_block(rng, pairs)
        if block not in seen:
            seen.add(block)
            return block


def block_unit(block: tuple[Operation, ...]) -> Unit:
    """Return a block as a unit whose edges say where a relevant reverse must not touch it.

    Raises:
        ValueError: for a block that does not cancel at every state.
    """
    text = "".join(f"{operation.text}\n" for operation in block)
    if not cancels(block):
        raise ValueError(f"a block does not cancel at every state: {text!r}")
    return unit(text, edges=(edge(block[0]), edge(block[-1])))


def edge(operation: Operation) -> str:
    """Return the kind of an operation's edge: reverses must not touch."""
    return "reverse" if operation == REVERSE else ""


@lru_cache(maxsize=1)
def wheel() -> Indices:
    """Return the wheel of unit indices: expected lines are a third for each strategy, exactly."""
    lines = STAND * BLOCK_LINES
    blocks = np.arange(1 + len(RUNS), 1 + len(RUNS) + BLOCKS, dtype=np.int64)
    runs = np.arange(1, 1 + len(RUNS), dtype=np.int64)
    return np.concatenate([np.zeros(lines, dtype=np.int64), runs.repeat(lines // sum(RUNS)), blocks.repeat(STAND)])


def filler(tier: str, own: Streams) -> Filler:
    """Return a row's filler: an order off the wheel, and spares of up to six lines, as the wheel has them."""
    mixed = Wheel(own.of("spares", "mixed"), wheel()).take(2 * MIXED)
    small = mixed[mixed < 1 + len(RUNS) + SMALL][:MIXED]
    rng = own.of("spares", "more")
    more = np.array(rng.sample(range(1 + len(RUNS), 1 + len(RUNS) + SMALL), MORE), dtype=np.int64)
    return Filler(f"blocks-{tier}", Wheel(own.of("filler"), wheel()), np.concatenate([small, more]))
