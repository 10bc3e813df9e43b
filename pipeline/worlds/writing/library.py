"""Libraries: which texts there are, by format, topic and tone, and what each of them says.

A catalogue is cheap and says what every text is. A text is written when it is asked for, together with its cell (the
texts of its format and topic), no two of which share a run of RUN words. A library is dense where it is asked: cells
of asked topics hold many texts, those of other topics one, and some topics are kept apart for demonstrations.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Protocol

from pipeline.streams import Streams
from pipeline.worlds.writing.realise import Realiser
from pipeline.worlds.writing.sources import common, formats, tones
from pipeline.worlds.writing.topics import Topic, topics

WORLD = "writing@1"
SIZES = {"short": (340, 560), "long": (560, 1100)}
"""Characters of a text of each size: 60 to 300 tokens in every shipped vocabulary."""
CELL = ("short", "long", "long")
"""The sizes of a cell's texts, again and again."""
DENSE = 12
"""Texts of an asked cell."""
ASKED = {"32k": 4, "128k": 8, "1m": 28}
OTHERS = {"32k": 30, "128k": 110, "1m": 1000}
"""How many topics are asked, and how many others there are at the most: several times what a tier's prompt holds."""
SHOWN = 8
"""Topics that are kept for demonstrations, with two short texts of each format."""
RUN = 8
TRIES = 2000
DOUBLED = re.compile(r"\b([a-z]+) \1\b", re.IGNORECASE)
"""Where two slots meet, a word may come twice; such a text is written anew."""
WORD = re.compile(r"[a-z0-9']+")


@dataclass(frozen=True, slots=True)
class Label:
    """What a text is, as its request says it; `tone` is empty where none is asked for."""

    format: str
    topic: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """A text of a catalogue: `size` is ``short`` or ``long``, `use` is ``ask``, ``fill`` or ``show``."""

    label: Label
    size: str
    use: str


class Library(Protocol):
    """Texts by index, and what each of them is."""

    @property
    def entries(self) -> Sequence[Entry]:
        """What the texts are, by index."""

    def text(self, index: int) -> str:
        """Return a text."""

    def size(self, index: int) -> float:
        """Return about how many bytes a text has, without writing it."""

    def __hash__(self) -> int:
        """Tell one library of a process from another."""


def grammar_library(streams: Streams, tier: str, *, toned: bool) -> GrammarLibrary:
    """Return the library of a tier that the phrase grammars write; `toned`: requests name a tone too.

    `streams` are those of any row or pool below the same seed.
    """
    return _library(streams.world(WORLD, tier, "toned" if toned else "plain"), tier, toned)


@lru_cache(maxsize=4)
def _library(world: Streams, tier: str, toned: bool) -> GrammarLibrary:  # noqa: FBT001
    return GrammarLibrary(world, tier, toned=toned)


class GrammarLibrary:
    """Texts that phrase grammars write."""

    def __init__(self, world: Streams, tier: str, *, toned: bool) -> None:
        self._world, self._tier, self._toned = world, tier, toned
        self._written: dict[Label, list[str]] = {}

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """What the texts are: cell by cell, so that a cell's texts are neighbours."""
        return tuple(entry for label, use in self._cells() for entry in self._cell(label, use))

    @cached_property
    def _starts(self) -> Mapping[Label, int]:
        starts: dict[Label, int] = {}
        for index, entry in enumerate(self.entries):
            starts.setdefault(entry.label, index)
        return starts

    def text(self, index: int) -> str:
        """Return a text, and remember those of its cell."""
        label = self.entries[index].label
        if label not in self._written:
            self._written[label] = list(self._write(label))
        return self._written[label][index - self._starts[label]]

    def size(self, index: int) -> float:
        """Return the middle of the size that a text has."""
        return sum(SIZES[self.entries[index].size]) / 2

    def _cells(self) -> Iterator[tuple[Label, str]]:
        names = [topic.name for topic in topics()]
        self._world.of("topics").shuffle(names)
        asked = ASKED[self._tier] // (2 if self._toned else 1)
        uses = ["show"] * SHOWN + ["ask"] * asked + ["fill"] * OTHERS[self._tier]
        for name, use in zip(names, uses, strict=False):
            for form in formats():
                for tone in self._tones(form, name, use):
                    yield Label(form, name, tone), use

    def _tones(self, form: str, topic: str, use: str) -> Sequence[str]:
        """Return the tones of a cell: two where it is asked, so that texts differ in tone alone."""
        if not self._toned:
            return ("",)
        return self._world.of("tones", form, topic).sample(sorted(tones()), 2 if use == "ask" else 1)

    def _cell(self, label: Label, use: str) -> Iterator[Entry]:
        if use == "show":
            yield from (Entry(label, "short", use) for _ in range(2))
        elif use == "ask":
            yield from (Entry(label, CELL[number % len(CELL)], use) for number in range(DENSE))
        else:
            yield Entry(label, CELL[self._world.of("size", label.format, label.topic).randrange(len(CELL))], use)

    def _write(self, label: Label) -> Iterator[str]:
        start = stop = self._starts[label]
        while stop < len(self.entries) and self.entries[stop].label == label:
            stop += 1
        return written(self._world, label, [entry.size for entry in self.entries[start:stop]])


def written(world: Streams, label: Label, sizes: Iterable[str]) -> Iterator[str]:
    """Write texts of one label, no two of which share a run of RUN words.

    Raises:
        ValueError: if the grammar has no more to say about this topic.
    """
    rng = world.of("text", label.format, label.topic, label.tone)
    realiser = Realiser(formats()[label.format], common().rules, _topic(label.topic), rng)
    taken = set[tuple[str, ...]]()
    for size in sizes:
        text = _fresh(realiser, label, size, taken)
        taken |= runs(text)
        yield text


@cache
def _topic(name: str) -> Topic:
    return next(topic for topic in topics() if topic.name == name)


def _fresh(realiser: Realiser, label: Label, size: str, taken: set[tuple[str, ...]]) -> str:
    tone = tones()[label.tone] if label.tone else None
    low, high = SIZES[size]
    for _ in range(TRIES):
        text = realiser.write(size, tone)
        if low <= len(text) <= high and taken.isdisjoint(runs(text)) and not DOUBLED.search(text):
            return text
    raise ValueError(f"no {size} {label.format} about {label.topic} in {TRIES} tries")


def runs(text: str) -> set[tuple[str, ...]]:
    """Return all runs of RUN words of a text, in lower case and without stops."""
    words = WORD.findall(text.lower())
    return {tuple(words[at : at + RUN]) for at in range(len(words) - RUN + 1)}
