"""Entries of the annals: a date, a sentence that states something, and one to three that state nothing."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random

from pipeline.caches import cache
from pipeline.worlds.people import MONTHS
from pipeline.worlds.wording import Phrase, parse, sections, settled
from pipeline.worlds.words import pool_digest

FILES = tuple(f"chronicle/{name}" for name in ("events", "happenings", "deeds", "colour", "phrases", "names", "talk"))
ASKED = "? "
FLEETING = ("somebody", "elsewhere")
"""Slots of people and of streets of which nothing is stated: others wherever the words stand in an entry."""


def write(rng: Random, wording: Phrase, values: Mapping[str, str]) -> str:
    """Return a sentence with values in its slots: its alternatives are drawn before any value is wanted.

    A slot that is the name of a phrase is written anew wherever it stands.
    """
    said = _written(rng, wording, values, phrases())
    return said[0].upper() + said[1:]


def _written(rng: Random, wording: Phrase, values: Mapping[str, str], rules: Mapping[str, Sequence[Phrase]]) -> str:
    def pick(options: tuple[Phrase, ...]) -> Phrase:
        return options[0] if len(options) == 1 else rng.choice(options)

    said = []
    for part in settled(wording, pick):
        if isinstance(part, str):
            said.append(part)
        elif part.name in rules:
            said.append(_written(rng, rng.choice(rules[part.name]), values, rules))
        else:
            said.append(values[part.name])
    return "".join(said)


class Values(dict[str, str]):
    """Values of slots; those that are missing are drawn when a sentence wants them."""

    __slots__ = ("_draw",)

    def __init__(self, given: Mapping[str, str], draw: Callable[[str, Collection[str]], str]) -> None:
        super().__init__(given)
        self._draw = draw

    def __missing__(self, slot: str) -> str:
        """Draw the value of a slot, and keep it unless it is another one wherever the word stands."""
        value = self._draw(slot, self.values())
        self[f"{slot} {len(self)}" if slot in FLEETING else slot] = value
        return value


def lines(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lines of a file of the annals by the names of its sections."""
    return sections(f"chronicle/{name}")


@cache
def wordings() -> Mapping[str, Sequence[Phrase]]:
    """Return the sentences of every kind of event, happenings and deeds among them."""
    said = {**lines("events"), **lines("happenings"), **lines("deeds")}
    return {kind: [parse(one) for one in some if not one.startswith(ASKED)] for kind, some in said.items()}


@cache
def happenings() -> Mapping[str, Sequence[str]]:
    """Return the kinds of things that happen to a property, each with what is asked about it in other words."""
    return {
        kind: [one.removeprefix(ASKED) for one in some if one.startswith(ASKED)]
        for kind, some in lines("happenings").items()
    }


@cache
def deeds() -> tuple[str, ...]:
    """Return the kinds of things that somebody does for a property, or in vain, but for buying it."""
    return tuple(lines("deeds"))


@cache
def colours() -> Mapping[str, Sequence[Phrase]]:
    """Return the sentences that state nothing, by the group of kinds that they go with."""
    return {group: [parse(one) for one in some] for group, some in lines("colour").items()}


@cache
def phrases() -> Mapping[str, Sequence[Phrase]]:
    """Return the phrases that sentences without a statement are put together from, by the names of their slots."""
    return {name: [parse(one) for one in some] for name, some in lines("phrases").items()}


@cache
def talk() -> Mapping[str, Sequence[Phrase]]:
    """Return what is said around entries in a chat."""
    return {kind: [parse(one) for one in some] for kind, some in lines("talk").items()}


@cache
def words_of(name: str) -> Sequence[str]:
    """Return a list of names: separated by commas where one has several words."""
    (line,) = lines("names")[name]
    return line.split(", ") if ", " in line else line.split(" ")


@cache
def source_digest() -> str:
    """Return the digest of all files that the annals are written from."""
    return pool_digest(*FILES)


