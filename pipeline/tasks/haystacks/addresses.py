"""The haystack of addresses: whole State of the Union addresses one after another, of which none comes twice.

The first begins at any of its paragraphs, so that no two prompts begin alike.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams, words
from pipeline.tasks.base import Filler, Joints, Plain, PoolSpec, Unit
from pipeline.tasks.haystacks import SPARES, in_runs
from pipeline.worlds.addresses import WORLD, paragraphs, source_digest
from pipeline.worlds.addresses import addresses as all_addresses

SHORT, MIDDLING = range(240), range(500, 900)
"""Sizes of spares: those of middling length take most of a gap, short ones (up to 60 tokens) the rest."""
MIDDLE = 16
"""Spares of middling length."""


def make_addresses(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every paragraph. They state no facts, and are the same for every seed and tier."""
    return Plain(paragraph + "\n" for paragraph in paragraphs())


def addresses_spec(stratum: Stratum) -> PoolSpec:
    """Return the pool of all paragraphs."""
    return PoolSpec(f"addresses-{stratum.tier}", 1, stratum.tier, f"{WORLD}:{source_digest()}", make_addresses)


def addresses(own: Streams, stratum: Stratum, *, shuffled: bool = False) -> Filler:
    """Return filler of whole addresses in random order, or of all their paragraphs in random order.

    Spares are paragraphs of the last addresses of that order, which are left out otherwise: there is still more
    than enough text for a window of 1M tokens.
    """
    starts, counts, sizes, joints = _outline()
    order = Shuffled(own.of("filler"), len(starts)).take(len(starts))
    kept, spares = _set_aside(order, sizes)
    name = addresses_spec(stratum).name
    if shuffled:
        drawn = np.argsort(words(own.of("shuffled"), int(counts.sum())), kind="stable")
        return Filler(name, Given(drawn[~np.isin(drawn, spares)]), spares)
    starts, counts = starts[kept], counts[kept]
    skipped = own.of("start").randrange(counts[0])
    starts[0] += skipped
    counts[0] -= skipped
    return Filler(name, Given(in_runs(starts, counts)), spares, "sequence", joints=joints)


def _set_aside(order: Indices, fit: Sequence[Mapping[range, list[int]]]) -> tuple[Indices, Indices]:
    """Return an order of addresses without its last ones, and spares out of these: those of middling length first."""
    found, last = {MIDDLING: list[int](), SHORT: list[int]()}, len(order)
    while len(found[MIDDLING]) < MIDDLE or len(found[SHORT]) < SPARES - MIDDLE:
        last -= 1
        for size, some in found.items():
            some += fit[order[last]][size]
    spares = found[MIDDLING][:MIDDLE] + found[SHORT][: SPARES - MIDDLE]
    return order[:last], np.array(spares, dtype=np.int64)


@cache
def _outline() -> tuple[Indices, Indices, Sequence[Mapping[range, list[int]]], Joints]:
    """Return of every address the first paragraph, their number and which may be spares; and where addresses begin."""
    every = all_addresses()
    starts = np.array([one.start for one in every], dtype=np.int64)
    counts = np.array([len(one.sizes) for one in every], dtype=np.int64)
    fit = [
        {
            fits: [one.start + place for place, size in enumerate(one.sizes) if size in fits]
            for fits in (MIDDLING, SHORT)
        }
        for one in every
    ]
    joints = np.zeros(int(counts.sum()), dtype=np.bool_)
    joints[starts] = True
    return starts, counts, fit, joints
