"""Randomness: every draw comes from a stream that is a pure function of its path.

A stream is seeded with the SHA-256 of its joined path, so that any row can be made alone, in any order, on any machine.
Each purpose has its own stream, so that one more draw in one place changes nothing elsewhere. No path has a tokenizer.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import isqrt, log
from random import Random

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import lru_cache

Indices = NDArray[np.int64]
Words = NDArray[np.uint64]
FEW, ROUNDS = 64, 8
"""The most numbers that are shuffled rather than enciphered; rounds of the cipher."""
WORD = (1 << 64) - 1


def stream(*path: str | int) -> Random:
    """Return the generator of a path, e.g. ``stream(7, "bio.standard@1", "32k", 4096, 17, "filler")``.

    ``random.Random`` seeded by an integer gives the same draws on every CPython since 3.2.
    """
    joined = "\x1f".join(f"{type(part).__name__}:{part}" for part in path)
    return Random(int.from_bytes(hashlib.sha256(joined.encode()).digest(), "big"))


@dataclass(frozen=True, slots=True)
class Streams:
    """The streams below one path."""

    path: tuple[str | int, ...]

    @property
    def training(self) -> bool:
        """Whether these streams are for training; the root of an evaluation's path is its seed."""
        return str(self.path[0]).startswith("train/")

    def of(self, *purpose: str | int) -> Random:
        """Return the generator for one purpose."""
        return stream(*self.path, *purpose)

    def world(self, *path: str | int) -> Streams:
        """Return the streams of something that many rows share, under the same seed."""
        return Streams((self.path[0], *path))


def words(rng: Random, count: int) -> NDArray[np.uint32]:
    """Return `count` uniform 32-bit words; two calls give the same words as one longer call."""
    return np.frombuffer(rng.randbytes(4 * count), dtype="<u4")


class Shuffled:
    """The indices below `size` in random order, except those in `without`, drawn lazily.

    ``take(k)`` is always a prefix of ``take(k + 1)``.
    """

    def __init__(self, rng: Random, size: int, without: frozenset[int] = frozenset()) -> None:
        self._rng, self._size = rng, size
        self._limit = size - len(without)
        self._blocked = np.fromiter(without, dtype=np.int64, count=len(without))
        self._found = np.empty(0, dtype=np.int64)

    @property
    def limit(self) -> int:
        """How many indices there are to take."""
        return self._limit

    def take(self, count: int) -> Indices:
        """Return the first `count` indices, or all if there are fewer."""
        count = min(count, self._limit)
        while len(self._found) < count:
            self._draw(count - len(self._found))
        return self._found[:count]

    def _draw(self, missing: int) -> None:
        """Draw as many words as are expected to give `missing` new indices; the fewer are left, the more repeat."""
        left = self._limit - len(self._found)
        wanted = self._size * log((left + 1) / (left - missing + 0.5))
        drawn = words(self._rng, int(1.05 * wanted) + 16).astype(np.int64) % self._size
        if len(self._blocked):
            blocked = np.zeros(self._size, dtype=np.bool_)
            blocked[self._blocked] = True
            drawn = drawn[~blocked[drawn]]
        self._found = _firsts(np.concatenate([self._found, drawn]), self._size)


def _firsts(numbers: Indices, size: int) -> Indices:
    """Return numbers below `size` without repeats; places are written in reverse, so that the first one remains."""
    places, first = np.arange(len(numbers)), np.empty(size, dtype=np.int64)
    first[numbers[::-1]] = places[::-1]
    return np.asarray(numbers[first[numbers] == places], dtype=np.int64)


class Given:
    """An order that is given as an array, with the interface of `Shuffled`."""

    def __init__(self, order: Indices) -> None:
        self._order = order

    def take(self, count: int) -> Indices:
        """Return the first `count` indices, or all if there are fewer."""
        return self._order[:count]


class Wheel:
    """Indices drawn with replacement from a wheel, which may contain an index several times."""

    def __init__(self, rng: Random, wheel: Indices) -> None:
        self._rng, self._wheel = rng, wheel
        self._drawn = np.empty(0, dtype=np.int64)

    def take(self, count: int) -> Indices:
        """Return the first `count` indices; a prefix of any longer take."""
        missing = count - len(self._drawn)
        if missing > 0:
            fresh = self._wheel[words(self._rng, missing) % len(self._wheel)]
            self._drawn = np.concatenate([self._drawn, fresh])
        return self._drawn[:count]


