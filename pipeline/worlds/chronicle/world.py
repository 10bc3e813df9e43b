"""The world `chronicle`: annals of an invented town over fifty years (HELMET, section 2.1: documents to be read whole).

There is one world for each seed and tier, shared by all prompts of the tier: people, properties and what befell them,
entry by entry. The longer the tier, the larger the town. None of its places is on a map. Families are drawn from a
century before the annals on, so that parents and grandparents are known. Fifty years fit into one life: whoever buys a
property that is asked about can own it on any later day, and no property falls back to the dead.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np

from pipeline.caches import lru_cache
from pipeline.streams import Indices, Streams
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.chronicle.entries import (
    FIRST_DAY,
    LAST_DAY,
    ON_ROLL,
    Entry,
    deeds,
    entry,
    happenings,
    listed,
    new_year,
    words_of,
    working,
    year,
)
from pipeline.worlds.identifying import identifying

FERTILE, GROWN, MARRIED_BY, LAST_CHILD = 20, 19, 38, 44
"""For how many years a couple has children; the ages between which people marry; the age up to which women bear."""
OF_AGE, TOO_OLD = 21, 46
"""The age from which people act for themselves, and the age from which they buy no property."""
LONG_DEAD = 10
"""Years after which somebody counts as long dead."""
LIVES = range(46, 92)
"""How many years people may live; children who die are not mentioned."""
YEAR = 365
FIRST_YEAR, LAST_YEAR = year(FIRST_DAY), year(LAST_DAY)
BEFORE = 100
"""Years before the annals in which families begin."""


@dataclass(slots=True, eq=False)
class Resident:
    """A person: name, sex, days of birth and death, parents if the annals know them, and a spouse."""

    name: str
    woman: bool
    born: int
    dies: int
    father: Resident | None = None
    mother: Resident | None = None
    spouse: Resident | None = None
    wed: int = 0
    bore: int = 0


@dataclass(slots=True)
class Names:
    """Draws unused names, with surnames as frequent as they are in a list."""

    rng: Random
    surnames: Sequence[str]
    taken: set[str] = field(default_factory=set)

    def new(self, surname: str = "", *, woman: bool) -> str:
        """Draw a name, with a given surname if a name with it is left, else with one of `surnames`."""
        for tries in range(10_000):
            last = surname if surname and tries < 400 else self.rng.choice(self.surnames)
            name = f"{self.rng.choice(words_of('women' if woman else 'men'))} {last}"
            first = name.split(" ", 1)[0]
            if name not in self.taken and first != last:
                self.taken.add(name)
                return name
        raise ValueError("there are no names left")


@dataclass(slots=True)
class Population:
    """All people, in order of birth, and the names of those who are grown in each year, or long dead.

    `able` are those who may buy a property in a year: of suitable age, and alive when the annals end.
    """

    souls: list[Resident]
    names: Names
    grown: dict[int, list[str]]
    able: dict[int, list[str]]
    dead: dict[int, list[str]]

    def living(self, day: int) -> list[str]:
        """Return the names of all who are grown and live in the year of a day."""
        return self.grown[year(day)]


def populate(world: Streams, births: int) -> Population:
    """Draw a population with about `births` births in the years of the annals."""
    rng, rate = world.of("people"), births / (LAST_YEAR - FIRST_YEAR + 1)
    town, start = _Town(rng, Names(rng, identifying(words_of("surnames"), world)), rate), FIRST_YEAR - BEFORE
    town.souls = [town.incomer(start, rng.randrange(20, 40)) for _ in range(24 + int(12 * rate))]
    for now in range(start, LAST_YEAR + 1):
        town.marry(now)
        town.bear(now)
    souls = sorted(town.souls, key=lambda one: (one.born, one.name))
    born, dies = (np.array([getattr(one, name) for one in souls]) for name in ("born", "dies"))
    people = Population(souls, town.names, {}, {}, {})
    for now in range(FIRST_YEAR, LAST_YEAR + 1):
        day = new_year(now)
        grown = (born <= day - OF_AGE * YEAR) & (dies > day + YEAR)
        able = grown & (born > day - TOO_OLD * YEAR) & (dies > LAST_DAY)
        for names, which in ((people.grown, grown), (people.able, able), (people.dead, dies < day - LONG_DEAD * YEAR)):
            names[now] = [souls[at].name for at in np.flatnonzero(which)]
    return people


@dataclass(slots=True)
class _Town:
    rng: Random
    names: Names
    rate: float
    souls: list[Resident] = field(default_factory=list)
    couples: list[Resident] = field(default_factory=list)
    owed: float = 0.0

    def soul(self, born: int, surname: str = "", *, woman: bool) -> Resident:
        life = self.rng.choice(LIVES) * YEAR + self.rng.randrange(YEAR)
        return Resident(self.names.new(surname, woman=woman), woman, born, born + life)

    def incomer(self, now: int, age: int, *, woman: bool | None = None) -> Resident:
        """Draw a grown person whose parents are not known."""
        sex = self.rng.random() < 0.5 if woman is None else woman
        return self.soul(new_year(now - age) + self.rng.randrange(YEAR), woman=sex)

    def marry(self, now: int) -> None:
        """Marry off single people, to each other where two fit, else to incomers."""
        start = new_year(now)
        able = [
            one
            for one in self.souls[-int(45 * self.rate + 200) :]
            if not one.spouse and GROWN * YEAR < start - one.born < MARRIED_BY * YEAR and one.dies > start + 2 * YEAR
        ]
        self.rng.shuffle(able)
        for single in able[: max(1, len(able) // 6)]:
            if single.spouse:
                continue
            partner = next((two for two in able if self._suits(single, two)), None)
            if partner is None:
                partner = self.incomer(now, self.rng.randrange(GROWN, 33), woman=not single.woman)
                self.souls.append(partner)
            single.spouse, partner.spouse = partner, single
            single.wed = partner.wed = start + self.rng.randrange(YEAR)
            self.couples.append(partner if single.woman else single)

    @staticmethod
    def _suits(person: Resident, other: Resident) -> bool:
        related = person.father is not None and person.father is other.father
        return other.spouse is None and person.woman != other.woman and not related

    def bear(self, now: int) -> None:
        """Let couples have the children that are due."""
        start = new_year(now)
        self.couples = [
            one
            for one in self.couples
            if one.spouse
            and start - one.wed < FERTILE * YEAR
            and min(one.dies, one.spouse.dies) > start + 2 * YEAR
            and one.spouse.born > start - LAST_CHILD * YEAR
        ]
        self.owed += self.rate
        free = [one for one in self.couples if one.bore < start - YEAR // 2]
        self.rng.shuffle(free)
        while self.owed >= 1 and free:
            father = free.pop()
            born = father.bore = max(start, father.wed + 270, father.bore + YEAR) + self.rng.randrange(YEAR // 2)
            child = self.soul(born, father.name.split(" ")[1], woman=self.rng.random() < 0.5)
            child.father, child.mother = father, father.spouse
            self.souls.append(child)
            self.owed -= 1
        self.owed = min(self.owed, 2 * self.rate + 1)


SALE, UNDO, UNDO2, REDO = "sale", "undo", "undo2", "redo"
UNNAMED = "unnamed"
"""A sale that does not name the buyer."""
Step = tuple[str, str]
"""A kind and, for a sale, the buyer."""


class Title:
    """The sales of a property that stand, the latest last, and those set aside that may be restored."""

    def __init__(self) -> None:
        self.standing: list[str] = []
        self.undone: list[str] = []

    def take(self, kind: str, buyer: str = "") -> None:
        """Take a step.

        Raises:
            ValueError: if there is no sale to set aside, or none to restore.
        """
        if kind in (SALE, UNNAMED):
            self.standing.append(buyer)
            self.undone.clear()
        elif not self.able(kind):
            raise ValueError(f"there is no sale for {kind}")
        elif kind == REDO:
            self.standing.append(self.undone.pop())
        elif kind == UNDO:
            self.undone.append(self.standing.pop())
        else:
            del self.standing[-2:]
            self.undone.clear()

    def able(self, kind: str) -> bool:
        """Return whether a step can be taken, so that there is an owner before and after it."""
        return kind in (SALE, UNNAMED) or len(self.undone if kind == REDO else self.standing) > (kind == UNDO2)

    def heir(self, kind: str) -> str:
        """Return who gets the property by a step that is not a sale; empty if the annals do not say."""
        if kind == REDO:
            return self.undone[-1]
        back = {UNDO: 2, UNDO2: 3}.get(kind, 0)
        return self.standing[-back] if 0 < back <= len(self.standing) else ""


def owner(steps: Sequence[Step]) -> str:
    """Return the owner after some steps; empty if no sale stands.

    Raises:
        ValueError: if a step cannot be taken.
    """
    left = standing(steps)
    return left[-1] if left else ""


def standing(steps: Sequence[Step]) -> list[str]:
    """Return the buyers whose purchases stand after some steps, in order.

    Raises:
        ValueError: if a step cannot be taken.
    """
    left, undone = list[str](), list[str]()
    for kind, buyer in steps:
        if kind in (SALE, UNNAMED):
            left.append(buyer)
            undone = []
        elif len(undone if kind == REDO else left) <= (kind == UNDO2):
            raise ValueError(f"there is no sale for {kind}")
        elif kind == REDO:
            left.append(undone.pop())
        elif kind == UNDO:
            undone.append(left.pop())
        else:
            del left[-2:]
            undone = []
    return left


WORLD = "chronicle@2"
TOKENS_PER_ENTRY = 22
"""Tokens of the tier per entry: about two and a half times what a prompt can hold."""
FEWEST_PROPERTIES, LIKE = 60, 3
"""Properties of the smallest world, and properties with the same first word."""
BETWEEN = 16
"""A day at a depth is interpolated between the days of entries that are this far apart."""
SOME_YEARS = 5
"""Newcomers' surnames are those of everybody who is grown in years that are this far apart."""
STONES = "stones"
OTHERS = ("election", "roll", STONES, "move", "debt", "price", "works")
STEPS = (SALE, SALE, SALE, SALE, UNNAMED, UNDO, UNDO, UNDO, REDO, REDO, UNDO2)
"""Relative frequencies of the steps of a title, where they can be taken."""
BUSY = 0.3
"""The share of a property's events that somebody does for it, or in vain."""
INCOMERS_DEATHS = 0.3
"""The share of incomers whose death is mentioned."""
Draft = tuple[int, str, Mapping[str, str]]


