"""Effective length: how far a model reads as well as it reads a short text.

It is the longest length up to which, at every length, the score stays at or above a stated share of that at the
shortest length, and above what guessing scores there. RULER (arXiv 2404.06654) holds scores against that of one model
at 4K; NoLiMa (arXiv 2502.05167) against 85 % of the model's own score in short texts, as is done here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.errors import PredictionsError
from pipeline.score.intervals import DRAWS, LEVEL, Floats
from pipeline.score.lengths import Curve, LengthScore, Where
from pipeline.typed import Share

KEPT = 0.85
"""The share of the shortest length's score that is to be kept, unless said."""

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Effective:
    """An effective length with its 95 % interval, in tokens.

    Attributes:
        place: what the rows have in common.
        kept: the share of the score that is to be kept.
        length: the effective length; 0 if already the shortest length scores no better than guessing.
        low, high: its interval, of lengths that were asked; 0 as in `length`.
        shortest: the length that others are held against; None without a score there.
        base: the score at `shortest`.
        measured: the longest length before the first without a score: an effective length that is `measured` may be
            longer.
        asked: the longest length of which there are rows, answered or not.
    """

    place: Where
    kept: Share
    length: int
    low: int
    high: int
    shortest: int | None
    base: Share | None
    measured: int
    asked: int

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
        raise PredictionsError(f"the share of the score to be kept is {kept:g}: give one above 0 and at most 1")
    points = _measured(curve.points)
    asked = max((point.length for point in curve.points), default=0)
    if not points:
        return Effective(curve.place, kept, 0, 0, 0, None, None, 0, asked)
    lengths = np.array([0, *(point.length for point in points)])
    floors = np.array([point.floor for point in points])
    found = lengths[_held(np.array([[point.mean] for point in points]), floors, kept)][0]
    drawn = lengths[_held(np.array([point.draws for point in points]), floors, kept)]
    low, high = np.percentile(drawn, [50 * (1 - LEVEL), 50 * (1 + LEVEL)], method="inverted_cdf")
    assert drawn.shape == (DRAWS,)
    return Effective(
        curve.place, kept, int(found), int(low), int(high), points[0].length, points[0].mean,
        points[-1].length, asked,
    )  # fmt: skip


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
