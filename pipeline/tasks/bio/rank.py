"""bio.rank: put people in the order of their ages (LongBioBench, section 3, appendix D, reasoning).

Deliberate differences from the paper: the asked people differ in age; youngest first and oldest first are asked equally
often; and the order in the question and the order in the text are each dealt from all orders, so that neither is the
answer more often than by chance.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from math import factorial

from pipeline.caches import cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, PublishedRow, Sample
from pipeline.tasks.bio import base
from pipeline.tasks.bio.ages import (
    Ages,
    ages_of,
    alike,
    anybody,
    biographies_of,
    examples,
    faults,
    framed,
    group,
    namesakes_drawn,
    placed,
    reasoned,
    taken,
    understood,
)
from pipeline.tasks.bio.base import dealt_kinds, kind_of
from pipeline.tasks.bio.solve import NAME, Entry, parse_biographies, parse_question
from pipeline.tasks.solving import ReadError
from pipeline.worlds.people import Person, people

ORDERS = {"youngest": "from youngest to oldest", "oldest": "from oldest to youngest"}
QUESTION = "Rank these people by age, {order}: {names}."
INSTRUCTION = (
    'You may reason step by step first. End with a line that says "Final answer:" and all the full names in the order '
    "asked for, separated by semicolons."
)
ASKED = re.compile(rf"Rank these people by age, from (youngest to oldest|oldest to youngest): ({NAME}(?:, {NAME})+)\.")


@dataclass(frozen=True, slots=True)
class Rank(Ages):
    """People in the order of their ages."""

    subtask = "rank"
    title = "people in order of age"
    scorer = "all_in_order"
    complexities = (2, 5)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw people of different ages, nobody twice in a stratum, and deal their orders."""
        size = stratum.complexity
        first = dealt_kinds(stratum_streams, index, tuple(ORDERS), "direction")
        right = _ranked(group(stratum, index, stratum_streams), first)
        standing, named = (
            [right[place] for place in dealt_kinds(stratum_streams, index, orders(size), order)]
            for order in ("standing", "named")
        )
        everybody = people(row_streams, stratum.tier)
        asked_of = [person for person, _ in named]
        latent = {
            "asked": first,
            "people": standing,
            "named": asked_of,
            "right": [person for person, _ in right],
            "shown": examples(row_streams, stratum.tier, asked_of, self.shots_of(stratum), size),
            "decoys": namesakes_drawn(row_streams, stratum.tier, asked_of, self.namesakes_of(stratum)),
        }
        asked = _question([everybody[person] for person, _ in named], first)
        forms = accepted([everybody[person].name for person, _ in right])
        return Sample(
            "",
            stratum,
            index,
            latent,
            biographies_of(row_streams, stratum.tier, standing),
            asked,
            Key.accepting(*forms),
        )

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the asked people at the wanted depths among the others, and people of demonstrations at random."""
        everybody, first = people(row_streams, sample.stratum.tier), sample.latent["asked"]
        shown = [_example(cast, first, everybody) for cast in sample.latent["shown"]]
        filler = anybody(sample, row_streams, taken(sample.latent) | base.near(sample.latent["named"]))
        return framed(placed(sample, row_streams, stratum_streams), filler, INSTRUCTION, shown, sample.question)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        latent, every = sample.latent, orders(sample.stratum.complexity)
        standing = tuple(latent["right"].index(person) for person, _ in latent["people"])
        named = tuple(latent["right"].index(person) for person in latent["named"])
        kinds = {"standing": kind_of(standing, every), "named": kind_of(named, every)}
        return {"direction": kind_of(latent["asked"], tuple(ORDERS)), **kinds}

    def answers(self, text: str) -> tuple[str, ...]:
        return answer(parse_question(text)[-1].question, parse_biographies(text))

    def check(self, row: PublishedRow) -> list[str]:
        entries, names = parse_biographies(row.text), _names(row.question)
        found = alike(row, entries, names, self.namesakes_of(row.stratum))
        return [*faults(row, entries, names, answer), *found]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a uniform guess, and of the orders in the question and in the text."""
        latent = sample.latent
        return {
            "uniform": 1 / factorial(len(latent["right"])),
            "as_named": float(latent["named"] == latent["right"]),
            "as_in_text": float([person for person, _ in latent["people"]] == latent["right"]),
        }


@cache
def orders(size: int) -> tuple[tuple[int, ...], ...]:
    """Return all permutations of `size` people."""
    return tuple(permutations(range(size)))


def accepted(names: Sequence[str]) -> tuple[str, ...]:
    """Return every accepted form of names in order: in full, or without middle names.

    >>> accepted(["Ann Bo Lee", "Di El Fox"])
    ('Ann Bo Lee; Di El Fox', 'Ann Lee; Di Fox')
    """
    return "; ".join(names), "; ".join(f"{name.split()[0]} {name.split()[-1]}" for name in names)


def answer(question: str, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return the accepted answers to a question, from the biographies."""
    known = ages_of(entries, _names(question))
    if len(set(known.values())) != len(known):
        raise ReadError(f"two of the asked are of the same age: {known}")
    ranked = sorted(known, key=lambda name: known[name])
    return accepted(ranked if "from youngest" in question else ranked[::-1])


def _names(question: str) -> list[str]:
    return understood(ASKED, question)[2].split(", ")


def _ranked(cast: Sequence[Sequence[int]], first: str) -> list[Sequence[int]]:
    return sorted(cast, key=lambda one: one[1], reverse=first == "oldest")


def _question(named: Sequence[Person], first: str) -> str:
    return QUESTION.format(order=ORDERS[first], names=", ".join(person.name for person in named))


def _example(cast: Sequence[Sequence[int]], first: str, everybody: Sequence[Person]) -> tuple[str, str]:
    sentences = " ".join(f"{everybody[person].name} is {age} years old." for person, age in cast)
    right = _ranked(cast, first)
    numbers = ", ".join(str(age) for _, age in right)
    final = "; ".join(everybody[person].name for person, _ in right)
    asked = _question([everybody[person] for person, _ in cast], first)
    return asked, reasoned(f"{sentences} {ORDERS[first].capitalize()}, the ages are {numbers}.", final)


TASKS = (Rank(),)
