"""The things of a world and what is told of them: typed facts, consistent in time and place as far as it shows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from pipeline.worlds.gazetteer.forms import Form, Relation, kinds, words_of
from pipeline.worlds.gazetteer.names import QUALIFIED, Stock, bare, drawn, qualified
from pipeline.worlds.gazetteer.times import EVER, Eras, Years, apart, together

MORE = (4, 5, 6)
"""How many facts a passage states beside the leading one."""
YEARS = (1700, 1950)
LEADERS = 3
"""How many people there are at least who can have made a work of a year."""
TRIES = 100
"""Draws of a first year before another is taken in which fewer people can have made a work."""


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


@dataclass(slots=True)
class Cast:
    """All things of a world by kind, and those who draw from them."""

    things: dict[str, list[Thing]]
    eras: dict[str, Eras]
    stock: Stock
    by_name: dict[str, Thing]

    def value(self, rng: Random, thing: Thing, relation: Relation, facts: Mapping[str, str]) -> str | None:
        """Draw the value of a relation of a thing, none if there is none of its time.

        `facts` are those of the passage so far, which name other things.
        """
        first, last = relation.span or (0, 0)
        if relation.of:
            return self.by_name[facts[relation.of]].facts[relation.type]
        if relation.type == "year":
            return str(thing.era + rng.randint(first, last)) if relation.later else str(rng.randint(first, last))
        if relation.type == "number":
            return f"{rng.randint(first, last):,}"
        if relation.type in words_of():
            return rng.choice(words_of()[relation.type])
        return self._of_its_time(rng, thing, relation.type, apart(thing.kind, relation), {thing.name, *facts.values()})

    def another(self, rng: Random, thing: Thing, kind: str) -> str | None:
        """Draw the name of another thing of a kind that was there when a thing was, none if none was."""
        return self._of_its_time(rng, thing, kind, together(thing.kind, kind), {thing.name})

    def anyone(self, thing: Thing, kind: str, taken: Collection[str] = ()) -> str:
        """Return the name of the other thing of a kind that is nearest in time."""
        return self.eras[kind].nearest(thing.era, {thing.name, *taken})

    def _of_its_time(self, rng: Random, thing: Thing, kind: str, years: Years, taken: Collection[str]) -> str | None:
        return self.eras[kind].draw(rng, thing.era - years[1], thing.era - years[0], taken)

    def era(self, rng: Random, kind: str, fixed: Mapping[str, str]) -> int:
        """Draw the first year of a thing: the one that is fixed, or one in the time of all that it has to do with.

        Where these are of different times, it is in that of the first.
        """
        own = next(filter(None, map(era_of, kinds()[kind])), None)
        if own and own.name in fixed:
            return int(fixed[own.name])
        span = own.span if own and own.span else YEARS
        first, last = -EVER, EVER
        for relation in (one for form in kinds()[kind] for one in form.relations):
            if fixed.get(relation.name) in self.by_name and relation.type in self.things and not relation.of:
                begun, (least, most) = self.by_name[fixed[relation.name]].era, apart(kind, relation)
                if max(first, begun + least) <= min(last, begun + most):
                    first, last = max(first, begun + least), min(last, begun + most)
        if max(first, span[0]) <= min(last, span[1]):
            first, last = max(first, span[0]), min(last, span[1])
        return self._with_maker(rng, kind, first, last, fixed)

    def _with_maker(self, rng: Random, kind: str, first: int, last: int, fixed: Mapping[str, str]) -> int:
        """Draw a year in which somebody can have made a thing, if its passages begin with who did."""
        lead = kinds()[kind][0].lead
        for _ in range(TRIES):
            year, (least, most) = rng.randint(first, last), apart(kind, lead)
            if lead.type != "person" or lead.name in fixed:
                return year
            if self.eras["person"].count(year - most, year - least) >= LEADERS:
                return year
        return year

    def state(self, rng: Random, thing: Thing, fixed: Mapping[str, str] | None = None) -> None:
        """Draw what the passages of a thing state; what is `fixed` is stated in any case."""
        fixed = fixed or {}
        for form in kinds()[thing.kind]:
            thing.stated[form.name] = self._stated(rng, thing, form, fixed)

    def _stated(self, rng: Random, thing: Thing, form: Form, fixed: Mapping[str, str]) -> dict[str, str]:
        must = [one for one in form.relations[1:] if one.name in fixed]
        rest = [one for one in form.relations[1:] if one.name not in fixed]
        wanted = 1 + max(len(must), rng.choice(MORE))
        facts: dict[str, str] = {}
        for relation in (form.lead, *must, *rng.sample(rest, len(rest))):
            if len(facts) < wanted and (said := self._said(rng, thing, form, relation, {**fixed, **facts})):
                facts[relation.name] = said
        return {one.name: facts[one.name] for one in form.relations if one.name in facts}

    def _said(self, rng: Random, thing: Thing, form: Form, relation: Relation, facts: Mapping[str, str]) -> str | None:
        """Return what a passage states of a relation: what is fixed, or a value that is drawn."""
        if relation.name in facts:
            return facts[relation.name]
        if relation is era_of(form):
            return str(thing.era)
        said = self.value(rng, thing, relation, facts)
        return self.anyone(thing, relation.type, facts.values()) if said is None and relation is form.lead else said


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
    found = Cast(things, {kind: Eras(some) for kind, some in things.items()}, stock, by_name)
    for kind, some in things.items():
        if kinds()[kind][0].lead.type == "person":
            for thing in some:
                thing.era = found.era(rng, kind, {})
            found.eras[kind] = Eras(some)
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