class Permutation:
    """A random order of the numbers below `size`, with constant-time access to any place.

    Up to FEW numbers are shuffled. More are enciphered by a Feistel network over ``Z_a x Z_b`` with cycle walking
    (Black and Rogaway 2002, Ciphers with arbitrary finite domains, sections 3 and 4), so nothing is stored.

    >>> sorted(Permutation(stream("order"), 1000)[place] for place in range(1000)) == list(range(1000))
    True
    """

    def __init__(self, rng: Random, size: int) -> None:
        self._size = size
        self._few = list(range(size)) if size <= FEW else []
        rng.shuffle(self._few)
        self._width = isqrt(size - 1) + 1 if size > FEW else 1
        self._height = -(-size // self._width)
        self._keys = [rng.getrandbits(64) for _ in range(ROUNDS)] if size > FEW else []

    def __getitem__(self, place: int) -> int:
        """Return the number at a place; both are in ``range(size)``.

        Raises:
            IndexError: for a place out of range.
        """
        if not 0 <= place < self._size:
            raise IndexError(f"place {place} is not one of {self._size}")
        if self._few:
            return self._few[place]
        moved = self._enciphered(place)
        while moved >= self._size:
            moved = self._enciphered(moved)
        return moved

    def run(self, start: int, stop: int) -> Indices:
        """Return the numbers at places ``start`` to ``stop - 1``, 20 times as fast as one by one.

        >>> order = Permutation(stream("order"), 1000)
        >>> order.run(10, 500).tolist() == [order[place] for place in range(10, 500)]
        True

        Raises:
            IndexError: for a place out of range.
        """
        if not 0 <= start <= stop <= self._size:
            raise IndexError(f"places {start} to {stop - 1} are not among {self._size}")
        if self._few:
            return np.array(self._few[start:stop], dtype=np.int64)
        moved = self._all_enciphered(np.arange(start, stop, dtype=np.uint64))
        while len(beyond := np.flatnonzero(moved >= self._size)):
            moved[beyond] = self._all_enciphered(moved[beyond])
        return moved.astype(np.int64)

    def _all_enciphered(self, numbers: Words) -> Words:
        """Apply `_enciphered` to each number; sums are kept below 64 bits."""
        width, height = np.uint64(self._width), np.uint64(self._height)
        left, right = np.divmod(numbers, height)
        for turn, key in enumerate(map(np.uint64, self._keys)):
            if turn % 2:
                right = (right + _all_mixed(key ^ left) % height) % height
            else:
                left = (left + _all_mixed(key ^ right) % width) % width
        return left * height + right

    def _enciphered(self, number: int) -> int:
        left, right = divmod(number, self._height)
        for turn, key in enumerate(self._keys):
            if turn % 2:
                right = (right + _mixed(key ^ left)) % self._height
            else:
                left = (left + _mixed(key ^ right)) % self._width
        return left * self._height + right


def _mixed(word: int) -> int:
    """Mix the bits of a 64-bit word (the finalizer of SplitMix64: Steele, Lea and Flood 2014, section 3)."""
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & WORD
    word = (word ^ word >> 27) * 0x94D049BB133111EB & WORD
    return word ^ word >> 31


def _all_mixed(words: Words) -> Words:
    """Apply `_mixed` to each word; products wrap at 64 bits."""
    words = (words ^ words >> np.uint64(30)) * np.uint64(0xBF58476D1CE4E5B9)
    words = (words ^ words >> np.uint64(27)) * np.uint64(0x94D049BB133111EB)
    return words ^ words >> np.uint64(31)


def spread(rng: Random, rows: int, row: int) -> float:
    """Return row `row`'s number in [0, 1), stratified over each `rows` rows: ``(perm(i) + u) / rows``.

    `rng` must be new, and the same for all rows of the stratum. Each block of `rows` rows has its own order, so if
    `rows` is the size of a block, sizes nest. The depths of a stratum are drawn so.
    """
    seed = rng.getrandbits(64)
    block, place = divmod(row, rows)
    within = stream(seed, "within", row).random()
    return (_permutation(seed, "order", block, rows)[place] + within) / rows


def deal(rng: Random, rows: int, row: int, kinds: int) -> int:
    """Return which of `kinds` row `row` gets when `rows` rows are dealt evenly and in random order.

    Kinds are dealt in rounds, each a random order of all kinds. Fewer rows than kinds get a uniform draw without
    replacement; with more rows, the kinds' counts differ by at most 1. `rng` must be new, and the same for all rows.
    Rows from `rows` on are the next block, which continues where the one before it ended: counts over all blocks also
    differ by at most 1, and in a later block alone by at most 2.
    """
    return deal_in_turn(rng, rows, row, kinds)[0]


def deal_in_turn(rng: Random, rows: int, row: int, kinds: int) -> tuple[int, int]:
    """Return what `deal` does, and the number of the round; no two rows have the same kind in the same round."""
    seed = rng.getrandbits(64)
    block, place = divmod(row, rows)
    dealt = block * rows + _permutation(seed, "rows", block, rows)[place]
    turn, nth = divmod(dealt, kinds)
    return _permutation(seed, "kinds", turn, kinds)[nth], turn


@lru_cache(maxsize=1024)
def _permutation(seed: int, purpose: str, block: int, size: int) -> Permutation:
    """Return the order of a block, cached for its rows."""
    return Permutation(stream(seed, purpose, block), size)
