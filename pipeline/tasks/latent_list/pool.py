"""The filler of latent lists: lines that do nothing, runs of reverses, and blocks that cancel at every state.

The first units reverse the list two or four times in a row, then come pairs that cancel. The rest are wide blocks:
what cancels lies apart, with pairs and runs before, between and behind, so that its operations have the neighbours that
relevant ones have. Lines that do nothing stand behind any operation. What a unit's index stands for is fixed, whatever
the streams draw, so that one wheel serves every build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from random import Random

import numpy as np

from pipeline.streams import Indices, Streams, Wheel
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.tasks.latent_list.gaps import spaced
from pipeline.worlds.blocks import RUN, cancels, draw_block, draw_wide
from pipeline.worlds.programs import REVERSE, Operation

VARIANTS = 8
"""How many units there are of each run of reverses, with other lines that do nothing."""
FIRST_BLOCK = len(RUN) * VARIANTS
SHAPES = ((1, 0), (0, 1), (2, 1))
QUOTAS = (300, 700, 400, 800)
"""How many blocks are a pair side by side, and how many are wide, with so many additions and so many turns each.

Reverses between an addition and its removal keep a reader who strikes out pairs, whatever they hold, from the answer.
"""
BLOCKS = sum(QUOTAS)
STAND, RUN_STANDS = 4, 500
"""How often each block and each run stands on the wheel."""
SMALL = QUOTAS[0]
MIXED, MORE = 40, 64
"""Spares: units as the wheel has them, then blocks, for the variety of their token counts."""


def specs(tier: str) -> tuple[PoolSpec, ...]:
    """Return the one pool of a tier."""
    return (PoolSpec(name=f"blocks-{tier}", version=2, tier=tier, source="", make=make),)


def make(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Make the units of a pool, each block proven and no two equal.

    Raises:
        ValueError: for a block that does not cancel at every state.
    """
    rng, seen = streams.of("blocks", spec.tier), set[str]()
    for run in RUN:
        for _ in range(VARIANTS):
            yield _fresh(seen, rng, partial(_run, run))
    for _ in range(QUOTAS[0]):
        yield _fresh(seen, rng, partial(draw_block, rng, 1))
    for shape, quota in zip(SHAPES, QUOTAS[1:], strict=True):
        for _ in range(quota):
            yield _fresh(seen, rng, partial(draw_wide, rng, *shape))


def _run(length: int) -> tuple[Operation, ...]:
    return (REVERSE,) * length


def _fresh(seen: set[str], rng: Random, block: Callable[[], tuple[Operation, ...]]) -> Unit:
    """Return a unit whose text is new."""
    while True:
        made = block_unit(block(), rng)
        text = made.pieces[0].text
        if text not in seen:
            seen.add(text)
            return made


def block_unit(block: tuple[Operation, ...], rng: Random) -> Unit:
    """Return a block as a unit whose edges say where a relevant reverse must not touch it.

    Raises:
        ValueError: for a block that does not cancel at every state.
    """
    if not cancels(block):
        raise ValueError(f"a block does not cancel at every state: {[operation.text for operation in block]}")
    return unit(spaced(rng, block), edges=(edge(block[0]), edge(block[-1])))


def edge(operation: Operation) -> str:
    """Return the kind of an operation's edge: reverses must not touch."""
    return "reverse" if operation == REVERSE else ""


@lru_cache(maxsize=1)
def wheel() -> Indices:
    """Return the wheel of unit indices: as many operations reverse as change the list otherwise."""
    runs = np.arange(FIRST_BLOCK, dtype=np.int64).repeat(RUN_STANDS)
    return np.concatenate([runs, np.arange(FIRST_BLOCK, FIRST_BLOCK + BLOCKS, dtype=np.int64).repeat(STAND)])


def filler(tier: str, own: Streams) -> Filler:
    """Return a row's filler: an order off the wheel, and spares of few lines, as the wheel has them."""
    mixed = Wheel(own.of("spares", "mixed"), wheel()).take(6 * MIXED)
    small = mixed[mixed < FIRST_BLOCK + SMALL][:MIXED]
    rng = own.of("spares", "more")
    more = np.array(rng.sample(range(FIRST_BLOCK, FIRST_BLOCK + SMALL), MORE), dtype=np.int64)
    return Filler(f"blocks-{tier}", Wheel(own.of("filler"), wheel()), np.concatenate([small, more]))
