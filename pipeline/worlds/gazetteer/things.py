"""The things of a world and what is stated about them: typed facts, consistent in time and place as far as it shows."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Protocol

from pipeline.caches import cache
from pipeline.streams import Streams
from pipeline.worlds import wording
from pipeline.worlds.identifying import identifying
from pipeline.worlds.words import pool, pool_digest, pool_text, pools_in

FOLDER = "gazetteer"
WORDS = f"{FOLDER}/words"
NAMES = (f"{FOLDER}/towns", f"{FOLDER}/rivers")
SUBJECT = frozenset({"Name", "It", "it", "him", "Its", "its"})
"""Slots that name the subject."""
BLOCK = re.compile(r"\[(\w+)\] (\w+)(?:@(\w+))?(?: (\+?)(-?\d+)-(-?\d+))?")
MARKS = "-?=~<>*+"


@dataclass(frozen=True, slots=True, eq=False)
class Relation:
    """A relation of a kind of thing: the type of its values, and its lines by mark.

    Numbers and years are within `span`, which for years that are `later` counts from the thing's first year. If the
    value is a thing, `span` is how many years its first year is before the thing's own; negative numbers are after it.
    If `of` is given, the value is that of this type for the thing in relation `of`: the river of the town.
    """

    name: str
    type: str
    of: str
    span: tuple[int, int] | None
    later: bool
    lines: Mapping[str, tuple[str, ...]]

    @property
    def wordings(self) -> tuple[str, ...]:
        """The sentences that state it."""
        return self.lines["-"]

    @property
    def asides(self) -> tuple[str, ...]:
        """Sentences of colour that speak of it with a value for which it does not hold: a design turned down."""
        return self.lines["+"]

    @property
    def is_number(self) -> bool:
        """Whether its values are numbers or years."""
        return self.type in ("year", "number")


@dataclass(frozen=True, slots=True, eq=False)
class Form:
    """One kind of passage about one kind of thing; `weight` is its share of all passages, its first relation leads."""

    name: str
    kind: str
    noun: str
    subject: str
    weight: int
    relations: tuple[Relation, ...]
    colour: tuple[str, ...]

    @property
    def lead(self) -> Relation:
        """The relation that the first sentence states."""
        return self.relations[0]

    def relation(self, name: str) -> Relation:
        """Return a relation by its name.

        Raises:
            KeyError: if the form has no such relation.
        """
        return next_of(self.relations, name)


def next_of(relations: Sequence[Relation], name: str) -> Relation:
    """Return the relation with a name.

    Raises:
        KeyError: if there is none.
    """
    for relation in relations:
        if relation.name == name:
            return relation
    raise KeyError(name)


@cache
def forms() -> Mapping[str, Form]:
    """Return every form by its name, in the order of the files."""
    names = [name for name in pools_in(FOLDER) if name not in (WORDS, *NAMES)]
    return {form.name: form for form in (parse(name.split("/")[1], pool_text(name)) for name in names)}


@cache
def kinds() -> Mapping[str, tuple[Form, ...]]:
    """Return the forms of passages about each kind of thing; no two of a kind share a relation."""
    by_kind: dict[str, tuple[Form, ...]] = {}
    for form in forms().values():
        by_kind[form.kind] = (*by_kind.get(form.kind, ()), form)
    return by_kind


@cache
def words_of() -> Mapping[str, tuple[str, ...]]:
    """Return the lists of words that values and slots are drawn from."""
    lines = [line for line in pool(WORDS) if line]
    return {name[1:-1]: tuple(line.split(", ")) for name, line in zip(lines[::2], lines[1::2], strict=True)}


@cache
def source_digest() -> str:
    """Return the digest of all files that the world is made of."""
    return pool_digest("first", "last", *pools_in(FOLDER))


def parse(name: str, text: str) -> Form:
    """Parse the file of a form.

    Raises:
        ValueError: naming the file and the line that cannot be read.
    """
    head, relations, colour = dict[str, str](), list[Relation](), list[str]()
    for block in text.strip().split("\n\n"):
        first, *lines = block.split("\n")
        if match := BLOCK.fullmatch(first):
            span = (int(match[5]), int(match[6])) if match[5] else None
            lined = dict(_sorted(name, lines))
            relations.append(Relation(match[1], match[2], match[3] or "", span, match[4] == "+", lined))
        elif first == "colour:":
            colour = [line.removeprefix("- ") for line in lines]
        else:
            head |= dict(line.split(": ") for line in block.split("\n"))
    leads = [one for one in relations if one.name == head["lead"]]
    rest = [one for one in relations if one.name != head["lead"]]
    if len(leads) != 1 or not colour:
        raise ValueError(f"{name}.txt has no colour, or no lead {head['lead']!r}")
    colour += [line for one in (*leads, *rest) for line in one.asides]
    return Form(name, head["kind"], head["noun"], head["subject"], int(head["weight"]), (*leads, *rest), tuple(colour))


def _sorted(name: str, lines: Sequence[str]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the lines of a block by their marks."""
    if wrong := [line for line in lines if line[0] not in MARKS or line[1] != " "]:
        raise ValueError(f"{name}.txt: {wrong[0]!r} begins with none of {MARKS}")
    for mark in MARKS:
        yield mark, tuple(line[2:] for line in lines if line[0] == mark)


