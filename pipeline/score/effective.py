"""Effective length: how far a model reads as well as it reads a short text.

It is the longest length up to which, at every length, the score stays at or above a stated share of that at the
shortest length, and above what guessing scores there; at the shortest with all of its interval. RULER (arXiv
2404.06654) holds scores against that of one model at 4K; NoLiMa (arXiv 2502.05167) against 85 % of the model's own
score in short texts, as is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.errors import PredictionsError
from pipeline.rows import kilo
from pipeline.score.intervals import LEVEL, Floats
from pipeline.score.lengths import EVERYWHERE, Curve, Curves, LengthScore, Where
from pipeline.score.results import Scored
from pipeline.terminal.numbers import plain
from pipeline.typed import Share, Whole

KEPT = 0.85
"""The share of the shortest length's score that is to be kept, unless said."""

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Effective:
    """An effective length with its 95 % interval, in tokens.

    Attributes:
        place: what the rows have in common.
        kept: the share of the score that is to be kept.
        length: the effective length; 0 if already the score at the shortest length cannot be told from guessing.
        low, high: its interval, of lengths that were asked, `length` among them; 0 as in `length`.
        shortest: the length that others are held against; None without a score there.
        base: the score at `shortest`.
        measured: the longest length before the first without a score: an effective length that is `measured` may be
            longer.
        asked: the longest length of which there are rows, answered or not.
    """

    place: Where
    kept: Share
    length: Whole
    low: Whole
    high: Whole
    shortest: Whole | None
    base: Share | None
    measured: Whole
    asked: Whole

    @property
    def at_least(self) -> bool:
        """Tell whether the score is kept at every length that was measured."""
        return self.length > 0 and self.length == self.measured


def effective_length(curve: Curve, kept: float = KEPT) -> Effective:
    """Return the effective length of a curve.

    Raises:
        PredictionsError: if the share is not above 0 and at most 1.
    """
    if not 0 < kept <= 1:
        raise PredictionsError(f"the share of the score to be kept is {plain(kept)}: give one above 0 and at most 1")
    points = _measured(curve.points)
    asked = max((point.length for point in curve.points), default=0)
    if not points:
        return Effective(curve.place, kept, 0, 0, 0, None, None, 0, asked)
    lengths = np.array([0, *(point.length for point in points)])
    floors = np.array([point.floor for point in points])
    sure = points[0].low is None or points[0].low > floors[0]
    found = lengths[_held(np.array([[point.mean] for point in points]), floors, kept)][0] if sure else 0
    draws = np.array([point.draws for point in points])
    if points[0].mean == 0:
        draws[0] = 0.0  # that no row scores leaves room for a small chance, which is no base to keep
    drawn = lengths[_held(draws, floors, kept)]
    low, high = np.percentile(drawn, [50 * (1 - LEVEL), 50 * (1 + LEVEL)], method="inverted_cdf")
    return Effective(
        curve.place, kept, int(found), int(min(low, found)), int(max(high, found)), points[0].length, points[0].mean,
        points[-1].length, asked,
    )  # fmt: skip


def effective_lengths(scored: Scored, kept: float = KEPT) -> list[Effective]:
    """Return the effective length over all families together, if there are several, and of each."""
    curves, families = Curves(scored), sorted({record.family for record in scored.records})
    places: list[Where] = [*([EVERYWHERE] if len(families) > 1 else []), *({"family": name} for name in families)]
    return [effective_length(curves.curve(place), kept) for place in places]


def told(found: Effective) -> str:
    """Return an effective length in words."""
    if found.shortest is None:
        return "no replies"
    if not found.length:
        return f"below {kilo(found.shortest)}"
    return f"at least {kilo(found.length)}" if found.at_least else kilo(found.length)


def interval_of(found: Effective) -> str:
    """Return the interval of an effective length in words."""
    if found.shortest is None:
        return "-"
    low, high = (kilo(end) if end else f"below {kilo(found.shortest)}" for end in (found.low, found.high))
    span = low if low == high else f"{low} to {high}"
    return f"{span} or more" if found.high == found.measured else span


def _measured(points: Sequence[LengthScore]) -> list[LengthScore]:
    """Return the points before the first without a score."""
    gap = next((at for at, point in enumerate(points) if point.mean is None), len(points))
    return list(points[:gap])


def _held(means: Floats, floors: Floats, kept: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return of each column of `means` (length by draw) at how many lengths, from the first on, the score is kept."""
    enough = means >= kept * means[0] - ROUNDING
    above = means > floors[:, None] + ROUNDING
    held: np.ndarray[tuple[int], np.dtype[np.int64]] = np.cumprod(enough & above, axis=0).sum(axis=0)
    return held
