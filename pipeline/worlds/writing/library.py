"""Libraries: texts in many formats about many topics, and which of them a row asks for.

A library says what every text is before it is written. A text is written together with its cell (the texts of one
format, topic and tone), no two of which share a run of RUN words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Protocol

from pipeline.streams import Streams
from pipeline.worlds.writing.realise import Realiser
from pipeline.worlds.writing.repeats import has_doubled, runs_of, words_of
from pipeline.worlds.writing.sources import common, formats, tones
from pipeline.worlds.writing.topics import Topic, topics

SIZES = {"short": (340, 560), "long": (560, 1100)}
"""Characters of a text of each size: 60 to 300 tokens in every shipped vocabulary."""
CELL = ("short", "long", "long")
"""The sizes of texts, in equal shares."""
RUN = 8
TRIES = 2000


@dataclass(frozen=True, slots=True)
class Label:
    """What a text is, as its request says it; `tone` is empty where none is asked for."""

    format: str
    topic: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a text is: `size` is ``short`` or ``long``; those that are `shown` are kept for demonstrations."""

    label: Label
    size: str
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Wanted:
    """What row `index` of `rows` needs: `count` texts of one label, and `twins` of its format and topic in other tones.

    `own` are the row's streams, `shared` those of all rows; with `short` all texts are short.
    """

    rows: int
    index: int
    count: int
    twins: int
    short: bool
    own: Streams
    shared: Streams


@dataclass(frozen=True, slots=True)
class Asked:
    """What a row asks for: the texts of a label, and others of its format and topic, each in a tone of its own."""

    label: Label
    texts: tuple[str, ...]
    twins: tuple[tuple[Label, str], ...] = ()


class Library(Protocol):
    """Texts by index, and what each of them is."""

    @property
    def entries(self) -> Sequence[Entry]:
        """What the texts are, by index."""

    @property
    def topics(self) -> Sequence[str]:
        """The topics that are asked for."""

    @property
    def writes(self) -> bool:
        """Whether what a row asks for is written for it, and its twins too."""

    def text(self, index: int) -> str:
        """Return a text."""

    def size(self, index: int) -> float:
        """Return about how many bytes a text has, without writing it."""

    def asked(self, wanted: Wanted) -> Asked:
        """Return what a row asks for.

        Raises:
            PoolError: if there are too few texts of any label.
        """

    def __hash__(self) -> int:
        """Tell one library of a process from another."""


def written(world: Streams, label: Label, sizes: Iterable[str]) -> Iterator[str]:
    """Write texts of one label, no two of which share a run of RUN words.

    Raises:
        ValueError: if the grammar has no more to say about this topic.
    """
    return cell_texts(world, [(label, size) for size in sizes], set())


def cell_texts(world: Streams, kinds: Sequence[tuple[Label, str]], taken: set[str]) -> Iterator[str]:
    """Write texts of one format and topic, each of a label and size; none shares a run with another or what is `taken`.

    Raises:
        ValueError: if the grammar has no more to say about this topic.
    """
    if not kinds:
        return
    first = kinds[0][0]
    rng = world.of("text", first.format, first.topic, first.tone)
    realiser = Realiser(formats()[first.format], common().rules, _topic(first.topic), rng)
    for label, size in kinds:
        text, found = _fresh(realiser, label, size, taken)
        taken |= found
        yield text


@cache
def _topic(name: str) -> Topic:
    return next(topic for topic in topics() if topic.name == name)


def _fresh(realiser: Realiser, label: Label, size: str, taken: set[str]) -> tuple[str, set[str]]:
    """Write a text that shares no run with what is taken and says no word twice, and return it with its runs."""
    tone = tones()[label.tone] if label.tone else None
    low, high = SIZES[size]
    for _ in range(TRIES):
        text = realiser.write(size, tone)
        if low <= len(text) <= high:
            words = words_of(text)
            found = runs_of(words, RUN)
            if taken.isdisjoint(found) and not has_doubled(text, words):
                return text, found
    raise ValueError(f"no {size} {label.format} about {label.topic} in {TRIES} tries")


def runs(text: str) -> set[str]:
    """Return all runs of RUN words of a text, in lower case and without stops."""
    return runs_of(words_of(text), RUN)
