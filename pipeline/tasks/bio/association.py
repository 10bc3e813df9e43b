"""bio.association: who was born or works in a country, if biographies name only cities (NoLiMa, Modarressi 2025).

The paragraph that answers the question shares no word with it. The link, such as that Bergen is in Norway, is not in
the text. Exactly one person fits. The number of decoys does not depend on the length: half of them have a city of the
country as their other place, and half name the country in their hobby. Nobody else is connected with the country.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import Any

from pipeline.caches import cache, lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, Placed, PoolSpec, PublishedRow, Sample
from pipeline.tasks.bio import text
from pipeline.tasks.bio.base import Biographies, dealt_kinds, framed, kind_of, scattered
from pipeline.tasks.bio.haystack import DEPTH, depths, others
from pipeline.tasks.bio.solve import (
    Entry,
    mark_faults,
    parse_biographies,
    parse_question,
    people_faults,
    question_faults,
    whole_faults,
)
from pipeline.tasks.bio.styles import PLAIN, STYLES
from pipeline.worlds.people import ATTRIBUTES, Person, countries_with, heard_in, people, telling, with_article
from pipeline.worlds.words import pool

PLACES = ("birthplace", "city")
QUESTIONS = {"birthplace": "Who was born in {country}?", "city": "Who now lives and works in {country}?"}
ASKED = re.compile(r"Who (was born|now lives and works) in (?:the )?(.+)\?")
HOBBIES = (
    *("collecting old maps of {country}", "collecting stamps from {country}", "cooking dishes from {country}"),
    *("painting landscapes of {country}", "playing folk songs from {country}", "reading about {country}"),
    *("collecting coins from {country}", "growing wild flowers from {country}"),
)
"""Hobbies of decoys that name the country."""
FORMS = {
    "birthplace": (
        *("{name}", "{name} was born in {city}", "birthplace of {name} is {city}", "{name} (born in {city})"),
        *("{name} ({city})", "{name}, {city}", "{name}, who was born in {city}", "{name}, whose birthplace is {city}"),
    ),
    "city": (
        *("{name}", "{name} now lives and works in {city}", "{name} lives and works in {city}", "{name} ({city})"),
        *("{name}, {city}", "{name}, who lives and works in {city}", "{name}, who now lives and works in {city}"),
    ),
}
"""The accepted forms of an answer: replies may add the city."""
DECOYS = (4, 0, 12)
INSTRUCTION = """\
This is the end of the biographies. They name cities, and the question below names a country: just one person fits. \
Reply with the full name of that person alone.
"""


class Association(Biographies):
    """A person by the country of a city."""

    __slots__ = ()

    subtask = "association"
    title = "who was born or works in a country, where biographies name cities"
    scorer = "exact"
    version = 2
    most_shots = 0
    shortest = 2048
    knobs: Mapping[str, tuple[Any, ...]] = MappingProxyType({"depth": DEPTH, "decoys": DECOYS})

    def decoys_of(self, stratum: Stratum) -> int:
        """Return the number of decoys in a text."""
        return int(stratum.knob("decoys", DECOYS[0]))

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (STYLES[PLAIN].spec(stratum),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw people without a connection to a dealt country, and give them one."""
        asked = dealt_kinds(stratum_streams, index, PLACES, "attribute")
        country = dealt_kinds(stratum_streams, index, tuple(telling()), "country")
        numbers, rng = self.people(row_streams, stratum, country), row_streams.of("changes")
        person, *near = (people(row_streams, stratum.tier)[one] for one in numbers)
        person = _moved(rng, person, asked, country)
        (other,) = set(PLACES) - {asked}
        changed = [
            _moved(rng, one, other, country) if number % 2 else _keen(rng, one, country)
            for number, one in enumerate(near)
        ]
        latent = {
            "asked": asked,
            "country": country,
            "people": numbers,
            "near": [text.biography(one) for one in changed],
        }
        question = QUESTIONS[asked].format(country=with_article(country))
        key = Key(person.name, _accepted(person.name, asked, person.value(asked)))
        return Sample("", stratum, index, latent, (text.biography(person),), question, key)

    def people(self, row_streams: Streams, stratum: Stratum, country: str) -> list[int]:
        """Draw the person to ask for, and the decoys."""
        near, rng, found = _near(row_streams, stratum.tier)[country], row_streams.of("people"), list[int]()
        while len(found) <= self.decoys_of(stratum):
            one = rng.randrange(len(people(row_streams, stratum.tier)))
            if one not in near and one not in found:
                found.append(one)
        return found

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the asked person at the wanted depth, and decoys at random, among people of other countries."""
        stratum, latent = sample.stratum, sample.latent
        (depth,) = depths(stratum, sample.index, stratum_streams, 1)
        taken = {*latent["people"], *_near(row_streams, stratum.tier)[latent["country"]]}
        size = len(people(row_streams, stratum.tier))
        placed = (Placed.line(sample.relevant[0], "relevant", depth), *scattered(row_streams, latent["near"]))
        filler = others(row_streams, stratum, STYLES[PLAIN].pool, size, taken)
        return framed(text.INTRODUCTION, placed, filler, INSTRUCTION, (), sample.question)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        return {
            "attribute": kind_of(sample.latent["asked"], PLACES),
            "country": kind_of(sample.latent["country"], tuple(telling())),
        }

    def answers(self, text: str) -> tuple[str, ...]:
        place, country = _asked(text)
        found = [one for one in parse_biographies(text) if country in _met(one, place)]
        if len(found) != 1:
            raise ValueError(f"{len(found)} people fit {country}")
        return _accepted(found[0].name, place, found[0].stated[place])

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return _faults(row, self.solve(row.turns), self.decoys_of(row.stratum))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of guesses among everybody, those who name the country, and those connected with it."""
        return {"uniform": 0.0, "named": 0.0, "near": 1 / (1 + len(sample.latent["near"]))}


