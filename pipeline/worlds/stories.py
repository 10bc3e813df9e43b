"""The world of stories: short invented ones, each about one person, with details that are stated or left out.

A story has a sentence for each pair of its things, which states the detail of one of the two. Every such sentence fits
either, with words of the same number in the same places, and a coin decides which. So all that can be seen of a story
without understanding it, such as where a thing is mentioned, how far from a value, or how often, has the same
distribution for things whose detail is stated and for those whose detail is not.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from math import isqrt
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np

from pipeline.caches import cache, lru_cache
from pipeline.streams import Indices, Shuffled, Streams
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.wording import filled, parse, write
from pipeline.worlds.words import pool, pool_digest

KINDS = ("colour", "animal", "object", "place", "time", "number", "person")
"""The kinds of details asked for, each with a file of plots."""
POOLS = ("first", "last", "cities")


@dataclass(frozen=True, slots=True)
class Slot:
    """A thing or a person of a plot, with clauses that mention it without stating its detail."""

    noun: str
    clauses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Plot:
    """A plot whose slots all have details of one kind, drawn from the `values` with that name."""

    title: str
    kind: str
    values: str
    ask: str
    openings: tuple[str, ...]
    closings: tuple[str, ...]
    slots: tuple[Slot, ...]
    pairs: tuple[str, ...]

    def slot(self, noun: str) -> Slot:
        """Return the slot of a noun."""
        return next(slot for slot in self.slots if slot.noun == noun)


@cache
def plots() -> tuple[Plot, ...]:
    """Return all plots, ordered so that each run of `len(KINDS)` has every kind once."""
    by_kind = [_plots_of(kind) for kind in KINDS]
    return tuple(plot for row in zip(*by_kind, strict=True) for plot in row)


@cache
def plot_named(title: str) -> Plot:
    """Return the plot with a title."""
    return next(plot for plot in plots() if plot.title == title)


def _plots_of(kind: str) -> list[Plot]:
    return [_plot(kind, block) for block in _text(kind).strip().split("\n\n")]


def _plot(kind: str, block: str) -> Plot:
    lines: dict[str, list[str]] = {}
    for line in block.splitlines():
        name, _, rest = line.partition(": ")
        lines.setdefault(name, []).append(rest)
    (title,), (values,), (ask,) = lines["plot"], lines["values"], lines["ask"]
    openings, closings, pairs = (tuple(lines[name]) for name in ("open", "close", "pair"))
    return Plot(title, kind, values, ask, openings, closings, tuple(map(_slot, lines["slot"])), pairs)


def _slot(line: str) -> Slot:
    noun, *clauses = line.split(" | ")
    return Slot(noun, tuple(clauses))


@cache
def values_of(name: str) -> tuple[str, ...]:
    """Return the values with a name: a line of ``values.txt``, a pool of words, clock times or numbers.

    No value is part of another, so that each is stated or not, whatever else is.
    """
    if name == "clock":
        return tuple(f"{hour}:{minute:02d}" for hour in range(10, 22) for minute in range(0, 60, 5))
    if name == "number":
        return tuple(str(number) for number in range(11, 99))
    if name in ("first", "city", "friend", "town"):
        return pool("cities" if name in ("city", "town") else "first")
    return _listed()[name]


@cache
def _listed() -> dict[str, tuple[str, ...]]:
    lines = (line.partition(": ") for line in _text("values").splitlines() if not line.startswith("#"))
    return {name: tuple(rest.split(", ")) for name, _, rest in lines}


@cache
def source_digest() -> str:
    """Return the digest of all texts and pools that stories are drawn from."""
    texts = "\0".join(_text(name) for name in (*KINDS, "values"))
    return hashlib.sha256((texts + pool_digest(*POOLS)).encode()).hexdigest()


@cache
def _text(name: str) -> str:
    return (resources.files("pipeline.worlds") / "pools" / "plots" / f"{name}.txt").read_text(encoding="ascii")


WORLD = "stories@3"
TOKENS_PER_STORY = 36
"""Tokens of the tier per story: three times what a prompt of stories can hold."""
PAIRS = 3
"""How many details a story states, each for one of two things."""
ASIDES = ((), (0,), (0,), (1,), (1,), (0, 1))
"""Which of the two things of a pair are mentioned again, next to the sentence about both."""
MINOR = ("weekday", "month", "town", "friend", "food")
"""Details of openings and closings: always stated and never asked for."""
REFERRING = re.compile(r"\b(former|second)\b")
NOTHING: Mapping[Any, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Pair:
    """Two nouns in the order of their sentence, which of them has the detail, and the detail."""

    nouns: tuple[str, str]
    owner: int
    value: str


@dataclass(frozen=True, slots=True)
class Story:
    """A story as written. In each of its `pairs` one noun has a stated detail, and the other has none."""

    name: str
    plot: Plot
    text: str
    pairs: tuple[Pair, ...]

    @property
    def stated(self) -> dict[str, str]:
        """The stated details by noun, in order."""
        return {pair.nouns[pair.owner]: pair.value for pair in self.pairs}


def names(streams: Streams, tier: str) -> Sequence[str]:
    """Return the full names of all people of a tier's stories, all distinct.

    They fill the smallest possible square of first and last names, so that every name is shared by many.
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
    """Return who shares the first name with a person of a tier, and who shares the last name."""
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

    `owners` says for some pairs, by number, which of the two things has the detail. It changes no other draw: stories
    of the same draws with other owners differ only in the words that say whose the detail is. `details` fixes the
    details of things of different pairs, by noun; no other thing has one of them.
    """
    first = name.partition(" ")[0]
    slots = rng.sample(plot.slots, 2 * PAIRS)
    forms = _forms(rng, plot)
    values = drawn(rng, plot.values, PAIRS, (first, *details.values()))
    coins = [rng.randrange(2) for _ in range(PAIRS)]
    pairs, sentences = [], []
    for number, form in enumerate(forms):
        both = slots[2 * number], slots[2 * number + 1]
        pair = Pair((both[0].noun, both[1].noun), owners.get(number, coins[number]), values[number])
        for side, noun in enumerate(pair.nouns):
            pair = replace(pair, owner=side, value=details[noun]) if noun in details else pair
        pairs.append(pair)
        sentences += _around(rng, worded(form, pair, first), both, first)
    minor = {kind: drawn(rng, kind, 1, (first,))[0] for kind in MINOR} | {"name": name, "first": first}
    opening, closing = (filled(rng.choice(texts), minor) for texts in (plot.openings, plot.closings))
    return Story(name, plot, " ".join([opening, *sentences, closing]) + "\n", tuple(pairs))


def _forms(rng: Random, plot: Plot) -> list[str]:
    """Draw the sentences about pairs, at most one of them with "the former" or "the second"."""
    order = rng.sample(plot.pairs, len(plot.pairs))
    referring = [form for form in order if REFERRING.search(form)]
    return [form for form in order if form not in referring[1:]][:PAIRS]


def drawn(rng: Random, kind: str, count: int, without: Sequence[str]) -> list[str]:
    """Draw distinct values of a kind, none of them in `without`."""
    chosen: list[str] = []
    values = values_of(kind)
    while len(chosen) < count:
        value = rng.choice(values)
        if value not in chosen and value not in without:
            chosen.append(value)
    return chosen


def worded(form: str, pair: Pair, first: str) -> str:
    """Return the sentence that states the detail of one thing of a pair."""
    values = {"x": pair.nouns[0], "y": pair.nouns[1], "v": pair.value, "first": first}
    return _sentence(write(parse(form), lambda slot: values[slot.name], lambda options: options[pair.owner]))


def _around(rng: Random, stating: str, both: tuple[Slot, Slot], first: str) -> list[str]:
    """Put what else is said about the things of a pair before or after the sentence about both."""
    remarks = [filled(rng.choice(both[side].clauses), {"first": first}) for side in rng.choice(ASIDES)]
    joined, after = rng.random() < 0.5, rng.random() < 0.5
    asides = [_sentence(text) for text in ([", and ".join(remarks)] if remarks and joined else remarks)]
    return [stating, *asides] if after else [*asides, stating]


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."
