"""The world of needles: what can be filed, under which key, and with which value (RULER, section 3.1).

One world for each seed. A key is an adjective and a noun, a value a number of seven digits; no two entries of pools
share a key or a value. The keys of a row's own entries may be those of entries of pools, which are then to be left out
of it; their values are those of none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from uuid import UUID

from pipeline.caches import lru_cache
from pipeline.streams import Permutation, Streams
from pipeline.worlds.identifying import identifying
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

    def spelled(self, streams: Streams) -> str:
        """Return the key as texts have it; `streams` are any below the same seed."""
        return f"{pool(ADJECTIVES)[self.adjective]} {_nouns(streams)[self.noun]}"


def source_digest() -> str:
    """Return the digest of the pools that keys are made of."""
    return pool_digest(ADJECTIVES, NOUNS)


def pooled(streams: Streams, count: int) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of the first `count` entries of pools."""
    values = (FIRST + _values(streams).run(0, count)).tolist()
    for number, value in zip(_order(streams.world(WORLD)), values, strict=False):
        yield _key(number).spelled(streams), str(value)


def asked_key(streams: Streams, *cell: str | int, number: int) -> Key:
    """Return the key of question `number` of a cell: of all keys, none twice while there are others."""
    count = len(pool(ADJECTIVES)) * len(pool(NOUNS))
    turn, place = divmod(number, count)
    return _key(Permutation(streams.world("asked keys", *cell, turn).of("order"), count)[place])


def draw_grid(
    rng: Random, size: int, degree: int, unlike: int, first: Key | None = None
) -> tuple[list[list[Key]], list[Key]]:
    """Draw keys of which each shares its adjective with as many others as its noun, and keys that share nothing.

    Args:
        rng: what is drawn from.
        size: how many adjectives there are, and nouns.
        degree: how many keys have a given adjective, or noun: each key has ``2 * (degree - 1)`` near ones.
        unlike: how many keys share no word with any other.
        first: the first key of the first list, if it is given; any other key is of other words where it shares none.

    Returns:
        `degree` lists of `size` keys each, no two keys of a list sharing a word; and the keys that are unlike.
    """
    given = (first.adjective, first.noun) if first else (None, None)
    adjectives, nouns = (
        _words(rng, len(pool(name)), size + unlike, word) for name, word in zip((ADJECTIVES, NOUNS), given, strict=True)
    )
    grid = [[Key(adjectives[row], nouns[(row + step) % size]) for row in range(size)] for step in range(degree)]
    return grid, [*map(Key, adjectives[size:], nouns[size:])]


def _words(rng: Random, known: int, count: int, first: int | None) -> list[int]:
    """Draw the places of distinct words, the first of which may be given."""
    drawn = rng.sample(range(known), count)
    if first is None:
        return drawn
    return [first, *(word for word in drawn if word != first)][:count]


def places(streams: Streams, keys: Iterable[str]) -> frozenset[int]:
    """Return the places of keys in the order in which pools take them."""
    words = {word: place for some in (pool(ADJECTIVES), _nouns(streams)) for place, word in enumerate(some)}
    held = _places(streams.world(WORLD))
    split = (key.split(" ") for key in keys)
    return frozenset(held[words[one] * len(pool(NOUNS)) + words[other]] for one, other in split)


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


def _key(number: int) -> Key:
    return Key(*divmod(number, len(pool(NOUNS))))


def _nouns(streams: Streams) -> Sequence[str]:
    return identifying(pool(NOUNS), streams)


@lru_cache(maxsize=2)
def _order(world: Streams) -> Sequence[int]:
    """Return all keys by number, in the order of the world."""
    numbers = list(range(len(pool(ADJECTIVES)) * len(pool(NOUNS))))
    world.of("keys").shuffle(numbers)
    return numbers


@lru_cache(maxsize=2)
def _places(world: Streams) -> Sequence[int]:
    """Return the place of every key in the order of the world, by number."""
    found = [0] * len(_order(world))
    for place, number in enumerate(_order(world)):
        found[number] = place
    return found


def _values(streams: Streams) -> Permutation:
    return Permutation(streams.world(WORLD).of("values"), NUMBERS)
