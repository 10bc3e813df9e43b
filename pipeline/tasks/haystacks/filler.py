"""The shared haystacks: State of the Union addresses, essays, a user's documents, and repeated noise.

Whole addresses and documents follow one another, none twice. The first begins at a random paragraph.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pipeline.caches import cache, lru_cache
from pipeline.corpora.records import Corpus, corpus_of
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams, words
from pipeline.tasks.base import Filler, Joints, Plain, PoolSpec, Unit, unit
from pipeline.tasks.haystacks import SPARES, in_runs
from pipeline.worlds.addresses import WORLD, paragraphs, source_digest
from pipeline.worlds.addresses import addresses as all_addresses
from pipeline.worlds.essays import MIDDLES, Essay, essays
from pipeline.worlds.essays import WORLD as ESSAYS_WORLD
from pipeline.worlds.essays import paragraphs as essays_paragraphs
from pipeline.worlds.essays import source_digest as essays_source_digest

SHORT_CHARACTERS, MIDDLING_CHARACTERS = range(240), range(500, 900)
"""Characters of spares: middling ones take most of a gap, short ones (up to 60 tokens) the rest."""
MIDDLING_SPARES = 16
"""Spares of middling length."""


def make_addresses(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every paragraph of the addresses; they are the same for every seed and tier."""
    return Plain(paragraph + "\n" for paragraph in paragraphs())


def addresses_spec(stratum: Stratum) -> PoolSpec:
    """Return the pool of all paragraphs of the addresses."""
    return PoolSpec(f"addresses-{stratum.tier}", 1, stratum.tier, f"{WORLD}:{source_digest()}", make_addresses)


def addresses(row_streams: Streams, stratum: Stratum, *, shuffled: bool = False) -> Filler:
    """Return filler of whole addresses in random order, or of all their paragraphs in random order.

    Spares are paragraphs of the last addresses in that order, which are otherwise left out. What remains is more than
    enough for a window of 1M tokens.
    """
    starts, counts, sizes, joints = _outline()
    order = Shuffled(row_streams.of("filler"), len(starts)).take(len(starts))
    kept, spares = _set_aside(order, sizes)
    name = addresses_spec(stratum).name
    if shuffled:
        drawn = np.argsort(words(row_streams.of("shuffled"), int(counts.sum())), kind="stable")
        return Filler(name, Given(drawn[~np.isin(drawn, spares)]), spares)
    starts, counts = starts[kept], counts[kept]
    skipped = row_streams.of("start").randrange(counts[0])
    starts[0] += skipped
    counts[0] -= skipped
    return Filler(name, Given(in_runs(starts, counts)), spares, "sequence", joints=joints)


def _set_aside(order: Indices, fit: Sequence[Mapping[range, list[int]]]) -> tuple[Indices, Indices]:
    """Return an order of addresses without its last ones, and spares taken from these, middling ones first."""
    found, last = {MIDDLING_CHARACTERS: list[int](), SHORT_CHARACTERS: list[int]()}, len(order)
    while len(found[MIDDLING_CHARACTERS]) < MIDDLING_SPARES or len(found[SHORT_CHARACTERS]) < SPARES - MIDDLING_SPARES:
        last -= 1
        for size, some in found.items():
            some += fit[order[last]][size]
    spares = found[MIDDLING_CHARACTERS][:MIDDLING_SPARES] + found[SHORT_CHARACTERS][: SPARES - MIDDLING_SPARES]
    return order[:last], np.array(spares, dtype=np.int64)


@cache
def _outline() -> tuple[Indices, Indices, Sequence[Mapping[range, list[int]]], Joints]:
    """Return each address's first paragraph, number of paragraphs and possible spares; and where addresses begin."""
    every = all_addresses()
    starts = np.array([one.start for one in every], dtype=np.int64)
    counts = np.array([len(one.sizes) for one in every], dtype=np.int64)
    fit = [
        {
            fits: [one.start + place for place, size in enumerate(one.sizes) if size in fits]
            for fits in (MIDDLING_CHARACTERS, SHORT_CHARACTERS)
        }
        for one in every
    ]
    joints = np.zeros(int(counts.sum()), dtype=np.bool_)
    joints[starts] = True
    return starts, counts, fit, joints


