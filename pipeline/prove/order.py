"""The order in which shards are made and proven."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.assemble.plan import Home
from pipeline.prove.shard import ProveJob


def home_by_home(jobs: Sequence[ProveJob]) -> list[ProveJob]:
    """Return jobs profile by profile, and in each home by home, so that workers need few worlds at a time.

    What has most tokens comes first, both of homes and of jobs: what comes last should keep no worker waiting.
    """
    profiles = list(dict.fromkeys(job.pack.shard.profile for job in jobs))
    tokens = Counter[Home]()
    for job in jobs:
        tokens[job.home] += job.pack.shard.tokens
    homes = [home for home, _ in tokens.most_common()]
    return sorted(
        jobs,
        key=lambda job: (
            profiles.index(job.pack.shard.profile),
            homes.index(job.home),
            -job.pack.shard.tokens,
        ),
    )
