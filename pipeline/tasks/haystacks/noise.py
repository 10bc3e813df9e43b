"""The haystack of noise: one paragraph that says nothing, over and over, as in RULER (Hsieh et al. 2024, section 3.1).

It comes a paragraph a line. A few lines, anywhere, stop after some of its sentences: they close the gap of a prompt.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.tasks.haystacks import SPARES

SENTENCES = (
    "The kettle is on.",
    "Rain falls on the roof.",
    "The clock in the hall goes on and on.",
    "There is bread on the table, and the door is shut.",
    "Nobody is in a hurry.",
)
"""What noise says. The sentences differ in length, so that sums of lines that stop early leave no gap."""
WHOLE = 3
"""Whole lines among the spares: as many as a gap is wide."""


def lines() -> tuple[str, ...]:
    """Return the paragraph, then what is left of it with fewer and fewer sentences."""
    return tuple(" ".join(SENTENCES[:stop]) for stop in range(len(SENTENCES), 0, -1))


def make_noise(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every line once; a prompt repeats them. They state no facts."""
    return (unit(line + "\n") for line in lines())


def noise_spec(stratum: Stratum) -> PoolSpec:
    """Return the pool of lines."""
    return PoolSpec(f"noise-{stratum.tier}", 1, stratum.tier, f"noise@1:{_digest()}", make_noise)


def noise(own: Streams, stratum: Stratum) -> Filler:
    """Return filler that repeats the paragraph without end; lines of all lengths are its spares, many times each."""
    early = 1 + np.arange(SPARES - WHOLE) % (len(SENTENCES) - 1)
    spares = np.concatenate([np.zeros(WHOLE, dtype=np.int64), early])
    return Filler(noise_spec(stratum).name, _Repeated(), spares)


class _Repeated:
    """The first unit of the pool, as often as it is asked for."""

    def take(self, count: int) -> Indices:
        """Return as many first units."""
        return np.zeros(count, dtype=np.int64)


@cache
def _digest() -> str:
    return hashlib.sha256("\n".join(lines()).encode()).hexdigest()
