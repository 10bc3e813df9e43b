"""The world of needles: what can be filed, under which key, and with which value (RULER, section 3.1).

There is one world for each seed. A key is an adjective and a noun, a value a number of seven digits; no two pool
entries share a key or a value. A row's own keys may be those of pool entries, which are then left out of its filler;
its values are not in any pool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random
from uuid import UUID

from pipeline.caches import lru_cache
from pipeline.streams import Permutation, Streams, stream
from pipeline.worlds.identifying import identifying
from pipeline.worlds.words import pool, pool_digest

WORLD = "needles@1"
ADJECTIVES, NOUNS = "recall/adjectives", "recall/nouns"
FIRST, NUMBERS = 1_000_000, 9_000_000
"""The least value, and how many there are: all numbers of seven digits."""
POOLED = 150_000
"""Entries that pools may take."""
CONSONANTS = "BCDFGHJKLMNPQRSTVWXZ"
"""The letters of codes: without vowels they make no words."""
NUMERALS = tuple(map(str, range(100, 600)))
"""Three digits for each noun, without a leading zero."""
LABELS, FIRST_DAY, DAYS = 12, date(2001, 1, 1).toordinal(), 36_500
"""Labels of dated entries; the first day, and the number of days."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key, by the places of its two words in their pools."""

    adjective: int
    noun: int

    def spelled(self, streams: Streams, *, coded: bool = False) -> str:
        """Return the key in words or as a code; `streams` are any below the same seed."""
        joint = "-" if coded else " "
        first, second = _spelling(streams, coded=coded)
        return f"{first[self.adjective]}{joint}{second[self.noun]}"


def source_digest() -> str:
    """Return the digest of the pools that keys are made of."""
    return pool_digest(ADJECTIVES, NOUNS)


def pooled(streams: Streams, count: int, *, coded: bool = False) -> Iterator[tuple[str, str]]:
    """Yield the keys and values of the first `count` entries of pools."""
    for number, value in zip(_order(streams.world(WORLD)), pooled_values(streams, count), strict=False):
        yield _key(number).spelled(streams, coded=coded), value


def pooled_values(streams: Streams, count: int) -> Iterator[str]:
    """Yield the values of the first `count` entries of pools."""
    return map(str, (FIRST + _values(streams).run(0, count)).tolist())


def pooled_days(streams: Streams, count: int) -> Iterator[tuple[int, date]]:
    """Yield the first `count` of all pairs of a number below `LABELS` and a day, in random order."""
    for number in Permutation(streams.world(WORLD).of("days"), LABELS * DAYS).run(0, count).tolist():
        label, day = divmod(number, DAYS)
        yield label, date.fromordinal(FIRST_DAY + day)


def asked_key(streams: Streams, *cell: str | int, number: int) -> Key:
    """Return the key of question `number` of a cell; no key recurs until all have been used."""
    count = len(pool(ADJECTIVES)) * len(pool(NOUNS))
    cycle, place = divmod(number, count)
    return _key(Permutation(streams.world("asked keys", *cell, cycle).of("order"), count)[place])


def draw_grid(
    rng: Random, size: int, degree: int, unlike: int, first: Key | None = None
) -> tuple[list[list[Key]], list[Key]]:
    """Draw keys that each share their adjective with as many others as their noun, and keys that share nothing.

    Args:
        rng: the generator.
        size: how many adjectives there are, and how many nouns.
        degree: how many keys have a given adjective, or noun: each key has ``2 * (degree - 1)`` near ones.
        unlike: how many keys share no word with any other.
        first: the first key of the first list, if it is given; any other key is of other words where it shares none.

    Returns:
        `degree` lists of `size` keys each, no two keys of a list sharing a word; and the keys that share nothing.
    """
    fixed = (first.adjective, first.noun) if first else (None, None)
    adjectives, nouns = (
        _words(rng, len(pool(name)), size + unlike, word) for name, word in zip((ADJECTIVES, NOUNS), fixed, strict=True)
    )
    grid = [[Key(adjectives[row], nouns[(row + step) % size]) for row in range(size)] for step in range(degree)]
    return grid, [*map(Key, adjectives[size:], nouns[size:])]


def _words(rng: Random, known: int, count: int, first: int | None) -> list[int]:
    """Draw the places of distinct words; the first may be given."""
    drawn = rng.sample(range(known), count)
    if first is None:
        return drawn
    return [first, *(word for word in drawn if word != first)][:count]


def places(streams: Streams, keys: Iterable[str], *, coded: bool = False) -> frozenset[int]:
    """Return the places of keys in the order in which pools use them."""
    words = {word: place for spelled in _spelling(streams, coded=coded) for place, word in enumerate(spelled)}
    held = _places(streams.world(WORLD))
    split = (key.split("-" if coded else " ") for key in keys)
    return frozenset(held[words[adjective] * len(pool(NOUNS)) + words[noun]] for adjective, noun in split)


def draw_values(streams: Streams, rng: Random, count: int) -> list[str]:
    """Draw distinct values that no pool has."""
    values = _values(streams)
    return [str(FIRST + values[place]) for place in rng.sample(range(POOLED, NUMBERS), count)]


def draw_uuid(rng: Random, stem: str = "") -> str:
    """Draw a random UUID (RFC 9562, section 5.4) that begins with the hexadecimal digits of `stem`."""
    digits = f"{rng.getrandbits(128):032x}"
    return str(UUID(hex=stem + digits[len(stem) :], version=4))


def stem_of(uuid: str, digits: int) -> str:
    """Return the first hexadecimal digits of a UUID, without its hyphens."""
    return uuid.replace("-", "")[:digits]


def _key(number: int) -> Key:
    return Key(*divmod(number, len(pool(NOUNS))))


def _nouns(streams: Streams) -> Sequence[str]:
    return identifying(pool(NOUNS), streams)


def _spelling(streams: Streams, *, coded: bool) -> tuple[Sequence[str], Sequence[str]]:
    """Return the spellings of both parts of keys, by place."""
    return (_letters(training=streams.training), NUMERALS) if coded else (pool(ADJECTIVES), _nouns(streams))


@lru_cache(maxsize=2)
def _letters(*, training: bool) -> Sequence[str]:
    """Return two to four letters for each adjective, all distinct; training has others."""
    rng, count = stream("needles", "letters"), len(pool(ADJECTIVES))
    letters = dict[str, None]()
    while len(letters) < 2 * count:
        letters["".join(rng.sample(CONSONANTS, 2 + len(letters) % 3))] = None
    return [*letters][training * count :][:count]


@lru_cache(maxsize=2)
def _order(world: Streams) -> Sequence[int]:
    """Return all keys by number, in the order of the world."""
    numbers = list(range(len(pool(ADJECTIVES)) * len(pool(NOUNS))))
    world.of("keys").shuffle(numbers)
    return numbers


@lru_cache(maxsize=2)
def _places(world: Streams) -> Sequence[int]:
    """Return the place of every key, by number, in the order of the world."""
    places = [0] * len(_order(world))
    for place, number in enumerate(_order(world)):
        places[number] = place
    return places


def _values(streams: Streams) -> Permutation:
    return Permutation(streams.world(WORLD).of("values"), NUMBERS)
