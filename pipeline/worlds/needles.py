"""The world of needles: what can be filed, under which key, and with which value (RULER, section 3.1).

One world for each seed. A key is an adjective and a noun, a value a number of seven digits; no two entries share a key
or a value. Three quarters of all keys are for pools, the rest for the rows' own entries, which are drawn one by one:
so whatever stands in a pool, no row has to look.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from uuid import UUID

from pipeline.streams import Permutation, Streams
from pipeline.worlds.words import pool, pool_digest

WORLD = "needles@1"
ADJECTIVES, NOUNS = "recall/adjectives", "recall/nouns"
FIRST, NUMBERS = 1_000_000, 9_000_000
"""The least value, and how many there are: all numbers of seven digits."""
POOLED = 150_000
"""Entries that pools may take."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key by the places of its two words in their pools."""

    adjective: int
    noun: int

    def __str__(self) -> str:
        """Return the key as texts have it."""
        return f"{pool(ADJECTIVES)[self.adjective]} {pool(NOUNS)[self.noun]}"


@dataclass(frozen=True, slots=True)
class Reserve:
    """The keys that rows draw from, and those of them that share a word."""

    keys: tuple[Key, ...]
    by_adjective: dict[int, list[Key]]
    by_noun: dict[int, list[Key]]


def source_digest() -> str:
    """Return the digest of the pools that keys are made of."""
    return pool_digest(ADJECTIVES, NOUNS)


def pooled(streams: Streams, count: int) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of the first `count` entries of pools."""
    values = _values(streams)
    for place, number in enumerate(_order(streams.world(WORLD))[:count]):
        yield str(_key(number)), str(FIRST + values[place])


def draw_keys(streams: Streams, rng: Random, count: int) -> list[Key]:
    """Draw keys that stand in no pool, no two of which share a word."""
    keys = _reserve(streams.world(WORLD)).keys
    found: list[Key] = []
    while len(found) < count:
        key = rng.choice(keys)
        if all(key.adjective != other.adjective and key.noun != other.noun for other in found):
            found.append(key)
    return found


def near_keys(streams: Streams, rng: Random, key: Key, count: int) -> list[Key]:
    """Draw keys that share a word with a key: half of them its adjective, the others its noun."""
    held = _reserve(streams.world(WORLD))
    same = rng.sample([one for one in held.by_adjective[key.adjective] if one != key], count // 2)
    return same + rng.sample([one for one in held.by_noun[key.noun] if one != key], count - count // 2)


def draw_values(streams: Streams, rng: Random, count: int) -> list[str]:
    """Draw distinct values that stand in no pool."""
    values = _values(streams)
    return [str(FIRST + values[place]) for place in rng.sample(range(POOLED, NUMBERS), count)]


def draw_uuid(rng: Random, stem: str = "") -> str:
    """Draw a random UUID (RFC 9562, section 5.4), with hexadecimal digits to begin with."""
    digits = f"{rng.getrandbits(128):032x}"
    return str(UUID(hex=stem + digits[len(stem) :], version=4))


def stem_of(uuid: str, digits: int) -> str:
    """Return the first hexadecimal digits of a UUID, without its hyphens."""
    return uuid.replace("-", "")[:digits]


@lru_cache(maxsize=2)
def _reserve(world: Streams) -> Reserve:
    """Return the keys of a world that rows draw from."""
    keys = tuple(map(_key, _order(world)[POOLED:]))
    by_adjective: dict[int, list[Key]] = {}
    by_noun: dict[int, list[Key]] = {}
    for key in keys:
        by_adjective.setdefault(key.adjective, []).append(key)
        by_noun.setdefault(key.noun, []).append(key)
    return Reserve(keys, by_adjective, by_noun)


def _key(number: int) -> Key:
    return Key(*divmod(number, len(pool(NOUNS))))


@lru_cache(maxsize=2)
def _order(world: Streams) -> Sequence[int]:
    """Return all keys by number, in the order of the world."""
    numbers = list(range(len(pool(ADJECTIVES)) * len(pool(NOUNS))))
    world.of("keys").shuffle(numbers)
    return numbers


def _values(streams: Streams) -> Permutation:
    return Permutation(streams.world(WORLD).of("values"), NUMBERS)