def slots(sentence: str) -> list[str]:
    """Return the slots of a sentence that do not name its subject, in order.

    >>> slots("{It} was sold to {person} for {count} pounds.")
    ['person', 'count']
    """
    return [slot for slot in wording.slots(sentence) if slot not in SUBJECT]


FEW = 40
"""Surnames of the smallest world."""
QUALIFIED = {
    "museum": "of",
    "school": "of",
    "theatre": "of",
    "bridge": "at",
    "lighthouse": "near",
    "mill": "at",
    "inn": "at",
}
"""Kinds with names that a town can qualify, and the preposition for it."""
FIRST_NAMES = "writing/people"


@dataclass(slots=True)
class Stock:
    """Materials for names: a world's surnames, nouns and towns, and unused names for towns and rivers."""

    rng: Random
    surnames: Sequence[str]
    nouns: Sequence[str]
    towns: Sequence[str]
    new_towns: Sequence[str]
    new_rivers: Sequence[str]

    @classmethod
    def of(cls, world: Streams, passages: int) -> Stock:
        """Return the stock of a world: the more passages it has, the more surnames."""
        all_surnames, nouns, towns, rivers = (
            identifying(names, world) for names in (pool("last"), words_of()["noun"], *map(pool, NAMES))
        )
        rng = world.of("names")
        surnames = rng.sample(all_surnames, min(len(all_surnames), max(FEW, passages // 20)))
        return cls(rng, surnames, nouns, (), towns, rivers)

    def word(self, name: str) -> str:
        """Draw a word of a list."""
        return self.rng.choice(words_of()[name])

    def noun(self) -> str:
        """Draw a noun for the name of a ship or an inn."""
        return self.rng.choice(self.nouns)

    def surname(self) -> str:
        """Draw a surname."""
        return self.rng.choice(self.surnames)

    def town(self) -> str:
        """Draw the name of a town."""
        return self.rng.choice(self.towns)


Draw = Callable[[Stock], str]


def _person(stock: Stock) -> str:
    return f"{stock.rng.choice(pool(FIRST_NAMES))[2:]} {stock.surname()}"


def _firm(stock: Stock) -> str:
    ending = stock.rng.choice(("& Sons", "Brothers", "& Company", "& Daughters", f"& {stock.surname()}"))
    return f"{stock.surname()} {ending}"


def _novel(stock: Stock) -> str:
    town, days = stock.town(), f"{stock.word('count').capitalize()} {stock.rng.choice(('Days', 'Nights', 'Winters'))}"
    return stock.rng.choice((f"{days} from {town}", f"{town}'s {stock.word('thing')}"))


def _named(noun: str) -> Draw:
    return lambda stock: f"the {stock.surname()} {noun}"


DRAWS: Mapping[str, Draw] = {
    "town": lambda stock: stock.rng.choice(stock.new_towns),
    "river": lambda stock: f"the {stock.rng.choice(stock.new_rivers)}",
    "person": _person,
    "firm": _firm,
    "ship": lambda stock: f"the {stock.word('adj')} {stock.noun()}",
    "inn": lambda stock: f"the {stock.word('adj')} {stock.noun()} Inn",
    "novel": _novel,
    "opera": lambda stock: f"{stock.surname()}'s {stock.word('thing')}",
    "painting": lambda stock: f"{stock.word('moment')} at {stock.town()}",
    "festival": lambda stock: f"the {stock.town()} {stock.word('event')}",
    "school": lambda stock: f"the {stock.surname()} {stock.rng.choice(('Academy', 'School', 'Institute'))}",
    **{kind: _named(kind.capitalize()) for kind in ("bridge", "museum", "lighthouse", "mill", "theatre")},
}
"""How the names of each kind are drawn: titles have no article that could be left out."""


def gender_of(person: str) -> str:
    """Return ``f`` or ``m`` by the first name of a person."""
    return _genders()[person.split(" ")[0]]


@cache
def _genders() -> Mapping[str, str]:
    return {line[2:]: line[0] for line in pool(FIRST_NAMES)}


def drawn(stock: Stock, kind: str, count: int) -> list[str]:
    """Draw the names of `count` things of a kind, distinct unless towns can qualify them."""
    names: list[str] = []
    taken: set[str] = set()
    while len(names) < count:
        name = DRAWS[kind](stock)
        if name in taken and kind not in QUALIFIED:
            continue
        taken.add(name)
        names.append(name)
    return names


def qualified(
    kind: str, names: Sequence[str], towns: Sequence[str], all_towns: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Yield each name, qualified by its town if it is not unique, and the town, which is replaced if both recur.

    `towns` are the towns where the things are, `all_towns` all that there are.
    """
    times, taken = Counter(names), set[str]()
    for name, town in zip(names, towns, strict=True):
        full, spare_towns = name, iter(all_towns)
        while times[name] > 1 and (full == name or full in taken):
            town = town if full == name else next(spare_towns)
            full = f"{name} {QUALIFIED[kind]} {town}"
        taken.add(full)
        yield full, town


def based(kind: str) -> Callable[[str], str]:
    """Return a function that removes the town from the name of a thing of a kind, if it has one.

    >>> based("bridge")("the Walton Bridge at Ames")
    'the Walton Bridge'
    """
    word = f" {QUALIFIED[kind]} "
    return lambda name: name.split(word)[0]


def bare(name: str) -> str:
    """Return a name as a title: without an article that is not part of it.

    >>> bare("the Walton Bridge"), bare("Walton's Quilt")
    ('Walton Bridge', "Walton's Quilt")
    """
    return name.removeprefix("the ")


EVER = 10_000
"""More years than there are."""
AGES = (22, 50)
"""How old people are who design, found, paint or write, unless a form differs: nobody has retired yet."""
PRESENT = {
    "person": AGES,
    "firm": (0, 25),
    "ship": (0, 12),
    "town": (-EVER, EVER),
    "river": (-EVER, EVER),
}
"""Between how many years after its first one a thing certainly exists; other kinds exist from then on."""
MAKERS = frozenset({"person", "firm"})
LASTING = frozenset({"person", "town", "river"})
"""Kinds that involve people and firms in all their years; other kinds do so in their first one."""
DATE_TRIES = 16
"""Draws before those in `taken` are filtered out."""
SPOUSE = "spouse"
"""A relation of a woman and a man."""
Years = tuple[int, int]


class Dated(Protocol):
    """Has a name and a first year."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def era(self) -> int:
        """Its first year."""


class Eras:
    """Things of one kind in order of their first years, so that those of a time can be drawn."""

    def __init__(self, things: Sequence[Dated]) -> None:
        self._things = sorted(things, key=lambda one: one.era)
        self._years = [one.era for one in self._things]

    def count(self, first: int, last: int) -> int:
        """Return how many things have their first year in these years."""
        return bisect_left(self._years, last + 1) - bisect_left(self._years, first)

    def draw(self, rng: Random, first: int, last: int, taken: Collection[str]) -> str | None:
        """Draw a thing whose first year is between two years, inclusive; None if all of those are taken."""
        start, stop = bisect_left(self._years, first), bisect_left(self._years, last + 1)
        for _ in range(DATE_TRIES if start < stop else 0):
            if (name := self._things[rng.randrange(start, stop)].name) not in taken:
                return name
        free = [one.name for one in self._things[start:stop] if one.name not in taken]
        return rng.choice(free) if free else None

    def nearest(self, first: int, last: int, taken: Collection[str]) -> str:
        """Return the thing, not taken, that begins closest to some years, the first of equals."""
        free = (one for one in self._things if one.name not in taken)
        return min(free, key=lambda one: max(first - one.era, one.era - last, 0)).name


def apart(kind: str, relation: Relation) -> Years:
    """Return how many years after a related thing's first year a thing's own may be, least and most.

    Args:
        kind: the kind of the thing.
        relation: one of its relations whose values are things.
    """
    if relation.span:
        return relation.span
    return AGES if relation.type == "person" and kind != "person" else together(kind, relation.type)


@cache
def together(kind: str, other: str) -> Years:
    """Return how many years after another thing's first one a thing's own may be, if both are to exist at once.

    People and firms are there when a work is begun: what is stated about them and it may be of that time.

    >>> together("firm", "firm"), together("person", "firm"), together("bridge", "firm")
    ((-25, 25), (-50, 3), (0, 25))
    """
    begun = other in MAKERS and kind not in {*LASTING, other}
    (from_one, to_one), (from_other, to_other) = (PRESENT.get(one, (0, EVER)) for one in (kind, other))
    return (from_other, to_other) if begun else (from_other - to_one, to_other - from_one)


MORE = (4, 5, 6)
"""How many facts a passage states besides the leading one."""
YEARS = (1700, 1950)
LEADERS = 3
"""The fewest people who can have made a work of a year."""
TRIES = 100
"""Draws of a first year before one is accepted for which fewer people can have made a work."""


@dataclass(slots=True)
class Thing:
    """A thing: its kind, its unique name in texts, its first year, and the facts of each of its passages."""

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
    """All things of a world by kind, with methods that draw from them."""

    things: dict[str, list[Thing]]
    eras: dict[str, Eras]
    stock: Stock
    by_name: dict[str, Thing]
    married: set[str] = field(default_factory=set)
    """Whoever a passage of the world states to be married: nobody marries twice, and one passage of two says so."""

    def value(
        self, rng: Random, thing: Thing, relation: Relation, facts: Mapping[str, str], gone: Collection[str] = ()
    ) -> str | None:
        """Draw the value of a relation of a thing, or None if there is none of its time.

        `facts` are those of the passage so far, which name other things; it names those in `gone` in other roles.
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
        years, taken = apart(thing.kind, relation), {thing.name, *facts.values(), *gone}
        if relation.name == SPOUSE:
            return self._spouse(rng, thing, relation, taken)
        return self._of_its_time(rng, thing, relation.type, years, taken)

    def _spouse(self, rng: Random, thing: Thing, relation: Relation, taken: Collection[str]) -> str | None:
        """Draw whom somebody married: an unmarried person of the time, or None.

        Half of the people of a world stay free for those written for a row.
        """
        enough = thing.name in self.by_name and 2 * len(self.married) >= len(self.things["person"])
        if enough or thing.name in self.married:
            return None
        gone = {*taken, *self.married}
        for _ in range(DATE_TRIES):
            spouse = self._of_its_time(rng, thing, relation.type, apart(thing.kind, relation), gone)
            if spouse is None or gender_of(spouse) != gender_of(thing.name):
                return spouse
        return None

    def another(self, rng: Random, thing: Thing, kind: str, taken: Collection[str] = ()) -> str | None:
        """Draw the name of another thing of a kind that existed when a thing did; None if all those are `taken`."""
        return self._of_its_time(rng, thing, kind, together(thing.kind, kind), {thing.name, *taken})

    def nearest(self, thing: Thing, relation: Relation, taken: Collection[str]) -> str:
        """Return the thing nearest in time that can be the value of a relation, for use if none is of the time."""
        if relation.name == SPOUSE:
            alike = {one.name for one in self.things["person"] if gender_of(one.name) == gender_of(thing.name)}
            free = {one.name for one in self.things["person"]} - {*taken, *self.married, *alike}
            taken = {*taken, *alike, *(self.married if free else ())}
        return self.anyone(thing, relation.type, taken)

    def anyone(self, thing: Thing, kind: str, taken: Collection[str] = ()) -> str:
        """Return the name of the other thing of a kind that is nearest in time."""
        least, most = together(thing.kind, kind)
        return self.eras[kind].nearest(thing.era - most, thing.era - least, {thing.name, *taken})

    def _of_its_time(self, rng: Random, thing: Thing, kind: str, years: Years, taken: Collection[str]) -> str | None:
        return self.eras[kind].draw(rng, thing.era - years[1], thing.era - years[0], taken)

    def era(self, rng: Random, kind: str, fixed: Mapping[str, str]) -> int:
        """Draw the first year of a thing: the fixed one, or one in the time of all that it is related to.

        If these are of different times, it is in that of the first.
        """
        era_relation = next(filter(None, map(era_of, kinds()[kind])), None)
        if era_relation and era_relation.name in fixed:
            return int(fixed[era_relation.name])
        span = era_relation.span if era_relation and era_relation.span else YEARS
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
        """Draw a year in which somebody can have made a thing, if its passages begin with its maker."""
        lead = kinds()[kind][0].lead
        for _ in range(TRIES):
            year, (least, most) = rng.randint(first, last), apart(kind, lead)
            if lead.type != "person" or lead.name in fixed:
                return year
            if self.eras["person"].count(year - most, year - least) >= LEADERS:
                return year
        return year

    def state(
        self, rng: Random, thing: Thing, fixed: Mapping[str, str] | None = None, gone: Collection[str] = ()
    ) -> None:
        """Draw what the passages of a thing state: all that is `fixed`, and no thing in `gone`.

        The latter are things that its passages are to name in other roles, so that none contradicts what it states.
        """
        fixed = fixed or {}
        for form in kinds()[thing.kind]:
            thing.stated[form.name] = self._stated(rng, thing, form, fixed, gone)

    def _stated(
        self, rng: Random, thing: Thing, form: Form, fixed: Mapping[str, str], gone: Collection[str]
    ) -> dict[str, str]:
        must = [one for one in form.relations[1:] if one.name in fixed]
        rest = [one for one in form.relations[1:] if one.name not in fixed]
        wanted = 1 + max(len(must), rng.choice(MORE))
        facts: dict[str, str] = {}
        for relation in (form.lead, *must, *rng.sample(rest, len(rest))):
            if len(facts) < wanted and (
                value := self._stated_value(rng, thing, form, relation, {**fixed, **facts}, gone)
            ):
                facts[relation.name] = value
        return {one.name: facts[one.name] for one in form.relations if one.name in facts}

    def _stated_value(
        self, rng: Random, thing: Thing, form: Form, relation: Relation, facts: Mapping[str, str], gone: Collection[str]
    ) -> str | None:
        """Return what a passage states for a relation: the fixed value, or a drawn one."""
        if relation.name in facts:
            return facts[relation.name]
        if relation is era_of(form):
            return str(thing.era)
        value = self.value(rng, thing, relation, facts, gone)
        return (
            self.anyone(thing, relation.type, {*facts.values(), *gone})
            if value is None and relation is form.lead
            else value
        )


def era_of(form: Form) -> Relation | None:
    """Return the relation that states the first year of a form's things, if any."""
    return next((one for one in form.relations if one.type == "year" and not one.later), None)


def new_era(rng: Random, kind: str) -> int:
    """Draw the first year of a thing."""
    relation = next(filter(None, map(era_of, kinds()[kind])), None)
    return rng.randint(*(relation.span if relation and relation.span else YEARS))


def cast(rng: Random, stock: Stock, counts: Mapping[str, int]) -> Cast:
    """Draw all things of a world with their facts; `counts` is how many there are of each kind."""
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
    by_name = {one.name: one for group in things.values() for one in group}
    drawn_cast = Cast(things, {kind: Eras(group) for kind, group in things.items()}, stock, by_name)
    for kind, group in things.items():
        if kinds()[kind][0].lead.type == "person":
            for thing in group:
                thing.era = drawn_cast.era(rng, kind, {})
            drawn_cast.eras[kind] = Eras(group)
    for kind, group in things.items():
        places = located.get(kind, ())
        for number, thing in enumerate(group):
            drawn_cast.state(rng, thing, {"town": places[number]} if places else None)
            if SPOUSE in thing.facts:
                drawn_cast.married |= {thing.name, thing.facts[SPOUSE]}
    return drawn_cast


def _rest(names: Sequence[str], taken: Sequence[str]) -> list[str]:
    gone = set(taken)
    return [one for one in names if one not in gone]


def _located(rng: Random, kind: str, things: Sequence[Thing], towns: Sequence[str]) -> list[str]:
    """Give things of a kind their towns, and qualify names that need it; return the towns."""
    named = list(qualified(kind, [one.name for one in things], [rng.choice(towns) for _ in things], towns))
    for thing, (name, _) in zip(things, named, strict=True):
        thing.name = name
    return [town for _, town in named]


def parts(things: Mapping[str, Sequence[Thing]]) -> Iterator[tuple[Thing, str]]:
    """Yield every thing with each form of its passages."""
    for group in things.values():
        for thing in group:
            for form in thing.stated:
                yield thing, form
