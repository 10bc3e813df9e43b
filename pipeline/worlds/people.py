"""The world of people: full names and six attributes (papers: LongBioBench, appendix B).

One world for each seed and tier, shared by all prompts of the tier. In it no full name and no pair of first and last
name stands twice, so that whoever is asked for is named by nobody else.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache, lru_cache
from random import Random

from pipeline.recipe import TIERS
from pipeline.streams import Shuffled, Streams
from pipeline.worlds.words import pool, pool_digest

WORLD = "people@1"
ATTRIBUTES = ("birthdate", "birthplace", "hobby", "university", "major", "city")
POOLS = ("first", "middle", "last", "cities", "hobbies", "universities", "majors")
TOKENS_PER_PERSON = 32
"""One person for so many tokens of the tier: three times what a prompt of six-sentence biographies can hold."""

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
    """Draw `count` people no two of whom share first and last name.

    A pair is one index into the product of both pools, so drawing distinct indices needs no rejection of names.
    """
    firsts, lasts = pool("first"), pool("last")
    pairs = Shuffled(world.of("names"), len(firsts) * len(lasts)).take(count)
    rng = world.of("attributes")
    return [_person(firsts[pair // len(lasts)], lasts[pair % len(lasts)], rng) for pair in pairs.tolist()]


def _person(first: str, last: str, rng: Random) -> Person:
    middle = next(name for name in _draws(rng, "middle", 2) if name != first)
    day = FIRST_DAY + timedelta(days=rng.randrange(DAYS))
    birthplace, city = _draws(rng, "cities", 2)
    (hobby,), (university,), (major,) = (_draws(rng, name, 1) for name in ("hobbies", "universities", "majors"))
    return Person(first, middle, last, written_date(day), birthplace, hobby, university, major, city)


def _draws(rng: Random, name: str, count: int) -> list[str]:
    return rng.sample(pool(name), count)
