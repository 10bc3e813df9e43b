"""Reads a question for a ranking and every document, and ranks them by what they say, with code of its own.

The patterns of phrases are compiled by `pipeline.worlds.wording` from the wordings that the writer fills.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pipeline.caches import cache
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.documents.solve import Entry, demonstrations, entries, plain, question, read
from pipeline.tasks.solving import ReadError, contains_words
from pipeline.worlds.gazetteer.things import forms
from pipeline.worlds.wording import reader
from pipeline.worlds.words import pool_text

GRADED = re.compile(r"(?:Who|Which (?P<noun>\w+)) (?P<said>.+)\?")
ORDERED = re.compile(
    r"Which (?P<noun>\w+) (?:that|who) (?P<said>.+), and which (?P<more>\w+) come next in that order\?"
)
JOINT = re.compile(r", and |, ")
NUMBERS = {"two": 2, "three": 3, "nine": 9}
LINE = re.compile(r"^(\w+)\.(\w+) ([<>]) (.+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked: a form, values by relation, and for an order its relation and how many are wanted.

    `sign` is 1 if the smallest comes first, and -1 if the largest does.
    """

    form: str
    values: Mapping[str, str]
    scale: str = ""
    sign: int = 1
    count: int = 0

    def met(self, entry: Entry) -> list[str]:
        """Return the relations in which a document has the value asked for."""
        if entry.form.name != self.form:
            return []
        return [name for name, value in self.values.items() if entry.facts.get(name) == value]


def wanted(asked: str) -> Wanted:
    """Return what a question asks."""
    readings = list(_ordered(asked)) or list(_graded(asked))
    if len(readings) != 1:
        raise ReadError(f"{len(readings)} readings of the question {asked!r}")
    return readings[0]


def _graded(asked: str) -> Iterator[Wanted]:
    match = GRADED.fullmatch(asked)
    parts = JOINT.split(match["said"]) if match else []
    for form, noun in _nouns():
        if match and noun == (match["noun"] or "person"):
            read = [list(_meanings(form, part)) for part in parts]
            if all(len(each) == 1 for each in read):
                yield Wanted(form, dict(one for (one,) in read))


def _ordered(asked: str) -> Iterator[Wanted]:
    match = ORDERED.fullmatch(asked)
    for form, relation, mark, wording in LINE.findall(pool_text("rerank/orders")) if match else ():
        if match and forms()[form].noun == match["noun"] and match["said"].endswith(f" {wording}"):
            for meaning in _meanings(form, match["said"][: -len(wording) - 1]):
                yield Wanted(form, dict([meaning]), relation, 1 if mark == "<" else -1, NUMBERS[match["more"]] + 1)


def _meanings(form: str, phrase: str) -> Iterator[tuple[str, str]]:
    """Yield what a phrase says of a thing of a form: a relation and its value."""
    for relation, pattern in _phrases(form):
        if match := pattern.fullmatch(phrase):
            yield relation, plain(match["value"])


@cache
def _nouns() -> list[tuple[str, str]]:
    return [(form.name, form.noun) for form in forms().values()]


@cache
def _phrases(form: str) -> list[tuple[str, re.Pattern[str]]]:
    return [(relation.name, reader(wording)) for relation in forms()[form].relations for wording in relation.lines["~"]]


def worths(entries: Sequence[Entry], what: Wanted) -> dict[str, int]:
    """Return what documents are worth, by number, without those worth nothing."""
    return graded(meeting(entries, what), what)


def meeting(entries: Sequence[Entry], what: Wanted) -> list[tuple[Entry, int]]:
    """Return the documents that have any value asked for, and how many each has."""
    return [(entry, len(met)) for entry in entries if (met := what.met(entry))]


def graded(met: Sequence[tuple[Entry, int]], what: Wanted) -> dict[str, int]:
    """Return what documents are worth, by number, from how many values each has."""
    if not what.scale:
        return {entry.id: count for entry, count in met}
    size = {entry.id: what.sign * int(entry.facts[what.scale].replace(",", "")) for entry, _ in met}
    if len({*size.values()}) < len(size):
        raise ReadError(f"two documents have one {what.scale}")
    first = sorted(size, key=lambda number: size[number])[: what.count]
    return {number: len(first) - place for place, number in enumerate(first)}


def ranked(worth: Mapping[str, int]) -> tuple[str, str]:
    """Return the ten best documents, and all that are worth anything, in the form of keys."""
    order = sorted(worth, key=lambda number: (-worth[number], number))
    joints = ["=" if worth[one] == worth[other] else ">" for one, other in pairwise(order)]
    return " > ".join(order[:10]), "".join(part for pair in zip(order, [*joints, ""], strict=True) for part in pair)