@dataclass(frozen=True, eq=False)
class Chronicle:
    """Annals: entries by date, their days, and the numbers of each property's entries."""

    population: Population
    properties: Sequence[str]
    entries: Sequence[Entry]
    days: Indices
    about: Mapping[str, Sequence[int]]

    def day_at(self, depth: float) -> int:
        """Return the day before which about this share of the entries falls.

        It is interpolated between the days of entries some way apart, so that it is hardly ever the day of one of them:
        two entries of one day are as rare among those written for a row as among all others.
        """
        last = len(self.days) - 1
        place = min(last, int(depth * len(self.days)))
        first = place // BETWEEN * BETWEEN
        start, stop = int(self.days[first]), int(self.days[min(last, first + BETWEEN)])
        return working(start + int((depth * len(self.days) - first) / BETWEEN * (stop - start)))

    def depth_of(self, day: int) -> float:
        """Return the share of the entries with an earlier day."""
        return float(np.searchsorted(self.days, day)) / len(self.days)

    def living(self, day: int) -> list[str]:
        """Return the names of all who are grown and live in the year of a day."""
        return self.population.living(day)

    def newcomers(self, rng: Random) -> Names:
        """Return a source of names that nobody in the annals has, with surnames as frequent as in the annals."""
        return Names(rng, _surnames(self), set(self.population.names.taken))

    def able(self, day: int) -> list[str]:
        """Return the names of all who may buy a property in the year of a day, and live until the annals end."""
        return self.population.able[year(day)]

    def dead(self, day: int) -> list[str]:
        """Return the names of all who are long dead in the year of a day."""
        return self.population.dead[year(day)]

    def write(self, rng: Random, day: int, kind: str, about: Mapping[str, str]) -> Entry:
        """Write an entry that is not in the world."""
        return entry(rng, day, kind, about, self.living(day))


