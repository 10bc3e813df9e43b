"""The world `chronicle`: annals of an invented town over 260 years (HELMET, section 2.1: documents to be read whole).

One world for each seed and tier, shared by all prompts of the tier: people, properties and what befell them, entry by
entry. The longer the tier, the larger the town. No place in it is on a map.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

import numpy as np

from pipeline.recipe import TIERS
from pipeline.streams import Indices, Streams
from pipeline.worlds.chronicle.entries import FIRST_DAY, LAST_DAY, Entry, entry
from pipeline.worlds.chronicle.population import Population, Soul, populate
from pipeline.worlds.chronicle.titles import REDO, SALE, UNDO, UNDO2, Title
from pipeline.worlds.chronicle.wording import deeds, happenings, words_of

WORLD = "chronicle@1"
TOKENS_PER_ENTRY = 22
"""One entry for so many tokens of the tier: about two and a half times what a prompt can hold."""
FEWEST_PROPERTIES, LIKE = 60, 3
"""Properties of the smallest world, and of one first word."""
OTHERS = ("election", "jury", "move", "debt", "price", "works")
STEPS = (SALE, SALE, SALE, SALE, UNDO, UNDO, REDO, UNDO2)
"""How often each step of a title is drawn, where it can be taken."""
BUSY = 0.3
"""The share of what befalls a property that somebody does for it, or in vain, in annals that tell of deeds."""
INCOMERS_DEATHS = 0.3
"""The share of incomers whose death is told."""
Draft = tuple[int, str, Mapping[str, str]]


@dataclass(frozen=True, eq=False)
class Chronicle:
    """Annals: entries by date, their days, and for each property the numbers of its entries."""

    population: Population
    properties: Sequence[str]
    entries: Sequence[Entry]
    days: Indices
    about: Mapping[str, Sequence[int]]

    def day_at(self, depth: float) -> int:
        """Return the day before which such a share of the entries falls."""
        return int(self.days[min(len(self.days) - 1, int(depth * len(self.days)))])

    def depth_of(self, day: int) -> float:
        """Return the share of the entries that are of earlier days."""
        return float(np.searchsorted(self.days, day)) / len(self.days)

    def living(self, day: int) -> list[str]:
        """Return the names of all who are grown and live in the year of a day."""
        return self.population.living(day)

    def write(self, rng: Random, day: int, kind: str, about: Mapping[str, str]) -> Entry:
        """Write an entry that is not of the world."""
        return entry(rng, day, kind, about, self.living(day))


def chronicle(streams: Streams, tier: str, *, busy: bool = False) -> Chronicle:
    """Return the world of a tier; `streams` are those of any row or pool below the same seed.

    In a `busy` one the same people also rent, mend, keep and lend on properties, or would like to.
    """
    return _chronicle(streams.world(WORLD, tier, *(["busy"] if busy else [])), TIERS[tier] // TOKENS_PER_ENTRY)


@lru_cache(maxsize=2)
def _chronicle(world: Streams, size: int) -> Chronicle:
    rng, busy = world.of("facts"), "busy" in world.path
    people = populate(world.of("people"), size // 7, 24 + size // 60)
    properties = _properties(rng, max(FEWEST_PROPERTIES, size // 27))
    drafts = [*_families(rng, people.souls)]
    drafts += _estates(rng, people, properties, round(0.42 * size / len(properties)), BUSY if busy else 0)
    drafts += [(_day(rng), rng.choice(OTHERS), {}) for _ in range(size - len(drafts))]
    texts = world.of("texts")
    entries = [
        entry(texts, day, kind, about, people.living(day))
        for day, kind, about in sorted(drafts, key=lambda draft: draft[0])
    ]
    about = defaultdict[str, list[int]](list)
    for number, one in enumerate(entries):
        if "prop" in one.about:
            about[one.about["prop"]].append(number)
    return Chronicle(people, properties, entries, np.array([one.day for one in entries], dtype=np.int64), dict(about))


def _day(rng: Random) -> int:
    return rng.randrange(FIRST_DAY, LAST_DAY + 1)


def _properties(rng: Random, count: int) -> list[str]:
    """Draw names of properties: each shares its first word with two others at the least."""
    firsts = rng.sample(words_of("first"), len(words_of("first")))
    each = max(LIKE, -(-count // len(firsts)))
    named = [f"the {first} {kind}" for first in firsts for kind in rng.sample(words_of("kinds"), each)]
    return sorted(named[: -(-count // each) * each])


def _families(rng: Random, souls: Sequence[Soul]) -> Iterator[Draft]:
    """Yield births, marriages and deaths; who the parents are is told at any of them."""
    for one in souls:
        known = {} if one.father is None or one.mother is None else parents(one.father.name, one.mother.name)
        if known and FIRST_DAY <= one.born <= LAST_DAY:
            yield one.born, "birth", {"child": one.name, **known, **sex(woman=one.woman)}
        if one.spouse and one.wed <= LAST_DAY and not one.woman:
            yield _marriage(rng, one, one.spouse)
        if FIRST_DAY <= one.dies <= LAST_DAY and (known or rng.random() < INCOMERS_DEATHS):
            told = known and rng.random() < 0.4
            more = {**known, **sex(woman=one.woman)} if told else {}
            yield one.dies, "burial" if told else "death", {"person": one.name, **more}


def _marriage(rng: Random, husband: Soul, wife: Soul) -> Draft:
    two = {"husband": husband.name, "wife": wife.name}
    for one, kind in rng.sample(((husband, "groom"), (wife, "bride")), 2):
        if one.father and one.mother and rng.random() < 0.5:
            return one.wed, kind, {**two, **parents(one.father.name, one.mother.name)}
    return husband.wed, "wedding", two


def parents(father: str, mother: str) -> dict[str, str]:
    """Return the slots of parents."""
    return {"father": father, "mother": mother}


def sex(*, woman: bool) -> dict[str, str]:
    """Return the slot that says whose son or daughter somebody is."""
    return {"son": "daughter" if woman else "son"}


def _estates(rng: Random, people: Population, properties: Sequence[str], each: int, busy: float) -> Iterator[Draft]:
    """Yield what befell each property: about half of it sales and the like, no happening of a kind twice."""
    for prop in properties:
        kinds, title = rng.sample(list(happenings()), len(happenings())), Title()
        for day in sorted(_day(rng) for _ in range(each)):
            if busy and rng.random() < busy:
                yield day, rng.choice(deeds()), {"prop": prop, "person": rng.choice(people.living(day))}
                continue
            if kinds and rng.random() < 0.45:
                yield day, kinds.pop(), {"prop": prop}
                continue
            kind = rng.choice([step for step in STEPS if title.able(step)])
            buyer = {"buyer": rng.choice(people.living(day))} if kind == SALE else {}
            title.take(kind, buyer.get("buyer", ""))
            yield day, kind, {"prop": prop, **buyer}
