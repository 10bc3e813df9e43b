"""The world `gazetteer`: an invented land, and passages about what is in it (HELMET, section 2.1: a corpus to search).

There is one world for each seed and tier, shared by all prompts of the tier. Every name is unique; surnames, towns and
words of names recur in names of every kind. A fact exists if a passage states it, and a thing has one value of each
relation.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random

from pipeline.caches import lru_cache
from pipeline.streams import Streams
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.gazetteer.documents import Passage, Wanted, Writer
from pipeline.worlds.gazetteer.things import DRAWS, QUALIFIED, Cast, Stock, Thing, based, cast, kinds, parts
from pipeline.worlds.ids import numbers

WORLD = "gazetteer@3"
TRIES = 200
"""Draws of a name without a town before one with a town is used."""
TOKENS_PER_PASSAGE = 43
"""Tokens of the tier per passage: about three times what a prompt can hold."""


@dataclass(frozen=True, eq=False)
class Gazetteer:
    """All passages of a world, in order: those about one thing are adjacent.

    `about` maps the name of a thing to its passages, `holding` a value to those that state or name it. `bases` are the
    names of things without their towns, by kind, and `alone` is the share of a kind with no town in its name.
    """

    cast: Cast
    passages: Sequence[Passage]
    about: Mapping[str, Sequence[int]]
    holding: Mapping[str, Sequence[int]]
    bases: Mapping[str, Counter[str]]
    alone: Mapping[str, float]

    def thing(self, name: str) -> Thing:
        """Return the thing with a name."""
        return self.cast.by_name[name]

    def stating(self, name: str, relation: str) -> int | None:
        """Return the passage that states a relation of a thing, or None."""
        return next((one for one in self.about[name] if relation in self.passages[one].facts), None)

    def invent(
        self, rng: Random, kind: str, fixed: Mapping[str, str], taken: Collection[str] = (), era: int | None = None
    ) -> Thing:
        """Draw a thing that is not in the world, with some given facts and a name that is not taken.

        Its first year is `era`, if that is given.
        """
        name, town = self.christen(rng, kind, fixed.get("town", ""), taken)
        thing = Thing(kind, name, self.cast.era(rng, kind, fixed) if era is None else era)
        self.cast.state(rng, thing, {**fixed, "town": town} if kind in QUALIFIED else fixed)
        return thing

    def christen(self, rng: Random, kind: str, town: str = "", taken: Collection[str] = ()) -> tuple[str, str]:
        """Draw a name for a thing that is not in the world, and its town: the given one, or any if its kind has one.

        Kinds that a town can qualify have one in as many names as in the world; no name without a town is part of
        another name.
        """
        stock = replace(self.cast.stock, rng=rng)
        if kind not in QUALIFIED:
            while True:
                name = DRAWS[kind](stock)
                if name not in self.about and name not in taken:
                    return name, town
        town, bases = town or rng.choice(stock.towns), self.bases[kind]
        left = TRIES if rng.random() < self.alone[kind] else 0
        while True:
            base = DRAWS[kind](stock)
            name, alike = f"{base} {QUALIFIED[kind]} {town}", [one for one in taken if one.startswith(base)]
            if left and not bases[base] and not alike:
                return base, town
            if not left and not any(one in self.about or one in alike for one in (base, name)):
                return name, town
            left = max(0, left - 1)

    def write(
        self, rng: Random, thing: Thing, form: str, wanted: Wanted = (), stating: Mapping[str, str] | None = None
    ) -> Passage:
        """Write a passage for a row: its colour names what is wanted, and some relations have given wordings."""
        return Writer(rng, self.cast).write(thing, form, wanted, stating)


def gazetteer(streams: Streams, tier: str) -> Gazetteer:
    """Return the world of a tier; `streams` are those of any row or pool below the same seed."""
    return _gazetteer(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_PASSAGE)


@lru_cache(maxsize=2)
def _gazetteer(world: Streams, size: int) -> Gazetteer:
    rng = world.of("facts")
    drawn_cast = cast(rng, Stock.of(world, size), counts(size))
    writer = Writer(world.of("texts"), drawn_cast)
    passages = [writer.write(thing, form) for thing, form in parts(drawn_cast.things)]
    about, holding = defaultdict[str, list[int]](list), defaultdict[str, list[int]](list)
    for number, passage in enumerate(passages):
        about[passage.thing.name].append(number)
        for value in passage.words:
            holding[value].append(number)
    located = [kind for kind in drawn_cast.things if kind in QUALIFIED]
    bases = {kind: Counter(map(based(kind), (one.name for one in drawn_cast.things[kind]))) for kind in located}
    alone = {kind: sum(one == 1 for one in times.values()) / times.total() for kind, times in bases.items()}
    return Gazetteer(drawn_cast, passages, dict(about), dict(holding), bases, alone)


def counts(size: int) -> dict[str, int]:
    """Return how many things of each kind a world with this many passages has, by the weights of their forms."""
    weights = {kind: sum(form.weight for form in forms) / len(forms) for kind, forms in kinds().items()}
    total = sum(form.weight for forms in kinds().values() for form in forms)
    return {kind: max(12, round(size * weight / total)) for kind, weight in weights.items()}


def ids(streams: Streams, tier: str) -> Sequence[str]:
    """Return the id of every passage of a tier's world, in order; `streams` are any below the same seed."""
    return _ids(streams.world(WORLD, tier), len(gazetteer(streams, tier).passages))


@lru_cache(maxsize=2)
def _ids(world: Streams, count: int) -> tuple[str, ...]:
    return numbers(world.of("ids"), count)
