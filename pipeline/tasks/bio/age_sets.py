"""Which ages the people of a text may have, so that just one pair of them is a given number of years apart.

Two ages that are that far apart may both be in the text only if they are those of the pair: the ages of all others are
a random set without such a difference. Common ages are anybody's; each single age is that of one person.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams
from pipeline.tasks.base import Filler, Order
from pipeline.tasks.bio.haystack import density
from pipeline.worlds.ages import OLDEST, YOUNGEST, ages, second_ages

ONE, ANY = "one", "any"
"""How many pairs fit, the values of the knob `pairs`."""
FEWEST, MOST = 8, 35
"""The difference asked for, in years."""
COMMON = 17
"""So many of the 51 ages are common at least: with two ages to choose from, 52 of 100 people or more have one of them.

The 1,024 people of tier 32k then fill 32K as long as a biography has 65 tokens or more on average (gemma3: 74).
"""
DECOYS = 8
TOKENS_PER_DECOY = 1024


@dataclass(frozen=True, slots=True)
class AgeSets:
    """The ages of a text: of the pair, younger first, of decoys, and those that anybody may have."""

    pair: tuple[int, int]
    single: tuple[int, ...]
    common: tuple[int, ...]


def decoys_of(stratum: Stratum) -> int:
    """Return how many people stand alone with their age beside the pair.

    Short texts need few: there most ages stand once, or not at all. Where nobody else states an age, or any pair is
    right, there is nothing to hide.
    """
    if not density(stratum) or stratum.knob("pairs", ONE) != ONE:
        return 0
    return min(DECOYS, stratum.length // TOKENS_PER_DECOY)


def draw(rng: Random, years: int, decoys: int) -> AgeSets:
    """Draw the ages of a text in which one pair is so many years apart."""
    while True:
        found = _drawn(rng, years, decoys)
        if len(found.common) >= COMMON:
            return found


def _drawn(rng: Random, years: int, decoys: int) -> AgeSets:
    younger = rng.randint(YOUNGEST, OLDEST - years)
    chosen = {younger, younger + years}
    others = []
    for age in rng.sample(range(YOUNGEST, OLDEST + 1), OLDEST - YOUNGEST + 1):
        if not chosen & {age - years, age, age + years}:
            chosen.add(age)
            others.append(age)
    return AgeSets((younger, younger + years), tuple(others[:decoys]), tuple(sorted(others[decoys:])))


def free(rng: Random, years: int, decoys: int) -> AgeSets:
    """Draw the ages of a text in which any number of pairs may be so many years apart; it needs no decoys."""
    younger = rng.randint(YOUNGEST, OLDEST - years)
    return AgeSets((younger, younger + years), (), tuple(range(YOUNGEST, OLDEST + 1)))


def forms_of(own: Streams, stratum: Stratum, common: tuple[int, ...]) -> tuple[Indices, Indices]:
    """Return which of their two ages everybody of a tier takes, 0 or 1, and who has no age that is common."""
    first, second = (np.isin(known(own, stratum.tier), common) for known in (ages, second_ages))
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
