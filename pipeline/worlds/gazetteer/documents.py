"""Passages about things: a title, sentences that state facts, and among them sentences of colour that state none."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.caches import cache
from pipeline.worlds import wording
from pipeline.worlds.gazetteer.things import (
    SUBJECT,
    Cast,
    Form,
    Relation,
    Thing,
    bare,
    forms,
    gender_of,
    slots,
    words_of,
)
from pipeline.worlds.writing.surface import starts_with_vowel

COLOURS = (2, 3)
"""How many sentences of colour a passage has."""
LEAST = 84
"""A passage with fewer words, before names are filled in, gets one more sentence of colour."""
SINCE, GROWN = (2, 70), 24
"""How many years after a thing's first one its colour may be set; for people, the first such year."""
OFTEN = 4
"""How often a sentence of colour that names something comes, relative to one that names nothing and would repeat."""
PRONOUNS = {
    "f": {"It": "She", "it": "she", "him": "her", "Its": "Her", "its": "her"},
    "m": {"It": "He", "it": "he", "him": "him", "Its": "His", "its": "his"},
    "": {"It": "It", "it": "it", "him": "it", "Its": "Its", "its": "its"},
}


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage: what it is about, its form, its text, the facts it states, and what its colour names by type."""

    thing: Thing
    form: str
    text: str
    named: tuple[tuple[str, str], ...]

    @property
    def title(self) -> str:
        """The name of the thing as a title."""
        return bare(self.thing.name)

    @property
    def facts(self) -> Mapping[str, str]:
        """What the passage states, by relation."""
        return self.thing.stated[self.form]

    @property
    def words(self) -> frozenset[str]:
        """All values that it states or names."""
        return frozenset((*self.facts.values(), *(value for _, value in self.named)))


ASIDE = "+"
"""Prefix of a relation, to ask for a sentence that speaks of it besides what is stated: ``+designer``."""
Wanted = Sequence[tuple[str, str]]
"""What colour is to name: a slot, or `ASIDE` and a relation, each with its value, or nothing if any will do. A sentence
of colour may replace any slot that it has."""


class Writer:
    """Writes the passages of a world; all draws are from `rng`.

    If `settled`, a sentence about a thing says the same each time: for several passages of one form about it, which
    must not differ. Colour names nothing in `out`: what other passages state about the thing.
    """

    def __init__(self, rng: Random, cast: Cast, *, settled: bool = False, out: Iterable[str] = ()) -> None:
        self._rng, self._cast, self._settled, self._out = rng, cast, settled, frozenset(out)
        self._dealt: dict[str, list[str]] = {}
        self._settled_fills: dict[tuple[str, str], dict[str, str]] = {}
        self._gone: set[str] = set()

    def write(
        self, thing: Thing, form_name: str, wanted: Wanted = (), stating: Mapping[str, str] | None = None
    ) -> Passage:
        """Write one passage; its colour names what is `wanted`, and `stating` has the wordings of some relations."""
        form, rng = forms()[form_name], self._rng
        own = bare(thing.name).split(" ")  # the town that a festival is named after sends it no trains
        self._gone = {*self._out, *thing.facts.values(), *own, *(value for _, value in wanted)}
        wanted = wanted or [(ASIDE + rng.choice([*thing.stated[form_name]]), "")]
        sentences = [
            ((stating or {}).get(name) or rng.choice(form.relation(name).wordings), value)
            for name, value in thing.stated[form_name].items()
        ]
        colours = list(self._naming(thing, form, wanted))
        while len(colours) < rng.choice(COLOURS):
            colours.append(self._colour(thing, form, [sentence for sentence, _ in colours]))
        while sum(_length(text) for text, _ in [*sentences, *colours]) < LEAST:
            colours.append(self._colour(thing, form, [sentence for sentence, _ in colours]))
        items = [(text, self._filled(thing, form, text, {"value": value})) for text, value in sentences]
        for sentence, fills in colours:
            items.insert(rng.randint(1, len(items)), (sentence, fills))
        named = tuple((slot, value) for _, fills in items for slot, value in fills.items() if slot != "value")
        return Passage(thing, form_name, " ".join(_sentences(rng, thing, form, items)), named)

    def _colour(self, thing: Thing, form: Form, taken: Sequence[str]) -> tuple[str, Mapping[str, str]]:
        """Return the next sentence of colour of a form that fits a thing: all are used before a new deal."""
        deck = self._dealt.setdefault(form.name, [])
        while True:
            if not deck:
                deck += [*form.colour, *_varied(form) * (OFTEN - 1)]
                self._rng.shuffle(deck)
            sentence = deck.pop()
            if sentence not in taken and (fills := self._fitting(thing, form, sentence, {})) is not None:
                return sentence, fills

    def _naming(self, thing: Thing, form: Form, wanted: Wanted) -> Iterator[tuple[str, Mapping[str, str]]]:
        """Yield distinct sentences of colour, with the slots that are to be filled with what is wanted."""
        taken = set[str]()
        for slot, value in wanted:
            known: Sequence[str] = [slot] if "{" in slot else naming(form.name, slot)
            if slot.startswith(ASIDE):
                relation = form.relation(slot.removeprefix(ASIDE))
                known, slot = relation.asides, slot_of(form, relation)
                if not value and not known:
                    continue
                known = [one for one in known if one not in taken] or naming(form.name, slot)
            free = [one for one in known if one not in taken]
            calm = [one for one in free if one not in _denied(thing, form, value)]
            idle = (
                [one for one in calm if one not in _spoken(form)] if value in thing.stated[form.name].values() else calm
            )
            sentence = self._rng.choice(idle or calm or free)
            taken.add(sentence)
            yield sentence, self._filled(thing, form, sentence, {slot: value} if value else {})

    def _filled(self, thing: Thing, form: Form, sentence: str, values: Mapping[str, str]) -> Mapping[str, str]:
        """Fill the slots of a sentence that has to be used, even if nothing that it could name is of the time."""
        fills = self._fitting(thing, form, sentence, values)
        if fills is None:
            named = {slot: thing.kind if slot == "other" else slot for slot in _filling(sentence) if slot not in values}
            things = {slot: kind for slot, kind in named.items() if kind in self._cast.eras}
            nearest = {slot: self._cast.anyone(thing, kind, self._gone) for slot, kind in things.items()}
            fills = self._fitting(thing, form, sentence, {**nearest, **values})
        return fills or {}

    def _fitting(self, thing: Thing, form: Form, sentence: str, values: Mapping[str, str]) -> Mapping[str, str] | None:
        """Fill the slots of a sentence; None if nothing that it could name is of the time."""
        filled = self._settled_fills.setdefault((thing.name, sentence), {}) if self._settled else {}
        for slot in _filling(sentence):
            if slot in values or slot not in filled:
                value = values[slot] if slot in values else self._fill(thing, form, slot)
                if value is None:
                    return None
                filled[slot] = value
                self._gone.add(value)
        return dict(filled)

    def _fill(self, thing: Thing, form: Form, slot: str) -> str | None:
        if slot in words_of():
            known = words_of()[slot]
            word = self._rng.choice(known)
            return (
                word
                if word not in self._gone
                else self._rng.choice([one for one in known if one not in self._gone] or known)
            )
        if slot == "year":
            return str(thing.era + self._rng.randint(*since(form)))
        return self._cast.another(self._rng, thing, thing.kind if slot == "other" else slot, self._gone)


@cache
def _filling(sentence: str) -> tuple[str, ...]:
    """Return the names of what fills the slots of a form's sentence, in order."""
    return tuple(slot.lower().removeprefix("a_") for slot in slots(sentence))