FIRST_DAY, LAST_DAY = date(1790, 1, 1).toordinal(), date(1839, 12, 31).toordinal()
"""The span of the annals, as days: short enough that who buys a property at its start can own it at its end."""
FEWEST, MOST = 24, 58
"""Words of an entry without its date, about."""
NUMBERS = [
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "twenty",
    "thirty",
]
MEASURES = ("stone", "load", "sack", "measure", "hundredweight")
GROUPS = {
    "sale": "sale", "unnamed": "sale", "undo": "court", "undo2": "court", "redo": "court", "birth": "birth",
    "bride": "wedding", "groom": "wedding", "wedding": "wedding", "death": "death", "burial": "death",
    "election": "vote", "jury": "vote", "stones": "street", "move": "street", "works": "street",
    "debt": "money", "price": "money", "lease": "deed", "repairs": "deed", "keeper": "deed", "loan": "deed",
    "bid": "vain", "plea": "vain",
}  # fmt: skip
"""The group of colour of each kind of event; happenings have one of their own."""
DAYS_A_LEAF = 8
"""A leaf of the book in which a chat's entries are written is filled in so many days."""
Fact = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its day, the kind of its event, what the event is about, and its text, which ends in a newline."""

    day: int
    kind: str
    about: Mapping[str, str]
    text: str

    @property
    def facts(self) -> tuple[str, ...]:
        """What it states, with bars between the parts."""
        return ("|".join((self.kind, *(f"{slot}={value}" for slot, value in self.about.items()))),)


def written(day: int) -> str:
    """Return a day as the annals have it.

    >>> written(date(1874, 3, 14).toordinal())
    '14 March 1874'
    """
    found = date.fromordinal(day)
    return f"{found.day} {MONTHS[found.month - 1]} {found.year}"


def year(day: int) -> int:
    """Return the year of a day."""
    return date.fromordinal(day).year


def new_year(number: int) -> int:
    """Return the first day of a year."""
    return date(number, 1, 1).toordinal()


def entry(rng: Random, day: int, kind: str, about: Mapping[str, str], people: Sequence[str]) -> Entry:
    """Write an entry; whoever else it names is one of some people."""
    values = Values({**about, **_capitals(about)}, lambda slot, told: _drawn(rng, slot, people, told))
    said = [write(rng, rng.choice(wordings()[kind]), values)]
    length = said[0].count(" ") + 1
    own = colours()["house" if kind in happenings() else GROUPS[kind]]
    goal, used = rng.randrange(FEWEST, MOST - 8), list[Phrase]()
    for some, first in ((own, False), (_weather(day), rng.random() < 0.35), (own, False), (_anything(day), False)):
        if length >= goal:
            break
        more = _colour(rng, some, values, used)
        if length + more.count(" ") < MOST:
            said.insert(0 if first else len(said), more)
            length += more.count(" ") + 1
    return Entry(day, kind, about, f"{written(day)}. {' '.join(said)}\n")


def talked(rng: Random, name: str, day: int) -> str:
    """Write what is said around the entries of a day in a chat: the opening, or the reply."""
    leaf = {"leaf": str((day - FIRST_DAY) // DAYS_A_LEAF + 1)}
    return write(rng, rng.choice(talk()[name]), Values(leaf, lambda slot, told: _drawn(rng, slot, (), told)))


def _colour(rng: Random, some: Sequence[Phrase], values: Values, used: list[Phrase]) -> str:
    """Return a sentence of colour of another wording than those there are."""
    chosen = rng.choice(some)
    while chosen in used:
        chosen = rng.choice(some)
    used.append(chosen)
    return write(rng, chosen, values)


@cache
def _seasons() -> Mapping[str, Sequence[Phrase]]:
    """Return what may stand before or behind an event, by the season."""
    return {season: [*colours()["any"], *colours().get(season, ())] for season in ("winter", "summer", "between")}


def _weather(day: int) -> Sequence[Phrase]:
    month = date.fromordinal(day).month
    return _seasons()["winter" if month in (11, 12, 1, 2) else "summer" if month in (5, 6, 7, 8) else "between"]


def _anything(day: int) -> Sequence[Phrase]:
    return [*_weather(day), *colours()["after"]]


def _capitals(about: Mapping[str, str]) -> dict[str, str]:
    return {slot.capitalize(): value for slot, value in about.items()}


def _drawn(rng: Random, slot: str, people: Sequence[str], told: Collection[str]) -> str:
    """Return a value of a slot; nobody and no street is drawn twice for one entry."""
    if slot in ("street", "street2", "elsewhere"):
        return _other(rng, words_of("streets"), told)
    if slot == "num":
        return rng.choice(NUMBERS)
    if slot == "sum":
        return f"{rng.choice((10, 20, 5)) * rng.randrange(2, 40)} {rng.choice(('pounds', 'pounds', 'guineas'))}"
    if slot in ("goods", "Goods"):
        return rng.choice(words_of("goods"))
    if slot == "price":
        return f"{rng.choice(NUMBERS)} shillings the {rng.choice(MEASURES)}"
    if slot == "names":
        return listed(rng.sample(people, min(len(people), rng.randrange(4, 7))))
    return _other(rng, people, told)


def _other(rng: Random, some: Sequence[str], told: Collection[str]) -> str:
    while (chosen := rng.choice(some)) in told:
        pass
    return chosen


def listed(names: Sequence[str]) -> str:
    """Return names as a list in words."""
    return f"{', '.join(names[:-1])} and {names[-1]}"
