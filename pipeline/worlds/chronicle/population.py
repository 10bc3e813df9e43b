"""The people of the annals, generation by generation: who was born to whom, married whom and died when.

Everybody has one name for life, of two words, that nobody else has; children have the surname of their father.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from pipeline.worlds.chronicle.entries import FIRST_DAY, LAST_DAY, new_year, year
from pipeline.worlds.chronicle.wording import words_of

FERTILE, GROWN, MARRIED_BY = 20, 19, 38
"""Years for which a couple has children; ages from which and up to which people marry."""
YEAR = 365
FIRST_YEAR, LAST_YEAR = year(FIRST_DAY), year(LAST_DAY)


@dataclass(slots=True, eq=False)
class Soul:
    """Somebody: name, sex, days of birth and death, parents where the annals know them, and a spouse."""

    name: str
    woman: bool
    born: int
    dies: int
    father: Soul | None = None
    mother: Soul | None = None
    spouse: Soul | None = None
    wed: int = 0


@dataclass(slots=True)
class Names:
    """Draws names that nobody has yet."""

    rng: Random
    taken: set[str] = field(default_factory=set)

    def new(self, surname: str = "", *, woman: bool) -> str:
        """Draw a name; with a surname, if there is one left that goes with it."""
        for turn in range(10_000):
            last = surname if surname and turn < 400 else self.rng.choice(words_of("surnames"))
            name = f"{self.rng.choice(words_of('women' if woman else 'men'))} {last}"
            first = name.split(" ", 1)[0]
            if name not in self.taken and first != last:
                self.taken.add(name)
                return name
        raise ValueError("there are no names left")


@dataclass(slots=True)
class Population:
    """All people, in order of birth, and the names of grown ones who live in each year."""

    souls: list[Soul]
    names: Names
    grown: dict[int, list[str]]

    def living(self, day: int) -> list[str]:
        """Return the names of all who are grown and live in the year of a day."""
        return self.grown[year(day)]


def populate(rng: Random, births: int, founders: int) -> Population:
    """Draw a population with about so many births and, in the first year, so many grown people."""
    town = _Town(rng, Names(rng), births / (LAST_YEAR - FIRST_YEAR + 1))
    town.souls = [town.incomer(FIRST_YEAR, rng.randrange(20, 50)) for _ in range(founders)]
    for now in range(FIRST_YEAR, LAST_YEAR + 1):
        town.marry(now)
        town.bear(now)
    grown = {now: list(_grown(town.souls, now)) for now in range(FIRST_YEAR, LAST_YEAR + 1)}
    return Population(sorted(town.souls, key=lambda one: (one.born, one.name)), town.names, grown)


def _grown(souls: list[Soul], now: int) -> Iterator[str]:
    start = new_year(now)
    for one in souls:
        if one.born <= start - 21 * YEAR and one.dies > start + YEAR:
            yield one.name


@dataclass(slots=True)
class _Town:
    rng: Random
    names: Names
    rate: float
    souls: list[Soul] = field(default_factory=list)
    couples: list[Soul] = field(default_factory=list)
    owed: float = 0.0

    def soul(self, born: int, surname: str = "", *, woman: bool) -> Soul:
        life = self.rng.randrange(44, 88) * YEAR + self.rng.randrange(YEAR)
        return Soul(self.names.new(surname, woman=woman), woman, born, born + life)

    def incomer(self, now: int, age: int, *, woman: bool | None = None) -> Soul:
        """Draw somebody grown, whose parents are not known."""
        sex = self.rng.random() < 0.5 if woman is None else woman
        return self.soul(new_year(now - age) + self.rng.randrange(YEAR), woman=sex)

    def marry(self, now: int) -> None:
        """Marry off single people, to each other where two are of an age, else to incomers."""
        start = new_year(now)
        able = [
            one
            for one in self.souls[-int(45 * self.rate + 200) :]
            if not one.spouse and GROWN * YEAR < start - one.born < MARRIED_BY * YEAR and one.dies > start + 2 * YEAR
        ]
        self.rng.shuffle(able)
        for one in able[: max(1, len(able) // 6)]:
            if one.spouse:
                continue
            other = next((two for two in able if self._suits(one, two)), None)
            if other is None:
                other = self.incomer(now, self.rng.randrange(GROWN, 33), woman=not one.woman)
                self.souls.append(other)
            one.spouse, other.spouse = other, one
            one.wed = other.wed = start + self.rng.randrange(YEAR)
            self.couples.append(other if one.woman else one)

    @staticmethod
    def _suits(one: Soul, other: Soul) -> bool:
        related = one.father is not None and one.father is other.father
        return other.spouse is None and one.woman != other.woman and not related

    def bear(self, now: int) -> None:
        """Let couples have as many children as are due."""
        start = new_year(now)
        self.couples = [
            one
            for one in self.couples
            if one.spouse and start - one.wed < FERTILE * YEAR and min(one.dies, one.spouse.dies) > start + YEAR
        ]
        self.owed += self.rate
        while self.owed >= 1 and self.couples:
            father = self.rng.choice(self.couples)
            born = max(start, father.wed + 270) + self.rng.randrange(YEAR // 2)
            child = self.soul(born, father.name.split(" ")[1], woman=self.rng.random() < 0.5)
            child.father, child.mother = father, father.spouse
            self.souls.append(child)
            self.owed -= 1
        self.owed = min(self.owed, 2 * self.rate + 1)
