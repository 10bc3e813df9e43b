"""A reader of questions: what they ask of which things, answered from a table of documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import permutations

from pipeline.tasks.rag.reader import Entry, plain
from pipeline.worlds.gazetteer.forms import Form, Relation, forms

OF_TWO = "whichever of "
PAIR = re.compile(r"Consider ([^.]+)\. (.+)")
ONE = re.compile(r"\bthe one (?:that|who) ")
"""How a question tells one of two things that it names."""
KEPT = 256
"""Questions and phrases of which the readings are kept: a row's own are read again and again."""
Answer = tuple[str, tuple[Entry, ...]]
"""An answer, and the documents that it needs."""


class Table:
    """Documents by the names of their things, and by the values that they state."""

    def __init__(self, entries: Sequence[Entry], out: Entry | None = None) -> None:
        self._entries, self._out = entries, out
        self._names: dict[str, list[Entry]] | None = None
        self._values: dict[str, list[Entry]] = {}

    def named(self, name: str) -> Sequence[Entry]:
        """Return the documents about the things of a name."""
        if self._names is None:
            self._names = {}
            for entry in self._entries:
                self._names.setdefault(entry.name, []).append(entry)
        return self._but_out(self._names.get(name, ()))

    def stating(self, value: str) -> Sequence[Entry]:
        """Return the documents that state a value."""
        if value not in self._values:
            self._values[value] = [entry for entry in self._entries if value in entry.facts.values()]
        return self._but_out(self._values[value])

    def without(self, one: Entry) -> Table:
        """Return the table without one document; it shares what was looked up in this one."""
        less = Table(self._entries, one)
        self.named("")
        less._names, less._values = self._names, self._values
        return less

    def _but_out(self, some: Sequence[Entry]) -> Sequence[Entry]:
        return some if self._out is None else [entry for entry in some if entry is not self._out]


def answers(table: Table, question: str) -> list[Answer]:
    """Return every answer to a question, each with the documents that it needs; several answers of a list together."""
    found = dict[str, Answer]()
    if pair := PAIR.fullmatch(question):
        question = ONE.sub(f"{OF_TWO}{pair[1]} ", pair[2])
    for form, relation, mark, named in _readings(question):
        for answer in _MARKS[mark](table, form, relation, named):
            found.setdefault(answer[0], answer)
    return list(found.values())


def _asked_value(table: Table, form: Form, relation: Relation, said: str) -> Iterator[Answer]:
    for name, needed in things(table, said):
        for entry in table.named(name):
            if entry.form.kind == form.kind and relation.name in entry.facts:
                used = needed if entry in needed else (*needed, entry)
                yield entry.facts[relation.name], used


def _members(table: Table, form: Form, relation: Relation, said: str) -> Iterator[Answer]:
    value = plain(said)
    some = [one for one in table.stating(value) if one.form is form and one.facts.get(relation.name) == value]
    if some:
        yield ", ".join(sorted(one.name for one in some)), tuple(some)


_MARKS = {"?": _asked_value, "*": _members}


def things(table: Table, phrase: str) -> list[tuple[str, tuple[Entry, ...]]]:
    """Return the things that a phrase means, each with the documents that tell so."""
    if table.named(plain(phrase)):
        return [(plain(phrase), ())]
    found = []
    for form, relation, named in _meanings(phrase):
        for name, needed in things(table, named):
            for entry in table.named(name):
                if entry.form is form and relation.name in entry.facts:
                    found.append((entry.facts[relation.name], (*needed, entry)))
    if phrase.startswith(OF_TWO):
        found += _of_two(table, phrase.removeprefix(OF_TWO))
    for form, first, second, one, other in _described(phrase):
        for entry in table.stating(one):
            if entry.form is form and (entry.facts.get(first), entry.facts.get(second)) == (one, other):
                found.append((entry.name, (entry,)))
    return list(dict.fromkeys(found))


