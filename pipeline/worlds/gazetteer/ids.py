"""Opaque ids of passages, by which replies cite or rank them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from pipeline.streams import Streams
from pipeline.worlds.gazetteer.world import WORLD, gazetteer
from pipeline.worlds.ids import numbers


def ids(streams: Streams, tier: str) -> Sequence[str]:
    """Return the id of every passage of a tier's world, in their order; `streams` are any below the same seed."""
    return _ids(streams.world(WORLD, tier), len(gazetteer(streams, tier).passages))


@lru_cache(maxsize=2)
def _ids(world: Streams, count: int) -> tuple[str, ...]:
    return numbers(world.of("ids"), count)
