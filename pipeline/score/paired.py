"""Differences of two models on the same questions, with intervals from a bootstrap over rows.

Only rows count that both models have a reply to. Each is one difference of two scores, so that questions which are hard
for both add nothing to the interval, which two separate intervals would let them do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum

import numpy as np

from pipeline.score.cells import nested_shares, strata_of
from pipeline.score.intervals import Floats, Resampler, bounds, ends
from pipeline.score.lengths import EVERYWHERE, Where, answered, inside
from pipeline.score.results import Scored


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better the second of two models is than the first, over the rows that both answered.

    Attributes:
        place: what the rows have in common.
        first, second: the models' labels.
        rows: how many rows; `asked` of which there are.
        better, worse: rows that the second scores higher on, and lower.
        mean: of second minus first, from -1 to 1, with its 95 % interval `low` to `high`; None without rows.
    """

    place: Where
    first: str
    second: str
    rows: int
    asked: int
    better: int
    worse: int
    mean: float | None
    low: float | None
    high: float | None

    @property
    def told(self) -> bool:
        """Tell whether the interval leaves out 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def difference(first: Scored, second: Scored, place: Where = EVERYWHERE) -> Difference:
    """Return the difference of two models on the rows of a family, subtask or length, or on all.

    Args:
        first: the one that is taken away.
        second: the other, scored against the same rows.
        place: columns and their values, such as ``{"family": "bio"}``.
    """
    own, other = (inside(each.records, place) for each in (first, second))
    base = {each.id: each.score for each in answered(own)}
    rows = [each for each in answered(other) if each.id in base]
    gains = {each.id: each.score - base[each.id] for each in rows}
    better, worse = (sum(sign * gain > 1e-9 for gain in gains.values()) for sign in (1, -1))
    counts = (len(rows), len({each.id for each in (*own, *other)}), better, worse)
    if not rows:
        return Difference(place, first.model, second.model, *counts, None, None, None)
    shares = nested_shares(rows)
    mean = fsum(shares[each.id] * gains[each.id] for each in rows)
    units = strata_of(rows, shares, lambda each: gains[each.id])
    low, high = _interval([units[stratum].values for stratum in units], Resampler().plain_draws(units))
    return Difference(place, first.model, second.model, *counts, mean, low, high)


def _interval(values: Sequence[Floats], drawn: Floats) -> tuple[float, float]:
    """Return the interval of the draws; where no unit differs, draws say nothing and the binomial bound holds."""
    low, high = ends(drawn)
    if all(float(np.ptp(each)) == 0 for each in values) and high - low < 1e-12:
        wide = 1 - bounds(1.0, sum(len(each) for each in values))[0]
        return max(-1.0, low - wide), min(1.0, high + wide)
    return max(-1.0, low), min(1.0, high)
