"""The world of stories: short invented ones, each about one person, with details that are stated or left out.

A story has a sentence for each pair of its things, which states the detail of one of the two. Every such sentence can
be said of either, by words of the same number at the same places, and a coin tells of which: so all that can be seen of
a story without understanding it, such as where a thing stands, how far from a value, or how often it is mentioned, is
drawn alike for things whose detail is stated and for those whose detail is not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isqrt
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np

from pipeline.recipe import TIERS
from pipeline.streams import Indices, Shuffled, Streams
from pipeline.worlds.plots import Plot, Slot, values_of
from pipeline.worlds.words import pool

WORLD = "stories@3"
TOKENS_PER_STORY = 36
"""One story for so many tokens of the tier: three times what a prompt of stories can hold."""
PAIRS = 3
"""How many details a story states, each of one of two things."""
ASIDES = ((), (0,), (0,), (1,), (1,), (0, 1))
"""Which of the two things of a pair are mentioned once more, next to the sentence about both."""
MINOR = ("weekday", "month", "town", "friend", "food")
"""Details of openings and closings: always stated and never asked."""
EITHER = re.compile(r"\[([^|\]]*)\|([^\]]*)\]")
"""What tells of which thing of a pair the detail is: words for the first, and for the second."""
REFERRING = re.compile(r"\b(former|second)\b")
NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nouns in the order in which a sentence names them, which of them has the detail, and the detail."""

    nouns: tuple[str, str]
    owner: int
    value: str


@dataclass(frozen=True, slots=True)
class Story:
    """A story as told. Of each of its `pairs` one noun has a stated detail, and the other has none."""

    name: str
    plot: Plot
    text: str
    pairs: tuple[Pair, ...]

    @property
    def stated(self) -> dict[str, str]:
        """The stated details by noun, as they come."""
        return {pair.nouns[pair.owner]: pair.value for pair in self.pairs}


def names(streams: Streams, tier: str) -> Sequence[str]:
    """Return the full names of all people of a tier's stories, no two the same.

    They fill a square of first and last names that is as small as can be, so that every name is that of many.
    """
    return _names(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_STORY)


@lru_cache(maxsize=4)
def _names(world: Streams, count: int) -> Sequence[str]:
    side = _side(count)
    firsts, lasts = (world.of(part).sample(pool(part), side) for part in ("first", "last"))
    return [f"{firsts[cell // side]} {lasts[cell % side]}" for cell in _cells(world, count).tolist()]


def _side(count: int) -> int:
    return isqrt(count - 1) + 1


@lru_cache(maxsize=4)
def _cells(world: Streams, count: int) -> Indices:
    return Shuffled(world.of("names"), _side(count) ** 2).take(count)


def namesakes(streams: Streams, tier: str, person: int) -> tuple[Sequence[int], Sequence[int]]:
    """Return who shares the first name with a person of a tier, and who the last name."""
    count = TIERS[tier] // TOKENS_PER_STORY
    cells = _cells(streams.world(WORLD, tier), count)
    first, last = (np.flatnonzero(part == part[person]).tolist() for part in np.divmod(cells, _side(count)))
    return [one for one in first if one != person], [one for one in last if one != person]


def draw_story(
    rng: Random,
    name: str,
    plot: Plot,
    owners: Mapping[int, int] = NOTHING,
    details: Mapping[str, str] = NOTHING,
) -> Story:
    """Draw a story.

    `owners` says of some pairs, by number, which of the two things has the detail. It moves no other draw: stories of
    the same draws with other owners differ in nothing but the words that tell whose the detail is. `details` are those
    that things of different pairs have in any case, by noun; no other thing has one of them.
    """
    first = name.partition(" ")[0]
    slots = rng.sample(plot.slots, 2 * PAIRS)
    forms = _forms(rng, plot)
    values = drawn(rng, plot.values, PAIRS, (first, *details.values()))
    coins = [rng.randrange(2) for _ in range(PAIRS)]
    told, sentences = [], []
    for number, form in enumerate(forms):
        both = slots[2 * number], slots[2 * number + 1]
        pair = Pair((both[0].noun, both[1].noun), owners.get(number, coins[number]), values[number])
        for side, noun in enumerate(pair.nouns):
            pair = replace(pair, owner=side, value=details[noun]) if noun in details else pair
        told.append(pair)
        sentences += _around(rng, worded(form, pair, first), both, first)
    minor = {kind: drawn(rng, kind, 1, (first,))[0] for kind in MINOR} | {"name": name, "first": first}
    opening, closing = (rng.choice(texts).format_map(minor) for texts in (plot.openings, plot.closings))
    return Story(name, plot, " ".join([opening, *sentences, closing]) + "\n", tuple(told))


def _forms(rng: Random, plot: Plot) -> list[str]:
    """Draw the sentences about pairs; at most one of them speaks of the former and the latter."""
    order = rng.sample(plot.pairs, len(plot.pairs))
    referring = [form for form in order if REFERRING.search(form)]
    return [form for form in order if form not in referring[1:]][:PAIRS]


def drawn(rng: Random, kind: str, count: int, without: Sequence[str]) -> list[str]:
    """Draw distinct values of a kind, none of them in `without`."""
    found: list[str] = []
    values = values_of(kind)
    while len(found) < count:
        value = rng.choice(values)
        if value not in found and value not in without:
            found.append(value)
    return found


def worded(form: str, pair: Pair, first: str) -> str:
    """Return the sentence that states the detail of one thing of a pair."""
    said = EITHER.sub(lambda found: found[1 + pair.owner], form)
    return _sentence(said.format(x=pair.nouns[0], y=pair.nouns[1], v=pair.value, first=first))


def _around(rng: Random, stating: str, both: tuple[Slot, Slot], first: str) -> list[str]:
    """Put what else is said about the things of a pair before or behind the sentence about both."""
    said = [rng.choice(both[side].clauses).format(first=first) for side in rng.choice(ASIDES)]
    joined, behind = rng.random() < 0.5, rng.random() < 0.5
    asides = [_sentence(text) for text in ([", and ".join(said)] if said and joined else said)]
    return [stating, *asides] if behind else [*asides, stating]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
