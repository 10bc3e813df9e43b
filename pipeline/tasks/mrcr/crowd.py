"""The other turns of a conversation: hard distractors up to a cap, and turns that share nothing with what is asked.

Hard distractors share format or topic with the key, never both, and are half of the turns until the cap is reached.
Those that share the topic are grouped by request, so that requests recur in a short conversation too. With a tone as
third key, up to a quarter of them have the asked format and topic in another tone. The cap does not grow with length,
so that length can vary alone. The order of turns is random, drawn for the whole pool, so that every budget sees the
same mixture.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import lru_cache
from pipeline.errors import PoolError
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Streams, words
from pipeline.tasks.base import Filler, Piece, PoolSpec, Unit
from pipeline.tasks.mrcr.text import exchange, request
from pipeline.worlds.writing.library import Label, Library, library_of, source_of

CAPS = (64, 0, 16, 256)
SPARES = 64
HARD_SPARES = 8
TWINS = 8
"""The most replies with the asked format and topic in another tone."""
SURE = 0.8
"""The share of the turns estimated for a length that certainly fit."""
BYTES_PER_TOKEN = 4.2


@dataclass(frozen=True, slots=True)
class PoolShape:
    """What a pool depends on besides its tier: real turns or a transcript, short replies, a third key, a corpus."""

    subtask: str
    short: bool
    toned: bool
    corpus: str

    @classmethod
    def of(cls, stratum: Stratum) -> PoolShape:
        """Read a stratum's knobs."""
        short = stratum.knob("replies", "any") == "short"
        return cls(stratum.subtask, short, bool(stratum.knob("tone", False)), str(stratum.knob("corpus", "")))

    def pool(self, tier: str, corpora: str = "") -> PoolSpec:
        """Return the pool of a tier."""
        marks = [self.subtask, "short" * self.short, "tone" * self.toned, self.corpus[:12], tier]
        source = f"{source_of(self.corpus)}:{self.corpus}:{self.short:d}{self.toned:d}"
        return PoolSpec("-".join(["mrcr", *filter(None, marks)]), 2, tier, source, make_turns, corpora)


@dataclass(frozen=True, eq=False)
class Crowd:
    """A library as a source of filler: `members` are the library's indices of the pool's units, in order."""

    library: Library
    members: Indices
    keys: NDArray[np.int64]
    """The numbers of each unit's format, topic and tone, one column each."""
    numbers: dict[str, int]
    size: float
    """Mean bytes of a text."""

    def key(self, label: Label) -> NDArray[np.int64]:
        """Return a label in the numbers of `keys`."""
        return np.array([self.numbers[part] for part in _parts(label)], dtype=np.int64)

    def turns(self, stratum: Stratum) -> float:
        """Return about how many replies a prompt of a stratum has."""
        return stratum.length * BYTES_PER_TOKEN / self.size

    def hard_and_easy(self, label: Label) -> tuple[Indices, Indices, Indices, Indices]:
        """Return the units by kind.

        The kinds are: the same format and topic in another tone, the topic alone, the format alone, and neither. Where
        texts are written for each row, so are such twins, and the pool's are left out.
        """
        same = self.keys == self.key(label)
        is_key, form, topic = same.all(axis=1), same[:, 0], same[:, 1]
        twins = form & topic & ~is_key & (not self.library.writes)
        chosen = (twins, topic & ~form, form & ~topic, ~form & ~topic)
        return tuple(np.flatnonzero(which) for which in chosen)  # type: ignore[return-value]


def _parts(label: Label) -> tuple[str, str, str]:
    return f"format {label.format}", f"topic {label.topic}", f"tone {label.tone}"


@lru_cache(maxsize=4)
def crowd(library: Library, short: bool) -> Crowd:  # noqa: FBT001
    """Return a library's units for a pool: all that are not kept for demonstrations."""
    members = [i for i, entry in enumerate(library.entries) if not entry.shown and (entry.size == "short" or not short)]
    names = sorted({part for entry in library.entries for part in _parts(entry.label)})
    numbers = {name: number for number, name in enumerate(names)}
    keys = np.array([[numbers[part] for part in _parts(library.entries[i].label)] for i in members], dtype=np.int64)
    sizes = [library.size(i) for i in members]
    return Crowd(library, np.array(members, dtype=np.int64), keys, numbers, sum(sizes) / max(1, len(sizes)))


