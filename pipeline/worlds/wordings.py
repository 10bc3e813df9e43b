"""Wordings of the attributes of people: several sentences for each, and for everybody's attributes one of them.

The wordings are data, in ``pools/bio/*.txt``: writers fill them in, readers take texts apart with them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, lru_cache

import numpy as np

from pipeline.recipe import TIERS
from pipeline.streams import Indices, Streams, words
from pipeline.worlds.people import TOKENS_PER_PERSON
from pipeline.worlds.words import pool, pool_digest

WORLD = "wordings@1"
SECTION = re.compile(r"\[(\w+)\]")


@cache
def wordings(style: str) -> Mapping[str, tuple[str, ...]]:
    """Return the sentences of a style by what they state: with ``{value}``, ``{name}`` or both in them."""
    found: dict[str, tuple[str, ...]] = {}
    for line in filter(None, pool(f"bio/{style}")):
        section = SECTION.fullmatch(line)
        if section:
            kind = section[1]
        found[kind] = found.get(kind, ()) + (() if section else (line,))
    return found


@cache
def source_digest(style: str) -> str:
    """Return the digest of a style's file."""
    return pool_digest(f"bio/{style}")


def chooser(streams: Streams, tier: str, style: str) -> Callable[[int], dict[str, str]]:
    """Return what tells the sentence in which a person of a tier states each thing.

    `streams` are any below the same seed.
    """
    numbers = _numbers(streams.world(WORLD, style, tier), TIERS[tier] // TOKENS_PER_PERSON, style)
    every = wordings(style)

    def chosen(person: int) -> dict[str, str]:
        return {
            kind: told[number] for (kind, told), number in zip(every.items(), numbers[person].tolist(), strict=True)
        }

    return chosen


@lru_cache(maxsize=4)
def _numbers(world: Streams, people: int, style: str) -> Indices:
    """Draw which sentence each person has for each thing, all independently."""
    counts = np.array([len(told) for told in wordings(style).values()], dtype=np.int64)
    drawn = words(world.of("sentences"), people * len(counts)).astype(np.int64)
    return np.remainder(drawn.reshape(people, len(counts)), counts)
