"""rerank.conditions and rerank.order (HELMET, section 2.1 and appendix B.3)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal
from pipeline.tasks.base import Digest, Sample, Task
from pipeline.tasks.rerank import own, text
from pipeline.tasks.rerank.asking import CONDITIONS, Asked, ask_conditions, ask_order, asked_forms, scales
from pipeline.tasks.rerank.frame import KNOBS, Graded, Rerank
from pipeline.tasks.rerank.writing import Author
from pipeline.worlds.gazetteer import Gazetteer, forms

DECOYS = {10: (10, 8), 30: (18, 18)}
"""Decoys of the kind that is asked about, and of others, by complexity: they name all that is asked.

With graded documents each value then stands in other roles more than twice as often as where it meets its condition.
"""
LENGTHS = {10: 8192, 30: 16384}
"""The shortest lengths, by complexity."""
SHOWN = (3, 2, 2, 1)
"""Grades of the documents of a demonstration; two decoys stand with them."""
FIRST, BELOW, SHOWN_IN_ORDER = 10, 4, 4
"""Things that an order asks for, and others that meet its condition; documents that a demonstration puts in order."""
DECOYS_IN_ORDER = (8, 6)
"""Decoys of an order, of its kind and of others."""
GOOD = 4
"""The place of the thing that the former's numbers are as good as, or better."""


class Conditions(Rerank):
    """Documents by how many of three conditions they meet, among decoys that name what is asked in other roles."""

    subtask = "conditions"
    title = "the ten documents that meet most of three conditions, the best first"
    complexities = (10, 30)
    max_new_tokens = 256
    instruction = text.GRADES
    reply = text.BEST
    knobs: Mapping[str, tuple[Any, ...] | Digest] = MappingProxyType({**KNOBS, "corpus": own.GRADED})

    def of(self, stratum: Stratum) -> Task:
        """Return the task about a user's own passages, where a knob names them."""
        return own.BEST if stratum.knob("corpus", "") else self

    def drawn(self, world: Gazetteer, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Asked:
        """Draw three conditions on things of a form that is dealt."""
        known = asked_forms()
        form = known[deal(shared.of("form"), stratum.rows, index, len(known))]
        return ask_conditions(world, own.of("question"), form)

    def written(self, author: Author, rng: Random, asked: Asked, stratum: Stratum) -> list[Graded]:
        """Write as many documents of each grade, conditions missed in turn, and decoys."""
        wanted, decoys = stratum.complexity, bool(stratum.knob("decoys", True))
        names, found = [name for name, _ in asked.conditions], list[Graded]()
        for number in range(wanted):
            grade, turn = CONDITIONS - number % CONDITIONS, number // CONDITIONS
            first = turn if grade > 1 else turn + 2
            met = [names[(first + place) % CONDITIONS] for place in range(grade)]
            found.append((author.kin(met, named=decoys), grade))
        kin, strangers = DECOYS[wanted] if decoys else (0, 0)
        found += [(author.kin([]), 0) for _ in range(kin)]
        return found + [(author.stranger(), 0) for _ in range(strangers)]

    def shown(self, world: Gazetteer, rng: Random, asked: Asked, taken: set[str]) -> tuple[str, list[Graded]]:
        """Draw three conditions on things of another form, and write six documents."""
        form = rng.choice([one for one in asked_forms() if forms()[one].kind != forms()[asked.form].kind])
        other = ask_conditions(world, rng, form)
        author, names = Author(world, rng, other, taken), [name for name, _ in other.conditions]
        found = [(author.kin(rng.sample(names, grade)), grade) for grade in SHOWN]
        found += [(author.kin([]), 0), (author.stranger(), 0)]
        rng.shuffle(found)
        return other.question, found

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return a stratum of one row, at the shortest length that holds the documents that are written for it."""
        return replace(super().golden_stratum(complexity), length=LENGTHS[complexity])

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the form of the documents that are asked for."""
        return {"form": (sample.latent["asked"], len(asked_forms()))}


class Order(Rerank):
    """Documents about things that meet a condition, by a number or year that they state."""

    subtask = "order"
    title = "the ten things that meet a condition and are the longest, oldest or the like, in order"
    complexities = (FIRST,)
    max_new_tokens = 200
    instruction = text.ORDERS
    reply = text.IN_ORDER

    def drawn(self, world: Gazetteer, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Asked:
        """Draw a condition on things that are to be put in an order that is dealt."""
        known = list(scales())
        scale = known[deal(shared.of("scale"), stratum.rows, index, len(known))]
        return ask_order(world, own.of("question"), scale, FIRST)

    def written(self, author: Author, rng: Random, asked: Asked, stratum: Stratum) -> list[Graded]:
        """Write the first ten, others that meet the condition, and decoys with numbers that are better than most."""
        numbers = _numbers(rng, asked, FIRST + BELOW)
        ((name, _),) = asked.conditions
        found = [(author.kin([name], number=number), max(0, FIRST - at)) for at, number in enumerate(numbers)]
        if not stratum.knob("decoys", True):
            return found
        good = sorted((numbers[GOOD - 1], _span(asked)[asked.largest]))
        found += [(author.kin([], number=rng.randint(*good)), 0) for _ in range(DECOYS_IN_ORDER[0])]
        return found + [(author.stranger(), 0) for _ in range(DECOYS_IN_ORDER[1])]

    def shown(self, world: Gazetteer, rng: Random, asked: Asked, taken: set[str]) -> tuple[str, list[Graded]]:
        """Draw another order of things of another form, and write six documents."""
        scale = rng.choice([one for one in scales() if forms()[one[0]].kind != forms()[asked.form].kind])
        other = ask_order(world, rng, scale, SHOWN_IN_ORDER)
        author, ((name, _),) = Author(world, rng, other, taken), other.conditions
        numbers = _numbers(rng, other, SHOWN_IN_ORDER)
        found = [(author.kin([name], number=number), SHOWN_IN_ORDER - at) for at, number in enumerate(numbers)]
        found += [(author.kin([], number=rng.choice(numbers)), 0), (author.stranger(), 0)]
        rng.shuffle(found)
        return other.question, found

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the form of the documents that are asked for, and what puts them in order."""
        return {"scale": (f"{sample.latent['asked']}.{sample.latent['scale']}", len(scales()))}


def _numbers(rng: Random, asked: Asked, count: int) -> list[int]:
    """Draw different numbers for the scale, in the order that is asked for."""
    first, last = _span(asked)
    return sorted(rng.sample(range(first, last + 1), count), reverse=asked.largest)


def _span(asked: Asked) -> tuple[int, int]:
    """Return the smallest and the largest number that things have on the scale."""
    relation = forms()[asked.form].relation(asked.scale)
    first, last = asked.years if relation.type == "year" or not relation.span else relation.span
    if relation.later and relation.span:
        first, last = first + relation.span[0], last + relation.span[1]
    return first, last