@cache
def _length(sentence: str) -> int:
    """Return how many words a form's sentence has."""
    return len(sentence.split())


def plainest(rng: Random, form: Form, relation: str, *, by_name: bool) -> str:
    """Draw one of the two shortest wordings of a relation, preferring those that say nothing else.

    With `by_name`, it is one that has a subject.
    """
    wordings = form.relation(relation).wordings
    if by_name:
        wordings = tuple(one for one in wordings if SUBJECT.intersection(wording.slots(one))) or wordings
    wordings = tuple(one for one in wordings if {*map(str.lower, slots(one))} <= {"value", "a_value"}) or wordings
    wordings = tuple(one for one in wordings if "[" not in one) or wordings
    return rng.choice(sorted(wordings, key=_length)[:2])


def stating_sentence(rng: Random, thing: Thing, form: Form, relation: str, sentence: str, *, by_name: bool) -> str:
    """Return a wording that states one fact of a thing as a sentence, with its name or else with a pronoun."""
    value = thing.stated[form.name][relation]
    return _sentence(rng, sentence, {"value": value}, thing.name, pronouns_of(thing), thing.name if by_name else "")


def pronouns_of(thing: Thing) -> Mapping[str, str]:
    """Return the pronoun of a thing for each slot that names it."""
    return PRONOUNS[gender_of(thing.name) if thing.kind == "person" else ""]


