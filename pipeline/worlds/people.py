"""The world of people: full names and six attributes (papers: LongBioBench, appendix B).

There is one world for each seed and tier, shared by all prompts of the tier. Full names are unique, but every part of a
name recurs many times, so that only the full name identifies a person. People come in clans of 64: all combinations of
four first, four middle and four last names. So everybody has three namesakes of each kind, who differ in one name only.
Clans share at most one of their three sets of names (they are the cells of a Latin square): no two people of different
clans share two names. Within a clan no two people have the same value of any attribute.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import product
from math import isqrt
from random import Random

import numpy as np

from pipeline.caches import cache, lru_cache
from pipeline.streams import Indices, Shuffled, Streams, words
from pipeline.typed import TIERS
from pipeline.worlds.identifying import identifying
from pipeline.worlds.wording import sections
from pipeline.worlds.words import pool, pool_digest

WORLD = "people@2"
ATTRIBUTES = ("birthdate", "birthplace", "hobby", "university", "major", "city")
POOLS = ("first", "middle", "last", "cities", "hobbies", "universities", "majors")
TOKENS_PER_PERSON = 32
"""Tokens of the tier per person: three times what a prompt of six-sentence biographies can hold."""

SIDE = 4
"""How many first, middle and last names a clan has."""
CLAN = SIDE**3
STEPS = (SIDE**2, SIDE, 1)
"""How much the numbers of two people of a clan differ who are next to each other in first, middle or last name."""
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
    rng, people = world.of("attributes"), []
    for sets in _clans(world, -(-count // CLAN)):
        values = _values(rng)
        people += [Person(*names, *next(values)) for names in product(*sets)]
    return people[:count]


def _clans(world: Streams, count: int) -> Iterator[tuple[Sequence[str], ...]]:
    """Yield the first, middle and last names of each clan: random cells of a Latin square of name sets."""
    width = isqrt(count - 1) + 1
    names = {part: identifying(pool(part), world) if part == "last" else pool(part) for part in NAMES}
    sets = [_cut(world.of(part).sample(names[part], width * SIDE)) for part in NAMES]
    for cell in Shuffled(world.of("clans"), width**2).take(count).tolist():
        row, column = divmod(cell, width)
        yield sets[0][row], sets[1][column], sets[2][(row + column) % width]


def _cut(names: Sequence[str]) -> list[Sequence[str]]:
    return [names[at : at + SIDE] for at in range(0, len(names), SIDE)]


def _values(rng: Random) -> Iterator[tuple[str, ...]]:
    """Yield the attributes of a clan's people, all distinct."""
    days = [written_date(FIRST_DAY + timedelta(days=day)) for day in rng.sample(range(DAYS), CLAN)]
    birthplaces, cities = rng.sample(pool("cities"), CLAN), rng.sample(pool("cities"), CLAN)
    while any(one == other for one, other in zip(birthplaces, cities, strict=True)):
        rng.shuffle(cities)
    things = (rng.sample(pool(name), CLAN) for name in ("hobbies", "universities", "majors"))
    return zip(days, birthplaces, *things, cities, strict=True)