def make_turns(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Write every exchange of a pool.

    Raises:
        ValueError: if two texts are equal.
    """
    _, corpus, flags = spec.source.rsplit(":", 2)
    library = library_of(streams, spec.tier, corpus, spec.corpora, toned=flags[1] == "1")
    seen: set[str] = set()
    for index in crowd(library, flags[0] == "1").members.tolist():
        label, text = library.entries[index].label, library.text(index)
        if text in seen:
            raise ValueError(f"a text stands twice in the library: {text[:60]!r}")
        seen.add(text)
        facts = (label.format, label.topic, label.tone)
        yield Unit(_pieces(spec.name.split("-")[1], label, text), facts)


def _pieces(subtask: str, label: Label, text: str) -> tuple[Piece, ...]:
    if subtask == "chat":
        return Piece(request(label), "filler", "user"), Piece(text, "filler", "assistant")
    return (Piece(exchange(label, text), "filler"),)


def twins(everybody: Crowd, stratum: Stratum) -> int:
    """Return how many twins are written for a row: one per four hard distractors, up to TWINS, if a tone is asked."""
    if not stratum.knob("tone", False) or not everybody.library.writes:
        return 0
    half = int(SURE * everybody.turns(stratum) / 2)
    return min(TWINS, min(cap_of(stratum), half) // 4)


def cap_of(stratum: Stratum) -> int:
    """Return the most hard distractors that a prompt may have."""
    return int(stratum.knob("distractors", CAPS[0]))


def filler(row_streams: Streams, stratum: Stratum, everybody: Crowd, key: Label) -> Filler:
    """Return a row's filler.

    Raises:
        PoolError: if there are too few distractors of a kind.
    """
    kinds = everybody.hard_and_easy(key)
    doubles, topical, formal, easy = (
        _shuffled(row_streams, name, texts)
        for name, texts in zip(("tone", "topic", "format", "easy"), kinds, strict=True)
    )
    placed, turns = twins(everybody, stratum), everybody.turns(stratum)
    topical, cap = _by_format(row_streams, topical, everybody), cap_of(stratum) - placed
    hard, half = _alternating(_alternating(doubles, topical), formal)[:cap], int(SURE * turns / 2)
    kept = HARD_SPARES if turns < 2 * (cap + HARD_SPARES) and cap > HARD_SPARES else 0
    spare = min(SPARES - kept, len(easy) // 3)
    spares = _alternating(hard[len(hard) - kept :], easy[:spare])
    if not len(spares) or len(hard) < min(cap, half - placed) or len(easy) < half:
        raise PoolError(
            f"{stratum}: {len(hard)} texts share format or topic with {key.format!r} about {key.topic!r}, {len(easy)} "
            f"share neither, {min(cap, half)} and {half} are needed: give more formats and topics, or lower distractors"
        )
    even = spare + placed  # as many easy turns as twins
    order = np.concatenate([easy[spare:even], _alternating(hard[: len(hard) - kept], easy[even:])])
    ranks = words(row_streams.of("places"), len(everybody.members)).astype(np.int64)
    return Filler(PoolShape.of(stratum).pool(stratum.tier).name, Given(order), spares, "ranked", ranks)


def _by_format(row_streams: Streams, texts: Indices, everybody: Crowd) -> Indices:
    """Return texts of one topic grouped by request, with the requests in random order."""
    ranks = words(row_streams.of("filler", "requests"), len(everybody.numbers))
    return texts[np.argsort(ranks[everybody.keys[texts, 0]], kind="stable")]


def _shuffled(row_streams: Streams, name: str, texts: Indices) -> Indices:
    return texts[np.argsort(words(row_streams.of("filler", name), len(texts)), kind="stable")]


def _alternating(first: Indices, second: Indices) -> Indices:
    """Interleave two lists; the rest of the longer one comes last."""
    both = min(len(first), len(second))
    paired = np.stack([first[:both], second[:both]], axis=1).reshape(-1)
    return np.concatenate([paired, first[both:], second[both:]])


@lru_cache(maxsize=4)
def shown_cells(library: Library) -> tuple[tuple[int, ...], ...]:
    """Return the indices of the texts kept for demonstrations, grouped by label."""
    cells: dict[Label, list[int]] = {}
    for index, entry in enumerate(library.entries):
        if entry.shown:
            cells.setdefault(entry.label, []).append(index)
    return tuple(map(tuple, cells.values()))
