"""Reads a question for a ranking and every document, and ranks by what these say: with code of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from pipeline.tasks.rag.proof import question
from pipeline.tasks.rag.reader import Entry, plain, read
from pipeline.worlds.gazetteer.forms import forms
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
    """What is asked: a form, values by relation; and by which relation so many of those that meet all are put in order.

    `sign` is 1 where the smallest comes first, and -1 where the largest does.
    """

    form: str
    values: Mapping[str, str]
    scale: str = ""
    sign: int = 1
    count: int = 0

    def met(self, entry: Entry) -> list[str]:
        """Return the relations in which a document has the value that is asked for."""
        if entry.form.name != self.form:
            return []
        return [name for name, value in self.values.items() if entry.facts.get(name) == value]


def wanted(asked: str) -> Wanted:
    """Return what a question asks.

    Raises:
        ValueError: if it cannot be read, or in two ways.
    """
    found = list(_ordered(asked)) or list(_graded(asked))
    if len(found) != 1:
        raise ValueError(f"{len(found)} readings of the question {asked!r}")
    return found[0]


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
    for form, relation, mark, said in LINE.findall(pool_text("rerank/orders")) if match else ():
        if match and forms()[form].noun == match["noun"] and match["said"].endswith(f" {said}"):
            for one in _meanings(form, match["said"][: -len(said) - 1]):
                yield Wanted(form, dict([one]), relation, 1 if mark == "<" else -1, NUMBERS[match["more"]] + 1)


def _meanings(form: str, phrase: str) -> Iterator[tuple[str, str]]:
    """Yield what a phrase says of a thing of a form: a relation and its value."""
    for relation, pattern in _phrases(form):
        if found := pattern.fullmatch(phrase):
            yield relation, plain(found["value"])


@cache
def _nouns() -> list[tuple[str, str]]:
    return [(form.name, form.noun) for form in forms().values()]


@cache
def _phrases(form: str) -> list[tuple[str, re.Pattern[str]]]:
    return [
        (relation.name, re.compile("(?P<value>.+)".join(map(re.escape, said.split("{value}")))))
        for relation in forms()[form].relations
        for said in relation.lines["~"]
    ]


def worths(entries: Sequence[Entry], what: Wanted) -> dict[str, int]:
    """Return what documents are worth, by their numbers; those that are worth nothing are left out.

    Raises:
        ValueError: if two documents have one place in an order.
    """
    return graded(meeting(entries, what), what)


def meeting(entries: Sequence[Entry], what: Wanted) -> list[tuple[Entry, int]]:
    """Return the documents that have any value that is asked for, each with how many."""
    return [(entry, len(met)) for entry in entries if (met := what.met(entry))]


def graded(met: Sequence[tuple[Entry, int]], what: Wanted) -> dict[str, int]:
    """Return what documents are worth, by their numbers, from how many values each of them has.

    Raises:
        ValueError: if two documents have one place in an order.
    """
    if not what.scale:
        return {entry.id: count for entry, count in met}
    size = {entry.id: what.sign * int(entry.facts[what.scale].replace(",", "")) for entry, _ in met}
    if len({*size.values()}) < len(size):
        raise ValueError(f"two documents have one {what.scale}")
    first = sorted(size, key=lambda number: size[number])[: what.count]
    return {number: len(first) - place for place, number in enumerate(first)}


def ranked(worth: Mapping[str, int]) -> tuple[str, str]:
    """Return the ten best documents, and all that are worth anything, as keys have them."""
    order = sorted(worth, key=lambda number: (-worth[number], number))
    joints = ["=" if worth[one] == worth[other] else ">" for one, other in pairwise(order)]
    return " > ".join(order[:10]), "".join(part for pair in zip(order, [*joints, ""], strict=True) for part in pair)


def solve(text: str) -> tuple[str, ...]:
    """Return every form of a prompt's answer.

    Raises:
        ValueError: if it cannot be read.
    """
    return ranked(worths(read(text), wanted(question(text))))
