"""bio.icl: learn from examples how universities are sorted (LongBioBench, section 4.5).

The prompt is a sequence of examples. Each has the biographies of two people, the question "Which category of university
did X graduate from?", and one of ten categories, which depends on the university's initial; the rule is not stated. The
last pair is new, and its question is about a university that occurs in no example. At least one example asks about a
university with the same initial: this one, the anchor, is at the stratum's depth, and others may be anywhere.
Deliberate differences from the paper: categories are equally frequent among examples and keys, though two universities
in five begin with U; there are two mappings per tier; and replies contain only the category, as reasoning is left to a
recipe's reserve. At 2,048 tokens eight or nine categories occur, and from 4,096 on all ten. To take the example whose
university shares most words is right in about two rows of ten, as many are called "University of" some place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from random import Random
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Permutation, Streams, words
from pipeline.tasks.base import Filler, Key, Layout, Piece, Placed, PoolSpec, PublishedRow, Sample, Unit, unit
from pipeline.tasks.bio import icl_solve
from pipeline.tasks.bio.base import Biographies, dealt_kinds
from pipeline.tasks.bio.haystack import KNOBS, depths
from pipeline.tasks.bio.text import biography
from pipeline.worlds.people import CLAN, STEPS, WORLD, Person, people, source_digest
from pipeline.worlds.words import pool

WORLDS, LABELS = 2, 10
GROUPINGS_TRIED = 200
"""Random groupings from which the most even one is taken."""
DEALT = (("asked", 2), ("labels", LABELS), ("other labels", LABELS))
SPARES_EACH = 4
"""Spare examples of each category."""


INTRODUCTION = """\
Every university belongs to one of ten categories, which are called Category 1 to Category 10. A rule decides which, \
but you are not told the rule. Below are many examples. Each gives the biographies of two people, a question about one \
of them, and the right answer. Work out from the examples how universities are sorted. At the end the same is asked \
about two more people, and the university in question appears in none of the examples.

Examples:
"""

INSTRUCTION = """\
This is the end of the examples. Answer the last question by the same rule. Reply with the category alone, worded as \
in the examples.

"""

START = "Biographies:\n"


@dataclass(frozen=True, slots=True)
class Example:
    """Two people, the index of the one asked about, and the category of the answer, from 1."""

    people: tuple[Person, Person]
    asked: int
    label: int

    @property
    def university(self) -> str:
        """The university that is asked about."""
        return self.people[self.asked].university

    @property
    def initial(self) -> str:
        """The first letter of the asked university."""
        return initial(self.university)


def initial(university: str) -> str:
    """Return the first letter of a university's name, without its article."""
    return university.removeprefix("the ")[0].upper()


@dataclass(frozen=True, eq=False)
class World:
    """All examples of one of a tier's worlds.

    For each example, `labels`, `initials` and `asked` describe the asked university, and `held` numbers both.
    """

    examples: tuple[Example, ...]
    labels: Indices
    initials: Indices
    asked: Indices
    held: Indices

    @classmethod
    def of(cls, examples: Iterable[Example]) -> World:
        """Return the world with these examples."""
        made = tuple(examples)
        numbers = {university: number for number, university in enumerate(pool("universities"))}
        labels = np.array([one.label for one in made], dtype=np.int64)
        initials = np.array([ord(one.initial) for one in made], dtype=np.int64)
        held = np.array([[numbers[who.university] for who in one.people] for one in made], dtype=np.int64)
        return cls(made, labels, initials, held[np.arange(len(made)), [one.asked for one in made]], held)

    def apart(self, key: int) -> NDArray[np.bool_]:
        """Return for each example whether it lacks the key's university."""
        return np.asarray((self.held != self.asked[key]).all(axis=1))

    def alike(self, key: int) -> Indices:
        """Return the examples about a university with the key's initial that lack the key's university."""
        return np.flatnonzero((self.initials == self.initials[key]) & self.apart(key))

    @cached_property
    def keys(self) -> dict[int, list[int]]:
        """The examples of each category that may be a key, as another one with their initial can be the anchor."""
        every = Counter(self.initials.tolist())
        holding = Counter(
            (letter, number) for letter, both in zip(self.initials.tolist(), self.held.tolist(), strict=True)
            for number in set(both)
        )  # fmt: skip
        found: dict[int, list[int]] = {label: [] for label in range(1, LABELS + 1)}
        columns = (self.labels.tolist(), self.initials.tolist(), self.asked.tolist())
        for key, (label, letter, number) in enumerate(zip(*columns, strict=True)):
            if every[letter] > holding[letter, number]:
                found[label].append(key)
        return found

    def filler(self, row_streams: Streams, name: str, key: int, anchor: int) -> Filler:
        """Return all examples that may accompany a key, taken in rounds of one example of each category.

        The placed `anchor` represents its category in the first round, so that no category is more frequent than
        others. In the text examples are in random order, as rounds would show which category the first one lacks.
        """
        rng = row_streams.of("filler")
        free = self.apart(key)
        free[[key, anchor]] = False
        mixed = np.argsort(words(rng, len(free)), kind="stable")
        mixed = mixed[free[mixed]]
        nth = np.empty(len(mixed), dtype=np.int64)
        for label in range(1, LABELS + 1):
            alike = self.labels[mixed] == label
            nth[alike] = np.arange(alike.sum())
        spares, rest, nth = mixed[nth < SPARES_EACH], mixed[nth >= SPARES_EACH], nth[nth >= SPARES_EACH]
        rounds = nth + (self.labels[rest] == self.labels[key])
        order = np.argsort(rounds + words(rng, len(rest)) / 2**32, kind="stable")
        ranks = words(row_streams.of("places"), len(free)).astype(np.int64)
        return Filler(name, Given(rest[order]), spares, "ranked", ranks)


