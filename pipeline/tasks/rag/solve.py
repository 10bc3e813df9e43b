"""Answers questions about documents from a prompt's text alone, by a table of what the documents state.

The patterns of questions are not independent of the writer: `pipeline.worlds.wording` compiles them from the wordings
that it fills. All that follows from them is worked out by this module's own code.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from pipeline.caches import cache, lru_cache
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.documents.solve import Entry, demonstrations, entries, plain, question, read
from pipeline.tasks.solving import PROMPT, ReadError, contains_words
from pipeline.worlds.gazetteer.things import Form, Relation, forms
from pipeline.worlds.wording import reader

MENTIONS = 2
"""How often a decoy names what is asked about, at least."""
ALTERNATIVES = {2: (4,), 3: (2, 2), 4: (0, 0, 1)}
"""How many documents of a bridge give, of other things, what each step after the first reads, at least."""
OF_TWO = "whichever of "
PAIR = re.compile(r"Consider ([^.]+)\. (.+)")
ONE = re.compile(r"\bthe one (?:that|who) ")
"""How a question refers to one of two things that it names."""
KEPT = 256
"""How many questions and phrases keep their readings: a row's own are read again and again."""
Answer = tuple[str, tuple[Entry, ...]]
"""An answer, and the documents that it needs."""