@cache
def _varied(form: Form) -> tuple[str, ...]:
    """Return the sentences of colour of a form that name something, and so seldom come twice alike."""
    few = {*words_of(), "year", *map(str.lower, SUBJECT)}
    return tuple(one for one in form.colour if {slot.lower().removeprefix("a_") for slot in slots(one)} - few)


@cache
def since(form: Form) -> tuple[int, int]:
    """Return between how many years after its first one a thing certainly exists."""
    ends = [one.span[0] for one in form.relations if one.later and one.span]
    return (GROWN if form.kind == "person" else SINCE[0], min([SINCE[1], 50, *ends]) - 1)


STEM = re.compile("[a-z]{4,}")
LETTERS = 5
"""How many first letters two words share that are taken for forms of one."""


def stems(text: str) -> frozenset[str]:
    """Return the first letters of the words of a text.

    >>> sorted(stems("Who designed its plans?"))
    ['desig', 'plans']
    """
    return frozenset(word[:LETTERS] for word in STEM.findall(text.lower()))


def masked(rng: Random, form: Form, relation: Relation, question: str, count: int) -> tuple[str, list[str]]:
    """Return a wording of a relation, and sentences besides it that share as many words with a question, or more.

    If the wordings do not allow that, it is one that shares as few words as possible.
    """
    asked = stems(question)

    def common(sentence: str) -> int:
        return len(asked & stems(sentence))

    asides = sorted(rng.sample(relation.asides, len(relation.asides)), key=common, reverse=True)[:count]
    least = min(map(common, relation.wordings))
    most = max(least, min(map(common, asides), default=0))
    return rng.choice([one for one in relation.wordings if common(one) <= most]), asides


def slot_of(form: Form, relation: Relation) -> str:
    """Return the slot of colour that names values of a relation."""
    return "other" if relation.type == form.kind else relation.type


def _denied(thing: Thing, form: Form, value: str) -> set[str]:
    """Return the sentences that would contradict what a thing states: that its founder did not found it."""
    stated = thing.stated[form.name]
    return {aside for one in form.relations if stated.get(one.name) == value for aside in one.asides}


@cache
def _spoken(form: Form) -> frozenset[str]:
    """Return the sentences that speak of any relation: what has one role seldom fits into another."""
    return frozenset(aside for one in form.relations for aside in one.asides)


@cache
def naming(form: str, slot: str) -> tuple[str, ...]:
    """Return the sentences of colour of a form that have a slot exactly once."""
    return tuple(one for one in forms()[form].colour if list(map(str.lower, slots(one))).count(slot) == 1)


def _sentences(rng: Random, thing: Thing, form: Form, items: Sequence[tuple[str, Mapping[str, str]]]) -> Iterator[str]:
    """Yield sentences with their subjects.

    A pronoun stands only after a sentence that began with the same subject and named nothing else of its kind, save the
    people that facts name. A surname stands alone only if nobody else in the passage has it.
    """
    pronouns = pronouns_of(thing)
    noun, alike = f"the {form.noun}", _stating_alike(form)
    if form.subject == "surname":
        surname = thing.name.split(" ")[1]
        is_shared = any(value.endswith(f" {surname}") for _, fills in items for value in fills.values())
        noun = thing.name if is_shared else surname
    clear = False
    for sentence, fills in items:
        yield _sentence(rng, sentence, fills, thing.name, pronouns, "" if clear and rng.random() < PRONOUN else noun)
        clear = sentence.startswith(("{Name}", "{It}")) and "other" not in fills and sentence not in alike


@cache
def _stating_alike(form: Form) -> frozenset[str]:
    """Return the wordings of a form that state a thing of its kind; none of a person, who is not taken for another."""
    alike = [one for one in form.relations if one.type == form.kind and form.subject != "surname"]
    return frozenset(wording for one in alike for wording in one.wordings)


PRONOUN = 0.75
"""How often a pronoun is used where it may be."""


def _sentence(
    rng: Random, sentence: str, fills: Mapping[str, str], name: str, pronouns: Mapping[str, str], noun: str
) -> str:
    """Return a sentence with its slots filled; a `noun`, if given, is used for the first mention."""
    first = noun

    def fill(slot: wording.Slot) -> str:
        nonlocal first
        if slot.name == "Name":
            first = ""
            return name
        if slot.name in SUBJECT:
            subject = first + ("'s" if slot.name.lower() == "its" else "") if first else pronouns[slot.name]
            first = ""
            return subject
        if slot.name == "a_value":
            return ("an " if starts_with_vowel(fills["value"]) else "a ") + fills["value"]
        return fills[slot.name.lower()]

    text = wording.write(wording.parse(sentence), fill, rng.choice, vowel=starts_with_vowel)
    return text[0].upper() + text[1:]
