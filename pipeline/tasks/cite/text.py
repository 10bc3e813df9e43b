"""The text around documents in prompts of `cite`, and the form of keys. All wording is Carrara's own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from random import Random

from pipeline.tasks.documents.text import EXAMPLE, START, TAIL, accepted, numbered, plain
from pipeline.worlds.gazetteer import Form, Gazetteer, Passage, Thing, forms, kinds
from pipeline.worlds.gazetteer.documents import ASIDE, Writer, masked, pronouns_of
from pipeline.worlds.gazetteer.questions import ASIDES, LAST, OPENINGS, Place, clauses
from pipeline.worlds.gazetteer.things import SPOUSE, YEARS, era_of
from pipeline.worlds.wording import Slot, parse, slots, write

__all__ = ["EXAMPLE", "INTRODUCTION", "ITEMS", "SENTENCES", "START", "TAIL", "accepted", "numbered", "plain"]

INTRODUCTION = """\
Below are documents about an invented land, one paragraph each, with a five-digit id in square brackets. A \
question about them follows at the end. Everything needed to answer it is in the documents, and the answer must say in \
which.
"""
OF_PRONOUN = re.compile(r" of \{(?:it|him)\}")
"""Reads well with a name alone: "the first keeper of the Walton Museum", but not "the first keeper of it"."""
SENTENCES = """\
Answer in one sentence for each thing that is asked, in the order of the question, and end each sentence with the id \
of a document that says so, in square brackets before the full stop. Where several documents say the same, the id of \
one of them is enough."""
ITEMS = """\
Name all that fit, separated by commas, each followed by the id of the document that says so, in square brackets. Add \
nothing else."""


def label(*ids: str) -> str:
    """Return ids as written in replies.

    >>> label("48213", "11223")
    '[48213][11223]'
    """
    return "".join(f"[{one}]" for one in ids)


def as_sentences(facts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the accepted answers for facts: each value with the ids of all documents that state it.

    >>> as_sentences({"the Breck": ["48213"], "1803": ["11223", "33344"]})
    ('Breck [48213]. 1803 [11223][33344].',)
    """
    return _worded(facts, ". ", ".")