@lru_cache(maxsize=2)
def _surnames(world: Chronicle) -> Sequence[str]:
    """Return the surnames of everybody grown in some years, each as often as people have it."""
    years = range(FIRST_YEAR, LAST_YEAR + 1, SOME_YEARS)
    return [name.split(" ")[1] for now in years for name in world.population.grown[now]]


def chronicle(streams: Streams, tier: str) -> Chronicle:
    """Return the world of a tier; `streams` are those of any row or pool below the same seed."""
    return _chronicle(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_ENTRY)


@lru_cache(maxsize=2)
def _chronicle(world: Streams, size: int) -> Chronicle:
    rng = world.of("facts")
    people = populate(world, size // 7)
    properties = _properties(rng, identifying(words_of("first"), world), max(FEWEST_PROPERTIES, size // 27))
    drafts = [*_families(rng, people.souls)]
    drafts += _estates(rng, people, properties, round(0.42 * size / len(properties)))
    drafts += [_unrelated(rng, people) for _ in range(size - len(drafts))]
    texts = world.of("texts")
    entries = [
        entry(texts, day, kind, about, people.living(day))
        for day, kind, about in sorted(drafts, key=lambda draft: draft[0])
    ]
    about = defaultdict[str, list[int]](list)
    for number, item in enumerate(entries):
        if "prop" in item.about:
            about[item.about["prop"]].append(number)
    return Chronicle(people, properties, entries, np.array([one.day for one in entries], dtype=np.int64), dict(about))


def _unrelated(rng: Random, people: Population) -> Draft:
    """Draw an entry that is about neither a family nor a property."""
    day, kind = _day(rng), rng.choice(OTHERS)
    return (
        day,
        kind,
        {"names": listed(rng.sample(people.dead[year(day)], rng.choice(ON_ROLL)))} if kind == STONES else {},
    )


def _day(rng: Random) -> int:
    return working(rng.randrange(FIRST_DAY, LAST_DAY + 1))


def _properties(rng: Random, words: Sequence[str], count: int) -> list[str]:
    """Draw names of properties: each shares its first word with at least two others."""
    firsts = rng.sample(words, len(words))
    each = max(LIKE, -(-count // len(firsts)))
    named = [f"the {first} {kind}" for first in firsts for kind in rng.sample(words_of("kinds"), each)]
    return sorted(named[: -(-count // each) * each])


def _families(rng: Random, souls: Sequence[Resident]) -> Iterator[Draft]:
    """Yield births, marriages and deaths, any of which may name the parents."""
    for person in souls:
        known = (
            {} if person.father is None or person.mother is None else parents(person.father.name, person.mother.name)
        )
        if known and FIRST_DAY <= person.born <= LAST_DAY:
            yield person.born, "birth", {"child": person.name, **known, **sex(woman=person.woman)}
        if person.spouse and FIRST_DAY <= person.wed <= LAST_DAY and not person.woman:
            yield _marriage(rng, person, person.spouse)
        if FIRST_DAY <= person.dies <= LAST_DAY and (known or rng.random() < INCOMERS_DEATHS):
            names_parents = known and rng.random() < 0.4
            more = {**known, **sex(woman=person.woman)} if names_parents else {}
            yield person.dies, "burial" if names_parents else "death", {"person": person.name, **more}


def _marriage(rng: Random, husband: Resident, wife: Resident) -> Draft:
    two = {"husband": husband.name, "wife": wife.name}
    for spouse, kind in rng.sample(((husband, "groom"), (wife, "bride")), 2):
        if spouse.father and spouse.mother and rng.random() < 0.5:
            return spouse.wed, kind, {**two, **parents(spouse.father.name, spouse.mother.name)}
    return husband.wed, "wedding", two


def parents(father: str, mother: str) -> dict[str, str]:
    """Return the slots of parents."""
    return {"father": father, "mother": mother}


def sex(*, woman: bool) -> dict[str, str]:
    """Return the slot that says whose son or daughter somebody is."""
    return {"son": "daughter" if woman else "son"}


def _estates(rng: Random, people: Population, properties: Sequence[str], each: int) -> Iterator[Draft]:
    """Yield what befell each property: about a third of it sales and related steps, each happening at most once."""
    dies = {one.name: one.dies for one in people.souls}
    for prop in properties:
        kinds, title = rng.sample(list(happenings()), len(happenings())), Title()
        for day in sorted(_day(rng) for _ in range(each)):
            if rng.random() < BUSY:
                yield day, rng.choice(deeds()), {"prop": prop, "person": rng.choice(people.living(day))}
                continue
            if kinds and rng.random() < 0.45:
                yield day, kinds.pop(), {"prop": prop}
                continue
            kind = rng.choice([step for step in STEPS if title.able(step) and dies.get(title.heir(step), day) >= day])
            buyer = {"buyer": rng.choice(people.living(day))} if kind == SALE else {}
            title.take(kind, buyer.get("buyer", ""))
            yield day, kind, {"prop": prop, **buyer}
