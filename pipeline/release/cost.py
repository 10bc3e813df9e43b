"""What an extension of a frozen release will cost, before anything of it is built."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from pipeline.assemble.plan import DISK_BYTES, Plan
from pipeline.profiles import Profile
from pipeline.profiles.profile import speed
from pipeline.release.extend import Extension
from pipeline.terminal.numbers import size
from pipeline.verify.lock import Lock
from pipeline.verify.row import ONE_IN

BASE = 4e-7
"""Seconds that a token takes to be drawn, packed, written and proven, beside all counting; measured on one core."""
COUNTS = 2
"""How often the fast counter reads each token."""
START = 5.0
"""Seconds that the workers take to begin."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What is to be built for one profile in one tier: rows, tokens, and about how many seconds that takes."""

    profile: str
    tier: str
    rows: int
    tokens: int
    seconds: float

    @property
    def record(self) -> dict[str, object]:
        """The cost as a line of a table."""
        return {
            "profile": self.profile,
            "tier": self.tier,
            "rows": self.rows,
            "tokens": self.tokens,
            "on disk": size(ceil(self.tokens * DISK_BYTES)),
            "about": duration(self.seconds),
        }


def duration(seconds: float) -> str:
    """Return a time in words.

    >>> duration(42), duration(4000)
    ('42 s', '67 min')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 120 * 60 else f"{seconds / 3600:.1f} h"


def costs_of(extension: Extension, workers: int) -> Iterator[Cost]:
    """Yield the cost of every profile and tier of which something is new; what is frozen costs nothing."""
    for plan in extension.plans():
        for profile in plan.profiles:
            rows, tokens = _new_rows(extension.lock, plan, profile)
            if rows:
                shards = sum(len(plan.shards(family, profile)) for family in plan.families)
                each = tokens * seconds_per_token(profile) / min(workers, shards)
                yield Cost(profile.name, plan.recipe.tier, rows, tokens, START + each)


def _new_rows(lock: Lock, plan: Plan, profile: Profile) -> tuple[int, int]:
    """Return the rows of a tier that a profile does not have, and their nominal tokens."""
    tier, frozen = plan.recipe.tier, lock.profiles.get(profile.name)
    strata = lock.tiers[tier].recipe.strata if frozen and tier in frozen.tiers else ()
    rows = sum(cell.total for cell in plan.recipe.strata) - sum(cell.total for cell in strata)
    tokens = sum(cell.total * cell.length for cell in plan.recipe.strata)
    return rows, tokens - sum(cell.total * cell.length for cell in strata)


def seconds_per_token(profile: Profile) -> float:
    """Return about how long one worker takes for a token, by the speed of the profile's counters on this machine."""
    return BASE + COUNTS / speed(profile.counter()) + _recount_seconds(profile)


def _recount_seconds(profile: Profile) -> float:
    """Return the seconds of counting a token again; with a slow second counter, also in `verify`."""
    second, quick = profile.second(), profile.quick_counter()
    if second is None:
        return 0.0
    if quick:
        return 1 / speed(quick) + 1 / ONE_IN / speed(second)
    return (1 + 1 / ONE_IN if profile.second_is_slow else 1) / speed(second)
