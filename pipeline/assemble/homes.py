"""What a process keeps from job to job: all that jobs of one home made, as long as there is room for it.

What jobs of one home need (worlds, pools, lines that were read) is made once and kept, since the next job usually has
the same home. A process that came to many homes would keep all of it: at 1M that is more than a worker may have. The
same holds for the vocabularies of a build in many profiles.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from pipeline.assemble.cutter import cutter
from pipeline.assemble.plan import Home
from pipeline.caches import clear_caches
from pipeline.executors.memory import give_back, most_allowed, resident, without_collection
from pipeline.profiles import Profile, close_counters

START = resident()
MOST = 900 << 20
"""Bytes that a process may take beyond those that it has at the start."""
NEEDED, PER_TOKEN = 180 << 20, 300
"""Bytes that a job takes for itself, and for each token of its longest prompt: some 480 MB at 1M."""
OVER = 240 << 20
"""Bytes beyond its room with which a process forgets, even what the next job at the same home needs."""

_last: list[Home | None] = [None]
_counted: list[Profile | None] = [None]
"""The profile that shards were made or proven of last."""


@contextmanager
def with_caches_of(home: Home, profile: Profile | None = None) -> Iterator[None]:
    """Run a job at its home: with room for it, and without looking for cycles meanwhile.

    Jobs that come profile by profile say their `profile`, so that a large process closes the counters of earlier ones.
    """
    evict(home, profile)
    with without_collection():
        yield
    if resident() > most_allowed(START + MOST):  # where no job comes before there is room
        _give_back()
    if resident() > most_allowed(START + MOST):
        clear_caches()
        _give_back()


def evict(home: Home, profile: Profile | None = None) -> None:
    """Forget what was made if the process is large and this is another home, or if it is far too large.

    If that was not enough, and this is another profile, close the counters of earlier ones.
    """
    left, _last[0] = _last[0] != home, home
    room = most_allowed(START + MOST) - NEEDED - PER_TOKEN * home.longest
    if resident() > room:
        _give_back()
    if resident() > (room if left else room + OVER):
        clear_caches()
        _give_back()
    fresh = profile not in (None, _counted[0])
    _counted[0] = profile or _counted[0]
    if fresh and resident() > room:
        cutter.cache_clear()
        close_counters()
        gc.collect()
        _give_back()


def _give_back() -> None:
    pa.default_memory_pool().release_unused()
    give_back()
