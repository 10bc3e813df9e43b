"""The world `survey`: notes on the buildings of an invented land, one per line.

A note states what a building is, its region, its builder, its year and its cost, in sentences whose predicates come in
any order. Most notes also mention another region, or a building of another kind, before or after what they state: words
alone do not tell where a building is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import Literal, NamedTuple

import numpy as np

from pipeline.caches import cache, lru_cache
from pipeline.streams import Indices, Permutation, Streams, words
from pipeline.typed import TIERS
from pipeline.worlds.identifying import identifying
from pipeline.worlds.wording import Slot, parse, sections, write
from pipeline.worlds.words import pool, pool_digest
from pipeline.worlds.writing.surface import starts_with_vowel

WORLD = "survey@1"
NOTES = "survey/notes"
TOKENS_PER_NOTE = 18
"""Tokens of the tier per note: nearly twice what a prompt can hold."""
REGIONS, OF_ROWS = 48, 640
"""Regions of the land; first words of names that are reserved for rows."""
FIRST_YEAR, DOUBLED_IN = 1700, 300
"""The year from which buildings are, and in how many years costs double."""
MENTIONED, SPELLED = 0.6, 0.25
"""How often a note mentions something else, and how often its cost is written in words."""
SMALL = (
    *("", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
Mention = Literal["", "region", "kind"]


class Building(NamedTuple):
    """What a note states of a building."""

    name: str
    kind: str
    region: str
    builder: str
    year: int
    cost: int


@cache
def wordings() -> Mapping[str, Sequence[str]]:
    """Return the wordings of notes by what they are for."""
    return sections(NOTES)


@cache
def kinds() -> Mapping[str, str]:
    """Return the kinds of buildings, each with its plural."""
    return {kind: plural for kind, plural, *_ in map(str.split, wordings()["kind"])}


@cache
def built() -> Mapping[str, tuple[int, int, int]]:
    """Return for each kind the least and the most that one costs at first, and the last year that one is from."""
    split = (line.split() for line in wordings()["kind"])
    return {kind: (int(least), int(most), int(last)) for kind, _, least, most, last in split}


def source_digest() -> str:
    """Return the digest of all words that the world is made of."""
    return pool_digest(NOTES, "gazetteer/towns", "gazetteer/rivers", "writing/people", "last")


@dataclass(frozen=True)
class Survey:
    """The world of a tier: its regions, and the words for names of buildings and builders."""

    streams: Streams
    regions: Sequence[str]
    first_words: Sequence[str]
    surnames: Sequence[str]
    size: int

    @cached_property
    def names(self) -> Permutation:
        """The order of all names that pool notes may have."""
        return Permutation(self.streams.of("names"), (len(self.first_words) - OF_ROWS) * len(wordings()["ending"]))

    @cached_property
    def stated(self) -> tuple[Indices, Indices, Indices, Indices]:
        """The numbers of each pool note's kind and region, and of those that it may also mention."""
        drawn = (words(self.streams.of(purpose), self.size) for purpose in ("kinds", "regions", "others", "elsewhere"))
        kind, region, other_kind, other_region = (one.astype(np.int64) for one in drawn)
        return kind % len(kinds()), region % REGIONS, other_kind % len(kinds()), other_region % REGIONS

    def name(self, word: int, ending: int) -> str:
        """Return a name: a first word and an ending."""
        return f"{self.first_words[word]} {wordings()['ending'][ending]}"

    def building(
        self, rng: Random, name: str, kind: str, region: str, taken: Collection[int] = frozenset()
    ) -> Building:
        """Draw the rest of what is stated about a building, with none of the costs that are taken."""
        builder = f"{rng.choice(pool('writing/people'))[2:]} {rng.choice(self.surnames)}"
        least, most, last = built()[kind]
        cost = year = 0
        while not cost or cost in taken:
            year = rng.randrange(FIRST_YEAR, last + 1)
            cost = rng.randrange(least, most) * (DOUBLED_IN + year - FIRST_YEAR) // DOUBLED_IN
        return Building(name, kind, region, builder, year, cost)

    def of_pool(self, kind: str, region: str) -> Indices:
        """Return the notes of the pool that state a kind or a region, or may mention it."""
        kind_number, region_number = [*kinds()].index(kind), self.regions.index(region)
        by_kind, by_region, mentioned_kind, mentioned_region = self.stated
        return np.flatnonzero(
            (by_kind == kind_number)
            | (mentioned_kind == kind_number)
            | (by_region == region_number)
            | (mentioned_region == region_number)
        )

    def texts(self) -> Iterator[str]:
        """Yield every note of the pool."""
        rng, endings, known = self.streams.of("texts"), len(wordings()["ending"]), [*kinds()]
        for number, stated in enumerate(zip(*(one.tolist() for one in self.stated), strict=True)):
            kind, region, other_kind, other_region = stated
            word, ending = divmod(self.names[number], endings)
            name = self.name(OF_ROWS + word, ending)
            building = self.building(rng, name, known[kind], self.regions[region])
            mention: Mention = rng.choice(("region", "kind")) if rng.random() < MENTIONED else ""
            other = self.regions[other_region] if mention == "region" else known[other_kind]
            yield note(rng, building, "" if other in (building.region, building.kind) else mention, other)


