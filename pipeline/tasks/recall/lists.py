"""cwe and fwe: the words that come most often in a long list (RULER, section 3.3, common and frequent words)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from string import ascii_lowercase
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import PoolSpec, Unit, unit
from pipeline.tasks.recall.listed import BURST, SHARE, Listed
from pipeline.worlds.frequencies import Bursts, zipf
from pipeline.worlds.words import pool, pool_digest

WORDS, CODED = "recall/words", "coded words@1"
RATIO = {"ratio": (10, 3, 2), "bursts": (20, 0)}
ALPHA = {"alpha": (2.0, 1.5, 1.2), "bursts": (10, 0)}
LEAST = {10: 2, 3: 4, 2: 9}
"""By ratio: how often each of the other words comes at least, so that their counts are well apart."""


class CommonWords(Listed):
    """Ten words of many come several times as often as all others, which come equally often."""

    subtask = "cwe"
    title = "the ten words that come most often in a list of words"
    what = "words"
    count = 10
    complexities = (10,)
    gap = 0.3
    shots = 1
    most_shots = 1
    knobs = RATIO
    others = 4880
    """Other words of a list at most; the rest of the pool is for spares and the example."""
    fixed, tokens_per_word = 330, (2.8, 3.05)

    def weights(self, stratum: Stratum, part: float = 1) -> Sequence[int]:
        """Return the ratio ten times, then one for each other word: as many as come often enough."""
        ratio = int(stratum.knob("ratio", RATIO["ratio"][0]))
        asked = int(ratio * (self.count + BURST * _bursts(stratum, RATIO)))
        others = self.places(stratum, part, least=True) // LEAST[ratio] - asked
        return [ratio] * self.count + [1] * min(self.others, others)

    def bursts(self, stratum: Stratum, part: float = 1) -> Bursts:
        """Return words that come less than two thirds as often as the asked ones, but more often where they come."""
        ratio = int(stratum.knob("ratio", RATIO["ratio"][0]))
        return Bursts(_bursts(stratum, RATIO), BURST * ratio, SHARE, self.places(stratum, part))

    def words(self, streams: Streams) -> Sequence[str]:
        """Return common English words."""
        return pool(WORDS)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of all words, which a prompt repeats."""
        return (PoolSpec(f"cwe-{stratum.tier}", 1, stratum.tier, pool_digest(WORDS), make_common),)


class FrequentWords(Listed):
    """Coded words come as Zipf's law has it; three are asked for."""

    subtask = "fwe"
    title = "the three words that come most often in a list of coded words"
    what = "coded words"
    count = 3
    complexities = (3,)
    gap = 0.2
    max_new_tokens = 64
    fixed, tokens_per_word = 90, (4.3, 4.7)
    knobs = ALPHA
    size, letters, most = 16_384, 6, 2048
    """Coded words of a seed, their letters, and how many a list has at most."""

    def weights(self, stratum: Stratum, part: float = 1) -> Sequence[int]:
        """Return the law's weights for as many words as 64th parts of the length, 50 or more."""
        alpha = float(stratum.knob("alpha", ALPHA["alpha"][0]))
        return zipf(f"{alpha:g}", min(self.most, max(50, stratum.length // 64)))

    def bursts(self, stratum: Stratum, part: float = 1) -> Bursts:
        """Return words that come less often than the third, but more often than the second where they come."""
        weight = BURST * self.weights(stratum)[self.count - 1]
        return Bursts(_bursts(stratum, ALPHA), weight, SHARE / 2, self.places(stratum, part))

    def words(self, streams: Streams) -> Sequence[str]:
        """Return random words, no two of which are the same."""
        return _coded(streams.world(CODED), self.size, self.letters)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of all words, which a prompt repeats."""
        return (PoolSpec(f"fwe-{stratum.tier}", 1, stratum.tier, CODED, make_coded),)


def _bursts(stratum: Stratum, knobs: Mapping[str, Sequence[Any]]) -> int:
    return int(stratum.knob("bursts", knobs["bursts"][0]))


@lru_cache(maxsize=2)
def _coded(world: Streams, size: int, letters: int) -> Sequence[str]:
    rng = world.of("words")
    found: dict[str, None] = {}
    while len(found) < size:
        found["".join(rng.choices(ascii_lowercase, k=letters))] = None
    return tuple(found)


def make_common(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Write every word once."""
    return (unit(f"{word}\n") for word in CommonWords().words(streams))


def make_coded(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Write every coded word once."""
    return (unit(f"{word}\n") for word in FrequentWords().words(streams))
