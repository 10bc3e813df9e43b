"""Cities and the countries that they lie in, as everybody knows them (GeoNames)."""

from __future__ import annotations

from collections import defaultdict
from functools import cache

from pipeline.worlds.words import pool

WELL_KNOWN = 100_000
"""A place abroad of so many people makes a city's name stand for two cities."""
ARTICLE = {
    *("Central African Republic", "Dominican Republic", "Gambia", "Netherlands", "Philippines"),
    *("United Arab Emirates", "United Kingdom", "United States"),
}
"""Countries whose names take an article."""
UNASKED = {
    *("Democratic Republic of the Congo", "Georgia", "Hong Kong", "Kosovo", "Macao", "Puerto Rico"),
    *("Republic of the Congo", "Taiwan"),
}
"""Countries that share a name with another place, or that not everybody calls a country."""
DISPUTED = {"Donetsk", "Jerusalem", "Sevastopol"}


def country_of(city: str) -> str:
    """Return the country of a city of the pool.

    >>> country_of("Isfahan")
    'Iran'
    """
    return _countries()[city]


def countries_with(city: str) -> frozenset[str]:
    """Return the country of a city, and those that have another place of its name.

    >>> sorted(countries_with("Amsterdam"))
    ['Netherlands', 'United States']
    """
    return frozenset((country_of(city), *_elsewhere().get(city, ())))


@cache
def telling() -> dict[str, tuple[str, ...]]:
    """Return the cities by country that tell which country is meant, though they have no word of its name.

    >>> telling()["Norway"], "Mexico City" in telling()["Mexico"], "Valencia" in telling()["Venezuela"]
    (('Bergen', 'Oslo'), False, False)
    """
    found = defaultdict[str, list[str]](list)
    for city, country in _countries().items():
        unclear = max(_elsewhere().get(city, {"": 0}).values()) >= WELL_KNOWN or city in DISPUTED
        if country not in UNASKED and not unclear and not {*city.split()} & {*country.split()}:
            found[country].append(city)
    return {country: tuple(cities) for country, cities in found.items()}


@cache
def heard_in(words: str) -> frozenset[str]:
    """Return the countries that some words name, or a city of.

    >>> sorted(heard_in("the University of Oslo")), sorted(heard_in("Kenya Polytechnic"))
    (['Norway'], ['Kenya'])
    """
    cities = (country for city, country in _countries().items() if city in words)
    return frozenset((*cities, *(country for country in _countries().values() if country in words)))


def named(country: str) -> str:
    """Return a country as sentences have it.

    >>> named("Netherlands"), named("Peru")
    ('the Netherlands', 'Peru')
    """
    return f"the {country}" if country in ARTICLE else country


@cache
def _countries() -> dict[str, str]:
    return dict(line.split(", ") for line in pool("countries"))


@cache
def _elsewhere() -> dict[str, dict[str, int]]:
    """Return the people of the largest place of a city's name in each other country that has one."""
    found = defaultdict[str, dict[str, int]](dict)
    for line in pool("elsewhere"):
        city, country, people = line.split(", ")
        found[city][country] = int(people)
    return dict(found)
