"""Pools of pairs of UUIDs, or of words and numbers, as lines of a list or as members of an object."""

from __future__ import annotations

from collections.abc import Iterator

from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.tasks.haystacks import SPARES
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds import needles

PAIR = '"{key}": "{value}",\n'
NEEDLE = "The access code filed under {key} is {value}.\n"
FORMS = {"pairs": PAIR, "uuids": NEEDLE, "words": NEEDLE}
"""The pools by name, each with the form of its entries: pairs of UUIDs, or in ``words`` of words and numbers."""
TOKENS_PER_ENTRY = {"pairs": 20, "uuids": 20, "words": 7}
"""Tokens of the tier per entry: a pool is about twice what a prompt can hold."""


def size(form: str, tier: str) -> int:
    """Return how many entries the pool of a tier has."""
    return TIERS[tier] // TOKENS_PER_ENTRY[form]


def spec(form: str, tier: str) -> PoolSpec:
    """Return the pool of entries of one form."""
    source = f"{needles.WORLD}:{needles.source_digest()}" if form == "words" else ""
    return PoolSpec(f"{form}-{tier}", 1, tier, source, make_entries)


def filler(form: str, tier: str, row_streams: Streams, without: frozenset[int] = frozenset()) -> Filler:
    """Return the entries in random order, without those at some places; a few others are spares."""
    return drawn(spec(form, tier).name, size(form, tier), row_streams, without)


def drawn(pool: str, count: int, row_streams: Streams, without: frozenset[int]) -> Filler:
    """Return the entries of a pool of `count` in random order, without those at some places; a few are spares."""
    taken = frozenset(place for place in without if place < count)
    spares = Shuffled(row_streams.of("spares"), count, taken).take(SPARES)
    order = Shuffled(row_streams.of("filler"), count, taken.union(spares.tolist()))
    return Filler(pool, order, spares)


def make_entries(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Make the entries of a tier, in the form that the pool is named after."""
    form = spec.name.partition("-")[0]
    for key, value in _entries(streams, spec.tier, form):
        yield unit(FORMS[form].format(key=key, value=value), facts=(f"code({key}, {value})",))


def _entries(streams: Streams, tier: str, form: str) -> Iterator[tuple[str, str]]:
    if form == "words":
        return needles.pooled(streams, size(form, tier))
    rng = streams.of("entries", tier)
    return ((needles.draw_uuid(rng), needles.draw_uuid(rng)) for _ in range(size(form, tier)))
