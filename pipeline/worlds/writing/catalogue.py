"""The catalogue: which texts the phrase grammars write for a tier, and what its rows ask for.

Formats are as frequent as each other in what is asked, and so are topics; the catalogue's texts are drawn by the same
shares. Its requests recur as often as the one that is asked. What a row asks for is written for that row, and stands
in no catalogue.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache

from pipeline.streams import Streams, deal, spread
from pipeline.worlds.writing.library import CELL, SIZES, Asked, Entry, Label, Wanted, cell_texts, runs, written
from pipeline.worlds.writing.pairings import fits
from pipeline.worlds.writing.shares import place_of, sample, shares
from pipeline.worlds.writing.sources import formats, tones
from pipeline.worlds.writing.topics import topics

WORLD = "writing@2"
TOPICS = {"32k": 120, "128k": 240, "1m": 1000}
"""How many topics a tier asks for and holds, at the most: its pool is several times what one of its prompts holds."""
CELLS = (8, 8, 4, 4, 4, 2, 2, 2, 1, 1)
"""How many texts of a format there are about a topic, for ten formats: requests recur, as the asked one does."""
SHOWN = 8
"""Topics that are kept for demonstrations, with two short texts of each format."""


def topics_of(tier: str) -> int:
    """Return how many topics a tier asks for."""
    return min(TOPICS[tier], len(topics()) - SHOWN)


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

    writes = True

    def __init__(self, world: Streams, tier: str, *, toned: bool) -> None:
        self._world, self._toned = world, toned
        names = [topic.name for topic in topics()]
        world.of("topics").shuffle(names)
        self._shown, self.topics = names[:SHOWN], names[SHOWN : SHOWN + topics_of(tier)]
        self._written: dict[Label, list[str]] = {}

    @cached_property
    def entries(self) -> Sequence[Entry]:
        """What the texts are: cell by cell, so that a cell's texts are neighbours."""
        return (*self._demonstrations(), *self._catalogue())

    @cached_property
    def _shares(self) -> list[list[int]]:
        return shares(list(formats()), self.topics, fits)

    @cached_property
    def _cells(self) -> Mapping[Label, range]:
        """Where the texts of each label stand."""
        starts: dict[Label, list[int]] = {}
        for index, entry in enumerate(self.entries):
            starts.setdefault(entry.label, []).append(index)
        return {label: range(found[0], found[-1] + 1) for label, found in starts.items()}

    def text(self, index: int) -> str:
        """Return a text, and remember those of its cell."""
        label = self.entries[index].label
        return self._cell(label)[index - self._cells[label].start]

    def _cell(self, label: Label) -> list[str]:
        if label not in self._written:
            sizes = [self.entries[index].size for index in self._cells.get(label, ())]
            self._written[label] = list(written(self._world, label, sizes))
        return self._written[label]

    def size(self, index: int) -> float:
        """Return the middle of the size that a text has."""
        return sum(SIZES[self.entries[index].size]) / 2

    def asked(self, wanted: Wanted) -> Asked:
        """Deal formats, draw topics by their shares, and write texts for the row that the catalogue does not hold."""
        form, topic = self._dealt(wanted)
        names = self._tones(wanted.own, form, topic)
        label, *others = (Label(form, topic, name) for name in names)
        labels = [label] * wanted.count + [others[at % len(others)] for at in range(wanted.twins)]
        sizes = wanted.own.of("sizes")
        kinds = [(each, "short" if wanted.short else CELL[sizes.randrange(len(CELL))]) for each in labels]
        texts = list(cell_texts(wanted.own, kinds, self._told(form, topic)))
        twins = zip(labels[wanted.count :], texts[wanted.count :], strict=True)
        return Asked(label, tuple(texts[: wanted.count]), tuple(twins))

    def _dealt(self, wanted: Wanted) -> tuple[str, str]:
        forms = list(formats())
        form = deal(wanted.shared.of("format"), wanted.rows, wanted.index, len(forms))
        level = spread(wanted.shared.of("topic"), wanted.rows, wanted.index)
        return forms[form], self.topics[place_of(level, self._shares[form])]

    def _tones(self, streams: Streams, form: str, topic: str) -> Sequence[str]:
        """Return the tones that a request may name, in random order."""
        names = sorted(tones()) if self._toned else [""]
        streams.of("tones", form, topic).shuffle(names)
        return names

    def _told(self, form: str, topic: str) -> set[str]:
        """Return a run of each text of a format and topic, in whatever tone: a text without it is another one."""
        held = [label for tone in ("", *tones()) if (label := Label(form, topic, tone)) in self._cells]
        return {min(runs(text)) for label in held for text in self._cell(label)}

    def _demonstrations(self) -> Iterator[Entry]:
        for topic in self._shown:
            for form in formats():
                if fits(form, topic):
                    label = Label(form, topic, self._tones(self._world, form, topic)[0])
                    yield from (Entry(label, "short", shown=True) for _ in range(2))

    def _catalogue(self) -> Iterator[Entry]:
        """Yield the cells of each topic: formats by their shares, the largest for those that have the fewest so far."""
        forms, times = list(formats()), Counter[int]()
        for topic, column in zip(self.topics, zip(*self._shares, strict=True), strict=True):
            rng = self._world.of("cells", topic)
            sizes = list(CELL) * (sum(CELLS) // len(CELL))
            rng.shuffle(sizes)
            chosen = sorted(sample(rng, column, len(CELLS)), key=times.__getitem__)
            for form, count in zip(chosen, CELLS, strict=False):
                times[form] += count
                label = Label(forms[form], topic, self._tones(self._world, forms[form], topic)[0])
                yield from (Entry(label, sizes.pop()) for _ in range(count))
