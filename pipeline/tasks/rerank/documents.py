"""The writer of the documents of a row: about what is asked, and about other things that name what is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from random import Random

from pipeline.tasks.rerank.questions import ONCE, Question, bounds, window
from pipeline.worlds.gazetteer import Form, Gazetteer, Passage, Relation, Thing, forms
from pipeline.worlds.gazetteer.documents import ASIDE, Writer, naming, slot_of
from pipeline.worlds.gazetteer.things import QUALIFIED, SPOUSE, era_of

TRIES = 1000
GROWN = 40
"""Years from a birth to what a person does."""
SPREAD = 20
"""The most years between things drawn only for what they name."""
TOWN = "town"
"""The relation of a thing and the town where it is."""
COLOUR = "colour: "
Spot = str
"""Where a document can name a value: a relation of its form, `COLOUR` and a slot, or `COLOUR`, `ASIDE` and a relation,
for a sentence that mentions the relation besides what is stated."""
Mention = tuple[str, Spot]
"""A value, and where it is named."""
AGAIN = 0.5
"""The probability that a document names a value once more than it has to."""
SPOKEN = 0.7
"""The probability that a document that misses a condition names its value in a sentence about the condition."""
OTHERS = (
    *({"painter", "buyer"}, {"painter", "sitter"}, {"author", "dedicated"}, {"composer", "librettist"}),
    *({"founder", "heir"}, {"patron", "rival"}),
)
"""Pairs of relations to different people: nobody buys a painting from themselves, or has a rival as a patron."""


class DocumentWriter:
    """Writes documents about what is asked, and about other things, no two of them with the same name.

    Args:
        taken: names that may not be given; those given are added.
    """

    def __init__(self, world: Gazetteer, rng: Random, asked: Question, taken: set[str]) -> None:
        self._world, self._rng, self._asked, self._taken = world, rng, asked, taken
        self._writer = Writer(rng, world.cast)
        self._used: Counter[tuple[str, Spot, str]] = Counter()
        self._married = set[str]()

    def same_kind(self, met: Sequence[str], *, named: bool = True, number: int | None = None) -> Passage:
        """Write a document of the form asked about.

        It meets the conditions on the relations `met`, and states another value for each of the others. If `named`, it
        names the values of these in other roles. `number`, if given, is its number on the scale.
        """
        asked, form = self._asked, forms()[self._asked.form]
        fixed = {name: value for name, value in asked.conditions if name in met}
        missed = {name: value for name, value in asked.conditions if name not in met}
        era = self._era(form, fixed, number)
        if number is not None:
            fixed[asked.scale] = f"{number:,}" if form.relation(asked.scale).type == "number" else str(number)
        mentions = list[Mention]()
        if named:
            self._mention(form, era, missed, {*fixed, asked.scale}, mentions)
            self._mention(form, era, self._again(), {*fixed, asked.scale}, mentions)
        thing = self._begun(form, era, "")
        for name in missed:
            fixed[name] = self._another(thing, form.relation(name))
        return self._written(thing, form, fixed, mentions)

    def other_kind(self) -> Passage:
        """Write a document of another kind that states or names all that is asked."""
        kind, values = forms()[self._asked.form].kind, dict(self._asked.conditions)
        for _ in range(TRIES):
            form = self._rng.choice([one for one in forms().values() if one.kind != kind])
            era, mentions = self._time(form), list[Mention]()
            self._mention(form, era, values, set(), mentions)
            if len(mentions) == len(values):
                self._mention(form, era, self._again(), set(), mentions)
                town = next((value for value, spot in mentions if spot == TOWN), "")
                return self._written(self._begun(form, era, town), form, {}, mentions)
        raise ValueError(f"no other kind of thing can name {list(values.values())}")

    def _time(self, form: Form) -> int:
        """Draw the first year of a thing of another kind, such that all that is asked for existed then, if possible."""
        grown = GROWN * ((forms()[self._asked.form].kind == "person") - (form.kind == "person"))
        first, last = (year + grown for year in self._asked.years)
        windows = [window(self._world, form, value) for _, value in self._asked.conditions]
        soonest, latest = max(begun for begun, _ in windows), min(ended for _, ended in windows)
        if max(first, soonest) <= min(last, latest):
            first, last = max(first, soonest), min(last, latest)
        elif soonest <= latest:
            late = soonest > last
            first, last = (soonest, min(latest, soonest + SPREAD)) if late else (max(soonest, latest - SPREAD), latest)
        known = era_of(form)
        if known and known.span:
            first, last = max(first, known.span[0]), min(last, known.span[1])
            first, last = (first, last) if first <= last else known.span
        return self._rng.randint(first, last)

    def _again(self) -> dict[str, str]:
        """Draw what a document names once more than it has to: one of the values, or none."""
        chosen = self._rng.choice(self._asked.conditions)
        return dict([chosen]) if self._rng.random() < AGAIN else {}

    def _era(self, form: Form, fixed: Mapping[str, str], number: int | None) -> int:
        """Draw the first year of a thing, unless a condition that it meets or the scale determines it."""
        era, scale = era_of(form), self._asked.scale
        if era and era.name in fixed:
            return int(fixed[era.name])
        if number is not None and era and era.name == scale:
            return number
        relation = form.relation(scale) if scale else None
        if number is not None and relation and relation.later and relation.span:
            return number - self._rng.randint(*relation.span)
        return self._rng.randint(*self._asked.years)

    def _begun(self, form: Form, era: int, town: str) -> Thing:
        """Return a thing with nothing stated yet but its town, if it has one."""
        name, town = self._world.christen(self._rng, form.kind, town, self._taken)
        self._taken.add(name)
        thing = Thing(form.kind, name, era)
        if form.kind in QUALIFIED:
            thing.stated[form.name] = {TOWN: town}
        return thing

    def _written(self, thing: Thing, form: Form, fixed: Mapping[str, str], mentions: Sequence[Mention]) -> Passage:
        """Draw the rest of a thing's facts, and write a document with values in their spots."""
        placed = {spot: value for value, spot in mentions if not spot.startswith(COLOUR)}
        wanted = [(spot.removeprefix(COLOUR), value) for value, spot in mentions if spot.startswith(COLOUR)]
        named = {value for _, value in wanted}
        self._world.cast.state(self._rng, thing, {**dict(thing.facts), **fixed, **placed}, named | self._married)
        self._married |= {spouse for name, spouse in thing.facts.items() if name == SPOUSE}
        return self._writer.write(thing, form.name, wanted)

    def _another(self, thing: Thing, relation: Relation) -> str:
        """Draw a value of a relation that is not asked for."""
        if relation is era_of(forms()[self._asked.form]):
            return str(thing.era)
        out = {value for _, value in self._asked.conditions}
        for _ in range(TRIES):
            value = self._world.cast.value(self._rng, thing, relation, thing.facts)
            if value is not None and value not in out:
                return value
        return self._world.cast.nearest(thing, relation, out)

    def _mention(
        self, form: Form, era: int, values: Mapping[str, str], gone: set[str], mentions: list[Mention]
    ) -> None:
        """Add a spot for each value in which it meets no condition: the least used of the free ones."""
        for name in self._rng.sample(sorted(values), len(values)):
            relation, value = forms()[self._asked.form].relation(name), values[name]
            taken = [spot for _, spot in mentions]
            spoken = f"{COLOUR}{ASIDE}{name}"
            missed = form.name == self._asked.form and name not in gone and self._alive(form, era, value)
            if missed and spoken not in taken and self._rng.random() < SPOKEN:
                mentions.append((value, spoken))
                continue
            held = {spot for known, spot in mentions if known == value}
            held |= {name} if form.name == self._asked.form else set()
            free = list(self._free(form, era, relation, value, {*gone, *taken}, taken))
            free = [spot for spot in free if not any({spot, one} in OTHERS for one in held)]
            if (value, TOWN) in mentions or (name == TOWN and TOWN in gone):  # its own town is not somewhere else
                free = [spot for spot in free if spot != COLOUR + slot_of(form, relation)]
            if free:
                uses = [self._used[form.name, spot, value] for spot in free]
                spot = self._rng.choice([one for one, use in zip(free, uses, strict=True) if use == min(uses)])
                self._used[form.name, spot, value] += 1
                mentions.append((value, spot))

    def _free(
        self, form: Form, era: int, relation: Relation, value: str, gone: set[str], taken: Sequence[Spot]
    ) -> Iterator[Spot]:
        """Yield the spots in which a document of a form can name a value."""
        slot, coloured = slot_of(form, relation), sum(spot == COLOUR + slot_of(form, relation) for spot in taken)
        stated, same_form = [one for one in form.relations if one.name in gone], form.name == self._asked.form
        if self._usable(form, slot, stated) > coloured and self._alive(form, era, value):
            yield COLOUR + slot
        for role in form.relations:
            same = same_form and role.name == relation.name
            if role.type != relation.type or role.type == "year" or role.of or role.name in gone or same:
                continue
            if role.name == SPOUSE:  # nobody marries twice
                continue
            once = f"{form.name}.{role.name}" in ONCE and self._used[form.name, role.name, value]
            soonest, latest = bounds(self._world, form, role, value) or (era, era)
            if not once and soonest <= era <= latest and self._usable(form, slot, [*stated, role]) >= coloured:
                yield role.name

    def _alive(self, form: Form, era: int, value: str) -> bool:
        """Return whether a document about a thing of a form and a first year can name a value."""
        soonest, latest = window(self._world, form, value)
        return soonest <= era <= latest

    @staticmethod
    def _usable(form: Form, slot: str, stated: Sequence[Relation]) -> int:
        """Return how many sentences of colour name what fills a slot and contradict nothing that is stated."""
        asides = {aside for one in stated for aside in one.asides}
        return sum(sentence not in asides for sentence in naming(form.name, slot))