def pool_name(tier: str, number: int) -> str:
    """Return the name of the pool of one world of examples."""
    return f"people-icl{number}-{tier}"


def pools(tier: str) -> tuple[PoolSpec, ...]:
    """Return the pools of examples of a tier."""
    source = f"icl@2:{WORLD}:{source_digest()}"
    return tuple(PoolSpec(pool_name(tier, number), 1, tier, source, make_examples) for number in range(WORLDS))


def make_examples(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Render every example of a world."""
    number = int(spec.name.removeprefix("people-icl").partition("-")[0])
    for one in world(streams, spec.tier, number).examples:
        facts = (f"category({one.initial}) = {one.label}",)
        yield unit(example(one.people, one.asked, one.label), facts=facts)


def world(streams: Streams, tier: str, number: int) -> World:
    """Return a world of examples; `streams` are any below the same seed."""
    return _example_world(streams.world(), tier, number)


@lru_cache(maxsize=2 * WORLDS)
def _example_world(seed: Streams, tier: str, number: int) -> World:
    return World.of(_draw(seed.world("icl@2", tier, number), list(_pairs(people(seed, tier), number))))


def _pairs(everybody: Sequence[Person], number: int) -> Iterator[tuple[Person, Person]]:
    """Pair off the people of a world's clans so that both share two names, a different two from clan to clan."""
    for turn, clan in enumerate(range(number, len(everybody) // CLAN, WORLDS)):
        step = STEPS[turn % len(STEPS)]
        for one in range(clan * CLAN, (clan + 1) * CLAN):
            if one // step % 2 == 0:
                yield everybody[one], everybody[one + step]


def _draw(row_streams: Streams, pairs: Sequence[tuple[Person, Person]]) -> Iterator[Example]:
    """Deal which of each pair is asked about, and the categories of both, and draw their universities."""
    groups, rng = grouped(row_streams.of("mapping")), row_streams.of("universities")
    places, labels, others = (_dealt(row_streams.of(what), len(pairs), kinds) for what, kinds in DEALT)
    for at, (asked, label, other) in enumerate(zip(places, labels, others, strict=True)):
        drawn = [rng.choice(groups[label]), rng.choice(groups[other])]
        one, two = (
            replace(who, university=university)
            for who, university in zip(pairs[at], drawn[:: 1 - 2 * asked], strict=True)
        )
        yield Example((one, two), asked, label + 1)


def _dealt(rng: Random, rows: int, kinds: int) -> list[int]:
    dealt = [place % kinds for place in range(rows)]
    rng.shuffle(dealt)
    return dealt


def grouped(rng: Random) -> list[list[str]]:
    """Return the universities of each category: whole initials, grouped at random and about evenly."""
    letters: dict[str, list[str]] = {}
    for university in pool("universities"):
        letters.setdefault(initial(university), []).append(university)
    tried = [_grouping(rng, letters) for _ in range(GROUPINGS_TRIED)]
    best = min(tried, key=lambda groups: sum(len(group) ** 2 for group in groups))
    return rng.sample(best, len(best))


def _grouping(rng: Random, letters: dict[str, list[str]]) -> list[list[str]]:
    """Deal initials, large ones first and otherwise in random order, each to the smallest group."""
    groups: list[list[str]] = [[] for _ in range(LABELS)]
    for letter in sorted(rng.sample(sorted(letters), len(letters)), key=lambda one: -len(letters[one]) // 16):
        min(groups, key=len).extend(letters[letter])
    return groups


def label(number: int) -> str:
    """Return the name of a category."""
    return f"Category {number}"


def accepted(number: int) -> tuple[str, ...]:
    """Return every accepted form of a category.

    >>> accepted(7)
    ('Category 7', '7')
    """
    return label(number), str(number)


def question(person: Person) -> str:
    """Return the question for the category of a person's university."""
    return f"Which category of university did {person.name} graduate from?"


def example(pair: Sequence[Person], asked: int, number: int) -> str:
    """Return one whole example: two biographies, the question about one of them, and the answer."""
    paragraphs = "".join(map(biography, pair))
    return f"{START}{paragraphs}Question: {question(pair[asked])}\nAnswer: {label(number)}\n"


@dataclass(frozen=True, slots=True)
class Icl(Biographies):
    """Ten categories by initial. `complexity` is the number of asked biographies, always one."""

    subtask = "icl"
    title = "the category of a university, by a rule that only examples show"
    scorer = "label"
    most_shots = 0
    knobs = MappingProxyType({"depth": KNOBS["depth"]})

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return pools(stratum.tier)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a case of a dealt category, and an anchor with its initial. Nobody is asked about twice in a stratum."""
        number = dealt_kinds(stratum_streams, index, range(LABELS), "category") + 1
        which = dealt_kinds(stratum_streams, index, range(WORLDS), "mapping")
        among = world(row_streams, stratum.tier, which)
        keys = among.keys[number]
        nth = index // LABELS % len(keys)  # LABELS rows have each category once
        key = keys[Permutation(stratum_streams.of("asked", which, number), len(keys))[nth]]
        anchors = among.alike(key).tolist()
        asked = among.examples[key]
        latent = {
            "asked": "category",
            "world": which,
            "example": key,
            "anchor": anchors[row_streams.of("anchor").randrange(len(anchors))],
            "initial": asked.initial,
        }
        person, forms = asked.people[asked.asked], accepted(number)
        return Sample("", stratum, index, latent, (biography(person),), question(person), Key.accepting(*forms))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the anchor at the wanted depth among the examples, and the case after them."""
        stratum, latent = sample.stratum, sample.latent
        among, which = _world(sample, row_streams), latent["world"]
        key, anchor = latent["example"], latent["anchor"]
        (depth,) = depths(stratum, sample.index, stratum_streams, 1)
        return Layout(
            head=(Piece(INTRODUCTION, "instruction"),),
            placed=(Placed.line(_text(among.examples[anchor]), "anchor", depth),),
            filler=among.filler(row_streams, pool_name(stratum.tier, which), key, anchor),
            tail=self._tail(sample, among.examples[key]),
        )

    def _tail(self, sample: Sample, asked: Example) -> tuple[Piece, ...]:
        people = [
            Piece(biography(who), "relevant" if place == asked.asked else "filler")
            for place, who in enumerate(asked.people)
        ]
        ask = Piece(f"Question: {sample.question}\nAnswer:", "question")
        return (Piece(INSTRUCTION + START, "instruction"), *people, ask)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        return {"category": (int(sample.key.answers[-1]) - 1, LABELS), "mapping": (sample.latent["world"], WORLDS)}

    def answers(self, text: str) -> tuple[str, ...]:
        number = icl_solve.solve(text)
        return f"Category {number}", str(number)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return icl_solve.faults(row, LABELS, SLACK)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess."""
        return {"uniform": 1 / LABELS}


SLACK = SPARES_EACH + 1
"""How much the frequencies of categories may differ: by one round, and by the spares that close the gap."""


def _world(sample: Sample, row_streams: Streams) -> World:
    return world(row_streams, sample.stratum.tier, sample.latent["world"])


def _text(one: Example) -> str:
    return example(one.people, one.asked, one.label)


TASKS = (Icl(),)
