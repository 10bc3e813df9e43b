"""The things of a world and what is told of them: typed facts, consistent in time and place as far as it shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from random import Random

from pipeline.worlds.gazetteer.forms import Form, Relation, kinds, words_of
from pipeline.worlds.gazetteer.names import QUALIFIED, Stock, bare, drawn, qualified

AGES = (22, 65)
"""How old people are who design, found, paint or write, unless a form says otherwise."""
MORE = (4, 5, 6)
"""How many facts a passage states beside the leading one."""
YEARS = (1700, 1950)
TRIES = 16
"""Draws among people of the right years before others are drawn from, too."""


@dataclass(slots=True)
class Thing:
    """A thing: its kind, its unique name as texts have it, its first year, and the facts of each of its passages."""

    kind: str
    name: str
    era: int = 0
    stated: dict[str, dict[str, str]] = field(default_factory=dict)

    @property
    def facts(self) -> Mapping[str, str]:
        """All that is stated, by relation."""
        return {relation: value for facts in self.stated.values() for relation, value in facts.items()}


class People:
    """Everybody, in the order of their births, so that contemporaries can be drawn."""

    def __init__(self, people: Sequence[Thing]) -> None:
        self._people = sorted(people, key=lambda one: one.era)
        self._births = [one.era for one in self._people]

    def draw(self, rng: Random, first: int, last: int, taken: Collection[str]) -> str:
        """Draw somebody who was born in or between two years, or near to them if all of those are taken."""
        start, stop = bisect_left(self._births, first), bisect_left(self._births, last + 1)
        if stop - start < 3:
            start, stop = max(0, min(start, len(self._people) - 3)), min(len(self._people), max(stop, 3) + 3)
        for turn in count():
            one = self._people[rng.randrange(start, stop)].name
            if one not in taken:
                return one
            if turn >= TRIES:
                start, stop = max(0, start - 1), min(len(self._people), stop + 1)
        raise AssertionError


@dataclass(slots=True)
class Cast:
    """All things of a world by kind, and those who draw from them."""

    things: dict[str, list[Thing]]
    people: People
    stock: Stock
    by_name: dict[str, Thing]

    def value(self, rng: Random, thing: Thing, relation: Relation, facts: Mapping[str, str]) -> str:
        """Draw the value of a relation of a thing; `facts` are those of the passage so far, which name other people."""
        first, last = relation.span or AGES
        if relation.of:
            return self.by_name[facts[relation.of]].facts[relation.type]
        if relation.type == "person":
            taken = {thing.name, *facts.values()}
            if thing.kind == "person" and first == 0:
                return self.people.draw(rng, thing.era - last, thing.era + last, taken)
            return self.people.draw(rng, thing.era - last, thing.era - first, taken)
        if relation.type == "year":
            return str(thing.era + rng.randint(first, last)) if relation.later else str(rng.randint(first, last))
        if relation.type == "number":
            return f"{rng.randint(first, last):,}"
        if relation.type in words_of():
            return rng.choice(words_of()[relation.type])
        return self.another(rng, relation.type, thing.name)

    def era(self, rng: Random, kind: str, fixed: Mapping[str, str]) -> int:
        """Draw the first year of a thing, in the lifetime of somebody who is fixed to have to do with it."""
        for relation in (one for form in kinds()[kind] for one in form.relations):
            if relation.type == "person" and fixed.get(relation.name) in self.by_name:
                first, last = relation.span or AGES
                born = self.by_name[fixed[relation.name]].era
                return born + rng.randint(-last if kind == "person" and first == 0 else first, last)
        return new_era(rng, kind)

    def another(self, rng: Random, kind: str, but: str) -> str:
        """Draw the name of a thing of a kind, not that of `but`."""
        while (one := rng.choice(self.things[kind]).name) == but:
            pass
        return one

    def state(self, rng: Random, thing: Thing, fixed: Mapping[str, str] | None = None) -> None:
        """Draw what the passages of a thing state; what is `fixed` is stated in any case."""
        fixed = fixed or {}
        for form in kinds()[thing.kind]:
            thing.stated[form.name] = self._stated(rng, thing, form, fixed)

    def _stated(self, rng: Random, thing: Thing, form: Form, fixed: Mapping[str, str]) -> dict[str, str]:
        must = [one for one in form.relations[1:] if one.name in fixed]
        rest = [one for one in form.relations[1:] if one.name not in fixed]
        more = [*must, *rng.sample(rest, max(0, min(len(rest), rng.choice(MORE) - len(must))))]
        facts: dict[str, str] = {}
        for relation in (form.lead, *(one for one in form.relations[1:] if one in more)):
            first_year = relation is era_of(form)
            said = str(thing.era) if first_year else self.value(rng, thing, relation, facts)
            facts[relation.name] = fixed.get(relation.name, said)
        return facts


def era_of(form: Form) -> Relation | None:
    """Return the relation that states the first year of a form's things, if one does."""
    return next((one for one in form.relations if one.type == "year" and not one.later), None)


def new_era(rng: Random, kind: str) -> int:
    """Draw the first year of a thing."""
    relation = next(filter(None, map(era_of, kinds()[kind])), None)
    return rng.randint(*(relation.span if relation and relation.span else YEARS))


def cast(rng: Random, stock: Stock, counts: Mapping[str, int]) -> Cast:
    """Draw all things of a world with their facts; `counts` says how many of each kind."""
    things: dict[str, list[Thing]] = {}
    for kind in ("town", *(one for one in counts if one != "town")):
        names = drawn(stock, kind, counts[kind])
        if kind == "town":
            stock.towns, stock.new_towns = names, _rest(stock.new_towns, names)
        if kind == "river":
            stock.new_rivers = _rest(stock.new_rivers, [bare(name) for name in names])
        things[kind] = [Thing(kind, name, new_era(rng, kind)) for name in names]
    towns = [town.name for town in things["town"]]
    located = {kind: _located(rng, kind, things[kind], towns) for kind in QUALIFIED if kind in things}
    by_name = {one.name: one for some in things.values() for one in some}
    found = Cast(things, People(things["person"]), stock, by_name)
    for kind, some in things.items():
        places = located.get(kind, ())
        for number, thing in enumerate(some):
            found.state(rng, thing, {"town": places[number]} if places else None)
    return found


def _rest(every: Sequence[str], taken: Sequence[str]) -> list[str]:
    gone = set(taken)
    return [one for one in every if one not in gone]


def _located(rng: Random, kind: str, things: Sequence[Thing], towns: Sequence[str]) -> list[str]:
    """Give things of a kind their towns, and names with these where they need them; return the towns."""
    found = list(qualified(kind, [one.name for one in things], [rng.choice(towns) for _ in things], towns))
    for thing, (name, _) in zip(things, found, strict=True):
        thing.name = name
    return [town for _, town in found]


def parts(things: Mapping[str, Sequence[Thing]]) -> Iterator[tuple[Thing, str]]:
    """Yield every thing with each form of its passages."""
    for some in things.values():
        for thing in some:
            for form in thing.stated:
                yield thing, form
