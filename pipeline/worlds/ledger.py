"""The world `ledger`: entries of a register, each with a label, a code, a district, a year and an amount.

It has no words: labels are indices into those of a language, so that a register is the same in all languages.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random
from typing import NamedTuple

import numpy as np

from pipeline.caches import lru_cache
from pipeline.streams import Indices, Streams, stream, words
from pipeline.typed import TIERS
from pipeline.worlds.needles import ADJECTIVES, LABELS, NUMERALS, Key, places, pooled
from pipeline.worlds.words import pool

WORLD = "ledger@1"
TOKENS_PER_ENTRY = 14
"""Tokens of the tier per entry: more entries than a prompt can hold in any language."""
DISTRICTS = tuple(sorted(stream("ledger", "districts").sample(range(101, 1000), 90)))
YEARS, AMOUNTS = range(1950, 2050), range(10_000, 100_000)
"""What entries state, besides districts of three digits, in four and five digits."""


class Entry(NamedTuple):
    """An entry; `label` is the index of its label in a language."""

    label: int
    code: str
    district: int
    year: int
    amount: int


class Ledger(NamedTuple):
    """The pool of a tier: the label and the district of each entry, by their numbers."""

    streams: Streams
    labels: Indices
    districts: Indices

    def with_any(self, labels: Sequence[int], districts: Sequence[int]) -> Sequence[int]:
        """Return which entries of the pool have any of some labels or districts, by number."""
        found = np.isin(self.labels, labels) | np.isin(self.districts, districts)
        numbers: list[int] = np.flatnonzero(found).tolist()
        return numbers

    def entries(self) -> Iterator[Entry]:
        """Yield the entries of the pool."""
        rng = self.streams.of("values")
        coded = pooled(self.streams, len(self.labels), coded=True)
        rows = zip(self.labels.tolist(), coded, self.districts.tolist(), strict=True)
        for label, (code, _), district in rows:
            yield Entry(label, code, district, rng.choice(YEARS), rng.choice(AMOUNTS))


def ledger(streams: Streams, tier: str) -> Ledger:
    """Return the world of a tier; `streams` are those of any row or pool below the same seed."""
    return _ledger(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_ENTRY)


@lru_cache(maxsize=2)
def _ledger(world: Streams, size: int) -> Ledger:
    label, district = (words(world.of(purpose), size).astype(np.int64) for purpose in ("labels", "districts"))
    return Ledger(world, label % LABELS, np.array(DISTRICTS)[district % len(DISTRICTS)])


def draw_codes(streams: Streams, rng: Random, count: int) -> Iterator[Sequence[str]]:
    """Yield `count` groups of three codes that begin alike; they may be codes of the pool."""
    for letters in rng.sample(range(len(pool(ADJECTIVES))), count):
        digits = rng.sample(range(len(NUMERALS)), 3)
        yield [Key(letters, each).spelled(streams, coded=True) for each in digits]


def near_codes(rng: Random, code: str) -> list[str]:
    """Return three codes, each of which differs from a given one in another of its digits."""
    stem, _, digits = code.partition("-")
    kinds = zip(digits, ("12345", "0123456789", "0123456789"), strict=True)
    others = [rng.choice(kind.replace(own, "")) for own, kind in kinds]
    return [f"{stem}-{digits[:at]}{other}{digits[at + 1 :]}" for at, other in enumerate(others)]


def places_of(streams: Streams, tier: str, codes: Iterable[str]) -> frozenset[int]:
    """Return the places of those codes that are in the pool."""
    size = TIERS[tier] // TOKENS_PER_ENTRY
    return frozenset(place for place in places(streams, codes, coded=True) if place < size)