def namesakes(number: int) -> tuple[tuple[int, ...], ...]:
    """Return who shares two of three names with a person: those with another first, another middle, another last name.

    >>> namesakes(0)
    ((16, 32, 48), (4, 8, 12), (1, 2, 3))
    """
    places = [number // step % SIDE for step in STEPS]
    return tuple(
        tuple(number + (other - place) * step for other in range(SIDE) if other != place)
        for place, step in zip(places, STEPS, strict=True)
    )


ROUNDS = SIDE**2


def apart(number: int, clans: int) -> Indices:
    """Return the people of one of `ROUNDS` rounds: four of each clan, no two of whom share a name.

    So nobody shares two names with two people of a round. All rounds together have everybody once.

    >>> apart(0, 1).tolist(), apart(1, 1).tolist()
    ([0, 21, 42, 63], [1, 22, 43, 60])
    """
    middle, last = divmod(number, SIDE)
    first = np.arange(SIDE)
    of_clan = first * STEPS[0] + (first + middle) % SIDE * STEPS[1] + (first + last) % SIDE
    return np.asarray((np.arange(clans)[:, None] * CLAN + of_clan).reshape(-1), dtype=np.int64)


WORDING_WORLD = "wordings@1"


def wordings(style: str) -> Mapping[str, tuple[str, ...]]:
    """Return the sentences of a style by what they state, with ``{value}``, ``{name}`` or both in them."""
    return sections(f"bio/{style}")


@cache
def wording_digest(style: str) -> str:
    """Return the digest of a style's file."""
    return pool_digest(f"bio/{style}")


def chooser(streams: Streams, tier: str, style: str) -> Callable[[int], dict[str, str]]:
    """Return a function from a person of a tier to the sentence that states each thing.

    `streams` are any below the same seed.
    """
    numbers = _numbers(streams.world(WORDING_WORLD, style, tier), TIERS[tier] // TOKENS_PER_PERSON, style)
    sentences = wordings(style)

    def chosen(person: int) -> dict[str, str]:
        return {
            kind: options[number]
            for (kind, options), number in zip(sentences.items(), numbers[person].tolist(), strict=True)
        }

    return chosen


@lru_cache(maxsize=4)
def _numbers(world: Streams, people: int, style: str) -> Indices:
    """Draw which sentence each person has for each thing, independently."""
    counts = np.array([len(options) for options in wordings(style).values()], dtype=np.int64)
    drawn = words(world.of("sentences"), people * len(counts)).astype(np.int64)
    return np.remainder(drawn.reshape(people, len(counts)), counts)


WELL_KNOWN = 100_000
"""With a place abroad of this many people, a city's name is taken to mean two cities."""
ARTICLE = {
    *("Central African Republic", "Dominican Republic", "Gambia", "Netherlands", "Philippines"),
    *("United Arab Emirates", "United Kingdom", "United States"),
}
"""Countries whose names take an article."""
UNASKED = {
    *("Democratic Republic of the Congo", "Georgia", "Hong Kong", "Kosovo", "Macao", "Puerto Rico"),
    *("Republic of the Congo", "Taiwan"),
}
"""Countries that share a name with another place, or that not everybody considers a country."""
DISPUTED = {"Donetsk", "Jerusalem", "Sevastopol"}


def country_of(city: str) -> str:
    """Return the country of a city of the pool.

    >>> country_of("Isfahan")
    'Iran'
    """
    return _countries()[city]


def countries_with(city: str) -> frozenset[str]:
    """Return the country of a city, and those that have another place with its name.

    >>> sorted(countries_with("Amsterdam"))
    ['Netherlands', 'United States']
    """
    return frozenset((country_of(city), *_elsewhere().get(city, ())))


@cache
def telling() -> dict[str, tuple[str, ...]]:
    """Return, by country, the cities that identify it without a word of its name.

    >>> telling()["Norway"], "Mexico City" in telling()["Mexico"], "Valencia" in telling()["Venezuela"]
    (('Bergen', 'Oslo'), False, False)
    """
    by_country = defaultdict[str, list[str]](list)
    for city, country in _countries().items():
        unclear = max(_elsewhere().get(city, {"": 0}).values()) >= WELL_KNOWN or city in DISPUTED
        if country not in UNASKED and not unclear and not {*city.split()} & {*country.split()}:
            by_country[country].append(city)
    return {country: tuple(cities) for country, cities in by_country.items()}


@cache
def heard_in(words: str) -> frozenset[str]:
    """Return the countries that some words name, or name a city of.

    >>> sorted(heard_in("the University of Oslo")), sorted(heard_in("Kenya Polytechnic"))
    (['Norway'], ['Kenya'])
    """
    cities = (country for city, country in _countries().items() if city in words)
    return frozenset((*cities, *(country for country in _countries().values() if country in words)))


def with_article(country: str) -> str:
    """Return a country with its article, if it takes one.

    >>> with_article("Netherlands"), with_article("Peru")
    ('the Netherlands', 'Peru')
    """
    return f"the {country}" if country in ARTICLE else country


@cache
def _countries() -> dict[str, str]:
    return dict(line.split(", ") for line in pool("countries"))


@cache
def _elsewhere() -> dict[str, dict[str, int]]:
    """Return, for each city, the population of the largest place with its name in each other country."""
    largest = defaultdict[str, dict[str, int]](dict)
    for line in pool("elsewhere"):
        city, country, people = line.split(", ")
        largest[city][country] = int(people)
    return dict(largest)


AGES = "ages@2"
YOUNGEST, OLDEST = 20, 70
SPAN = OLDEST - YOUNGEST + 1
FEW_AGES, FEW, WIDEST = "few-ages@2", 16, 99


def ages(streams: Streams, tier: str) -> Indices:
    """Return the age of everybody of a tier; `streams` are those of any row or pool below the same seed."""
    return _ages(streams.world(AGES, tier), TIERS[tier] // TOKENS_PER_PERSON)


def few_ages(streams: Streams, tier: str) -> Indices:
    """Return two ages of everybody of a tier, int of shape (2, people), all from `FEW` ages.

    For texts in which most ages occur once: people with none of the ages that may recur are left out.
    """
    return _few_ages(streams.world(FEW_AGES, tier), TIERS[tier] // TOKENS_PER_PERSON)


def recurring(streams: Streams, tier: str) -> tuple[int, ...]:
    """Return the ages that `few_ages` draws from."""
    return _recurring(streams.world(FEW_AGES, tier))


@lru_cache(maxsize=4)
def _recurring(world: Streams) -> tuple[int, ...]:
    return tuple(world.of("ages").sample(range(YOUNGEST, OLDEST + 1), FEW))


@lru_cache(maxsize=4)
def _few_ages(world: Streams, count: int) -> Indices:
    ages, first = np.array(_recurring(world), dtype=np.int64), _dealt(world, "first", count, FEW)
    second = (first + 1 + _dealt(world, "second", count, FEW - 1)) % FEW
    return np.stack([ages[first], ages[second]])


@lru_cache(maxsize=4)
def _ages(world: Streams, count: int) -> Indices:
    """Deal ages clan by clan: each once, and further ones to people who share no two names.

    Numbers 0 to 12 and 51 to 63 of a clan differ in the first name and in another one.
    """
    clans, wheel = -(-count // CLAN), Shuffled(world.of("first"), SPAN).take(SPAN)
    starts = np.arange(clans) * (CLAN - SPAN)
    turned = wheel[(starts[:, None] + np.arange(SPAN)) % SPAN]
    once = turned[:, CLAN - SPAN :]
    mixed = np.argsort(words(world.of("order"), once.size).reshape(once.shape), axis=1, kind="stable")
    twice = turned[:, : CLAN - SPAN]
    return YOUNGEST + np.hstack([twice, np.take_along_axis(once, mixed, axis=1), twice]).reshape(-1)[:count]


def _dealt(world: Streams, purpose: str, count: int, kinds: int) -> Indices:
    """Return `count` numbers below `kinds`, all equally frequent, in random order."""
    return np.asarray(Shuffled(world.of(purpose), count).take(count) % kinds, dtype=np.int64)