def _near(streams: Streams, tier: str) -> Mapping[str, frozenset[int]]:
    """Return the people of a tier who are connected with each country, by a city or the university."""
    return _near_all(streams.world(), tier)


@lru_cache(maxsize=4)
def _near_all(streams: Streams, tier: str) -> Mapping[str, frozenset[int]]:
    found = {country: set[int]() for country in telling()}
    for number, person in enumerate(people(streams, tier)):
        known = countries_with(person.birthplace) | countries_with(person.city) | heard_in(person.university)
        for country in known & found.keys():
            found[country].add(number)
    return {country: frozenset(numbers) for country, numbers in found.items()}


def _moved(rng: Random, person: Person, place: str, country: str) -> Person:
    """Return a person with a city of the country as one of the two places."""
    return replace(person, **{place: rng.choice(telling()[country])})


def _keen(rng: Random, person: Person, country: str) -> Person:
    """Return a person whose hobby names a country."""
    return replace(person, hobby=rng.choice(HOBBIES).format(country=with_article(country)))


def _asked(prompt: str) -> tuple[str, str]:
    """Return the kind of place and the country that a prompt asks for.

    Raises:
        ValueError: if it asks for none.
    """
    (asked,) = parse_question(prompt)
    if not (found := ASKED.fullmatch(asked.question)):
        raise ValueError(f"no question about a country: {asked.question!r}")
    return PLACES[found[1] != "was born"], found[2]


def _met(entry: Entry, place: str) -> frozenset[str]:
    """Return the countries that a person's city may be in.

    Raises:
        ValueError: if the city is unknown or not stated.
    """
    if (met := _known().get(entry.stated.get(place, ""))) is None:
        raise ValueError(f"the biography of {entry.name} states no {place} that lies in a country")
    return met


@cache
def _known() -> Mapping[str, frozenset[str]]:
    """Return the countries that each city may be in."""
    return {city: countries_with(city) for city in pool("cities")}


def _accepted(name: str, place: str, city: str) -> tuple[str, ...]:
    return tuple(form.format(name=name, city=city) for form in FORMS[place])


def _faults(row: PublishedRow, answers: tuple[str, ...], decoys: int) -> Iterator[str]:
    entries, (place, country) = parse_biographies(row.text), _asked(row.text)
    (other,) = set(PLACES) - {place}
    yield from question_faults(row)
    yield from people_faults(entries)
    yield from whole_faults(entries, ATTRIBUTES)
    name = answers[0]
    if row.key.answers != answers:
        yield f"the prompt tells of {name}, the key of {row.key.target}"
    mine = [entry for entry in entries if entry.name == name]
    yield from mark_faults(row, "relevant", mine, "who is asked for")
    if country in row.text[mine[0].start : mine[0].end]:
        yield f"the biography of {name} names {country}"
    abroad = [entry for entry in entries if entry is not mine[0] and country in _met(entry, other)]
    naming = [entry for entry in entries if country in entry.stated["hobby"]]
    yield from mark_faults(row, "decoy", {entry.start: entry for entry in (*abroad, *naming)}.values(), "decoys")
    if (len(abroad), len(naming)) != (decoys // 2, decoys - decoys // 2):
        yield f"{len(abroad)} decoys by city and {len(naming)} by name, {decoys} were promised"


TASKS = (Association(),)
