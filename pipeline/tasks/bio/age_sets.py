"""Which ages the people of a text may have, so that just one pair of them is a given number of years apart.

Two ages that are that far apart may both be in the text only if they are those of the pair: all ages of a text are, but
for the pair, a large set without such a difference, drawn at random. A few of them are common, anybody's; each of
many single ones is that of one person, so that an age that stands once is no tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from random import Random

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams
from pipeline.tasks.base import Filler, Order
from pipeline.tasks.bio.haystack import density
from pipeline.worlds.ages import OLDEST, WIDEST, YOUNGEST, few_ages

ONE, ANY = "one", "any"
"""How many pairs fit, the values of the knob `pairs`."""
FEWEST, MOST = 8, 35
"""The difference asked for, in years."""
COMMON = 6
"""So many of the 16 ages that may recur are common at least: 60 of 100 people have one of them."""
FULL = 0.6
"""How often an odd chain gives as many ages as it can."""
DECOYS = 30
TAKEN, TOKENS_PER_DECOY = 1536, 208
"""One decoy for so many tokens, but for those that all else takes: all of them from 8,192 on."""


@dataclass(frozen=True, slots=True)
class AgeSets:
    """The ages of a text: of the pair, younger first, of decoys, and those that anybody may have."""

    pair: tuple[int, int]
    single: tuple[int, ...]
    common: tuple[int, ...]


def decoys_of(stratum: Stratum) -> int:
    """Return how many people stand alone with their age beside the pair.

    Where nobody else states an age, or any pair is right, there is nothing to hide.
    """
    if not density(stratum) or stratum.knob("pairs", ONE) != ONE:
        return 0
    return max(0, min(DECOYS, (stratum.length - TAKEN) // TOKENS_PER_DECOY))


def draw(rng: Random, years: int, recurring: Sequence[int]) -> AgeSets:
    """Draw the ages of a text in which one pair is so many years apart; common ones are some of those that recur."""
    while True:
        younger = rng.randint(YOUNGEST, WIDEST - years)
        pair = (younger, younger + years)
        rest = [age for chain in _chains(pair, years) for age in _thinned(rng, chain)]
        common = [age for age in recurring if age in rest][: len(rest) - DECOYS]
        gaps = {abs(one - other) for one, other in combinations(common, 2)} & set(range(FEWEST, MOST + 1))
        if len(common) >= COMMON and len(gaps) >= COMMON:
            single = [age for age in rng.sample(rest, len(rest)) if age not in common]
            return AgeSets(pair, tuple(single[:DECOYS]), tuple(sorted(common)))


def _chains(pair: tuple[int, int], years: int) -> Iterator[list[int]]:
    """Yield the ages that are so many years apart in turn, cut where the pair and its neighbours are."""
    cut = {pair[0] - years, *pair, pair[1] + years}
    for start in range(YOUNGEST, YOUNGEST + years):
        chain: list[int] = []
        for age in range(start, WIDEST + 1, years):
            if age in cut:
                yield chain
                chain = []
            else:
                chain.append(age)
        yield chain


def _thinned(rng: Random, chain: Sequence[int]) -> list[int]:
    """Return as many of a chain as go without two neighbours, or, of an odd chain in some cases, one fewer.

    Even places up to a turn and odd ones behind it: without the exception an odd chain would have just one choice.
    """
    odd = len(chain) % 2
    turn = len(chain) if odd and rng.random() < FULL else 2 * rng.randint(0, len(chain) // 2)
    return [age for place, age in enumerate(chain) if place % 2 == (place >= turn)]


def free(rng: Random, years: int) -> AgeSets:
    """Draw the ages of a text in which any number of pairs may be so many years apart; it needs no decoys."""
    younger = rng.randint(YOUNGEST, OLDEST - years)
    return AgeSets((younger, younger + years), (), tuple(range(YOUNGEST, OLDEST + 1)))


def forms_of(own: Streams, stratum: Stratum, common: tuple[int, ...]) -> tuple[Indices, Indices]:
    """Return which of their two ages everybody of a tier takes, 0 or 1, and who has no age that is common."""
    first, second = np.isin(few_ages(own, stratum.tier), common)
    return np.asarray(~first & second, dtype=np.int64), np.flatnonzero(~first & ~second)


def with_forms(filler: Filler, forms: Indices) -> Filler:
    """Return filler in which everybody has the age that is theirs; people without an age stay so."""
    order = _Formed(filler.order, forms)
    return replace(filler, order=order, spares=order.formed(filler.spares))


class _Formed:
    """An order of people, each in one of the forms of their biography."""

    def __init__(self, order: Order, forms: Indices) -> None:
        self._order, self._forms = order, forms

    def take(self, count: int) -> Indices:
        """Return the first `count` indices; fewer only if there are no more."""
        return self.formed(self._order.take(count))

    def formed(self, taken: Indices) -> Indices:
        """Return the pool indices of people with the ages that are theirs."""
        everybody = len(self._forms)
        return np.where(taken < everybody, taken + everybody * self._forms[taken % everybody], taken)
