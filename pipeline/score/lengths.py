"""Scores over length: for the same kinds of rows at every length, over the rows that have a reply.

A curve compares lengths only if each of them asks the same. So its kinds of rows (family, subtask, complexity) and its
lengths are the largest full table of both in the rows: a kind that lacks rows at one of these lengths is left out, and
named. A point is the plain mean over families, of means over subtasks, of means over complexities, of means over rows.
Where complexity 0 is the class of rows whose text does not give the answer, and rows are not in pairs, this is balanced
accuracy.

The size lite has too few rows for that: not every length has every complexity of a subtask and, at 1m, every subtask.
There, kinds are subtasks or whole families, and a point is the mean over those.

Rows without a reply do not count as zero: a point is the mean over the others, and a gap if they are fewer than half.
An empty reply does count as zero: the model was asked, and wrote nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import fsum

import numpy as np

from pipeline.artifacts.lite import RULES
from pipeline.errors import PredictionsError
from pipeline.rows import kilo
from pipeline.score.cells import best_constant, counted_score, has_constant, nested_shares, strata_of
from pipeline.score.intervals import LEVEL, Floats, Resampler, bounds, ends
from pipeline.score.results import ANSWERED, EMPTY, Record, Scored
from pipeline.terminal.text import plain
from pipeline.typed import Share, Whole

Kind = tuple[str, str, int]
"""Family, subtask and complexity."""

AskedLengths = Mapping[Kind, Set[int]]
"""The lengths at which each kind is asked."""

Where = Mapping[str, str | int]
"""Columns and their values, which select rows."""

EVERYWHERE: Where = {}

LEVELS = ("family", "subtask", "complexity")
"""The levels of a point's mean."""
LITE_LEVELS = ("family", "subtask")
"""The levels for the size lite."""
ANY, ALL_SUBTASKS = -1, "all"
"""The complexity and the subtask of kinds that combine all of them."""

REPLIED = (ANSWERED, EMPTY)
MIN_ANSWERED_SHARE = 0.5
"""The least share of rows with a reply for a point."""


