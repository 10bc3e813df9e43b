"""Libraries: texts in many formats about many topics, and which of them a row asks for.

A library knows what every text is before it is written. A text is written together with its cell (the texts of one
format, topic and tone), no two of which share a run of RUN words.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

from pipeline.caches import cache, lru_cache
from pipeline.errors import PoolError
from pipeline.storage import parse_location
from pipeline.streams import Streams, deal
from pipeline.worlds.writing.corpus import Writing, corpus_digest, frozen, has_doubled, runs_of, words_of
from pipeline.worlds.writing.realise import Realiser, common, formats, source_digest, tones
from pipeline.worlds.writing.topics import Topic, fits, matched, sample, shares, topics

SIZES = {"short": (340, 560), "long": (560, 1100)}
"""Characters of a text of each size: 60 to 300 tokens in every shipped vocabulary."""
CELL = ("short", "long", "long")
"""The sizes of texts, in equal shares."""
RUN = 8
TRIES = 2000


@dataclass(frozen=True, slots=True)
class Label:
    """What a text is, in the words of its request; `tone` is empty if none is asked for."""

    format: str
    topic: str
    tone: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a text is: `size` is ``short`` or ``long``; those `shown` are kept for demonstrations."""

    label: Label
    size: str
    shown: bool = False


@dataclass(frozen=True, slots=True)
class TextPlan:
    """What row `index` of `rows` needs: `count` texts of one label, and `twins` of its format and topic in other tones.

    `shared` are the streams of all rows; with `short`, all texts are short.
    """

    rows: int
    index: int
    count: int
    twins: int
    short: bool
    row_streams: Streams
    shared: Streams


@dataclass(frozen=True, slots=True)
class RequestedText:
    """What a row asks for: the texts of a label, and others with its format and topic in other tones."""

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
        """Whether the texts that a row asks for, and their twins, are written for it."""

    def text(self, index: int) -> str:
        """Return a text."""

    def size(self, index: int) -> float:
        """Return about how many bytes a text has, without writing it."""

    def asked(self, wanted: TextPlan) -> RequestedText:
        """Return what a row asks for.

        Raises:
            PoolError: if there are too few texts of any label.
        """

    def __hash__(self) -> int:
        """Distinguish libraries within a process."""


def written(world: Streams, label: Label, sizes: Iterable[str]) -> Iterator[str]:
    """Write texts of one label, no two of which share a run of RUN words.

    Raises:
        ValueError: if the grammar has no more to say about this topic.
    """
    return cell_texts(world, [(label, size) for size in sizes], set())


def cell_texts(world: Streams, kinds: Sequence[tuple[Label, str]], taken: set[str]) -> Iterator[str]:
    """Write texts of one format and topic, each of a label and size, that share no run with each other or `taken`.

    Raises:
        ValueError: if the grammar has no more to say about this topic.
    """
    if not kinds:
        return
    first = kinds[0][0]
    rng = world.of("text", first.format, first.topic, first.tone)
    realiser = Realiser(formats()[first.format], common().rules, _topic(first.topic), rng)
    for label, size in kinds:
        text, text_runs = _fresh(realiser, label, size, taken)
        taken |= text_runs
        yield text


@cache
def _topic(name: str) -> Topic:
    return next(topic for topic in topics() if topic.name == name)


def _fresh(realiser: Realiser, label: Label, size: str, taken: set[str]) -> tuple[str, set[str]]:
    """Write a text that shares no run with `taken` and repeats no word directly, and return it with its runs."""
    tone = tones()[label.tone] if label.tone else None
    low, high = SIZES[size]
    for _ in range(TRIES):
        text = realiser.write(size, tone)
        if low <= len(text) <= high:
            words = words_of(text)
            text_runs = runs_of(words, RUN)
            if taken.isdisjoint(text_runs) and not has_doubled(text, words):
                return text, text_runs
    raise ValueError(f"no {size} {label.format} about {label.topic} in {TRIES} tries")


def runs(text: str) -> set[str]:
    """Return all runs of RUN words of a text, in lower case and without punctuation."""
    return runs_of(words_of(text), RUN)


WORLD = "writing@2"
TOPICS = {"32k": 120, "128k": 240, "1m": 1000}
"""The most topics of a tier: its pool is several times what one of its prompts holds."""
CELLS = (8, 8, 4, 4, 4, 2, 2, 2, 1, 1)
"""How many texts each of ten formats has about a topic: requests recur, as the asked one does."""
SHOWN = 8
"""How many topics are kept for demonstrations, with two short texts of each format."""


