"""What must hold of a prompt of `summ`, judged from the published row alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pipeline.tasks.base import Published
from pipeline.tasks.longqa.owners import ESTATE
from pipeline.tasks.longqa.proof import marked, spans
from pipeline.tasks.longqa.reader import Event
from pipeline.tasks.summ.reader import Annals, Asked, asked, named, points, question_of, read, told_in, told_of

VAIN = ("bid", "plea")
NEAR = {5: (2, 2, 1, 1), 10: (3, 3, 3, 2), 20: (4, 6, 5, 5)}
"""By complexity: purchases set aside, deeds not asked for, what came to nothing, and what came too late."""


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    annals, what = read(row.text), asked(row.question)
    told = told_in(row.text, what.prop)
    right = points(told, what)
    yield from _body_faults(row, annals)
    if len(right) != row.stratum.complexity:
        yield f"{len(right)} key points, not {row.stratum.complexity}"
    if {event.kind for event in right} != what.kinds:
        yield "the key points are not of all kinds that are asked for"
    needed = [event for at, event in enumerate(told) if _matters(told, at, what, right)]
    if marked(row, "relevant") != spans([event.line for event in needed]):
        yield "the entries marked as relevant are not those that decide what belongs in the summary"
    yield from _near_faults(row, told, right, what)
    near = told_of(annals.found, twin := str(row.metadata["latent"]["twin"]))
    if not set(what.prop.split(" ")[1:]) & set(twin.split(" ")[1:]):
        yield f"{twin} shares no word with {what.prop}"
    if _sorts(near, what) != _sorts(told, what):
        yield f"{twin} has other entries than {what.prop}: {_sorts(near, what)}, {_sorts(told, what)}"
    if marked(row, "relevant", "decoy") != spans([event.line for event in (*told, *near)]):
        yield "the marks are not the entries about the two properties"


def _body_faults(row: Published, annals: Annals) -> Iterator[str]:
    """Hold entries to be in order of date and all different, each with a number of its own."""
    if any(one.day > other.day for one, other in pairwise(annals.found)):
        yield "the entries are not in order of date"
    if len({(one.day, one.text) for one in annals.found}) != len(annals.found):
        yield "two entries are equal"
    if len(set(annals.numbers.values())) != len(annals.numbers):
        yield "two entries have one number"
    if question_of(row.text) != row.question:
        yield f"the prompt asks {question_of(row.text)!r}"


def _matters(told: Sequence[Event], without: int, what: Asked, right: Sequence[Event]) -> bool:
    """Tell whether other events belong in the summary without one of them, or a later one cannot be."""
    try:
        return points([*told[:without], *told[without + 1 :]], what) != right
    except ValueError:
        return True


def _near_faults(row: Published, told: Sequence[Event], right: Sequence[Event], what: Asked) -> Iterator[str]:
    """Hold who does not belong in the summary to be as many of each sort as promised, and nobody to be named twice."""
    late = [event for event in told if event.line.day > what.last]
    before = [event for event in told if event.line.day <= what.last and event not in right]
    undone = [event for event in before if event.kind == "sale"]
    vain = [event for event in before if event.kind in VAIN]
    other = [event for event in before if event.kind not in (*ESTATE, *VAIN)]
    if any(event.kind not in what.kinds for event in late):
        yield "something that is not asked for befell the property too late"
    sorts = tuple(map(len, (undone, other, vain, late)))
    if sorts != NEAR[row.stratum.complexity]:
        yield f"{sorts} are set aside, not asked for, in vain and too late, not {NEAR[row.stratum.complexity]}"
    people = Counter(one[0] for event in told if (one := named(event)))
    yield from (f"{name} is named twice beside {what.prop}" for name, times in people.items() if times > 1)


def _sorts(told: Sequence[Event], what: Asked) -> tuple[int, int, int]:
    """Return how many people are named beside a property: for what is asked, for other things, and in vain."""
    kinds = [event.kind for event in told if named(event)]
    vain = sum(kind in VAIN for kind in kinds)
    meant = sum(kind in what.kinds for kind in kinds)
    return meant, len(kinds) - meant - vain, vain
