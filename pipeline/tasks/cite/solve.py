"""Reads questions for facts with sources: the thing, what is asked about it, and which documents state it.

`pipeline.worlds.wording` compiles the patterns of clauses from the writer's own.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, repeat

from pipeline.caches import cache, lru_cache
from pipeline.metrics import cited
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.documents.solve import Entry, demonstrations, entries, plain, read
from pipeline.tasks.documents.solve import question as asked_in
from pipeline.tasks.solving import ReadError, contains_words
from pipeline.worlds.gazetteer import forms
from pipeline.worlds.gazetteer.questions import LAST, OPENINGS, clauses, lists
from pipeline.worlds.wording import parse, pattern, reader

PRONOUNS = {"it": "(?:it|he|she)", "him": "(?:it|him|her)", "its": "(?:its|his|her)"}
NAMED = {"it": "(?P<name>.+)", "him": "(?P<name>.+)", "its": "(?P<name>.+)'s?"}
"""What fills the slots of a clause; the first slot of the first clause has a name."""
CACHED_READINGS = 256
"""Questions and clauses whose readings are cached, as a row's own are read again and again."""
Place = tuple[str, str]
"""A form and one of its relations."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that is asked for: its value, or the name of a thing in a list, and the documents that state it."""

    place: Place
    value: str
    documents: tuple[Entry, ...]

    @property
    def ids(self) -> list[str]:
        """The ids of its documents."""
        return [one.id for one in self.documents]


def opened(text: str) -> tuple[Sequence[Entry], str]:
    """Return the documents of a prompt, and its question."""
    return read(text), asked_in(text)


def facts(found: Sequence[Entry], question: str) -> list[Fact]:
    """Return the facts that a question asks for, from the documents."""
    if listed := listed_in(question):
        return _things(found, listed)
    name, places = subject(found, question)
    return [_fact(found, name, some) for some in places]


def known(found: Sequence[Entry], question: str) -> list[Fact]:
    """Return the facts asked for that some documents state unambiguously; there may be fewer than asked."""
    try:
        if listed_in(question):
            return facts(found, question)
        name, places = subject(found, question)
    except ValueError:
        return []
    stated = []
    for some in places:
        with suppress(ValueError):
            stated.append(_fact(found, name, some))
    return stated


@lru_cache(maxsize=CACHED_READINGS)
def listed_in(question: str) -> list[tuple[Place, str]]:
    """Return the place and the value that a question for a list means, in every reading; none for other questions."""
    return [(place, plain(match["value"])) for place, one in _lists() if (match := one.fullmatch(question))]


def _things(found: Sequence[Entry], meant: Sequence[tuple[Place, str]]) -> list[Fact]:
    """Return all things that a list asks for."""
    things = {
        one.name: Fact(place, one.name, (one,))
        for place, value in meant
        for one in found
        if one.form.name == place[0] and one.facts.get(place[1]) == value
    }
    if not things:
        raise ReadError(f"the documents name nothing with {meant}")
    return [things[name] for name in sorted(things)]


def subject(found: Sequence[Entry], question: str) -> tuple[str, list[list[Place]]]:
    """Return the name that a question is about, and the places that each clause may mean."""
    kinds = {one.name: one.form.kind for one in found}
    for phrase in _openings(question):
        *most, last = phrase.split(LAST)
        if len(most) > 1:
            continue
        first, *rest = [*most[0].split(", "), last] if most else [last]
        for place, name in _named(first):
            kind = kinds.get(name, "")
            if kind == forms()[place[0]].kind:
                places = [_places(first, kind, named=name), *(_places(one, kind) for one in rest)]
                if all(places):
                    return name, places
    raise ReadError(f"no question: {question!r}")


@lru_cache(maxsize=CACHED_READINGS)
def _named(clause: str) -> list[tuple[Place, str]]:
    """Return the place and the name in a clause, in every reading."""
    return [(place, plain(match["name"])) for place, one in _clauses(named=True) if (match := one.fullmatch(clause))]


def _openings(question: str) -> Iterator[str]:
    """Yield the clauses after each opening that fits."""
    for one in OPENINGS:
        head, _, end = one.partition("{clauses}")
        if question.startswith(head) and question.endswith(end):
            yield question[len(head) : -len(end)]


@lru_cache(maxsize=CACHED_READINGS)
def _places(clause: str, kind: str, named: str = "") -> list[Place]:
    """Return the places that a clause about a thing of a kind may mean."""
    return [
        place
        for place, pattern in _clauses(named=bool(named))
        if forms()[place[0]].kind == kind
        and (match := pattern.fullmatch(clause))
        and (not named or plain(match["name"]) == named)
    ]


