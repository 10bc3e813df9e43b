"""Near misses of a question, written for the row: passages that share its words and do not answer it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from pipeline.tasks.rag.asking import Asked, slot_of
from pipeline.worlds.gazetteer import Form, Gazetteer, Passage, forms
from pipeline.worlds.gazetteer.passages import naming

MENTIONS = 2
"""How often a near miss names what the question asks about."""


def near_misses(world: Gazetteer, rng: Random, asked: Asked, count: int, names: Sequence[str]) -> Iterator[Passage]:
    """Yield near misses.

    Of a thing that is named in the question: others of its kind, which state what is asked and name it twice. Of one
    that is described: others of its kind that have one of the two attributes and name the value of the other. Of a
    list: others of the kind that have another value, name that of the list, and two members by `names`.
    """
    form, taken = forms()[asked.form], set(names)
    for number in range(count):
        fixed, wanted = _drawn(world, rng, form, asked, number, names)
        thing = world.invent(rng, form.kind, fixed, taken)
        taken.add(thing.name)
        passage = world.write(rng, thing, form.name, wanted)
        yield passage


def _drawn(
    world: Gazetteer, rng: Random, form: Form, asked: Asked, number: int, names: Sequence[str]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return the facts that near miss `number` states in any case, and what its colour names."""
    relation, given = form.relation(asked.relation), dict(asked.given)
    if asked.about:
        about = asked.about[number % len(asked.about)]
        return {relation.name: _other(world, rng, form, asked, asked.relation)}, [("other", about)] * MENTIONS
    if names:
        ((name, value),) = asked.given
        members = [("other", names[(2 * number + place) % len(names)]) for place in range(MENTIONS)]
        return {name: _other(world, rng, form, asked, name)}, [(slot_of(form, relation), value), *members]
    kept, missed = list(given) if number % 2 else list(given)[::-1]
    facts = {kept: given[kept], missed: _other(world, rng, form, asked, missed)}
    facts[relation.name] = _other(world, rng, form, asked, relation.name)
    slot = slot_of(form, form.relation(missed))
    return facts, [(slot, given[missed])] * min(MENTIONS, len(naming(form.name, slot)))


def _other(world: Gazetteer, rng: Random, form: Form, asked: Asked, name: str) -> str:
    """Draw another value of a relation than the one that the question turns on, as some thing of the world has it."""
    holders = [one for one in world.cast.things[form.kind] if name in one.stated[form.name]]
    out = {asked.answer, *asked.about, *dict(asked.given).values()}
    while (value := rng.choice(holders).facts[name]) in out:
        pass
    return value