def solve(text: str) -> tuple[str, ...]:
    """Return every form of a prompt's answer."""
    return ranked(worths(read(text), wanted(question(text))))


OTHERWISE, IN_ORDER = 2, 1
"""For each document in which a value meets its condition, how many have it in other roles; in an order."""
BELOW = 4
"""Documents that meet the condition of an order but are not among the first ten."""


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row."""
    entries, asked = read(row.text), question(row.text)
    what = wanted(asked)
    worth = worths(entries, what)
    if asked != row.question:
        yield f"the prompt asks {asked!r}"
    yield from _double_faults(entries)
    yield from _grade_faults(row, what, worth)
    yield from _mark_faults(row, entries, worth)
    yield from _needed_faults(entries, what, worth)
    if row.stratum.knob("decoys", True):
        yield from _decoy_faults(entries, what)
    yield from _example_faults(row)


def _double_faults(entries: Sequence[Entry]) -> Iterator[str]:
    """Check that no two documents share form and name, and that each has its own number."""
    for what, keys in (
        ("name", [(one.form.name, one.name) for one in entries]),
        ("number", [one.id for one in entries]),
    ):
        twice = [key for key, times in Counter(keys).items() if times > 1]
        if twice:
            yield f"two documents have the {what} {twice[0]!r}"
    if not all(one.id for one in entries):
        yield "a document has no number"


def _grade_faults(row: PublishedRow, what: Wanted, worth: dict[str, int]) -> Iterator[str]:
    """Check how many documents are worth something: equally many of each grade, or one in each place."""
    times, size = Counter(worth.values()), row.stratum.complexity
    values = range(1, size + 1) if what.scale else range(1, len(what.values) + 1)
    shares = (size // len(values), -(-size // len(values)))
    if sum(times.values()) != size or any(times[value] not in shares for value in values):
        yield f"{dict(times)} documents of each worth, of {size}"


def _mark_faults(row: PublishedRow, entries: Sequence[Entry], worth: dict[str, int]) -> Iterator[str]:
    """Check that documents marked as relevant are those worth something, and that decoys are others."""
    places = {one.start: one for one in entries}
    marked: dict[str, set[str]] = {"relevant": set(), "decoy": set()}
    for needle in row.needles:
        entry = places.get(needle.char_start)
        if needle.role in marked and (entry is None or entry.end != needle.char_end):
            yield f"the mark at character {needle.char_start} is not a document"
        elif needle.role in marked and entry is not None:
            marked[needle.role].add(entry.id)
    if marked["relevant"] != {*worth}:
        yield "the documents marked as relevant are not those that are worth something"
    if marked["decoy"] & {*worth}:
        yield "a document marked as a decoy is worth something"


def _needed_faults(entries: Sequence[Entry], what: Wanted, worth: dict[str, int]) -> Iterator[str]:
    """Check that every condition matters, and that the documents that matter are those worth something."""
    entries = [one for one in entries if one.form.name == what.form]
    for name in what.values:
        fewer = {one: value for one, value in what.values.items() if one != name}
        if fewer and worths(entries, replace(what, values=fewer)) == worth:
            yield f"the ranking is the same without the condition on the {name}"
    met, right = meeting(entries, what), ranked(worth)
    for entry, _ in met:
        same = ranked(graded([each for each in met if each[0] is not entry], what)) == right
        if same == (entry.id in worth):
            yield f"document {entry.id} {'does not matter' if same else 'matters'}"
    if what.scale and len(met) != len(worth) + BELOW:
        yield f"{len(met) - len(worth)} documents meet the condition below the first ten"


def _decoy_faults(entries: Sequence[Entry], what: Wanted) -> Iterator[str]:
    """Check that enough documents have each value in other roles, for those in which it meets its condition."""
    texts = [(one, one.text.lower()) for one in entries]
    for name, value in what.values.items():
        sought = value.lower()
        holding = [one for one, text in texts if sought in text and contains_words(value, one.text)]
        right = sum(name in what.met(one) for one in holding)
        if len(holding) - right < (IN_ORDER if what.scale else OTHERWISE) * right:
            yield f"{value!r} meets its condition in {right} documents, and stands in {len(holding) - right} others"


def _example_faults(row: PublishedRow) -> Iterator[str]:
    """Check that demonstrations are right."""
    shown = demonstrations(row.text)
    if len(shown) != len(row.spans("demo")):
        yield "the demonstrations are not those marked"
    for documents, asked, reply in shown:
        what = wanted(asked)
        if ranked(worths(list(entries(documents)), what))[0] != reply:
            yield f"the demonstration {asked!r} is wrong"