@dataclass(frozen=True, slots=True)
class LengthScore:
    """The score at one length.

    Attributes:
        length: in tokens.
        rows, answered: the number of rows asked, and of those with a reply, in pairs for both rows.
        mean, low, high: the mean over answered rows with its 95% interval; None if fewer than half have a reply.
        chance, best_constant: the scores of guessing on all the rows; None if no row states them.
        floor: what a score must exceed: chance or, where refusals may be right, the best constant if that is higher.
        draws: the mean in each draw of the bootstrap; empty without a mean.
    """

    length: int
    rows: int
    answered: int
    mean: float | None
    low: float | None
    high: float | None
    chance: float | None
    best_constant: float | None
    floor: float
    draws: Floats = field(repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Curve:
    """Scores at ascending lengths; `subtasks` lists the tasks compared (family.subtask), `left_out` the place's others.

    `lite` is whether only rows of the size lite were asked; then points do not distinguish complexities.
    """

    place: Where
    points: tuple[LengthScore, ...]
    subtasks: tuple[str, ...]
    left_out: tuple[str, ...]
    lite: bool = False


class Curves:
    """Curves of one model's records, all from the same draws."""

    def __init__(self, scored: Scored) -> None:
        self._records = scored.records
        self._lite = scored.lite
        self._levels = LITE_LEVELS if scored.lite else LEVELS
        self._resampler = Resampler()
        self._known: dict[tuple[object, ...], Curve] = {}

    @cached_property
    def _answered(self) -> frozenset[str]:
        return frozenset(record.id for record in answered(self._records))

    @cached_property
    def _families(self) -> dict[str | int, list[Record]]:
        found: dict[str | int, list[Record]] = defaultdict(list)
        for each in self._records:
            found[each.family].append(each)
        return found

    def asked_lengths(self, place: Where = EVERYWHERE) -> AskedLengths:
        """Return the lengths at which each kind of rows in a place is asked."""
        found: dict[Kind, set[int]] = defaultdict(set)
        for each in self._inside(place):
            found[kind_of(each, lite=self._lite)].add(each.length)
        return found

    def _inside(self, place: Where) -> list[Record]:
        return inside(self._families.get(place["family"], []) if "family" in place else self._records, place)

    def curve(self, place: Where = EVERYWHERE, asked_lengths: AskedLengths | None = None) -> Curve:
        """Return the curve of the rows of a family, subtask or complexity, or of all; without points if there are none.

        Args:
            place: columns and their values, such as ``{"family": "bio"}``.
            asked_lengths: the kinds to compare and their lengths, if not those of these records: see `shared`.
        """
        asked_lengths = self.asked_lengths(place) if asked_lengths is None else asked_lengths
        key = (tuple(place.items()), frozenset((kind, frozenset(own)) for kind, own in asked_lengths.items()))
        if key not in self._known:
            self._known[key] = self._curve(place, self._inside(place), asked_lengths)
        return self._known[key]

    def _curve(self, place: Where, rows: Sequence[Record], asked_lengths: AskedLengths) -> Curve:
        kinds, lengths = grid(asked_lengths)
        own = {f"{family}.{subtask}" for family, subtask, _ in kinds}
        places = [(each, kind_of(each, lite=self._lite)) for each in rows]
        others = {f"{family}.{subtask}" for family, subtask, _ in (*asked_lengths, *(kind for _, kind in places))} - own
        found: dict[int, list[Record]] = defaultdict(list)
        for each, kind in places:
            if kind in kinds:
                found[each.length].append(each)
        points = tuple(self._point(length, found[length]) for length in lengths)
        return Curve(place, points, tuple(sorted(own)), tuple(sorted(others)), self._lite)

    def _point(self, length: int, rows: Sequence[Record]) -> LengthScore:
        given = [each for each in rows if each.id in self._answered]
        shares = nested_shares(rows, self._levels)
        chance, floor = (_mean_of(rows, shares, guess, self._levels) for guess in (_chance, _floor))
        best = fsum(shares[each.id] * best_constant(each) for each in rows) if has_constant(rows) else None
        guesses = (chance, best, floor or 0.0)
        if not given or len(given) < MIN_ANSWERED_SHARE * len(rows):
            return LengthScore(length, len(rows), len(given), None, None, None, *guesses, np.empty(0))
        shares = shares if len(given) == len(rows) else nested_shares(given, self._levels)
        strata = strata_of(given, shares, counted_score)
        mean = min(1.0, fsum(shares[each.id] * each.score for each in given))
        low, high = self._resampler.interval(strata)
        drawn = self._resampler.draws(strata, length)
        return LengthScore(length, len(rows), len(given), mean, low, high, *guesses, drawn)


def answered(records: Sequence[Record]) -> list[Record]:
    """Return the records that have a reply, even an empty one; pairs only if both rows have one."""
    lacking = {each.pair for each in records if each.pair and each.state not in REPLIED}
    return [each for each in records if each.state in REPLIED and not (each.pair and each.pair in lacking)]


def inside(records: Iterable[Record], place: Where) -> list[Record]:
    """Return the records in a place."""
    return [each for each in records if all(getattr(each, name) == value for name, value in place.items())]


def kind_of(record: Record, *, lite: bool = False) -> Kind:
    """Return the kind of a row, which is comparable across lengths."""
    if lite:
        return record.family, record.subtask if RULES[record.tier].every == 1 else ALL_SUBTASKS, ANY
    return record.family, record.subtask, record.complexity


def shared(asked_lengths: Sequence[AskedLengths]) -> dict[Kind, frozenset[int]]:
    """Return the kinds that several models were all asked, each with every length at which any of them was."""
    kinds = set(asked_lengths[0]).intersection(*asked_lengths[1:])
    return {kind: frozenset().union(*(each[kind] for each in asked_lengths)) for kind in sorted(kinds)}


def grid(asked_lengths: AskedLengths) -> tuple[frozenset[Kind], tuple[int, ...]]:
    """Return the kinds and consecutive lengths that make the largest table without an empty cell.

    Several lengths are preferred to one, then more cells, more lengths, and shorter ones.
    """
    lengths = sorted({length for own in asked_lengths.values() for length in own})
    tables = []
    for start, end in combinations(range(len(lengths) + 1), 2):
        some = lengths[start:end]
        kinds = frozenset(kind for kind, own in asked_lengths.items() if own >= set(some))
        if kinds:
            tables.append(((len(some) > 1, len(kinds) * len(some), len(some), -start), kinds, tuple(some)))
    return max(tables, key=lambda table: table[0])[1:] if tables else (frozenset(), ())


def _chance(record: Record) -> float | None:
    return record.chance


def _floor(record: Record) -> float | None:
    return max(record.chance or 0.0, best_constant(record)) if record.kind else record.chance


def _mean_of(
    rows: Sequence[Record],
    shares: Mapping[str, float],
    guess: Callable[[Record], float | None],
    levels: Sequence[str],
) -> float | None:
    """Return the mean score of a guess over the rows that state it, or None."""
    guessed = {each.id: value for each in rows if (value := guess(each)) is not None}
    if len(guessed) < len(rows):
        shares = nested_shares((each for each in rows if each.id in guessed), levels)
    return fsum(share * guessed[row_id] for row_id, share in shares.items()) if guessed else None


THRESHOLD = 0.85
"""The default share of the score at the shortest length that must be kept."""

ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class Effective:
    """An effective length with its 95% interval, in tokens.

    Attributes:
        place: what the rows have in common.
        kept: the share of the score that must be kept.
        length: the effective length; 0 if even the score at the shortest length cannot be distinguished from guessing.
        low, high: its interval, which includes `length`; both are lengths that were asked, or 0 as for `length`.
        shortest: the length that others are compared with; None without a score there.
        base: the score at `shortest`.
        measured: the longest length before the first without a score; if `length` is the same, the effective length may
            be longer.
        asked: the longest length with rows, answered or not.
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
        """Whether the score is kept at every length that was measured."""
        return self.length > 0 and self.length == self.measured


def effective_length(curve: Curve, threshold: float = THRESHOLD) -> Effective:
    """Return the effective length of a curve.

    Raises:
        PredictionsError: if the share is not above 0 and at most 1.
    """
    if not 0 < threshold <= 1:
        raise PredictionsError(
            f"the share of the score to be kept is {plain(threshold)}: give one above 0 and at most 1"
        )
    points = _measured(curve.points)
    asked = max((point.length for point in curve.points), default=0)
    if not points:
        return Effective(curve.place, threshold, 0, 0, 0, None, None, 0, asked)
    lengths = np.array([0, *(point.length for point in points)])
    floors = np.array([point.floor for point in points])
    sure = points[0].low is None or points[0].low > floors[0]
    found = lengths[_lengths_kept(np.array([[point.mean] for point in points]), floors, threshold)][0] if sure else 0
    draws = np.array([point.draws for point in points])
    if points[0].mean == 0:
        draws[0] = 0.0  # draws of a zero score are small chances (`alike`), which must not be a base to keep
    drawn = lengths[_lengths_kept(draws, floors, threshold)]
    low, high = np.percentile(drawn, [50 * (1 - LEVEL), 50 * (1 + LEVEL)], method="inverted_cdf")
    return Effective(
        curve.place, threshold, int(found), int(min(low, found)), int(max(high, found)), points[0].length,
        points[0].mean, points[-1].length, asked,
    )  # fmt: skip


def effective_lengths(scored: Scored, threshold: float = THRESHOLD) -> list[Effective]:
    """Return the effective length over all families together, if there are several, and for each."""
    curves, families = Curves(scored), sorted({record.family for record in scored.records})
    places: list[Where] = [*([EVERYWHERE] if len(families) > 1 else []), *({"family": name} for name in families)]
    return [effective_length(curves.curve(place), threshold) for place in places]


def in_words(found: Effective) -> str:
    """Return an effective length in words."""
    if found.shortest is None:
        return "too few replies"
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


def _lengths_kept(means: Floats, floors: Floats, threshold: float) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Return, for each column of `means` (length by draw), the number of lengths from the first that keep the score."""
    enough = means >= threshold * means[0] - ROUNDING
    above = means > floors[:, None] + ROUNDING
    counts: np.ndarray[tuple[int], np.dtype[np.int64]] = np.cumprod(enough & above, axis=0).sum(axis=0)
    return counts


@dataclass(frozen=True, slots=True)
class Difference:
    """How much better the second of two models is than the first, over the rows that both answered.

    Attributes:
        place: what the rows have in common.
        first, second: the models' labels.
        rows, asked: the number of rows that both answered, and of all rows that either was asked.
        better, worse: the number of rows on which the second scores higher, and lower.
        mean: of second minus first, from -1 to 1, with its 95% interval `low` to `high`; None without rows.
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
    def is_significant(self) -> bool:
        """Whether the interval excludes 0."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def difference(first: Scored, second: Scored, place: Where = EVERYWHERE) -> Difference:
    """Return the difference of two models on the rows of a family, subtask or length, or on all.

    Args:
        first: the model whose scores are subtracted.
        second: the other model, scored against the same rows.
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
    """Return the interval of the draws, or the binomial bound if units do not differ and so draws do not."""
    low, high = ends(drawn)
    if all(float(np.ptp(each)) == 0 for each in values) and high - low < 1e-12:
        wide = 1 - bounds(1.0, sum(len(each) for each in values))[0]
        return max(-1.0, low - wide), min(1.0, high + wide)
    return max(-1.0, low), min(1.0, high)
