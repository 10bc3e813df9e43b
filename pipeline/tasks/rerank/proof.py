"""What must hold of a prompt that asks for a ranking, judged from the published row alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pipeline.tasks.base import Published
from pipeline.tasks.finding import stands
from pipeline.tasks.rag.proof import demonstrations, question
from pipeline.tasks.rag.reader import Entry, entries, read
from pipeline.tasks.rerank.reader import Wanted, graded, meeting, ranked, wanted, worths

OTHERWISE, IN_ORDER = 2, 1
"""In how many documents each value stands in other roles, for one in which it meets the condition; in an order."""
BELOW = 4
"""Documents that meet the condition of an order and are not among the ten first."""


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    found, asked = read(row.text), question(row.text)
    what = wanted(asked)
    worth = worths(found, what)
    if asked != row.question:
        yield f"the prompt asks {asked!r}"
    yield from _double_faults(found)
    yield from _grade_faults(row, what, worth)
    yield from _mark_faults(row, found, worth)
    yield from _needed_faults(found, what, worth)
    if row.stratum.knob("decoys", True):
        yield from _decoy_faults(found, what)
    yield from _example_faults(row)


def _double_faults(found: Sequence[Entry]) -> Iterator[str]:
    """Hold documents to be of different things or forms, and to have numbers of their own."""
    for what, keys in (("name", [(one.form.name, one.name) for one in found]), ("number", [one.id for one in found])):
        twice = [key for key, times in Counter(keys).items() if times > 1]
        if twice:
            yield f"two documents have the {what} {twice[0]!r}"
    if not all(one.id for one in found):
        yield "a document has no number"


def _grade_faults(row: Published, what: Wanted, worth: dict[str, int]) -> Iterator[str]:
    """Hold documents worth something to their number: as many of each grade, or one in each place."""
    times, size = Counter(worth.values()), row.stratum.complexity
    values = range(1, size + 1) if what.scale else range(1, len(what.values) + 1)
    shares = (size // len(values), -(-size // len(values)))
    if sum(times.values()) != size or any(times[value] not in shares for value in values):
        yield f"{dict(times)} documents of each worth, of {size}"


def _mark_faults(row: Published, found: Sequence[Entry], worth: dict[str, int]) -> Iterator[str]:
    """Hold marks of relevant documents to those that are worth something, and of decoys to others."""
    places = {one.start: one for one in found}
    marked: dict[str, set[str]] = {"relevant": set(), "decoy": set()}
    for needle in row.needles:
        one = places.get(needle.char_start)
        if needle.role in marked and (one is None or one.end != needle.char_end):
            yield f"the mark at character {needle.char_start} is no document"
        elif needle.role in marked and one is not None:
            marked[needle.role].add(one.id)
    if marked["relevant"] != {*worth}:
        yield "the documents marked as relevant are not those that are worth something"
    if marked["decoy"] & {*worth}:
        yield "a document marked as a decoy is worth something"


def _needed_faults(found: Sequence[Entry], what: Wanted, worth: dict[str, int]) -> Iterator[str]:
    """Hold every condition to matter, and every document that is worth something."""
    found = [one for one in found if one.form.name == what.form]
    for name in what.values:
        fewer = {one: value for one, value in what.values.items() if one != name}
        if fewer and worths(found, replace(what, values=fewer)) == worth:
            yield f"the ranking is the same without the condition on the {name}"
    met, right = meeting(found, what), ranked(worth)
    for one, _ in met:
        same = ranked(graded([each for each in met if each[0] is not one], what)) == right
        if same == (one.id in worth):
            yield f"document {one.id} {'does not matter' if same else 'matters'}"
    if what.scale and len(met) != len(worth) + BELOW:
        yield f"{len(met) - len(worth)} documents meet the condition below the first ten"


def _decoy_faults(found: Sequence[Entry], what: Wanted) -> Iterator[str]:
    """Hold each value to stand in other roles in enough documents that do not meet its condition by it."""
    texts = [(one, one.text.lower()) for one in found]
    for name, value in what.values.items():
        sought = value.lower()
        holding = [one for one, text in texts if sought in text and stands(value, one.text)]
        right = sum(name in what.met(one) for one in holding)
        if len(holding) - right < (IN_ORDER if what.scale else OTHERWISE) * right:
            yield f"{value!r} meets its condition in {right} documents, and stands in {len(holding) - right} others"


def _example_faults(row: Published) -> Iterator[str]:
    """Hold demonstrations to be right."""
    shown = demonstrations(row.text)
    if len(shown) != sum(n.role == "demo" for n in row.needles):
        yield "the demonstrations are not those marked"
    for documents, asked, reply in shown:
        what = wanted(asked)
        if ranked(worths(list(entries(documents)), what))[0] != reply:
            yield f"the demonstration {asked!r} is wrong"
