"""Questions about the gazetteer, each with the passages that answer it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.caches import cache
from pipeline.worlds.gazetteer import Form, Gazetteer, Passage, Relation, Thing, forms
from pipeline.worlds.gazetteer.documents import ASIDE, masked, naming, slot_of
from pipeline.worlds.gazetteer.things import EVER, QUALIFIED, SPOUSE, apart, era_of
from pipeline.worlds.wording import sections

TRIES = 400
OF_TWO = "Consider {a} and {b}. {question}"
STEPS = 3
"""The most things between the start of a bridge and its answer."""


@dataclass(frozen=True)
class Question:
    """A question: its words, the answer, the numbers of the passages that it needs, in order, and what it turns on.

    `about` are the things that decoys resemble; `form` and `relation` are those of the first passage. `asks` is the
    answer's form and relation. `conditions` are the facts that describe a thing or are shared by all things of a list;
    `sharing` are the passages of the latter. For each needed passage, `read` is the relation to be read in it, besides
    the number that compares two things.
    """

    question: str
    answer: str
    golds: tuple[int, ...]
    form: str
    relation: str
    asks: str
    about: tuple[str, ...]
    conditions: tuple[tuple[str, str], ...] = ()
    sharing: tuple[int, ...] = ()
    read: tuple[str, ...] = ()


Place = tuple[str, str]
"""A form and one of its relations."""


def _places(mark: str) -> tuple[Place, ...]:
    return tuple((form.name, one.name) for form in forms().values() for one in form.relations if one.lines[mark])


@cache
def places(subtask: str) -> tuple[Place, ...]:
    """Return what the questions of a subtask can ask for."""
    if subtask == "compare":
        return tuple(dict.fromkeys((*_places("<"), *_places(">"))))
    if subtask == "list":
        return tuple(place for place in _places("*") if _listed_by(forms()[place[0]], place[1]))
    if subtask == "described":
        return tuple(place for place in _places("?") if len(_described(forms()[place[0]], place[1])) > 1)
    if subtask == "bridge":
        reached = {form.kind for form in forms().values()}
        for _ in range(STEPS):
            leading = [form for form in forms().values() if form.kind in reached]
            reached = {one.type for form in leading for one in form.relations if one.lines["="]}
        return tuple(place for place in _places("?") if forms()[place[0]].kind in reached)
    return _places("?")


def _described(form: Form, but: str) -> list[Relation]:
    """Return the relations that a thing can be described by: decoys must be able to name their values in time.

    None is a later year, and none follows from another, as the river follows from the town.
    """
    known = (one for one in form.relations if one.lines["~"] and not one.later and not one.of)
    return [one for one in known if one.name not in (but, form.relation(but).of) and _fits(form, one)]


def _fits(form: Form, relation: Relation) -> bool:
    """Return whether colour of a form can name the values of a relation."""
    slot = "other" if relation.type == form.kind else relation.type
    return bool(naming(form.name, slot))


def _listed_by(form: Form, name: str) -> bool:
    """Return whether lists can be of things with a value: not if first sentences state it, which are all alike."""
    relation = form.relation(name)
    return relation is not form.lead and _fits(form, relation)


def ask(world: Gazetteer, rng: Random, subtask: str, place: Place, complexity: int, first: int) -> Question:
    """Draw a question that asks for a relation; `first` is the place of the right one of two things.

    Raises:
        ValueError: if the world holds none.
    """
    form = forms()[place[0]]
    relation = form.relation(place[1])
    holders = [one for one in world.cast.things[form.kind] if relation.name in one.stated[form.name]]
    for _ in range(TRIES):
        question = _DRAWS[subtask](world, rng, form, relation, rng.choice(holders), complexity, first)
        if question is not None and not _known(question):
            return question
    raise ValueError(f"the world holds no question of {subtask} for {place}")


def _known(asked: Question) -> bool:
    """Return whether a question names its own answer, or needs one passage twice."""
    if len({*asked.golds}) != len(asked.golds):
        return True
    return asked.answer not in (*asked.about, "") and _core(asked.answer) in asked.question


def _core(name: str) -> str:
    return name[4:] if name[:4] in ("the ", "The ") else name


def _short(rng: Random, relation: Relation) -> str:
    """Draw a wording of a question for a long phrase: one with the fewest words after it."""
    words_after = [len(wording.split("{name}")[1].rstrip("?").split()) for wording in relation.lines["?"]]
    return rng.choice(
        [wording for wording, words in zip(relation.lines["?"], words_after, strict=True) if words == min(words_after)]
    )


def _id(form: Form, relation: Relation) -> str:
    return f"{form.name}.{relation.name}"


def _single(
    world: Gazetteer, rng: Random, form: Form, relation: Relation, thing: Thing, complexity: int, first: int
) -> Question | None:
    gold = world.stating(thing.name, relation.name)
    question = rng.choice(relation.lines["?"]).format(name=thing.name)
    return Question(
        question,
        thing.facts[relation.name],
        (gold or 0,),
        form.name,
        relation.name,
        _id(form, relation),
        (thing.name,),
        read=(relation.name,),
    )


def _descr(
    world: Gazetteer, rng: Random, form: Form, relation: Relation, thing: Thing, complexity: int, first: int
) -> Question | None:
    facts = thing.stated[form.name]
    known = [one for one in _described(form, relation.name) if one.name in facts]
    if len(known) < 2:
        return None
    two = sorted(rng.sample(known, 2), key=form.relations.index)
    conditions = tuple((one.name, facts[one.name]) for one in two)
    if conditions[0][1] == conditions[1][1] or len(_sharing(world, form, conditions)) != 1:
        return None
    description = " and ".join(rng.choice(one.lines["~"]).format(value=facts[one.name]) for one in two)
    phrase = f"the {form.noun} {'who' if form.kind == 'person' else 'that'} {description}"
    gold = world.stating(thing.name, relation.name) or 0
    question = _short(rng, relation).format(name=phrase)
    return Question(
        question,
        facts[relation.name],
        (gold,),
        form.name,
        relation.name,
        _id(form, relation),
        (),
        conditions,
        read=(relation.name,),
    )


def _sharing(world: Gazetteer, form: Form, conditions: Sequence[tuple[str, str]]) -> set[int]:
    """Return the passages of a form that state all of some facts."""
    return {
        number
        for number in world.holding[conditions[0][1]]
        if world.passages[number].form == form.name
        and all(world.passages[number].facts.get(name) == value for name, value in conditions)
    }


def _bridge(
    world: Gazetteer, rng: Random, form: Form, relation: Relation, thing: Thing, complexity: int, first: int
) -> Question | None:
    """Walk back from the thing whose fact is asked for to one that leads to it."""
    golds, phrases, names = [world.stating(thing.name, relation.name) or 0], list[str](), [thing.name]
    taken = [relation]
    while len(golds) < complexity:
        steps = list(_leading(world, names[-1]))
        if not steps:
            return None
        number, step = rng.choice(steps)
        passage = world.passages[number]
        if passage.thing.name in names or step in taken:
            return None
        taken.append(step)
        phrases.append(rng.choice(step.lines["="]))
        golds.append(number)
        names.append(passage.thing.name)
        if len(golds) == complexity:
            start = step.name
    phrase = names[-1]
    for wording in reversed(phrases):
        phrase = wording.format(name=phrase)
    answer = thing.facts[relation.name]
    if answer in names or any(answer in world.passages[number].words for number in golds[1:]):
        return None
    passage = world.passages[golds[-1]]
    question = _short(rng, relation).format(name=phrase)
    if any(_core(name) in question for name in names[:-1]):
        return None
    read = tuple(one.name for one in taken[::-1])
    return Question(
        question, answer, tuple(golds[::-1]), passage.form, start, _id(form, relation), (names[-1],), read=read
    )


def _leading(world: Gazetteer, name: str) -> Iterator[tuple[int, Relation]]:
    """Yield the passages that state a thing as the value of a relation that can be put into a phrase."""
    for number in world.holding.get(name, ()):
        passage = world.passages[number]
        for relation, value in passage.facts.items():
            step = forms()[passage.form].relation(relation)
            if value == name and step.lines["="]:
                yield number, step


def _compare(
    world: Gazetteer, rng: Random, form: Form, relation: Relation, thing: Thing, complexity: int, first: int
) -> Question | None:
    """Ask for another fact about one of two things: its name would not do, as naming both would be right."""
    others = [one for one in world.cast.things[form.kind] if relation.name in one.stated[form.name]]
    other, mark = rng.choice(others), rng.choice([mark for mark in "<>" if relation.lines[mark]])
    values = [int(one.facts[relation.name].replace(",", "")) for one in (thing, other)]
    wanted = [one for one in _differing(form, thing, other) if one is not relation]
    if values[0] == values[1] or not wanted:
        return None
    right, wrong = (thing, other) if (values[0] < values[1]) == (mark == "<") else (other, thing)
    named = (right.name, wrong.name) if first == 0 else (wrong.name, right.name)
    golds = tuple(world.stating(name, relation.name) or 0 for name in named)
    predicate, more = _predicate(rng.choice(relation.lines[mark]), form.noun), rng.choice(wanted)
    asking = _short(rng, more).format(name=f"the one {'who' if form.kind == 'person' else 'that'} {predicate}")
    question = OF_TWO.format(a=named[0], b=named[1], question=asking)
    read = (more.name, more.name)
    return Question(
        question, right.facts[more.name], golds, form.name, more.name, _id(form, relation), named, read=read
    )


def _differing(form: Form, *things: Thing) -> list[Relation]:
    """Return the relations that can be asked for and whose values differ among some things."""
    facts = [one.stated[form.name] for one in things]
    return [
        one
        for one in form.relations
        if one.lines["?"] and all(one.name in each for each in facts) and len({each[one.name] for each in facts}) > 1
    ]


def _predicate(question: str, noun: str) -> str:
    """Return what a question about two things says of the one that it asks for.

    >>> _predicate("Which town has more inhabitants, {a} or {b}?", "town")
    'has more inhabitants'
    """
    predicate = question.removesuffix(", {a} or {b}?").removeprefix("Who ").removeprefix("Which ")
    return predicate.removeprefix(f"{noun} ")


def _listed(
    world: Gazetteer, rng: Random, form: Form, relation: Relation, thing: Thing, complexity: int, first: int
) -> Question | None:
    value = thing.facts[relation.name]
    question = rng.choice(relation.lines["*"]).format(value=value)
    conditions = ((relation.name, value),)
    sharing = tuple(sorted(_sharing(world, form, conditions)))
    return Question(question, "", (), form.name, relation.name, _id(form, relation), (), conditions, sharing)


_DRAWS = {"single": _single, "described": _descr, "bridge": _bridge, "compare": _compare, "list": _listed}


MENTIONS = 2
"""How often a decoy names what the question asks about."""
AGAIN = 0.35
"""How often a decoy names its value once more than it has to, so that a search ranks it high."""
APART = 8
"""How many years a decoy may be before or after what it resembles."""
CLOSE = 6
"""How many years the things of a list may be before or after the first one: they name each other."""
ASIDES = 2
"""Sentences in a needed document that speak of what has to be read in it, with other values."""


def needed(world: Gazetteer, rng: Random, asked: Question) -> Iterator[Passage]:
    """Yield the passages that a question needs, as they are written for a row.

    Each states what it states in the world. Besides the fact that has to be read in it, it has sentences that speak of
    the relation with other values, so that neither the shape of a value nor words shared with the question reveal it.
    """
    for number, relation in zip(asked.golds, asked.read, strict=True):
        passage = world.passages[number]
        form = forms()[passage.form]
        statement, asides = masked(rng, form, form.relation(relation), asked.question, ASIDES)
        yield world.write(rng, passage.thing, passage.form, [(one, "") for one in asides], {relation: statement})


def near_misses(world: Gazetteer, rng: Random, asked: Question, count: int) -> Iterator[Passage]:
    """Yield decoys.

    For a named thing: others of its kind, which state what is asked and name it twice. For a described one: others of
    its kind that have one of the two attributes and name the value of the other.
    """
    form, taken = forms()[asked.form], set[str]()
    out = {asked.answer, *asked.about, *dict(asked.conditions).values()}
    for number in range(count):
        if asked.about:
            about = asked.about[number % len(asked.about)]
            era = _year_near(rng, form, world.thing(about).era)
            last, times = EVER, MENTIONS + (rng.random() < AGAIN)
            fixed, wanted, drawn = dict[str, str](), [("other", about)] * times, [asked.relation]
        else:
            (kept, value), (missed, named) = asked.conditions if number % 2 else asked.conditions[::-1]
            relation, era = form.relation(missed), world.cast.era(rng, form.kind, dict(asked.conditions))
            last = EVER
            if relation is era_of(form):
                last = era - 1
                era -= rng.randint(1, APART)
            fixed, wanted = _named(world, rng, form, relation, named, era, number // 2, (kept, asked.relation))
            fixed, drawn = {**fixed, kept: value}, [missed, asked.relation]
            if rng.random() < AGAIN and len(naming(form.name, slot_of(form, relation))) > MENTIONS:
                wanted = [*wanted, (slot_of(form, relation), named)]
        thing = _sibling(world, rng, form, min(era, last), fixed, drawn, out, taken, last, {each for _, each in wanted})
        out |= {value for name, value in thing.facts.items() if name == SPOUSE}
        yield world.write(rng, thing, form.name, [*wanted, (ASIDE + asked.relation, "")])


def listed(
    world: Gazetteer, rng: Random, asked: Question, count: int, decoys: int
) -> tuple[list[Passage], list[Passage]]:
    """Write the documents of a list: of things that have the value, and decoys, which name it in other roles.

    Each of them names two others, things or decoys, and each speaks of the relation with a value that it does not have:
    in two of three decoys that is the value of the list.
    """
    form, relation, ((_, value),) = forms()[asked.form], forms()[asked.form].relation(asked.relation), asked.conditions
    written, taken, base = list[tuple[Thing, list[tuple[str, str]]]](), set[str](), None
    married = set[str]()
    for number in range(count + decoys):
        era = world.cast.era(rng, form.kind, {relation.name: value})
        base = era if base is None else base
        era = era if abs(era - base) <= CLOSE else _near_in_time(world, rng, form, relation, value, base)
        if number < count:
            fixed, wanted, drawn, out = {relation.name: value}, list[tuple[str, str]](), list[str](), set[str]()
        else:
            fixed, wanted = _named(world, rng, form, relation, value, era, number - count, ())
            drawn, out = [relation.name], {value}
        named = {each for _, each in wanted} | married
        thing = _sibling(world, rng, form, era, fixed, drawn, out, taken, named=named)
        married |= {spouse for name, spouse in thing.facts.items() if name == SPOUSE}
        written.append((thing, wanted or [(ASIDE + relation.name, "")]))
    order = rng.sample(range(len(written)), len(written))
    after = dict(zip(order, [*order[1:], order[0]], strict=True))
    passages = []
    for number, (thing, wanted) in enumerate(written):
        others = [after[number], after[after[number]]][:MENTIONS]
        naming_others = [("other", written[one][0].name) for one in others if one != number]
        passages.append(world.write(rng, thing, form.name, [*naming_others, *wanted]))
    return passages[:count], passages[count:]


def _named(
    world: Gazetteer,
    rng: Random,
    form: Form,
    relation: Relation,
    value: str,
    era: int,
    number: int,
    taken: Sequence[str],
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """Return in what other role a decoy has a value: in a fact, or in colour.

    Two of three have it in a sentence that speaks of the relation, the third in a fact of another relation if one fits,
    or else in any sentence of colour.
    """
    if number % 3 < MENTIONS and relation.asides:
        return {}, [(ASIDE + relation.name, value)]
    gone = {relation.name, SPOUSE, *taken}
    others = [one for one in form.relations if one.type == relation.type and not (one.of or one.is_number)]
    fitting = [one.name for one in others if one.name not in gone and _in_time(world, form, one, value, era)]
    if fitting:
        return {rng.choice(fitting): value}, []
    return {}, [(slot_of(form, relation), value)]


def _in_time(world: Gazetteer, form: Form, relation: Relation, value: str, era: int) -> bool:
    """Return whether a thing that begins in a year can have a value."""
    if relation.type not in world.cast.things:
        return True
    soonest, latest = apart(form.kind, relation)
    return soonest <= era - world.thing(value).era <= latest


def _near_in_time(world: Gazetteer, rng: Random, form: Form, relation: Relation, value: str, era: int) -> int:
    """Draw a year near another in which things of a form can begin, and have a value if any year nearby will do."""
    for _ in range(FEW):
        year = _year_near(rng, form, era, CLOSE)
        if _in_time(world, form, relation, value, year):
            break
    return year


FEW = 40
"""Draws before the nearest in time is used instead."""


def _year_near(rng: Random, form: Form, era: int, most: int = APART) -> int:
    """Draw a year near another in which things of a form can begin."""
    known = era_of(form)
    first, last = known.span if known and known.span else (-EVER, EVER)
    return min(max(era + rng.randint(-most, most), first), last)


def _sibling(
    world: Gazetteer,
    rng: Random,
    form: Form,
    era: int,
    kept: Mapping[str, str],
    drawn: Sequence[str],
    out: Collection[str],
    taken: set[str],
    last: int = EVER,
    named: Collection[str] = (),
) -> Thing:
    """Invent a thing of about a year that has some values; those of the relations `drawn` are not in `out`.

    Its name is new and is added to `taken`. It states nothing that is `named` in another role.
    """
    known = era_of(form)
    for tried in range(TRIES):
        year = min(_year_near(rng, form, era, tried // 4), last) if tried else era
        begun = int(kept[known.name]) if known and known.name in kept else year
        name, town = world.christen(rng, form.kind, kept.get("town", ""), taken)
        thing = Thing(form.kind, name, begun)
        fixed = {**kept, "town": town} if form.kind in QUALIFIED else dict(kept)
        for each in drawn:
            relation = form.relation(each)
            value = str(begun) if relation is known else world.cast.value(rng, thing, relation, fixed)
            if value in {None, *out} and tried > FEW and relation.type in world.cast.things and not relation.of:
                value = world.cast.nearest(thing, relation, {*out, *fixed.values()})
            fixed[each] = fixed.get(each) or value or ""
        if all(fixed[each] and fixed[each] not in out for each in drawn):
            world.cast.state(rng, thing, fixed, named)
            taken.add(name)
            return thing
    raise ValueError(f"the world holds nothing like a {form.noun} with {dict(kept)}")


CLAUSES = "cite/clauses"
OPENINGS = ("Tell me {clauses}.", "Say {clauses}.", "Find out {clauses}.", "I should like to know {clauses}.")
"""How questions for several facts begin."""
LAST = ", and "
"""What precedes the last clause; a comma precedes the others."""


@cache
def clauses() -> Mapping[Place, tuple[str, ...]]:
    """Return the clauses that ask for each fact."""
    split = ((form, *line.split(": ", 1)) for form, lines in sections(CLAUSES).items() for line in lines)
    return {(form, relation): tuple(text.split(" | ")) for form, relation, text in split}


@cache
def lists() -> Mapping[Place, tuple[str, ...]]:
    """Return the questions for all things that share a value of a relation."""
    return {(form, one): forms()[form].relation(one).lines["*"] for form, one in places("list")}
