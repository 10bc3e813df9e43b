"""A reader of questions: what they ask of which things, answered from a table of documents."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import permutations

from pipeline.tasks.rag.reader import Entry, plain
from pipeline.worlds.gazetteer.forms import Form, Relation, forms

OF_TWO = "whichever of "
PAIR = re.compile(r"Consider ([^.]+)\. (.+)")
ONE = re.compile(r"\bthe one (?:that|who) ")
"""How a question tells one of two things that it names."""
Answer = tuple[str, tuple[Entry, ...]]
"""An answer, and the documents that it needs."""


@dataclass(frozen=True, slots=True)
class Table:
    """Documents by the names of their things, and by the values that they state."""

    by_name: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))
    by_value: dict[str, list[Entry]] = field(default_factory=lambda: defaultdict(list))

    @classmethod
    def of(cls, entries: Sequence[Entry]) -> Table:
        """Return the table of some documents."""
        table = cls()
        for entry in entries:
            table.by_name[entry.name].append(entry)
            for value in set(entry.facts.values()):
                table.by_value[value].append(entry)
        return table

    def without(self, one: Entry) -> Table:
        """Return the table without one document."""
        entries = {id(entry): entry for some in self.by_name.values() for entry in some if entry is not one}
        return Table.of(list(entries.values()))


def answers(table: Table, question: str) -> list[Answer]:
    """Return every answer to a question, each with the documents that it needs; several answers of a list together."""
    found = dict[str, Answer]()
    if pair := PAIR.fullmatch(question):
        question = ONE.sub(f"{OF_TWO}{pair[1]} ", pair[2])
    for form, relation, mark, pattern in _questions():
        if match := pattern.fullmatch(question):
            for answer in _MARKS[mark](table, form, relation, match):
                found.setdefault(answer[0], answer)
    return list(found.values())


def _asked_value(table: Table, form: Form, relation: Relation, match: re.Match[str]) -> Iterator[Answer]:
    for name, needed in things(table, match["name"]):
        for entry in table.by_name.get(name, ()):
            if entry.form.kind == form.kind and relation.name in entry.facts:
                used = needed if entry in needed else (*needed, entry)
                yield entry.facts[relation.name], used


def _members(table: Table, form: Form, relation: Relation, match: re.Match[str]) -> Iterator[Answer]:
    value = plain(match["value"])
    some = [one for one in table.by_value.get(value, ()) if one.form is form and one.facts.get(relation.name) == value]
    if some:
        yield ", ".join(sorted(one.name for one in some)), tuple(some)


_MARKS = {"?": _asked_value, "*": _members}


def things(table: Table, phrase: str) -> list[tuple[str, tuple[Entry, ...]]]:
    """Return the things that a phrase means, each with the documents that tell so."""
    if plain(phrase) in table.by_name:
        return [(plain(phrase), ())]
    found = []
    for form, relation, pattern in _phrases():
        if match := pattern.fullmatch(phrase):
            for name, needed in things(table, match["name"]):
                for entry in table.by_name.get(name, ()):
                    if entry.form is form and relation.name in entry.facts:
                        found.append((entry.facts[relation.name], (*needed, entry)))
    if phrase.startswith(OF_TWO):
        found += _of_two(table, phrase.removeprefix(OF_TWO))
    for form, first, second, pattern in _descriptions():
        if match := pattern.fullmatch(phrase):
            one, other = plain(match["one"]), plain(match["other"])
            for entry in table.by_value.get(one, ()):
                if entry.form is form and (entry.facts.get(first), entry.facts.get(second)) == (one, other):
                    found.append((entry.name, (entry,)))
    return list(dict.fromkeys(found))


def given(question: str) -> list[dict[tuple[str, str], str]]:
    """Return what a question says of things that it does not name: values by form and relation, in every reading."""
    found = []
    for form, relation, mark, pattern in _questions():
        match = pattern.fullmatch(question)
        if match and mark == "*":
            found.append({(form.name, relation.name): plain(match["value"])})
        if match and mark == "?":
            for described, first, second, said in _descriptions():
                if two := said.fullmatch(match["name"]):
                    one, other = plain(two["one"]), plain(two["other"])
                    found.append({(described.name, first): one, (described.name, second): other})
    return found


def _of_two(table: Table, phrase: str) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    """Yield the one of two things that has the smaller or larger number, with the documents of both."""
    for form, relation, larger, said in _comparisons():
        if not phrase.endswith(said):
            continue
        named = phrase.removesuffix(said)
        for joint in re.finditer(" and ", named):
            pair = [
                [one for one in table.by_name.get(plain(name), ()) if one.form is form and relation.name in one.facts]
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
