"""Intervals of mean scores by a stratified bootstrap, the same for the same records.

Units (rows, or pairs, which count as one) are resampled within their strata; a stratum's totals over DRAWS draws are
computed once and serve every table. Of n units, n - 1 are drawn and scaled up, so that the variance of the mean is
unbiased even in strata of a few rows (McCarthy and Snowden 1985). The interval is the percentile interval.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.streams import stream, words

DRAWS = 2000
LEVEL = 0.95
Floats = NDArray[np.float64]
Stratum = tuple[str | int, ...]


class Units(NamedTuple):
    """The units of one stratum: the sum of scores of each unit's rows, and the weight of each row in the mean."""

    values: Floats
    weight: float


class Resampler:
    """Totals of strata over the draws of a bootstrap, computed on demand."""

    def __init__(self) -> None:
        self._known: dict[tuple[Stratum, bytes], Floats] = {}

    def interval(self, strata: Mapping[Stratum, Units]) -> tuple[float, float]:
        """Return the 95% interval of the weighted mean over the units of some strata.

        Strata of one unit, whose spread is unknown, are pooled into one; all strata are, if units differ in none of
        them. If all rows score 0, or all score 1, draws do not differ. Then the other end is the chance of success
        under which such a result still happens in 25 of 1,000 sets.
        """
        mean = sum(float(units.values.sum()) * units.weight for units in strata.values())
        count = sum(len(units.values) for units in strata.values())
        if mean <= 1e-12 or mean >= 1 - 1e-12 or count < 2:
            return bounds(mean, count)
        low, high = ends(self.plain_draws(strata))
        return float(np.clip(low, 0, 1)), float(np.clip(high, 0, 1))

    def draws(self, strata: Mapping[Stratum, Units], *place: str | int) -> Floats:
        """Return the weighted mean in each draw, as an array of length DRAWS.

        If all rows score 0, or all score 1, the draws are chances under which that happens (see `alike`).

        Args:
            strata: the units of each stratum.
            place: part of the random stream for pooled strata of one unit, so that means to be compared differ in it.
        """
        mean = sum(float(units.values.sum()) * units.weight for units in strata.values())
        if mean <= 1e-12 or mean >= 1 - 1e-12:
            return alike(mean, sum(len(units.values) for units in strata.values()), *place)
        return self.plain_draws(strata, *place)

    def plain_draws(self, strata: Mapping[Stratum, Units], *place: str | int) -> Floats:
        """Return draws as `draws` does, but for values of any range; they are all equal if all units are."""
        spread = any(float(np.ptp(units.values)) > 0 for units in strata.values())
        apart = {stratum: units for stratum, units in strata.items() if spread and len(units.values) > 1}
        lone = [units.values * units.weight for stratum, units in strata.items() if stratum not in apart]
        drawn = np.zeros(DRAWS)
        for stratum, units in apart.items():
            drawn += units.weight * self._totals(stratum, units.values)
        if lone:
            drawn += self._totals(("lone", len(lone), *place), np.concatenate(lone))
        return drawn

    def _totals(self, stratum: Stratum, values: Floats) -> Floats:
        place = (stratum, values.tobytes())
        if place not in self._known:
            self._known[place] = _drawn(stratum, values)
        return self._known[place]


def alike(mean: float, count: int, *place: str | int) -> Floats:
    """Return draws of the chance under which `count` units all score 0, or all 1; their ends are those of `bounds`."""
    order = np.argsort(words(stream("interval", "alike", *place), DRAWS), kind="stable")
    chance: Floats = ((order + 0.5) / DRAWS) ** (1 / max(1, count))
    return chance if mean >= 0.5 else 1 - chance


def ends(drawn: Floats) -> tuple[float, float]:
    """Return the ends of the percentile interval of some draws."""
    low, high = np.percentile(drawn, [50 * (1 - LEVEL), 50 * (1 + LEVEL)])
    return float(low), float(high)


def _drawn(stratum: Stratum, values: Floats) -> Floats:
    """Return the totals of one stratum over all draws."""
    count = len(values)
    if count < 2 or float(values.min()) == float(values.max()):
        return np.full(DRAWS, values.sum())
    chosen = words(stream("interval", *stratum), DRAWS * (count - 1)) % np.uint32(count)
    totals: Floats = values[chosen].reshape(DRAWS, count - 1).sum(axis=1)
    return totals * (count / (count - 1))


def bounds(mean: float, count: int) -> tuple[float, float]:
    """Return the interval where draws cannot give one: all units score 0, or all 1, or there is only one unit."""
    least = ((1 - LEVEL) / 2) ** (1 / max(1, count))
    if mean >= 1 - 1e-12:
        return least, 1.0
    return (0.0, 1.0 - least) if mean <= 1e-12 else (0.0, 1.0)