def given(question: str) -> list[dict[tuple[str, str], str]]:
    """Return what a question says of things that it does not name: values by form and relation, in every reading."""
    found = []
    for form, relation, mark, named in _readings(question):
        if mark == "*":
            found.append({(form.name, relation.name): plain(named)})
        if mark == "?":
            for described, first, second, one, other in _described(named):
                found.append({(described.name, first): one, (described.name, second): other})
    return found


@lru_cache(maxsize=KEPT)
def _readings(question: str) -> list[tuple[Form, Relation, str, str]]:
    """Return what a question asks for in every reading: with what mark, and the name or value in its slot."""
    return [
        (form, relation, mark, match["value" if mark == "*" else "name"])
        for form, relation, mark, pattern in _questions()
        if (match := pattern.fullmatch(question))
    ]


@lru_cache(maxsize=KEPT)
def _meanings(phrase: str) -> list[tuple[Form, Relation, str]]:
    """Return of which relation a phrase means the value, in every reading, and what it says whose."""
    return [
        (form, relation, match["name"])
        for form, relation, pattern in _phrases()
        if (match := pattern.fullmatch(phrase))
    ]


@lru_cache(maxsize=KEPT)
def _described(phrase: str) -> list[tuple[Form, str, str, str, str]]:
    """Return the form that a phrase describes in every reading, two of its relations and their values."""
    return [
        (form, first, second, plain(match["one"]), plain(match["other"]))
        for form, first, second, pattern in _descriptions()
        if (match := pattern.fullmatch(phrase))
    ]


def _of_two(table: Table, phrase: str) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    """Yield the one of two things that has the smaller or larger number, with the documents of both."""
    for form, relation, larger, said in _comparisons():
        if not phrase.endswith(said):
            continue
        named = phrase.removesuffix(said)
        for joint in re.finditer(" and ", named):
            pair = [
                [one for one in table.named(plain(name)) if one.form is form and relation.name in one.facts]
                for name in (named[: joint.start()], named[joint.end() :])
            ]
            if all(len(each) == 1 for each in pair):
                one, other = (each[0] for each in pair)
                first, second = (int(each.facts[relation.name].replace(",", "")) for each in (one, other))
                if first != second:
                    yield (one if (first > second) == larger else other).name, (one, other)


@cache
def _comparisons() -> list[tuple[Form, Relation, bool, str]]:
    """Return what can be said of one of two things: by which relation, and whether of the larger."""
    return [
        (form, relation, mark == ">", re.sub(rf"^(?:Who|Which)(?: {form.noun})?|, [^,]+$", "", said))
        for form in forms().values()
        for relation in form.relations
        for mark in "<>"
        for said in relation.lines[mark]
    ]


@cache
def _questions() -> list[tuple[Form, Relation, str, re.Pattern[str]]]:
    """Return every wording of a question as a pattern."""
    return [
        (form, relation, mark, _pattern(said))
        for form in forms().values()
        for relation in form.relations
        for mark in _MARKS
        for said in relation.lines[mark]
    ]


@cache
def _phrases() -> list[tuple[Form, Relation, re.Pattern[str]]]:
    """Return every phrase for the value of a relation."""
    return [
        (form, relation, _pattern(said))
        for form in forms().values()
        for relation in form.relations
        for said in relation.lines["="]
    ]


@cache
def _descriptions() -> list[tuple[Form, str, str, re.Pattern[str]]]:
    """Return every pair of attributes that a thing can be described by."""
    found = []
    for form in forms().values():
        known = [(one.name, said) for one in form.relations for said in one.lines["~"]]
        for (first, one), (second, other) in permutations(known, 2):
            if first != second:
                said = f"the {form.noun} {'who' if form.kind == 'person' else 'that'} "
                pattern = said + one.replace("{value}", "{one}") + " and " + other.replace("{value}", "{other}")
                found.append((form, first, second, _pattern(pattern)))
    return found


def _pattern(said: str) -> re.Pattern[str]:
    """Return a pattern of a wording: whatever stands in braces takes any words."""
    return re.compile(re.sub(r"\\\{(\w+)\\\}", r"(?P<\1>.+)", re.escape(said)))
