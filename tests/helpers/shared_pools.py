"""Pools in memory, made once for all tests of a process."""

from __future__ import annotations

from pipeline.assemble.jobs import made_pool
from pipeline.assemble.pools import Pool, PoolCache
from pipeline.tasks.base import PoolSpec

POOLS = PoolCache(1 << 28)


def pool_of(seed: int, spec: PoolSpec) -> Pool:
    """Return a pool as made for a build with this seed."""
    return POOLS.get((seed, spec), lambda: made_pool(seed, spec))
