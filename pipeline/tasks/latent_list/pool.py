"""The filler of latent lists: lines that do nothing, reverses in even numbers, and blocks that cancel at every state.

Each of the three has a third of its lines; a reverse within a block counts as one of the reverses. Every unit begins
with a reverse or an addition and ends in a removal, so that relevant operations stand between the kinds of lines that
operations of filler stand between. What a unit's index stands for is fixed, whatever the streams draw, so that one
wheel serves every build.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from random import Random

import numpy as np

from pipeline.streams import Indices, Streams, Wheel
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.tasks.latent_list.gaps import spaced
from pipeline.worlds.blocks import Block, cancels, draw_block

SHAPES = ("rart", "rarartrt", "rraratrt", "raratrrt", "rrarartt", "ararrtrt", "raaattrt")
"""The steps of units: `a` adds a number, `t` takes one out, `r` reverses. Most operations stand between two reverses,
as relevant ones do; the last shape adds three numbers in a row, which lets indices lie far from the ends."""
QUOTAS = (592, 800, 600, 600, 600, 600, 600)
"""How many units there are of each shape."""
STANDS = (1, 5, 4, 4, 2, 2, 1)
"""How often each of them stands on the wheel: of all lines a third does nothing, a third reverses the list, and a third
adds or takes out numbers."""
BLOCKS = sum(QUOTAS)
SMALL = QUOTAS[0]
LONGEST = 265
"""Characters of a unit: the shortest windows hold little more than five."""
MIXED, MORE = 40, 64
"""Spares: units as the wheel has them, then the smallest, for the variety of their token counts."""


def specs(tier: str) -> tuple[PoolSpec, ...]:
    """Return the one pool of a tier."""
    return (PoolSpec(name=f"blocks-{tier}", version=2, tier=tier, source="", make=make),)


def make(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Make the units of a pool, each block proven and no two equal.

    Raises:
        ValueError: for a block that does not cancel at every state.
    """
    rng, seen = streams.of("blocks", spec.tier), set[Block]()
    for shape, quota in zip(SHAPES, QUOTAS, strict=True):
        for _ in range(quota):
            yield _fresh(seen, partial(draw_block, rng, shape), rng)


def _fresh(seen: set[Block], draw: Callable[[], Block], rng: Random) -> Unit:
    """Return a block that is new, and not so long that the shortest windows have no room for a choice of units."""
    while True:
        block = draw()
        made = block_unit(block, rng)
        if block not in seen and len(made.pieces[0].text) <= LONGEST:
            seen.add(block)
            return made


def block_unit(block: Block, rng: Random) -> Unit:
    """Return a block as a unit.

    Raises:
        ValueError: for a block that does not cancel at every state.
    """
    if not cancels(block):
        raise ValueError(f"a block does not cancel at every state: {[operation.text for operation in block]}")
    return unit(spaced(block, rng))


@lru_cache(maxsize=1)
def wheel() -> Indices:
    """Return the wheel of unit indices."""
    return np.arange(BLOCKS, dtype=np.int64).repeat(np.repeat(STANDS, QUOTAS))


def filler(tier: str, own: Streams) -> Filler:
    """Return a row's filler: an order off the wheel, and spares, some as the wheel has them and some pairs."""
    mixed = Wheel(own.of("spares", "mixed"), wheel()).take(MIXED)
    more = np.array(own.of("spares", "more").sample(range(SMALL), MORE), dtype=np.int64)
    return Filler(f"blocks-{tier}", Wheel(own.of("filler"), wheel()), np.concatenate([np.unique(mixed), more]))
