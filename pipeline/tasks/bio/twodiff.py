"""bio.twodiff: name two people whose ages differ by a given number of years (LongBioBench, section 3, appendix D).

Unlike in the paper, exactly one pair in the text fits. Each of its ages must then be unique, or there would be a second
pair. So that rarity is not a tell, thirty other people (fewer below 8,192 tokens) have unique ages too. People are 20
to 99 years old, but an age that recurs is at most 70, as everybody is at work. The question names nobody, so there are
no planned namesakes, which would point at the pair. With the knob `pairs` at ``any``, ages are free, as in the paper,
and any pair that fits is right.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from random import Random

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams
from pipeline.tasks.base import Filler, Key, Layout, Order, PoolSpec, PublishedRow, Role, Sample, Unit
from pipeline.tasks.bio.ages import (
    STATED,
    Ages,
    aged,
    anybody,
    biographies_of,
    faults,
    framed,
    placed,
    reasoned,
    taken,
    understood,
)
from pipeline.tasks.bio.base import asked_people, dealt_kinds, kind_of
from pipeline.tasks.bio.haystack import KNOBS, density, others, pool_name
from pipeline.tasks.bio.solve import Entry, parse_biographies, parse_question
from pipeline.worlds.people import (
    FEW_AGES,
    OLDEST,
    SPAN,
    WIDEST,
    WORLD,
    YOUNGEST,
    few_ages,
    people,
    recurring,
    source_digest,
)

ONE, ANY = "one", "any"
"""The values of the knob `pairs`: how many pairs fit."""
SMALLEST_DIFFERENCE, LARGEST_DIFFERENCE = 8, 35
"""The range of differences to ask for, in years."""
FEWEST_COMMON_AGES = 6
"""The fewest of the 16 recurring ages that are common; 60 of 100 people have one of them."""
FULL_CHAIN_SHARE = 0.6
"""How often an odd chain gives as many ages as it can."""
MOST_DECOYS = 30
TOKENS_TAKEN, TOKENS_PER_DECOY = 1536, 208
"""One decoy per `TOKENS_PER_DECOY` tokens beyond the first `TOKENS_TAKEN`: all decoys from 8,192 tokens on."""


@dataclass(frozen=True, slots=True)
class AgeSets:
    """The ages in a text: the pair's, younger first; the decoys'; and those that anybody else may have."""

    pair: tuple[int, int]
    single: tuple[int, ...]
    common: tuple[int, ...]


def decoys_of(stratum: Stratum) -> int:
    """Return how many people besides the pair have unique ages.

    There are none if nobody else states an age or any pair is right, as there is then nothing to hide.
    """
    if not density(stratum) or stratum.knob("pairs", ONE) != ONE:
        return 0
    return max(0, min(MOST_DECOYS, (stratum.length - TOKENS_TAKEN) // TOKENS_PER_DECOY))


def draw(rng: Random, years: int, recurring: Sequence[int]) -> AgeSets:
    """Draw ages for a text in which only one pair is `years` years apart; common ages are some of `recurring`."""
    while True:
        younger = rng.randint(YOUNGEST, WIDEST - years)
        pair = (younger, younger + years)
        rest = [age for chain in _chains(pair, years) for age in _thinned(rng, chain)]
        common = [age for age in recurring if age in rest][: len(rest) - MOST_DECOYS]
        gaps = {abs(one - other) for one, other in combinations(common, 2)} & set(
            range(SMALLEST_DIFFERENCE, LARGEST_DIFFERENCE + 1)
        )
        if len(common) >= FEWEST_COMMON_AGES and len(gaps) >= FEWEST_COMMON_AGES:
            single = [age for age in rng.sample(rest, len(rest)) if age not in common]
            return AgeSets(pair, tuple(single[:MOST_DECOYS]), tuple(sorted(common)))


def _chains(pair: tuple[int, int], years: int) -> Iterator[list[int]]:
    """Yield chains of ages, each `years` years apart, without the pair and the ages that would pair with it."""
    cut = {pair[0] - years, *pair, pair[1] + years}
    for start in range(YOUNGEST, YOUNGEST + years):
        chain: list[int] = []
        for age in range(start, WIDEST + 1, years):
            if age in cut:
                yield chain
                chain = []
            else:
                chain.append(age)
        yield chain


def _thinned(rng: Random, chain: Sequence[int]) -> list[int]:
    """Return a largest part of a chain without neighbours, or of an odd chain sometimes one age fewer.

    It takes even places up to a turn and odd ones after it. An odd chain would otherwise have only one choice.
    """
    odd = len(chain) % 2
    turn = len(chain) if odd and rng.random() < FULL_CHAIN_SHARE else 2 * rng.randint(0, len(chain) // 2)
    return [age for place, age in enumerate(chain) if place % 2 == (place >= turn)]


def free(rng: Random, years: int) -> AgeSets:
    """Draw ages for a text in which any number of pairs may be `years` years apart, without decoys."""
    younger = rng.randint(YOUNGEST, OLDEST - years)
    return AgeSets((younger, younger + years), (), tuple(range(YOUNGEST, OLDEST + 1)))


def forms_of(row_streams: Streams, stratum: Stratum, common: tuple[int, ...]) -> tuple[Indices, Indices]:
    """Return which of two ages (0 or 1) each person of a tier takes, and the people neither of whose ages is common."""
    first, second = np.isin(few_ages(row_streams, stratum.tier), common)
    return np.asarray(~first & second, dtype=np.int64), np.flatnonzero(~first & ~second)


def with_forms(filler: Filler, forms: Indices) -> Filler:
    """Return filler in which everybody who states an age has the one in `forms`."""
    order = _Formed(filler.order, forms)
    return replace(filler, order=order, spares=order.formed(filler.spares))


class _Formed:
    """An order of people, each in one form of their biography."""

    def __init__(self, order: Order, forms: Indices) -> None:
        self._order, self._forms = order, forms

    def take(self, count: int) -> Indices:
        """Return the first `count` indices; fewer only if there are no more."""
        return self.formed(self._order.take(count))

    def formed(self, taken: Indices) -> Indices:
        """Return the pool indices of people with the ages in `forms`."""
        everybody = len(self._forms)
        return np.where(taken < everybody, taken + everybody * self._forms[taken % everybody], taken)


POOL, FORMS = "people-few-ages", 2
"""The pool contains everybody with each of two ages, then, if it is sparse, everybody without one."""
DIFFERENCES = range(SMALLEST_DIFFERENCE, LARGEST_DIFFERENCE + 1)
QUESTION = "Name two people in these biographies whose ages differ by exactly {years} years."
INSTRUCTION = (
    'You may reason step by step first. End with a line that says "Final answer:" and the full names of both people, '
    'with "and" between them. If more than one pair fits, give one of them.'
)
ASKED = re.compile(r"Name two people in these biographies whose ages differ by exactly (\d+) years\.")

TOKENS_PER_BIOGRAPHY = 80
"""An estimate, for the scores of guessers."""


@dataclass(frozen=True, slots=True)
class Twodiff(Ages):
    """Two people whose ages differ as asked. With ``any``, the key has everybody's age, so it depends on the filler."""

    subtask = "twodiff"
    title = "two people whose ages differ by a given number of years"
    version = 4
    scorer = "pair"
    complexities = (2,)
    keyed_by_packing = True
    knobs = KNOBS | {"pairs": (ONE, ANY)}  # no namesakes: they would point at the pair

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        if _pairs(stratum) == ANY:
            return super(Twodiff, self).pools(stratum)
        source = f"{WORLD}:{FEW_AGES}:{source_digest()}"
        return (PoolSpec(pool_name(stratum, POOL), 1, stratum.tier, source, make_few_ages),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal the difference, and draw people with suitable ages."""
        years = dealt_kinds(stratum_streams, index, DIFFERENCES, "years")
        alone = decoys_of(stratum)
        if _pairs(stratum) == ONE:
            ages = draw(row_streams.of("ages"), years, recurring(row_streams, stratum.tier))
        else:
            ages = free(row_streams.of("ages"), years)
        count, pair = len(people(row_streams, stratum.tier)), asked_people(stratum_streams, stratum, index, 2)
        crowd = (
            Shuffled(row_streams.of("shown"), count, frozenset(pair)).take(2 * self.shots_of(stratum) + alone).tolist()
        )
        named = [[person, age] for person, age in zip(pair, ages.pair, strict=True)]
        standing = named[::-1] if dealt_kinds(stratum_streams, index, (False, True), "order") else named
        shown = list(_shown(row_streams, crowd[alone:], ages.common, years))
        latent = {
            "asked": "pair",
            "years": years,
            "people": standing,
            "shown": shown,
            "decoys": [[person, age] for person, age in zip(crowd[:alone], ages.single, strict=False)],
            "common": list(ages.common),
        }
        everybody = people(row_streams, stratum.tier)
        aged = [*standing, *(one for cast in shown for one in cast)]
        forms = accepted(everybody[pair[0]].name, everybody[pair[1]].name)
        asked = QUESTION.format(years=years)
        return Sample(
            "", stratum, index, latent, biographies_of(row_streams, stratum.tier, aged), asked, Key.accepting(*forms)
        )

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the pair at the wanted depths among people of common ages, and all other placed people at random."""
        stratum, latent = sample.stratum, sample.latent
        everybody = people(row_streams, stratum.tier)
        shown = [_example(*((everybody[person].name, age) for person, age in cast)) for cast in latent["shown"]]
        units = placed(sample, row_streams, stratum_streams, _role(stratum))
        if _pairs(stratum) == ANY:
            return framed(units, anybody(sample, row_streams, taken(latent)), INSTRUCTION, shown, sample.question)
        forms, without = forms_of(row_streams, stratum, tuple(latent["common"]))
        filler = others(row_streams, stratum, POOL, len(everybody), {*without.tolist(), *taken(latent)}, FORMS - 1)
        return framed(units, with_forms(filler, forms), INSTRUCTION, shown, sample.question)

    def key(self, sample: Sample, packed: Sequence[Unit]) -> Key:
        """Return the sample's key; if any pair is right, one with the age of everybody in the text."""
        if _pairs(sample.stratum) == ONE:
            return sample.key
        texts = [*sample.relevant, *(unit.pieces[0].text for unit in packed)]
        stated = {found[1]: int(found[2]) for found in map(STATED.match, texts) if found}
        forms = ruled(stated, sample.latent["years"])
        return Key.accepting(*forms)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        (_, age), (_, other) = sample.latent["people"]
        return {"difference": kind_of(sample.latent["years"], DIFFERENCES), "order": (int(age > other), 2)}

    def answers(self, text: str) -> tuple[str, ...]:
        return answer(parse_question(text)[-1].question, parse_biographies(text))

    def check(self, row: PublishedRow) -> list[str]:
        entries, role = parse_biographies(row.text), _role(row.stratum)
        marked = set(row.spans(role))
        pair = [entry for entry in entries if (entry.start, entry.end) in marked]
        any_fits = _pairs(row.stratum) == ANY
        names = [entry.name for entry in pair] if any_fits else row.key.target.split(" and ")
        found = list(faults(row, entries, names, answer, role))
        return [*found, *_pair_faults(row, entries, pair)]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of two random people, and of one with a unique age and whoever fits.

        Both use an estimate of the number of biographies in a text of this length.
        """
        count, years = sample.stratum.length // TOKENS_PER_BIOGRAPHY, sample.latent["years"]
        if _pairs(sample.stratum) == ANY:
            return {"uniform": 2 * (SPAN - years) / SPAN**2}
        placed, common = 2 + len(sample.latent["decoys"]), len(sample.latent["common"])
        alone = placed + (count - placed) * (1 - 1 / common) ** (count - placed - 1)
        return {"uniform": 1 / comb(count, 2), "two_rare": 2 / alone}


def make_few_ages(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Render everybody of a tier with the first of two ages, then with the second, then, if sparse, without one."""
    return aged(streams, spec, few_ages(streams, spec.tier))


def _pairs(stratum: Stratum) -> str:
    return str(stratum.knob("pairs", ONE))


def _role(stratum: Stratum) -> Role:
    """Return the role of the placed pair: a match among many, or the relevant one."""
    return "relevant" if _pairs(stratum) == ONE else "match"


def _shown(row_streams: Streams, crowd: Sequence[int], common: Sequence[int], years: int) -> Iterator[list[list[int]]]:
    """Yield the casts of demonstrations: two people each, of common ages, whose difference is not the asked one."""
    rng, used = row_streams.of("shown ages"), {years}
    for at in range(0, len(crowd), 2):
        while True:
            one, other = rng.sample(common, 2)
            if SMALLEST_DIFFERENCE <= abs(one - other) <= LARGEST_DIFFERENCE and abs(one - other) not in used:
                break
        used.add(abs(one - other))
        yield [[crowd[at], one], [crowd[at + 1], other]]


def accepted(younger: str, older: str) -> tuple[str, ...]:
    """Return both orders of a pair."""
    return f"{younger} and {older}", f"{older} and {younger}"


def answer(question: str, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return the accepted answers to a question, from the biographies.

    Raises:
        ValueError: if it is not a question of this task, or no two people fit.
    """
    known = {entry.name: int(entry.stated["age"]) for entry in entries if "age" in entry.stated}
    return ruled(known, int(understood(ASKED, question)[1]))


def ruled(known: Mapping[str, int], years: int) -> tuple[str, ...]:
    """Return the pair that fits in both orders; or of several pairs the first by name, followed by everybody's ages.

    Raises:
        ValueError: if no two people fit.
    """
    if not (count := fitting(known, years)):
        raise ValueError(f"no two people are {years} years apart")
    of_age: dict[int, list[str]] = defaultdict(list)
    for name in sorted(known):
        of_age[known[name]].append(name)
    younger = next(name for name in sorted(known) if known[name] + years in of_age)
    forms = accepted(younger, of_age[known[younger] + years][0])
    return forms if count == 1 else (*forms, *(f"{name}, {known[name]}" for name in sorted(known)))


def fitting(known: Mapping[str, int], years: int) -> int:
    """Return how many pairs of people are `years` years apart."""
    times = Counter(known.values())
    return sum(count * times[age + years] for age, count in times.items() if age + years in times)


def _pair_faults(row: PublishedRow, entries: Sequence[Entry], pair: Sequence[Entry]) -> Iterator[str]:
    known = {entry.name: int(entry.stated["age"]) for entry in entries if "age" in entry.stated}
    years = int(understood(ASKED, row.question)[1])
    if fitting({entry.name: known.get(entry.name, -1) for entry in pair}, years) != 1:
        yield f"the needles are not {years} years apart"
    if _pairs(row.stratum) == ANY:
        return
    if (count := fitting(known, years)) != 1:
        yield f"{count} pairs are {years} years apart, one was promised"
    alone = sum(count == 1 for count in Counter(known.values()).values())
    wanted = decoys_of(row.stratum)
    if len(row.spans("decoy")) != wanted or alone < 2 + wanted:
        yield f"{alone} ages stand once, {len(row.spans('decoy'))} of them decoys: {wanted} decoys were promised"


def _example(one: tuple[str, int], other: tuple[str, int]) -> tuple[str, str]:
    (younger, low), (older, high) = sorted((one, other), key=lambda known: known[1])
    reasoning = (
        f"{one[0]} is {one[1]} years old and {other[0]} is {other[1]} years old. "
        f"{high} - {low} = {high - low}, as asked for."
    )
    return QUESTION.format(years=high - low), reasoned(reasoning, accepted(younger, older)[0])


TASKS = (Twodiff(),)
