"""A reader of questions for facts with their sources: what they ask of which thing, and which documents say so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache, lru_cache

from pipeline.tasks.cite.wordings import LAST, OPENINGS, clauses, lists
from pipeline.tasks.rag.proof import question as asked_in
from pipeline.tasks.rag.reader import Entry, plain, read
from pipeline.worlds.gazetteer import forms

SLOT = re.compile(r"\\\{(it|him|its|value)\\\}")
PRONOUNS = {"it": "(?:it|he|she)", "him": "(?:it|him|her)", "its": "(?:its|his|her)"}
NAMED = {"it": "(?P<name>.+)", "him": "(?P<name>.+)", "its": "(?P<name>.+)'s?"}
"""What stands in the slots of a clause; in the first slot of the first one a name."""
KEPT = 256
"""Questions and clauses of which the readings are kept: a row's own are read again and again."""
Place = tuple[str, str]
"""A form and a relation of it."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact that is asked for: its value, or the name of a thing of a list, and the documents that say so."""

    place: Place
    value: str
    documents: tuple[Entry, ...]

    @property
    def ids(self) -> list[str]:
        """The ids of its documents."""
        return [one.id for one in self.documents]


def opened(text: str) -> tuple[Sequence[Entry], str]:
    """Return the documents of a prompt, and its question.

    Raises:
        ValueError: if it has none.
    """
    return read(text), asked_in(text)


def facts(found: Sequence[Entry], question: str) -> list[Fact]:
    """Return the facts that a question asks for, as the documents have them.

    Raises:
        ValueError: if it cannot be read, or a fact has no value or two.
    """
    if listed := _listed(question):
        return _things(found, listed)
    name, places = subject(found, question)
    return [_fact(found, name, some) for some in places]


def known(found: Sequence[Entry], question: str) -> list[Fact]:
    """Return those of the facts that a question asks for which some of its documents give, none in two ways."""
    try:
        if _listed(question):
            return facts(found, question)
        name, places = subject(found, question)
    except ValueError:
        return []
    stated = []
    for some in places:
        with suppress(ValueError):
            stated.append(_fact(found, name, some))
    return stated


@lru_cache(maxsize=KEPT)
def _listed(question: str) -> list[tuple[Place, str]]:
    """Return of which place a question lists all things, and with what value, in every reading."""
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
        raise ValueError(f"the documents name nothing with {meant}")
    return [things[name] for name in sorted(things)]


def subject(found: Sequence[Entry], question: str) -> tuple[str, list[list[Place]]]:
    """Return whom or what a question is about, and what each clause may ask of it.

    Raises:
        ValueError: if it cannot be read.
    """
    kinds = {one.name: one.form.kind for one in found}
    for said in _openings(question):
        *most, last = said.split(LAST)
        if len(most) > 1:
            continue
        first, *rest = [*most[0].split(", "), last] if most else [last]
        for place, name in _named(first):
            kind = kinds.get(name, "")
            if kind == forms()[place[0]].kind:
                places = [_places(first, kind, named=name), *(_places(one, kind) for one in rest)]
                if all(places):
                    return name, places
    raise ValueError(f"no question: {question!r}")


@lru_cache(maxsize=KEPT)
def _named(said: str) -> list[tuple[Place, str]]:
    """Return what a clause may ask of whom it names, in every reading."""
    return [(place, plain(match["name"])) for place, one in _clauses(named=True) if (match := one.fullmatch(said))]


def _openings(question: str) -> Iterator[str]:
    """Yield what is asked behind an opening."""
    for one in OPENINGS:
        head, _, end = one.partition("{clauses}")
        if question.startswith(head) and question.endswith(end):
            yield question[len(head) : -len(end)]


@lru_cache(maxsize=KEPT)
def _places(said: str, kind: str, named: str = "") -> list[Place]:
    """Return what a clause may ask of a thing of a kind."""
    return [
        place
        for place, pattern in _clauses(named=bool(named))
        if forms()[place[0]].kind == kind
        and (match := pattern.fullmatch(said))
        and (not named or plain(match["name"]) == named)
    ]


def _fact(found: Sequence[Entry], name: str, places: Sequence[Place]) -> Fact:
    """Return the fact that a clause asks for.

    Raises:
        ValueError: if it has no value or two.
    """
    stating = [(place, one) for one in found if one.name == name for place in places if _states(one, place)]
    values = {(place, one.facts[place[1]]) for place, one in stating}
    if len(values) != 1:
        raise ValueError(f"the documents give {len(values)} values for {places[0]} of {name!r}")
    ((place, value),) = values
    return Fact(place, value, tuple(one for _, one in stating))


def _states(one: Entry, place: Place) -> bool:
    return one.form.name == place[0] and place[1] in one.facts


@cache
def _clauses(*, named: bool) -> list[tuple[Place, re.Pattern[str]]]:
    """Return every clause as a pattern, with a name in its first slot or without."""
    return [
        (place, re.compile(_filled(said, NAMED if named else PRONOUNS)))
        for place, some in clauses().items()
        for said in some
    ]


def _filled(said: str, first: dict[str, str]) -> str:
    """Return a clause as a pattern."""
    escaped = re.escape(said)
    once = SLOT.sub(lambda found: first[found[1]], escaped, count=1)
    return SLOT.sub(lambda found: PRONOUNS[found[1]], once)


@cache
def _lists() -> list[tuple[Place, re.Pattern[str]]]:
    """Return every question for all things that have something in common, as a pattern."""
    return [
        (place, re.compile(SLOT.sub(r"(?P<value>.+)", re.escape(said))))
        for place, some in lists().items()
        for said in some
    ]