def _fact(found: Sequence[Entry], name: str, places: Sequence[Place]) -> Fact:
    """Return the fact that a clause asks for."""
    stating = [(place, one) for one in found if one.name == name for place in places if _states(one, place)]
    values = {(place, one.facts[place[1]]) for place, one in stating}
    if len(values) != 1:
        raise ReadError(f"the documents give {len(values)} values for {places[0]} of {name!r}")
    ((place, value),) = values
    return Fact(place, value, tuple(one for _, one in stating))


def _states(one: Entry, place: Place) -> bool:
    return one.form.name == place[0] and place[1] in one.facts


@cache
def _clauses(*, named: bool) -> list[tuple[Place, re.Pattern[str]]]:
    """Return every clause as a pattern, with or without a name in its first slot."""
    return [(place, re.compile(_filled(wording, named=named))) for place, some in clauses().items() for wording in some]


def _filled(wording: str, *, named: bool) -> str:
    """Return a clause as a pattern."""
    tables = chain([NAMED] if named else [], repeat(PRONOUNS))
    return pattern(parse(wording), lambda slot: next(tables)[slot.name])


@cache
def _lists() -> list[tuple[Place, re.Pattern[str]]]:
    """Return every question for a list as a pattern."""
    return [(place, reader(wording)) for place, some in lists().items() for wording in some]


MENTIONS = 2
"""How often a decoy about another thing names the one asked about."""
FACETS = "facets"
CITED = re.compile(r"\[(\d{5})\]")
Keyed = Callable[[Mapping[str, Sequence[str]]], tuple[str, ...]]


def faults(row: PublishedRow, decoys: int, keyed: Keyed) -> Iterator[str]:
    """Yield what is wrong with a row that promises `decoys`; `keyed` writes its key from the ids for each value."""
    found, asked = opened(row.text)
    wanted = facts(found, asked)
    needed = [one for fact in wanted for one in fact.documents]
    near = _marked(row, found, "decoy")
    if asked != row.question:
        yield f"the prompt asks {asked!r}"
    if _marked(row, found, "relevant") != sorted(needed, key=lambda one: one.start):
        yield "the marks of role relevant are not its documents"
    yield from _id_faults(row, found)
    yield from _double_faults(found, [*needed, *near])
    yield from _fact_faults(row, wanted)
    yield from _needed_faults(row, found, wanted, asked, keyed)
    if len(near) != decoys:
        yield f"{len(near)} decoys, expected {decoys}"
    for one in near:
        yield from _near_faults(one, wanted, needed, [value for _, value in listed_in(asked)])
    yield from _elsewhere_faults(found, wanted)
    yield from _example_faults(row, keyed, {fact.value for fact in wanted})
    yield from _key_faults(row)


def _marked(row: PublishedRow, found: Sequence[Entry], role: str) -> list[Entry]:
    """Return the documents marked with a role, in order."""
    spans = {*row.spans(role)}
    return [one for one in found if (one.start, one.end) in spans]


def _id_faults(row: PublishedRow, found: Sequence[Entry]) -> Iterator[str]:
    """Check that every document has an id of its own, even in demonstrations."""
    shown = [one for documents, _, _ in demonstrations(row.text) for one in entries(documents)]
    times = Counter(one.id for one in (*found, *shown))
    if twice := [one for one, number in times.items() if number > 1 or not one]:
        yield f"the id {twice[0]!r} is that of {times[twice[0]]} documents"


def _double_faults(found: Sequence[Entry], several: Sequence[Entry]) -> Iterator[str]:
    """Check that documents agree, and that only those in `several` share thing and form with another."""
    known: dict[tuple[str, str, str], str] = {}
    kinds: dict[str, set[str]] = defaultdict(set)
    named = Counter(one.name for one in found)
    for one in (each for each in found if named[each.name] > 1):
        kinds[one.name].add(one.form.kind)
        for relation, value in one.facts.items():
            if known.setdefault((one.form.name, one.name, relation), value) != value:
                yield f"two documents differ in the {relation} of {one.name!r}"
    if mixed := [name for name, each in kinds.items() if len(each) > 1]:
        yield f"{mixed[0]!r} is the name of two things"
    own = {id(one) for one in several}
    times = Counter((one.form.name, one.name) for one in found if id(one) not in own)
    own_keys = {(one.form.name, one.name) for one in several}
    for key, number in times.items():
        if number > 1 or key in own_keys:
            yield f"two documents are about {key[1]!r}"