def make_documents(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every paragraph of a corpus, without facts, as no program can read them."""
    corpus = corpus_of(spec.corpora, spec.source.rsplit(" ", 1)[1])
    return (unit(line + "\n") for one in corpus.documents for line in one.text.split("\n"))


def documents_spec(stratum: Stratum, corpora: str) -> PoolSpec:
    """Return the pool of all paragraphs of a stratum's corpus."""
    digest = str(stratum.knob("corpus", ""))
    name = f"documents-{digest[:12]}-{stratum.tier}"
    return PoolSpec(name, 1, stratum.tier, f"corpus {digest}", make_documents, corpora)


def documents(row_streams: Streams, stratum: Stratum, corpora: str, *, shuffled: bool = False) -> Filler:
    """Return filler of whole documents in random order, or of all their paragraphs in random order."""
    starts, counts = outline(corpus_of(corpora, str(stratum.knob("corpus", ""))))
    name = documents_spec(stratum, corpora).name
    if shuffled:
        return Filler(name, Shuffled(row_streams.of("shuffled"), int(counts.sum())))
    order = Shuffled(row_streams.of("filler"), len(starts)).take(len(starts))
    starts, counts = starts[order], counts[order]
    skipped = row_streams.of("start").randrange(counts[0])
    starts[0] += skipped
    counts[0] -= skipped
    return Filler(name, Given(in_runs(starts, counts)), policy="sequence")


@lru_cache(maxsize=4)
def outline(corpus: Corpus) -> tuple[Indices, Indices]:
    """Return the first paragraph and the number of paragraphs of every document."""
    counts = np.array([one.text.count("\n") + 1 for one in corpus.documents], dtype=np.int64)
    return np.cumsum(counts) - counts, counts


SENTENCES = (
    "The kettle is on.",
    "Rain falls on the roof.",
    "The clock in the hall goes on and on.",
    "There is bread on the table, and the door is shut.",
    "Nobody is in a hurry.",
)
"""The noise. The sentences differ in length, so that lines cut after one of them can close any gap."""
WHOLE_LINE_SPARES = 3
"""Whole lines among the spares: as many as fit in a gap."""


def lines() -> tuple[str, ...]:
    """Return the whole paragraph, then the same with fewer and fewer sentences."""
    return tuple(" ".join(SENTENCES[:stop]) for stop in range(len(SENTENCES), 0, -1))


def make_noise(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every line of noise once; a prompt repeats them."""
    return (unit(line + "\n") for line in lines())


def noise_spec(stratum: Stratum) -> PoolSpec:
    """Return the pool of lines of noise."""
    return PoolSpec(f"noise-{stratum.tier}", 1, stratum.tier, f"noise@1:{_digest()}", make_noise)


def noise(row_streams: Streams, stratum: Stratum) -> Filler:
    """Return filler that repeats the paragraph without end; its spares are lines of all lengths, each many times."""
    early = 1 + np.arange(SPARES - WHOLE_LINE_SPARES) % (len(SENTENCES) - 1)
    spares = np.concatenate([np.zeros(WHOLE_LINE_SPARES, dtype=np.int64), early])
    return Filler(noise_spec(stratum).name, _Repeated(), spares)


class _Repeated:
    """An order that repeats the first unit of the pool."""

    def take(self, count: int) -> Indices:
        """Return the first unit `count` times."""
        return np.zeros(count, dtype=np.int64)


@cache
def _digest() -> str:
    return hashlib.sha256("\n".join(lines()).encode()).hexdigest()


def make_essays(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every paragraph of a tier's essays."""
    return Plain(paragraph + "\n" for paragraph in essays_paragraphs(streams, spec.tier))


def essays_spec(stratum: Stratum) -> PoolSpec:
    """Return the pool of paragraphs of a tier's essays."""
    return PoolSpec(f"essays-{stratum.tier}", 1, stratum.tier, f"{ESSAYS_WORLD}:{essays_source_digest()}", make_essays)


def prose(row_streams: Streams, stratum: Stratum, *, shuffled: bool = False) -> Filler:
    """Return filler of whole essays in random order, or of all their paragraphs in random order.

    Spares are notes (texts of one paragraph), placed between essays, or anywhere among shuffled paragraphs.
    """
    every = essays(row_streams, stratum.tier)
    whole, notes, joints = _kinds(every)
    spares, name = notes[Shuffled(row_streams.of("spares"), len(notes)).take(SPARES)], essays_spec(stratum).name
    if shuffled:
        return Filler(name, Shuffled(row_streams.of("shuffled"), len(joints), frozenset(notes.tolist())), spares)
    return Filler(name, _Essays(row_streams, whole), spares, "sequence", joints=joints)


@lru_cache(maxsize=4)
def _kinds(every: Sequence[Essay]) -> tuple[Indices, Indices, Joints]:
    """Return each essay's first paragraph and number of paragraphs; the notes; and where essays or notes begin."""
    whole = np.array([(essay.start, essay.count) for essay in every if essay.count > 1], dtype=np.int64)
    joints = np.zeros(every[-1].start + every[-1].count, dtype=np.bool_)
    joints[[essay.start for essay in every]] = True
    return whole, np.array([essay.start for essay in every if essay.count == 1], dtype=np.int64), joints


class _Essays:
    """The paragraphs of whole essays, the essays in random order."""

    def __init__(self, row_streams: Streams, whole: Indices) -> None:
        self._order, self._whole = Shuffled(row_streams.of("filler"), len(whole)), whole

    def take(self, count: int) -> Indices:
        """Return the first `count` paragraphs."""
        starts, counts = self._whole[self._order.take(count // (MIDDLES[0] + 2) + 1)].T
        return in_runs(starts, counts)[:count]


@dataclass(frozen=True, slots=True)
class Haystack:
    """What fills the prompts of a stratum: its pool, and the filler of a row, drawn from the row's streams."""

    pool: Callable[[Stratum], PoolSpec]
    filler: Callable[[Streams, Stratum], Filler]


ESSAYS, ADDRESSES, NOISE = (
    Haystack(essays_spec, prose),
    Haystack(addresses_spec, addresses),
    Haystack(noise_spec, noise),
)
"""Whole essays, whole addresses, or one repeated paragraph."""
