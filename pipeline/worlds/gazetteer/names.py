"""Names of things. Parts of names come again in every kind; a name that would stand twice says where its thing is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from pipeline.worlds.gazetteer.forms import NAMES, words_of
from pipeline.worlds.words import pool

FEW = 40
"""Surnames of the smallest world."""
QUALIFIED = {
    "museum": "of",
    "school": "of",
    "theatre": "of",
    "bridge": "at",
    "lighthouse": "near",
    "mill": "at",
    "inn": "at",
}
"""Kinds whose names are told apart by a town, and the word before it."""
FIRST_NAMES = "writing/people"


@dataclass(slots=True)
class Stock:
    """What names are made of: the surnames of a world, its towns, and names that towns and rivers may yet have."""

    rng: Random
    surnames: Sequence[str]
    towns: Sequence[str]
    new_towns: Sequence[str]
    new_rivers: Sequence[str]

    @classmethod
    def of(cls, rng: Random, passages: int) -> Stock:
        """Return the stock of a world: the more passages it has, the more surnames."""
        surnames = rng.sample(pool("last"), min(len(pool("last")), max(FEW, passages // 20)))
        return cls(rng, surnames, (), *map(pool, NAMES))

    def word(self, name: str) -> str:
        """Draw a word of a list."""
        return self.rng.choice(words_of()[name])

    def surname(self) -> str:
        """Draw a surname."""
        return self.rng.choice(self.surnames)

    def town(self) -> str:
        """Draw the name of a town."""
        return self.rng.choice(self.towns)


Draw = Callable[[Stock], str]


def _person(stock: Stock) -> str:
    return f"{stock.rng.choice(pool(FIRST_NAMES))[2:]} {stock.surname()}"


def _firm(stock: Stock) -> str:
    ending = stock.rng.choice(("& Sons", "Brothers", "& Company", "& Daughters", f"& {stock.surname()}"))
    return f"{stock.surname()} {ending}"


def _novel(stock: Stock) -> str:
    one, other = stock.rng.sample(words_of()["thing"], 2)
    said = (f"The {one} and the {other}", f"The {one} of {stock.town()}", f"A {stock.word('craft')} in {stock.town()}")
    return stock.rng.choice(said).replace("A A", "An A").replace("A I", "An I")


def _named(noun: str) -> Draw:
    return lambda stock: f"the {stock.surname()} {noun}"


DRAWS: Mapping[str, Draw] = {
    "town": lambda stock: stock.rng.choice(stock.new_towns),
    "river": lambda stock: f"the {stock.rng.choice(stock.new_rivers)}",
    "person": _person,
    "firm": _firm,
    "ship": lambda stock: f"the {stock.word('adj')} {stock.word('noun')}",
    "inn": lambda stock: f"the {stock.word('adj')} {stock.word('noun')} Inn",
    "novel": _novel,
    "opera": lambda stock: f"The {stock.word('craft')}'s {stock.word('thing')}",
    "painting": lambda stock: f"{stock.word('moment')} at {stock.town()}",
    "festival": lambda stock: f"the {stock.town()} {stock.word('event')}",
    "school": lambda stock: f"the {stock.surname()} {stock.rng.choice(('Academy', 'School', 'Institute'))}",
    **{kind: _named(kind.capitalize()) for kind in ("bridge", "museum", "lighthouse", "mill", "theatre")},
}
"""How the names of each kind are drawn."""


def gender_of(person: str) -> str:
    """Return ``f`` or ``m`` by the first name of a person."""
    return _genders()[person.split(" ")[0]]


@cache
def _genders() -> Mapping[str, str]:
    return {line[2:]: line[0] for line in pool(FIRST_NAMES)}


def drawn(stock: Stock, kind: str, count: int) -> list[str]:
    """Draw the names of `count` things of a kind, no two alike but those that towns are to tell apart."""
    names: list[str] = []
    taken: set[str] = set()
    while len(names) < count:
        name = DRAWS[kind](stock)
        if name in taken and kind not in QUALIFIED:
            continue
        taken.add(name)
        names.append(name)
    return names


def qualified(kind: str, names: Sequence[str], towns: Sequence[str], every: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield each name, with a town where it would stand twice, and the town: another one where both would.

    `towns` are the towns in which the things are, `every` all there are.
    """
    times, taken = Counter(names), set[str]()
    for name, town in zip(names, towns, strict=True):
        full, others = name, iter(every)
        while times[name] > 1 and (full == name or full in taken):
            town = town if full == name else next(others)
            full = f"{name} {QUALIFIED[kind]} {town}"
        taken.add(full)
        yield full, town


def bare(name: str) -> str:
    """Return a name as titles have it: without an article that is no part of it.

    >>> bare("the Walton Bridge"), bare("The Miller's Quilt")
    ('Walton Bridge', "The Miller's Quilt")
    """
    return name.removeprefix("the ")
