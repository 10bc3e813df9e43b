"""What is asked: a kind of thing with three conditions, or one condition and a number to order by."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from random import Random

from pipeline.caches import cache
from pipeline.worlds.gazetteer import Form, Gazetteer, Relation, Thing, forms
from pipeline.worlds.gazetteer.documents import naming, since, slot_of
from pipeline.worlds.gazetteer.things import EVER, QUALIFIED, apart, bare, era_of, together
from pipeline.worlds.words import pool

CONDITIONS = 3
WINDOW = 30
"""Years before and after the first year of the thing that a question is drawn from: its documents are of that time."""
LEAST, LEAST_IN_ORDER = 8, 24
"""A question whose conditions leave fewer years is redrawn: things in an order may each need a year of their own."""
SENTENCES, KINDS = 2, 4
"""The fewest sentences of colour, and other forms of documents, that can name a value."""
TRIES = 2000
REST = {4: "three", 10: "nine"}
"""How many come after the first, by how many are asked for."""
ONCE = frozenset(
    {
        *("town.benefactor", "school.pupil", "school.head", "inn.landlord", "lighthouse.keeper"),
        *("museum.keeper", "mill.miller", "firm.heir", "river.fish"),
    }
)
"""Relations in which many things cannot share a value: a firm has one heir."""
LOOSE = frozenset({"inn.guest"})
"""Relations that some sentences state so loosely that other statements could be taken for them."""


@dataclass(frozen=True)
class Question:
    """A question: its words, the form of the documents that it is about, and its conditions, relations and values.

    Documents written for it are about things of the `years`, from the first to the last. If they are to be put in
    order, `scale` is the relation whose numbers decide, and `largest` is whether the largest comes first.
    """

    question: str
    form: str
    conditions: tuple[tuple[str, str], ...]
    years: tuple[int, int]
    scale: str = ""
    largest: bool = False


Scale = tuple[str, str, str]
"""A form, a relation of numbers, and ``<`` or ``>``: whether the smallest or the largest comes first."""


@cache
def scales() -> dict[Scale, str]:
    """Return what things can be put in order by, with the words for the first one."""
    wordings = {}
    for line in pool("rerank/orders"):
        place, mark, wording = line.split(" ", 2)
        form, _, relation = place.partition(".")
        wordings[form, relation, mark] = wording
    return wordings


@cache
def conditions(form: str) -> tuple[str, ...]:
    """Return the relations of a form that can be conditions: many things share a value, and others can name it.

    Relations of a document's first sentence are out: what it states would be known by its place.
    """
    return tuple(one.name for one in forms()[form].relations if _shared(forms()[form], one))


def _shared(form: Form, relation: Relation) -> bool:
    out = f"{form.name}.{relation.name}" in ONCE | LOOSE or relation.type == "number"
    if out or relation.of or relation.later or relation is form.lead or not relation.lines["~"]:
        return False
    titled = relation.type == "town" and form.kind in QUALIFIED
    other_kinds = sum(bool(naming(other.name, relation.type)) for other in forms().values() if other.kind != form.kind)
    return not titled and len(naming(form.name, slot_of(form, relation))) >= SENTENCES and other_kinds >= KINDS


@cache
def asked_forms() -> tuple[str, ...]:
    """Return the forms that questions with three conditions are about."""
    return tuple(name for name in forms() if len(conditions(name)) >= CONDITIONS)


def ask_conditions(world: Gazetteer, rng: Random, form: str) -> Question:
    """Draw a question with three conditions that some thing of the world meets, or could meet."""
    triples = list(combinations(conditions(form), CONDITIONS))
    for thing, stated in _things(world, rng, form):
        names, facts = rng.choice(triples), dict(stated)
        for name in names:
            value = world.cast.value(rng, thing, forms()[form].relation(name), facts) if name not in facts else None
            facts.update({name: value} if value else {})
        if all(name in facts for name in names):
            chosen = tuple((name, facts[name]) for name in rng.sample(names, CONDITIONS))
            years = _years(world, forms()[form], thing, chosen, LEAST)
            if years and _apart([value for _, value in chosen]):
                one, two, three = (_predicate(rng, forms()[form], *each) for each in chosen)
                question = f"{_which(forms()[form])} {one}, {two}, and {three}?"
                return Question(question, form, chosen, years)
    raise ValueError(f"the world holds no question about {form}")


def ask_order(world: Gazetteer, rng: Random, scale: Scale, count: int) -> Question:
    """Draw a question for the first `count` things that meet one condition, which some thing of the world does."""
    name, relation, mark = scale
    form, known = forms()[name], [one for one in conditions(name) if one != relation]
    known = [one for one in known if form.relation(one).type != "year"]
    for thing, facts in _things(world, rng, name):
        condition = rng.choice(known)
        if condition in facts:
            chosen = ((condition, facts[condition]),)
            years = _years(world, form, thing, chosen, LEAST_IN_ORDER)
            if years:
                predicate = _predicate(rng, form, *chosen[0])
                that = "who" if form.kind == "person" else "that"
                first = f"Which {form.noun} {that} {predicate} {scales()[scale]}"
                question = f"{first}, and which {REST[count]} come next in that order?"
                return Question(question, name, chosen, years, relation, mark == ">")
    raise ValueError(f"the world holds no question about {name}.{relation}")


def _things(world: Gazetteer, rng: Random, form: str) -> Iterator[tuple[Thing, dict[str, str]]]:
    for _ in range(TRIES):
        thing = rng.choice(world.cast.things[forms()[form].kind])
        yield thing, thing.stated[form]


def _which(form: Form) -> str:
    return "Who" if form.kind == "person" else f"Which {form.noun}"


def _predicate(rng: Random, form: Form, relation: str, value: str) -> str:
    return rng.choice(form.relation(relation).lines["~"]).format(value=value)


def _apart(values: Sequence[str]) -> bool:
    """Return whether no value is a part of another."""
    return not any(one in other for one, other in permutations(map(bare, values), 2))


def _years(
    world: Gazetteer, form: Form, thing: Thing, conditions: Sequence[tuple[str, str]], least: int
) -> tuple[int, int] | None:
    """Return the years between which things can meet conditions as one does, or None if they are too few.

    Whoever is named must have lived at the time, wherever a document names them. If a year is a condition, things of
    other years name it as past.
    """
    first, last = thing.era - WINDOW, thing.era + WINDOW
    era = era_of(form)
    if era and era.span:
        first, last = max(first, era.span[0]), min(last, era.span[1])
    for name, value in conditions:
        relation = form.relation(name)
        if relation is era:
            soonest, latest = since(form)
            first, last = max(first, int(value) - latest), min(last, int(value) - soonest)
        elif known := bounds(world, form, relation, value):
            begun, (soonest, latest) = world.thing(value).era, together(form.kind, relation.type)
            first, last = max(first, known[0], begun + soonest), min(last, known[1], begun + latest)
    return (first, last) if last - first >= least and _of_one_time(world, [value for _, value in conditions]) else None


WORK = "mill"
"""A kind of thing that, like most, involves people and firms when it is begun."""


def _of_one_time(world: Gazetteer, values: Sequence[str]) -> bool:
    """Return whether some values can all be named in a document about one work."""
    windows = [window(world, forms()[WORK], value) for value in values]
    return max(first for first, _ in windows) <= min(last for _, last in windows)


def window(world: Gazetteer, form: Form, value: str) -> tuple[int, int]:
    """Return between which first years things of a form exist together with what a value names, or in its year.

    Words are of all times.
    """
    if value.isdigit():
        soonest, latest = since(form)
        return int(value) - latest, int(value) - soonest
    thing = world.cast.by_name.get(value)
    if not thing:
        return -EVER, EVER
    soonest, latest = together(form.kind, thing.kind)
    return thing.era + soonest, thing.era + latest


def bounds(world: Gazetteer, form: Form, relation: Relation, value: str) -> tuple[int, int] | None:
    """Return the first and last years of things whose relation can have a value; None if any year will do."""
    if relation.type not in world.cast.things:
        return None
    soonest, latest = apart(form.kind, relation)
    begun = world.thing(value).era
    return begun + soonest, begun + latest