def _fact_faults(row: PublishedRow, wanted: Sequence[Fact]) -> Iterator[str]:
    """Check the number of facts, how many are stated twice, and that no document states two."""
    facets = row.stratum.subtask == FACETS
    if len(wanted) != row.stratum.complexity:
        yield f"{len(wanted)} facts are asked for, expected {row.stratum.complexity}"
    again = sum(len(fact.documents) == 2 for fact in wanted)
    if any(len(fact.documents) > 2 for fact in wanted) or again != (len(wanted) // 2 if facets else 0):
        yield f"{again} facts are stated twice"
    times = Counter(id(one) for fact in wanted for one in fact.documents)
    if max(times.values()) > 1:
        yield "a document states two of the facts"


def _needed_faults(
    row: PublishedRow, found: Sequence[Entry], wanted: Sequence[Fact], asked: str, keyed: Keyed
) -> Iterator[str]:
    """Check that the key changes without any one document, and that a fact is lost without all of its documents."""
    if row.key.answers != keyed({fact.value: sorted(fact.ids) for fact in wanted}):
        yield "the key is not what the documents say"
    near = [one for one in found if one.name in {each.name for fact in wanted for each in fact.documents}]
    for fact in wanted:
        for out in fact.documents:
            left = _facts([one for one in near if one is not out], asked)
            if left is not None and keyed({one.value: sorted(one.ids) for one in left}) == row.key.answers:
                yield f"the key is the same without the document {out.id}"
        left = _facts([one for one in near if one not in fact.documents], asked)
        if left is not None and len(left) == len(wanted):
            yield f"the documents say {fact.value!r} without those that state it"


def _facts(found: Sequence[Entry], asked: str) -> list[Fact] | None:
    try:
        return facts(found, asked)
    except ValueError:
        return None


def _near_faults(one: Entry, wanted: Sequence[Fact], needed: Sequence[Entry], listed: Sequence[str]) -> Iterator[str]:
    """Check that a decoy is of the asked kind, and is about the thing, names it twice, or names the value of a list."""
    names = {each.name for each in needed}
    if one.form.kind != needed[0].form.kind:
        yield f"the decoy {one.name!r} is of another kind than what is asked about"
    stated = [fact for fact in wanted if one.form.name == fact.place[0] and fact.place[1] in one.facts]
    if one.name in names:
        if stated:
            yield f"the decoy {one.id} states what is asked"
    elif listed and not any(contains_words(value, one.text) for value in listed):
        yield f"the decoy {one.name!r} does not name {listed[0]!r}"
    elif not listed and sum(one.text.count(name) for name in names) < MENTIONS:
        yield f"the decoy {one.name!r} does not name twice what is asked about"
    elif not stated:
        yield f"the decoy {one.name!r} does not state what is asked of another thing"


def _elsewhere_faults(found: Sequence[Entry], wanted: Sequence[Fact]) -> Iterator[str]:
    """Check that each value also occurs in a document that does not state the fact."""
    for fact in wanted:
        own = {id(one) for one in fact.documents}
        others = [one.text for one in found if id(one) not in own]
        if not any(fact.value in one for one in others) and not any(contains_words(fact.value, one) for one in others):
            yield f"{fact.value!r} stands in no other document"


def _key_faults(row: PublishedRow) -> Iterator[str]:
    """Check that every answer of the key would get the full score."""
    key = {"question": row.question, "target": row.key.target, "answers": row.key.answers}
    for answer in row.key.answers:
        if cited(key, answer) != 1:
            yield f"the answer {answer!r} has not the full score"


def _example_faults(row: PublishedRow, keyed: Keyed, values: Set[str]) -> Iterator[str]:
    """Check that demonstrations are right, each fact with its document, and contain none of the `values`."""
    shown = demonstrations(row.text)
    if len(shown) != len(row.spans("demo")):
        yield "the demonstrations are not those marked"
    for documents, asked, reply in shown:
        wanted = facts(list(entries(documents)), asked)
        if row.stratum.subtask != FACETS:
            right = reply == keyed({fact.value: fact.ids for fact in wanted})[0]
        else:
            *parts, end = CITED.split(reply)
            statements = zip(wanted, parts[::2], parts[1::2], strict=True)
            right = end == "." and all(
                plain(fact.value).lower() in each.lower() and number in fact.ids for fact, each, number in statements
            )
        if not right:
            yield f"the demonstration {asked!r} is wrong"
        if not {fact.value for fact in wanted}.isdisjoint(values):
            yield f"the demonstration {asked!r} has a part of the answer of the key"
