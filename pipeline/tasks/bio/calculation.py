"""bio.calculation: the difference of two people's ages (LongBioBench, section 3, appendix D, reasoning).

Deliberate differences from the paper: the question does not say who is older; both orders in the question, and both in
the text, are equally frequent; and the two ages always differ, so that the answer is positive.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product

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
from pipeline.worlds.people import SPAN, Person, people

ORDERS = tuple(product((False, True), repeat=2))
"""Whether the younger is first in the text, and whether they are named first."""
QUESTION = "What is the difference in years between the ages of {one} and {other}?"
INSTRUCTION = (
    'You may reason step by step first. End with a line that says "Final answer:" and the number of years alone.'
)
ASKED = re.compile(rf"What is the difference in years between the ages of ({NAME}) and ({NAME})\?")


@dataclass(frozen=True, slots=True)
class Calculation(Ages):
    """The difference of two ages."""

    subtask = "calculation"
    title = "the difference of two ages"
    scorer = "last_integer"
    complexities = (2,)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw two people of different ages, nobody twice in a stratum, and deal their orders."""
        younger, older = sorted(group(stratum, index, stratum_streams), key=lambda one: one[1])
        text_order, named_order = dealt_kinds(stratum_streams, index, ORDERS, "order")
        standing = [younger, older] if text_order else [older, younger]
        named = [younger[0], older[0]] if named_order else [older[0], younger[0]]
        shown = examples(row_streams, stratum.tier, named, self.shots_of(stratum), 2)
        decoys = namesakes_drawn(row_streams, stratum.tier, named, self.namesakes_of(stratum))
        latent = {"asked": "difference", "people": standing, "named": named, "shown": shown, "decoys": decoys}
        everybody = people(row_streams, stratum.tier)
        asked = _question([everybody[one] for one in named])
        target = str(older[1] - younger[1])
        return Sample(
            "",
            stratum,
            index,
            latent,
            biographies_of(row_streams, stratum.tier, standing),
            asked,
            Key.accepting(target),
        )

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the two at the wanted depths among the others, and people of demonstrations at random."""
        everybody = people(row_streams, sample.stratum.tier)
        shown = [_example([(everybody[person], age) for person, age in cast]) for cast in sample.latent["shown"]]
        filler = anybody(sample, row_streams, taken(sample.latent) | base.near(sample.latent["named"]))
        return framed(placed(sample, row_streams, stratum_streams), filler, INSTRUCTION, shown, sample.question)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        (one, age), (_, other) = sample.latent["people"]
        return {"order": kind_of((age < other, (age < other) == (sample.latent["named"][0] == one)), ORDERS)}

    def answers(self, text: str) -> tuple[str, ...]:
        return answer(parse_question(text)[-1].question, parse_biographies(text))

    def check(self, row: PublishedRow) -> list[str]:
        entries, names = parse_biographies(row.text), understood(ASKED, row.question).groups()
        found = alike(row, entries, names, self.namesakes_of(row.stratum))
        return [*faults(row, entries, names, answer), *found]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of a uniform guess, and of one year, the most likely difference of two ages."""
        return {"uniform": 1 / (SPAN - 1), "one_year": float(key.target == "1")}


def answer(question: str, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return the accepted answers to a question, from the biographies."""
    known = ages_of(entries, understood(ASKED, question).groups())
    one, other = known.values()
    return (str(abs(one - other)),)


def _question(pair: Sequence[Person]) -> str:
    return QUESTION.format(one=pair[0].name, other=pair[1].name)


def _example(cast: Sequence[tuple[Person, int]]) -> tuple[str, str]:
    (one, age), (other, other_age) = cast
    high, low = max(age, other_age), min(age, other_age)
    reasoning = (
        f"{one.name} is {age} years old and {other.name} is {other_age} years old. {high} - {low} = {high - low}."
    )
    return _question([one, other]), reasoned(reasoning, str(high - low))


TASKS = (Calculation(),)