def topics_of(tier: str) -> int:
    """Return how many topics a tier asks for."""
    return min(TOPICS[tier], len(topics()) - SHOWN)


def grammar_library(streams: Streams, tier: str, *, toned: bool) -> GrammarLibrary:
    """Return the library of a tier that the phrase grammars write; if `toned`, requests name a tone too.

    `streams` are those of any row or pool below the same seed.
    """
    return _library(streams.world(WORLD, tier, "toned" if toned else "plain"), tier, toned)


@lru_cache(maxsize=4)
def _library(world: Streams, tier: str, toned: bool) -> GrammarLibrary:  # noqa: FBT001
    return GrammarLibrary(world, tier, toned=toned)


@lru_cache(maxsize=64)
def _dealt(streams: Streams, rows: int, turn: int, about: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return format and topic of one row per topic: formats are dealt, and topics are distinct if possible."""
    names, among = list(formats()), range(turn * len(about), (turn + 1) * len(about))
    forms = [names[deal(streams.of("format"), rows, row, len(names))] for row in among]
    return list(zip(forms, matched(streams.of("topic", turn), forms, about, fits), strict=True))


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
        """What the texts are, cell by cell, so that the indices of a label are a range."""
        return (*self._demonstrations(), *self._catalogue())

    @cached_property
    def _shares(self) -> list[list[int]]:
        return shares(list(formats()), self.topics, fits)

    @cached_property
    def _cells(self) -> Mapping[Label, range]:
        """The indices of the texts of each label."""
        starts: dict[Label, list[int]] = {}
        for index, entry in enumerate(self.entries):
            starts.setdefault(entry.label, []).append(index)
        return {label: range(indices[0], indices[-1] + 1) for label, indices in starts.items()}

    def text(self, index: int) -> str:
        """Return a text; the texts of its cell are kept."""
        label = self.entries[index].label
        return self._cell(label)[index - self._cells[label].start]

    def _cell(self, label: Label) -> list[str]:
        if label not in self._written:
            sizes = [self.entries[index].size for index in self._cells.get(label, ())]
            self._written[label] = list(written(self._world, label, sizes))
        return self._written[label]

    def size(self, index: int) -> float:
        """Return the midpoint of the size range of a text."""
        return sum(SIZES[self.entries[index].size]) / 2

    def asked(self, wanted: TextPlan) -> RequestedText:
        """Deal formats and topics, and write texts for the row that the catalogue does not have."""
        turn, place = divmod(wanted.index, len(self.topics))
        form, topic = _dealt(wanted.shared, wanted.rows, turn, tuple(self.topics))[place]
        names = self._tones(wanted.row_streams, form, topic)
        label, *others = (Label(form, topic, name) for name in names)
        labels = [label] * wanted.count + [others[at % len(others)] for at in range(wanted.twins)]
        sizes = wanted.row_streams.of("sizes")
        kinds = [(each, "short" if wanted.short else CELL[sizes.randrange(len(CELL))]) for each in labels]
        texts = list(cell_texts(wanted.row_streams, kinds, self._known_runs(form, topic)))
        twins = zip(labels[wanted.count :], texts[wanted.count :], strict=True)
        return RequestedText(label, tuple(texts[: wanted.count]), tuple(twins))

    def _tones(self, streams: Streams, form: str, topic: str) -> Sequence[str]:
        """Return the tones that a request may name, in random order."""
        names = sorted(tones()) if self._toned else [""]
        streams.of("tones", form, topic).shuffle(names)
        return names

    def _known_runs(self, form: str, topic: str) -> set[str]:
        """Return one run of each text of a format and topic, in any tone: a text without that run is another one."""
        held = [label for tone in ("", *tones()) if (label := Label(form, topic, tone)) in self._cells]
        return {min(runs(text)) for label in held for text in self._cell(label)}

    def _demonstrations(self) -> Iterator[Entry]:
        for topic in self._shown:
            for form in formats():
                if fits(form, topic):
                    label = Label(form, topic, self._tones(self._world, form, topic)[0])
                    yield from (Entry(label, "short", shown=True) for _ in range(2))

    def _catalogue(self) -> Iterator[Entry]:
        """Yield the cells of each topic: formats by their shares, the largest cells for those with the fewest texts."""
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


def source_of(corpus: str) -> str:
    """Return the source of the texts: the digest of the grammars' files, or of the corpus."""
    return f"corpus {corpus}" if corpus else f"{WORLD} {source_digest()}"


def library_of(streams: Streams, tier: str, corpus: str, corpora: str, *, toned: bool) -> Library:
    """Return the library of a tier: a corpus from the folder `corpora`, by its digest, or what the grammars write.

    Raises:
        PoolError: if the corpus is not there, or not what its digest says.
    """
    if corpus:
        return _corpus_library(corpora, corpus, toned)
    return grammar_library(streams, tier, toned=toned)


@lru_cache(maxsize=4)
def _corpus_library(folder: str, digest: str, toned: bool) -> CorpusLibrary:  # noqa: FBT001
    path = parse_location(folder) / f"{digest}.parquet"
    if not path.is_file():
        raise PoolError(f"no corpus {str(path)!r}: build with --corpus FILE, which keeps a copy there")
    writings = frozen(path)
    if corpus_digest(writings) != digest:
        raise PoolError(f"corpus {str(path)!r} does not match the digest in its name: build with --corpus FILE again")
    return CorpusLibrary(writings, toned=toned)


class CorpusLibrary:
    """Texts of a corpus. The topics with the fewest texts are kept for demonstrations.

    In a stratum, no group of texts is asked for again before all groups have been.
    """

    writes = False

    def __init__(self, writings: Sequence[Writing], *, toned: bool) -> None:
        labels = [Label(each.format, each.topic, each.tone if toned else "") for each in writings]
        shown = _shown(labels)
        self._texts = [writing.text for writing in writings]
        self.entries = tuple(
            Entry(label, "short" if len(text) <= SIZES["short"][1] else "long", label.topic in shown)
            for label, text in zip(labels, self._texts, strict=True)
        )
        self.topics = sorted({label.topic for label in labels} - shown)

    def text(self, index: int) -> str:
        """Return a text."""
        return self._texts[index]

    def size(self, index: int) -> float:
        """Return the bytes of a text."""
        return len(self._texts[index].encode())

    def asked(self, wanted: TextPlan) -> RequestedText:
        """Deal groups of texts of one label, from all that the corpus has, in an order drawn for the stratum.

        Raises:
            PoolError: if no label has enough texts.
        """
        groups = _groups(self, wanted.count, wanted.short)
        if not groups:
            raise PoolError(
                f"{wanted.count} texts of one format and topic are needed, the texts given have "
                f"{max(map(len, _cells(self, wanted.short).values()), default=0)} at the most: enlarge the corpus or "
                "lower the complexity"
            )
        label, group = groups[deal(wanted.shared.of("group"), wanted.rows, wanted.index, len(groups))]
        cell = list(_cells(self, wanted.short)[label])
        wanted.shared.of("texts", label.format, label.topic, label.tone).shuffle(cell)
        chosen = cell[group * wanted.count :][: wanted.count]
        wanted.row_streams.of("texts").shuffle(chosen)
        return RequestedText(label, tuple(map(self.text, chosen)))


@lru_cache(maxsize=8)
def _cells(library: CorpusLibrary, short: bool) -> dict[Label, list[int]]:  # noqa: FBT001
    """Return the texts of each label that may be asked for, by index."""
    cells: dict[Label, list[int]] = {}
    for index, entry in enumerate(library.entries):
        if not entry.shown and (entry.size == "short" or not short):
            cells.setdefault(entry.label, []).append(index)
    return cells


@lru_cache(maxsize=8)
def _groups(library: CorpusLibrary, count: int, short: bool) -> list[tuple[Label, int]]:  # noqa: FBT001
    cells = _cells(library, short).items()
    return [(label, group) for label, cell in cells for group in range(len(cell) // count)]


def _shown(labels: Sequence[Label]) -> frozenset[str]:
    """Return the topics kept for demonstrations: an eighth of them, from two to SHOWN, or none of fewer than five."""
    times = Counter(label.topic for label in labels)
    rarest = sorted(times, key=lambda topic: (times[topic], topic))
    return frozenset(rarest[: min(SHOWN, max(2, len(rarest) // 8))] if len(rarest) >= 5 else ())