def survey(streams: Streams, tier: str) -> Survey:
    """Return the world of a tier; `streams` are those of any row or pool below the same seed."""
    return _survey(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_NOTE)


@lru_cache(maxsize=2)
def _survey(world: Streams, size: int) -> Survey:
    towns, rivers, surnames = (
        identifying(pool(name), world) for name in ("gazetteer/towns", "gazetteer/rivers", "last")
    )
    rng = world.of("places")
    regions = rng.sample(towns, REGIONS)
    first_words = [*dict.fromkeys(word for word in (*towns, *rivers) if word not in {*regions})]
    rng.shuffle(first_words)
    return Survey(world, regions, first_words, surnames, size)


def note(rng: Random, building: Building, mention: Mention, other: str) -> str:
    """Write a note, with its newline.

    Args:
        rng: the generator for wordings.
        building: what is stated.
        mention: whether the note also mentions another region, a building of another kind, or neither.
        other: that region or kind.
    """
    before = bool(mention) and rng.random() < 0.5
    frames = wordings()["named"] if before else (*wordings()["named"], *wordings()["free"])
    cost = in_words(building.cost) if rng.random() < SPELLED else str(building.cost)
    values = {"builder": building.builder, "year": str(building.year), "cost": cost}
    predicates = [_filled(rng.choice(wordings()[name]), values) for name in rng.sample([*values], len(values))]
    by_slot = dict(zip(("one", "two", "three"), predicates, strict=True))
    of_kind = {"kind": building.kind, "kinds": kinds()[building.kind]}
    text = _filled(rng.choice(frames), {"name": building.name, "region": building.region, **of_kind, **by_slot})
    if before:
        text = f"{_filled(rng.choice(wordings()[f'{mention}_before']), {'other': other})} {text}"
    elif mention:
        text = f"{text} {_filled(rng.choice(wordings()[f'{mention}_after']), {'other': other})}"
    return f"{text}\n"


def _filled(wording: str, values: Mapping[str, str]) -> str:
    def fill(slot: Slot) -> str:
        return values[slot.name]

    return write(parse(wording), fill, vowel=starts_with_vowel)


def in_words(number: int) -> str:
    """Return a number below a thousand in words.

    >>> in_words(312), in_words(640), in_words(700)
    ('three hundred and twelve', 'six hundred and forty', 'seven hundred')
    """
    hundreds, rest = divmod(number, 100)
    tens, ones = divmod(rest, 10)
    small = SMALL[rest] if rest < len(SMALL) else "-".join(filter(None, (TENS[tens], SMALL[ones])))
    return " and ".join(filter(None, (f"{SMALL[hundreds]} hundred" if hundreds else "", small)))
