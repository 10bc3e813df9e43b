"""The world of people: full names and six attributes (papers: LongBioBench, appendix B).

One world for each seed and tier, shared by all prompts of the tier. No full name stands twice in it, and every part of
a name many times, so that only the full name tells who is meant. People come in clans of 64: all names that four first,
four middle and four last names make. So everybody has three namesakes of each kind, who differ in the first, the middle
or the last name alone. Clans share at most one of their three sets of names (they are the cells of a Latin square): no
two people of different clans share two names. Within a clan no two people have the same value of any attribute.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from itertools import product
from math import isqrt
from random import Random

import numpy as np

from pipeline.recipe import TIERS
from pipeline.streams import Indices, Shuffled, Streams
from pipeline.worlds.words import pool, pool_digest

WORLD = "people@2"
ATTRIBUTES = ("birthdate", "birthplace", "hobby", "university", "major", "city")
POOLS = ("first", "middle", "last", "cities", "hobbies", "universities", "majors")
TOKENS_PER_PERSON = 32
"""One person for so many tokens of the tier: three times what a prompt of six-sentence biographies can hold."""

SIDE = 4
"""First, middle and last names of a clan."""
CLAN = SIDE**3
STEPS = (SIDE**2, SIDE, 1)
"""How far apart the numbers of two people of a clan are who differ by one in the first, middle or last name."""
NAMES = ("first", "middle", "last")

FIRST_DAY, LAST_DAY = date(1950, 1, 1), date(2001, 12, 31)
DAYS = (LAST_DAY - FIRST_DAY).days + 1
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


@dataclass(frozen=True, slots=True)
class Person:
    """A person of the world. `birthdate` is written out, as in ``14 March 1976``."""

    first: str
    middle: str
    last: str
    birthdate: str
    birthplace: str
    hobby: str
    university: str
    major: str
    city: str

    @property
    def name(self) -> str:
        """First, middle and last name."""
        return f"{self.first} {self.middle} {self.last}"

    def value(self, attribute: str) -> str:
        """Return one of the six attributes as biographies state it."""
        return str(getattr(self, attribute))


@cache
def source_digest() -> str:
    """Return the digest of all pools that the world is drawn from."""
    return pool_digest(*POOLS)


def choices_of(attribute: str) -> int:
    """Return how many values an attribute is drawn from, uniformly."""
    named = {
        "birthplace": "cities",
        "hobby": "hobbies",
        "university": "universities",
        "major": "majors",
        "city": "cities",
    }
    return DAYS if attribute == "birthdate" else len(pool(named[attribute]))


def written_date(day: date) -> str:
    """Return a day as biographies state it.

    >>> written_date(date(1976, 3, 14))
    '14 March 1976'
    """
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


def people(streams: Streams, tier: str) -> Sequence[Person]:
    """Return all people of a tier; `streams` are those of any row or pool below the same seed."""
    return _people(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_PERSON)


@lru_cache(maxsize=4)
def _people(world: Streams, count: int) -> Sequence[Person]:
    return draw_people(world, count)


def draw_people(world: Streams, count: int) -> list[Person]:
    """Draw `count` people, clan by clan."""
    rng, found = world.of("attributes"), []
    for sets in _clans(world, -(-count // CLAN)):
        values = _values(rng)
        found += [Person(*names, *next(values)) for names in product(*sets)]
    return found[:count]


def _clans(world: Streams, count: int) -> Iterator[tuple[Sequence[str], ...]]:
    """Yield the first, middle and last names of each clan: random cells of a Latin square of sets of names."""
    width = isqrt(count - 1) + 1
    sets = [_cut(world.of(part).sample(pool(part), width * SIDE)) for part in NAMES]
    for cell in Shuffled(world.of("clans"), width**2).take(count).tolist():
        row, column = divmod(cell, width)
        yield sets[0][row], sets[1][column], sets[2][(row + column) % width]


def _cut(names: Sequence[str]) -> list[Sequence[str]]:
    return [names[at : at + SIDE] for at in range(0, len(names), SIDE)]


def _values(rng: Random) -> Iterator[tuple[str, ...]]:
    """Yield the attributes of a clan's people, who have none in common."""
    days = [written_date(FIRST_DAY + timedelta(days=day)) for day in rng.sample(range(DAYS), CLAN)]
    birthplaces, cities = rng.sample(pool("cities"), CLAN), rng.sample(pool("cities"), CLAN)
    while any(one == other for one, other in zip(birthplaces, cities, strict=True)):
        rng.shuffle(cities)
    things = (rng.sample(pool(name), CLAN) for name in ("hobbies", "universities", "majors"))
    return zip(days, birthplaces, *things, cities, strict=True)


def namesakes(number: int) -> tuple[tuple[int, ...], ...]:
    """Return who shares two of three names with a person: those of other first, of other middle, of other last name.

    >>> namesakes(0)
    ((16, 32, 48), (4, 8, 12), (1, 2, 3))
    """
    places = [number // step % SIDE for step in STEPS]
    return tuple(
        tuple(number + (other - place) * step for other in range(SIDE) if other != place)
        for place, step in zip(places, STEPS, strict=True)
    )


ROUNDS = SIDE**2


def apart(turn: int, clans: int) -> Indices:
    """Return the people of one of `ROUNDS` rounds: four of each clan, no two of whom have a name of it in common.

    So nobody shares two names with two people of a round. All rounds together hold everybody once.

    >>> apart(0, 1).tolist(), apart(1, 1).tolist()
    ([0, 21, 42, 63], [1, 22, 43, 60])
    """
    middle, last = divmod(turn, SIDE)
    first = np.arange(SIDE)
    own = first * STEPS[0] + (first + middle) % SIDE * STEPS[1] + (first + last) % SIDE
    return np.asarray((np.arange(clans)[:, None] * CLAN + own).reshape(-1), dtype=np.int64)