def as_items(facts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the accepted answers for lists: each thing with the id of its document.

    >>> as_items({"Walton & Sons": ["48213"], "Ames Brothers": ["11223"]})[1]
    'Walton and Sons [48213], Ames Brothers [11223]'
    """
    return _worded(facts, ", ", "")


def _worded(facts: Mapping[str, Sequence[str]], between: str, end: str) -> tuple[str, ...]:
    """Join the forms of all facts; the first answer has the target of each."""
    forms = [accepted(value) for value in facts]
    answers = (
        between.join(f"{words[min(at, len(words) - 1)]} {label(*ids)}" for words, ids in zip(forms, some, strict=True))
        for some in [list(facts.values())]
        for at in range(max(map(len, forms)))
    )
    return tuple(f"{answer}{end}" for answer in answers)


MORE_FACTS = (4, 5)
"""How many facts a document about the thing states besides the leading one, if it has that many."""
OWN_DECOYS = 4
"""The most decoys about the thing itself."""
MOST_YEARS_APART = 12
"""The most years between the beginnings of a thing and a decoy; it is raised until something fits."""
MENTIONS = 2
"""How often a decoy about another thing names the one asked about."""


@dataclass(frozen=True)
class Query:
    """A question for some facts about a thing, with the place of each."""

    question: str
    thing: Thing
    places: tuple[Place, ...]

    @property
    def values(self) -> list[str]:
        """The values of the facts, in the order of the question."""
        return [self.thing.stated[form][relation] for form, relation in self.places]


def ask(world: Gazetteer, rng: Random, first: Place, facts: int) -> Query:
    """Invent a thing, and ask for the first fact and others; every value also occurs in a passage of the world."""
    kind = forms()[first[0]].kind
    others = [one for one in clauses() if forms()[one[0]].kind == kind and one != first]
    for _ in count():
        thing = whole(world, rng, kind)
        places = [first, *rng.sample(others, facts - 1)]
        rng.shuffle(places)
        lead = next(filter(by_name, places), places[0])
        places = [lead, *(one for one in places if one != lead)]
        asked = Query(in_words(rng, thing, places), thing, tuple(places))
        if by_name(lead) and _clear(world, asked):
            return asked
    raise AssertionError


def whole(
    world: Gazetteer, rng: Random, kind: str, taken: Sequence[str] = (), years: tuple[int, int] | None = None
) -> Thing:
    """Invent a thing whose relations all have values, all different; it begins in one of `years`, if given."""
    for _ in count():
        thing = world.invent(rng, kind, {}, taken, rng.randint(*years) if years else None)
        values = [value for form in kinds()[kind] for value in _completed(world, rng, thing, form)]
        if None not in values and len({*values}) == len(values):
            return thing
    raise AssertionError


def _completed(world: Gazetteer, rng: Random, thing: Thing, form: Form) -> Iterator[str | None]:
    """Fill in all relations of a form, and yield their values; None if the world has nothing from that time."""
    known = thing.stated[form.name]
    for relation in form.relations:
        if relation.name not in known:
            era = relation is era_of(form)
            value = str(thing.era) if era else world.cast.value(rng, thing, relation, known)
            if value is not None:
                known[relation.name] = value
        yield known.get(relation.name)


def _clear(world: Gazetteer, asked: Query) -> bool:
    """Return whether no value is part of another or of the question, and all occur in the world."""
    values = [plain(one).lower() for one in asked.values]
    apart = not any(one in other for one in values for other in values if one is not other)
    return (
        apart
        and not any(one in asked.question.lower() for one in values)
        and all(holding(world, one) for one in asked.values)
    )


def holding(world: Gazetteer, value: str) -> list[int]:
    """Return the world's passages that state a value, or are about it."""
    return sorted({*world.holding.get(value, ()), *world.about.get(value, ())})


def in_words(rng: Random, thing: Thing, places: Sequence[Place]) -> str:
    """Return a question for some facts about a thing, which it names once.

    >>> from pipeline.streams import stream
    >>> in_words(stream("one"), Thing("bridge", "the Walton Bridge"), [("bridge", "designer"), ("bridge", "paid")])
    'Tell me who drew the plans for the Walton Bridge, and who bore its cost.'
    """
    pronouns = pronouns_of(thing)
    first = rng.choice(by_name(places[0]) or clauses()[places[0]])
    rest = [rng.choice([one for one in clauses()[place] if not OF_PRONOUN.search(one)]) for place in places[1:]]
    worded = [_clause(first, thing.name, pronouns), *(_clause(one, "", pronouns) for one in rest)]
    return rng.choice(OPENINGS).format(clauses=LAST.join([", ".join(worded[:-1]), worded[-1]]) if rest else worded[0])


def by_name(place: Place) -> list[str]:
    """Return the clauses for a fact in which a long name reads well, as it is not in the genitive."""
    return [one for one in clauses()[place] if slots(one)[0] != "its"]


def _clause(wording: str, name: str, pronouns: Mapping[str, str]) -> str:
    """Return a clause with a name, if given, in its first slot, and pronouns in the others."""
    own = "'" if name.endswith("s") else "'s"
    first = iter([name] if name else [])

    def fill(slot: Slot) -> str:
        named = next(first, "")
        return named + own * (slot.name == "its") if named else pronouns[slot.name]

    return write(parse(wording), fill)


def part(rng: Random, thing: Thing, form: str, stated: Sequence[str], but: Sequence[Place]) -> Thing:
    """Return a thing with few facts: the leading one, what is to be `stated`, and some others outside of `but`."""
    known, (lead, *others) = thing.stated[form], forms()[form].relations
    rest = [one.name for one in others if (form, one.name) not in but and one.name not in stated]
    names = {lead.name, *stated, *rng.sample(rest, min(len(rest), rng.choice(MORE_FACTS) - len(stated)))}
    facts = {one.name: known[one.name] for one in (lead, *others) if one.name in names}
    return Thing(thing.kind, thing.name, thing.era, {form: facts})


def golds(writer: Writer, rng: Random, asked: Query) -> tuple[list[Passage], list[int]]:
    """Write the relevant documents, and return them with the index of the fact that each states.

    Half of the facts are in two documents. No document states two facts, so that at least as many documents as facts
    are needed. Each also mentions its fact's relation with a value that does not apply.
    """
    facts = range(len(asked.places))
    stated = [*facts, *rng.sample(facts, len(facts) // 2)]
    passages = []
    for fact in stated:
        form, relation = asked.places[fact]
        own = forms()[form]
        wording, asides = masked(rng, own, own.relation(relation), asked.question, ASIDES)
        told_of, wanted = part(rng, asked.thing, form, [relation], asked.places), [(one, "") for one in asides]
        passages.append(writer.write(told_of, form, wanted, {relation: wording}))
    return passages, stated


def _beside(rng: Random, form: str, asked: Query) -> list[tuple[str, str]]:
    """Return requests for sentences of a form that mention one or two of the asked facts without stating them."""
    known = [ASIDE + relation for place, relation in asked.places if place == form]
    return [(one, "") for one in rng.sample(known, min(2, len(known)))]


def near_misses(world: Gazetteer, writer: Writer, rng: Random, asked: Query, wanted: int) -> Iterator[Passage]:
    """Yield decoys: half, but at most four, are about the thing itself and state nothing that is asked.

    These are by the same `writer` as all other documents about the thing. The others are about further things of its
    kind, two about each. They state what is asked, and name the thing twice.
    """
    own = min(OWN_DECOYS, wanted // 2)
    for _ in range(own):
        form, _ = rng.choice(asked.places)
        yield writer.write(part(rng, asked.thing, form, [], asked.places), form, _beside(rng, form, asked))
    things = [asked.thing]
    for number in range(wanted - own):
        if number % 2 == 0:
            other = _other(world, rng, asked, things)
            things.append(other)
            writer = Writer(rng, world.cast, settled=True, out=other.facts.values())
        form, relation = asked.places[number % len(asked.places)]
        thing = part(rng, other, form, [relation], asked.places)
        yield writer.write(thing, form, [("other", asked.thing.name)] * MENTIONS + [(ASIDE + relation, "")])


def years_near(thing: Thing, most: int) -> tuple[int, int]:
    """Return the first and last year at most `most` from a thing's beginning in which its kind can begin."""
    known = next(filter(None, map(era_of, kinds()[thing.kind])), None)
    first, last = known.span if known and known.span else YEARS
    return max(first, thing.era - most), min(last, thing.era + most)


def _other(world: Gazetteer, rng: Random, asked: Query, things: Sequence[Thing]) -> Thing:
    """Invent another thing of the same kind and time, with another value for each asked fact.

    Its name is new, and whom it married, if it is a person, is married to none of the `things` so far.
    """
    names, married = [one.name for one in things], {one.facts[SPOUSE] for one in things if SPOUSE in one.facts}
    for turn in count(MOST_YEARS_APART):
        years = years_near(asked.thing, turn)
        other = whole(world, rng, asked.thing.kind, names, years)
        if other.facts.get(SPOUSE) in married:
            continue
        if not any(other.stated[form][name] == asked.thing.stated[form][name] for form, name in asked.places):
            return other
    raise AssertionError
