"""Scores over length: of the same kinds of rows at every length, over the rows that have a reply.

A curve compares lengths only if each of them asks the same. Its kinds of rows (family, subtask, complexity) and its
lengths are therefore the largest full table of both that the rows hold: a kind without rows at one of these lengths is
left out at all, by name. A point is the plain mean of families of that of subtasks of that of complexities of that of
rows. Where complexity 0 is the class of rows whose text does not tell, this is balanced accuracy.

Rows without a reply are no zeros: a point is the mean over the others, and a gap where they are fewer than half. An
empty reply is one: the model was asked, and said nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import fsum

import numpy as np

from pipeline.score.cells import counted, nested_shares, strata_of
from pipeline.score.intervals import Floats, Resampler
from pipeline.score.results import ANSWERED, EMPTY, Record, Scored

Kind = tuple[str, str, int]
"""Family, subtask and complexity."""

Held = Mapping[Kind, Set[int]]
"""Lengths at which a kind of rows is asked."""

Where = Mapping[str, str | int]
"""Columns and the values that rows have there."""

EVERYWHERE: Where = {}

LEVELS = ("family", "subtask", "complexity")
"""What a point is the mean over, level by level."""

REPLIED = (ANSWERED, EMPTY)
LEAST = 0.5
"""The share of rows with a reply from which on a point is drawn."""


@dataclass(frozen=True, slots=True)
class LengthScore:
    """The score at one length.

    Attributes:
        length: in tokens.
        rows: how many rows are asked; `answered` of them have a reply, and of pairs both.
        mean, low, high: over answered rows with its 95 % interval; None if fewer than half have a reply.
        chance, best_constant: what guessers score on all the rows; None if no row tells.
        floor: what a score is to be above: chance, and where refusing may be right what the best constant scores.
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
    """Scores at ascending lengths; `subtasks` are those it is of, `left_out` others of the place, as family.subtask."""

    place: Where
    points: tuple[LengthScore, ...]
    subtasks: tuple[str, ...]
    left_out: tuple[str, ...]


class Curves:
    """Curves of one model's records, all from the same draws."""

    def __init__(self, scored: Scored) -> None:
        self._records = scored.records
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

    def held(self, place: Where = EVERYWHERE) -> Held:
        """Return the lengths at which the rows of a place are asked, by kind."""
        found: dict[Kind, set[int]] = defaultdict(set)
        for each in self._inside(place):
            found[kind_of(each)].add(each.length)
        return found

    def _inside(self, place: Where) -> list[Record]:
        return inside(self._families.get(place["family"], []) if "family" in place else self._records, place)

    def curve(self, place: Where = EVERYWHERE, held: Held | None = None) -> Curve:
        """Return the curve of the rows of a family, subtask or complexity, or of all; without points if there are none.

        Args:
            place: columns and their values, such as ``{"family": "bio"}``.
            held: which kinds are compared at which lengths, if not those of these records: see `shared`.
        """
        held = self.held(place) if held is None else held
        key = (tuple(place.items()), frozenset((kind, frozenset(own)) for kind, own in held.items()))
        if key not in self._known:
            self._known[key] = self._curve(place, self._inside(place), held)
        return self._known[key]

    def _curve(self, place: Where, rows: Sequence[Record], held: Held) -> Curve:
        kinds, lengths = grid(held)
        own = {f"{family}.{subtask}" for family, subtask, _ in kinds}
        others = {f"{family}.{subtask}" for family, subtask, _ in (*held, *map(kind_of, rows))} - own
        found: dict[int, list[Record]] = defaultdict(list)
        for each in rows:
            if kind_of(each) in kinds:
                found[each.length].append(each)
        points = tuple(self._point(length, found[length]) for length in lengths)
        return Curve(place, points, tuple(sorted(own)), tuple(sorted(others)))

    def _point(self, length: int, rows: Sequence[Record]) -> LengthScore:
        given = [each for each in rows if each.id in self._answered]
        shares = nested_shares(rows, LEVELS)
        chance, best, floor = (_mean_of(rows, shares, guess) for guess in (_chance, _best_constant, _floor))
        guesses = (chance, best, floor or 0.0)
        if not given or len(given) < LEAST * len(rows):
            return LengthScore(length, len(rows), len(given), None, None, None, *guesses, np.empty(0))
        shares = shares if len(given) == len(rows) else nested_shares(given, LEVELS)
        strata = strata_of(given, shares, counted)
        mean = min(1.0, fsum(shares[each.id] * each.score for each in given))
        low, high = self._resampler.interval(strata)
        drawn = self._resampler.draws(strata, length)
        return LengthScore(length, len(rows), len(given), mean, low, high, *guesses, drawn)


def answered(records: Sequence[Record]) -> list[Record]:
    """Return the records that have a reply, be it empty; pairs only if both forms have one."""
    lacking = {each.pair for each in records if each.pair and each.state not in REPLIED}
    return [each for each in records if each.state in REPLIED and not (each.pair and each.pair in lacking)]


def inside(records: Iterable[Record], place: Where) -> list[Record]:
    """Return the records of a place."""
    return [each for each in records if all(getattr(each, name) == value for name, value in place.items())]


def kind_of(record: Record) -> Kind:
    """Return the kind of a row: what is asked at several lengths alike."""
    return record.family, record.subtask, record.complexity


def shared(held: Sequence[Held]) -> dict[Kind, frozenset[int]]:
    """Return the kinds that all of several models were asked, at every length that any was asked them."""
    kinds = set(held[0]).intersection(*held[1:])
    return {kind: frozenset().union(*(each[kind] for each in held)) for kind in sorted(kinds)}


def grid(held: Held) -> tuple[frozenset[Kind], tuple[int, ...]]:
    """Return the kinds and neighbouring lengths that make the largest table without an empty cell.

    Several lengths are preferred to one, then more cells, more lengths, and shorter ones.
    """
    lengths = sorted({length for own in held.values() for length in own})
    tables = []
    for start, end in combinations(range(len(lengths) + 1), 2):
        some = lengths[start:end]
        kinds = frozenset(kind for kind, own in held.items() if own >= set(some))
        if kinds:
            tables.append(((len(some) > 1, len(kinds) * len(some), len(some), -start), kinds, tuple(some)))
    return max(tables, key=lambda table: table[0])[1:] if tables else (frozenset(), ())


def _chance(record: Record) -> float | None:
    return record.chance


def _best_constant(record: Record) -> float | None:
    return record.baselines.get("best_constant")


def _floor(record: Record) -> float | None:
    return max(record.chance or 0.0, _best_constant(record) or 0.0) if record.kind else record.chance


def _mean_of(
    rows: Sequence[Record], shares: Mapping[str, float], guess: Callable[[Record], float | None]
) -> float | None:
    """Return the mean of what a guesser scores, over the rows that tell it."""
    told = {each.id: value for each in rows if (value := guess(each)) is not None}
    if len(told) < len(rows):
        shares = nested_shares((each for each in rows if each.id in told), LEVELS)
    return fsum(share * told[row_id] for row_id, share in shares.items()) if told else None