class Table:
    """Documents indexed by the names of their things and by the values that they state."""

    def __init__(self, entries: Sequence[Entry], out: Entry | None = None) -> None:
        self._entries, self._out = entries, out
        self._names: dict[str, list[Entry]] | None = None
        self._values: dict[str, list[Entry]] = {}

    def named(self, name: str) -> Sequence[Entry]:
        """Return the documents about things of a name."""
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

    def without(self, entry: Entry) -> Table:
        """Return the table without one document; both share their lookups."""
        less = Table(self._entries, entry)
        self.named("")
        less._names, less._values = self._names, self._values
        return less

    def _but_out(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        return entries if self._out is None else [entry for entry in entries if entry is not self._out]


def answers(table: Table, question: str) -> list[Answer]:
    """Return every answer to a question, each with the documents that it needs; a list is one answer."""
    by_answer = dict[str, Answer]()
    if pair := PAIR.fullmatch(question):
        question = ONE.sub(f"{OF_TWO}{pair[1]} ", pair[2])
    for form, relation, mark, named in _readings(question):
        for answer in _MARKS[mark](table, form, relation, named):
            by_answer.setdefault(answer[0], answer)
    return list(by_answer.values())


def _asked_value(table: Table, form: Form, relation: Relation, phrase: str) -> Iterator[Answer]:
    for name, needed in things(table, phrase):
        for entry in table.named(name):
            if entry.form.kind == form.kind and relation.name in entry.facts:
                used = needed if entry in needed else (*needed, entry)
                yield entry.facts[relation.name], used


def _members(table: Table, form: Form, relation: Relation, phrase: str) -> Iterator[Answer]:
    value = plain(phrase)
    members = [one for one in table.stating(value) if one.form is form and one.facts.get(relation.name) == value]
    if members:
        yield ", ".join(sorted(one.name for one in members)), tuple(members)


_MARKS = {"?": _asked_value, "*": _members}


def things(table: Table, phrase: str) -> list[tuple[str, tuple[Entry, ...]]]:
    """Return the things that a phrase may mean, each with the documents that establish it."""
    if table.named(plain(phrase)):
        return [(plain(phrase), ())]
    meant = []
    for form, relation, named in _meanings(phrase):
        for name, needed in things(table, named):
            for entry in table.named(name):
                if entry.form is form and relation.name in entry.facts:
                    meant.append((entry.facts[relation.name], (*needed, entry)))
    if phrase.startswith(OF_TWO):
        meant += _of_two(table, phrase.removeprefix(OF_TWO))
    for form, first, second, first_value, second_value in _described(phrase):
        for entry in table.stating(first_value):
            if entry.form is form and (entry.facts.get(first), entry.facts.get(second)) == (first_value, second_value):
                meant.append((entry.name, (entry,)))
    return list(dict.fromkeys(meant))


def described_values(question: str) -> list[dict[tuple[str, str], str]]:
    """Return, for every reading, the values that a question gives of unnamed things, by form and relation."""
    readings = []
    for form, relation, mark, named in _readings(question):
        if mark == "*":
            readings.append({(form.name, relation.name): plain(named)})
        if mark == "?":
            for described, first, second, first_value, second_value in _described(named):
                readings.append({(described.name, first): first_value, (described.name, second): second_value})
    return readings


@lru_cache(maxsize=KEPT)
def _readings(question: str) -> list[tuple[Form, Relation, str, str]]:
    """Return every reading of a question: form, relation, mark, and the name or value in its slot."""
    return [
        (form, relation, mark, match["value" if mark == "*" else "name"])
        for form, relation, mark, pattern in _questions()
        if (match := pattern.fullmatch(question))
    ]


@lru_cache(maxsize=KEPT)
def _meanings(phrase: str) -> list[tuple[Form, Relation, str]]:
    """Return every reading of a phrase for a relation's value: form, relation, and the phrase for its owner."""
    return [
        (form, relation, match["name"])
        for form, relation, pattern in _phrases()
        if (match := pattern.fullmatch(phrase))
    ]


@lru_cache(maxsize=KEPT)
def _described(phrase: str) -> list[tuple[Form, str, str, str, str]]:
    """Return every reading of a description: the form, two of its relations and their values."""
    return [
        (form, first, second, plain(match["one"]), plain(match["other"]))
        for form, first, second, pattern in _descriptions()
        if (match := pattern.fullmatch(phrase))
    ]


def _of_two(table: Table, phrase: str) -> Iterator[tuple[str, tuple[Entry, ...]]]:
    """Yield whichever of two things has the smaller or larger number, with the documents of both."""
    for form, relation, larger, wording in _comparisons():
        if not phrase.endswith(wording):
            continue
        named = phrase.removesuffix(wording)
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
    """Return what can be said of one of two things: form, relation, whether the larger is meant, and the words."""
    return [
        (form, relation, mark == ">", re.sub(rf"^(?:Who|Which)(?: {form.noun})?|, [^,]+$", "", wording))
        for form in forms().values()
        for relation in form.relations
        for mark in "<>"
        for wording in relation.lines[mark]
    ]


@cache
def _questions() -> list[tuple[Form, Relation, str, re.Pattern[str]]]:
    """Return every wording of a question as a pattern."""
    return [
        (form, relation, mark, reader(wording))
        for form in forms().values()
        for relation in form.relations
        for mark in _MARKS
        for wording in relation.lines[mark]
    ]


@cache
def _phrases() -> list[tuple[Form, Relation, re.Pattern[str]]]:
    """Return every phrase for the value of a relation."""
    return [
        (form, relation, reader(wording))
        for form in forms().values()
        for relation in form.relations
        for wording in relation.lines["="]
    ]


@cache
def _descriptions() -> list[tuple[Form, str, str, re.Pattern[str]]]:
    """Return every pair of attributes that can describe a thing, as a pattern."""
    patterns = []
    for form in forms().values():
        known = [(one.name, wording) for one in form.relations for wording in one.lines["~"]]
        for (first, before), (second, after) in permutations(known, 2):
            if first != second:
                opening = f"the {form.noun} {'who' if form.kind == 'person' else 'that'} "
                pattern = opening + before.replace("{value}", "{one}") + " and " + after.replace("{value}", "{other}")
                patterns.append((form, first, second, reader(pattern)))
    return patterns


@PROMPT.cached
def table_of(text: str) -> Table:
    """Return the documents of a prompt as a table."""
    return Table(read(text))


def answered(table: Table, asked: str) -> Answer:
    """Return the one answer to a question."""
    possible = answers(table, asked)
    if len(possible) != 1:
        raise ReadError(f"the documents give {len(possible)} answers to {asked!r}: {[one for one, _ in possible][:3]}")
    return possible[0]


def solved(text: str) -> Answer:
    """Return the answer to a prompt's question, and the documents that it needs."""
    return answered(table_of(text), question(text))


def faults(row: PublishedRow, decoys: int) -> Iterator[str]:
    """Yield what is wrong with a row that should have `decoys` decoys."""
    entries, table, asked = read(row.text), table_of(row.text), question(row.text)
    answer, needed = answered(table, asked)
    yield from _double_faults(entries)
    if asked != row.question:
        yield f"the prompt asks {asked!r}"
    if len(needed) != row.stratum.complexity:
        yield f"the answer needs {len(needed)} documents, expected {row.stratum.complexity}"
    yield from _mark_faults(row, "relevant", needed)
    for entry in needed:
        if [each for each, _ in answers(table.without(entry), asked)] == [answer]:
            yield f"the answer is the same without the document about {entry.name}"
    yield from _decoy_faults(row, entries, needed, asked, decoys)
    yield from _elsewhere_faults(row, entries, needed, answer, asked)
    if row.stratum.subtask == "bridge":
        yield from _step_faults(entries, needed, answer)
    yield from _example_faults(row)


def _double_faults(entries: Sequence[Entry]) -> Iterator[str]:
    """Check that no two documents of one form share a name, and no name belongs to things of two kinds."""
    twice = [key for key, times in Counter((one.form.name, one.name) for one in entries).items() if times > 1]
    if twice:
        yield f"two documents are about {twice[0][1]!r}"
    kinds: dict[str, set[str]] = {}
    for entry in entries:
        kinds.setdefault(entry.name, set()).add(entry.form.kind)
    if mixed := [name for name, each in kinds.items() if len(each) > 1]:
        yield f"{mixed[0]!r} is the name of two things"


def _mark_faults(row: PublishedRow, role: str, wanted: Sequence[Entry]) -> Iterator[str]:
    marked = sorted(row.spans(role))
    if marked != sorted((one.start, one.end) for one in wanted):
        yield f"the marks of role {role} are not its documents"


def _decoy_faults(
    row: PublishedRow, entries: Sequence[Entry], needed: Sequence[Entry], asked: str, decoys: int
) -> Iterator[str]:
    """Check the number of decoys, and that each shares with the question what it should."""
    starts = {start for start, _ in row.spans("decoy")}
    marked = [one for one in entries if one.start in starts]
    if len(marked) != decoys or len(starts) != decoys:
        yield f"{len(marked)} decoys, expected {decoys}"
    named, facts = [one for one in needed if one.name in asked], described_values(asked)
    for decoy in marked:
        if decoy.form.name not in {each.form.name for each in needed}:
            yield f"the decoy {decoy.name!r} is of another kind than what is asked about"
        if facts and not any(_half(decoy, each) for each in facts):
            yield f"the decoy {decoy.name!r} does not share half of what is asked"
        if not facts and max(decoy.text.count(each.name) for each in named) < MENTIONS:
            yield f"the decoy {decoy.name!r} does not name twice what is asked about"


def _half(entry: Entry, facts: Mapping[tuple[str, str], str]) -> bool:
    """Return whether a document states all but one of some facts, and mentions the value of the remaining one."""
    wrong = [
        value for (form, name), value in facts.items() if entry.form.name != form or entry.facts.get(name) != value
    ]
    return len(wrong) == 1 and contains_words(wrong[0], entry.text)


def _step_faults(entries: Sequence[Entry], needed: Sequence[Entry], answer: str) -> Iterator[str]:
    """Check that enough documents state, with other values, what each step of a bridge after the first reads."""
    found = [*(one.name for one in needed[2:]), answer]
    for entry, right, least in zip(needed[1:], found, ALTERNATIVES[len(needed)], strict=True):
        read = {name for name, value in entry.facts.items() if value == right}
        values = {one.facts[name] for one in entries if one.form is entry.form for name in read & one.facts.keys()}
        if len(values) <= least:
            yield f"documents give {len(values)} values for the step that finds {right!r}, expected more than {least}"


def _elsewhere_faults(
    row: PublishedRow, entries: Sequence[Entry], needed: Sequence[Entry], answer: str, asked: str
) -> Iterator[str]:
    """Check that the answer occurs in other documents, or in none, as the knob says."""
    if row.stratum.subtask == "list":
        return
    is_elsewhere = any(contains_words(answer, one.text) for one in entries if one not in needed)
    if is_elsewhere != bool(row.stratum.knob("answer_elsewhere", True)):
        yield f"the answer {answer!r} stands {'too' if is_elsewhere else 'nowhere'} in other documents"


def _example_faults(row: PublishedRow) -> Iterator[str]:
    """Check that demonstrations are right, and that none has the row's answer."""
    shown = demonstrations(row.text)
    if len(shown) != len(row.spans("demo")):
        yield "the demonstrations are not those marked"
    for documents, asked, reply in shown:
        if plain(answered(Table(list(entries(documents))), asked)[0]) != plain(reply):
            yield f"the demonstration {asked!r} is wrong"
        if plain(reply).lower() == row.key.target.lower():
            yield f"the demonstration {asked!r} has the answer of the key"
