"""Where a build's texts come from: the library that the grammars write, or the one of a frozen corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

from pipeline.errors import PoolError
from pipeline.paths import place
from pipeline.streams import Streams, deal
from pipeline.worlds.writing.catalogue import SHOWN, grammar_library
from pipeline.worlds.writing.catalogue import WORLD as WRITTEN
from pipeline.worlds.writing.checks import Writing
from pipeline.worlds.writing.corpus import corpus_digest, frozen
from pipeline.worlds.writing.library import SIZES, Asked, Entry, Label, Library, Wanted
from pipeline.worlds.writing.sources import source_digest


def source_of(corpus: str) -> str:
    """Return what the texts come from: the digest of the grammars' files, or of the corpus."""
    return f"corpus {corpus}" if corpus else f"{WRITTEN} {source_digest()}"


def library_of(streams: Streams, tier: str, corpus: str, corpora: str, *, toned: bool) -> Library:
    """Return the library of a tier: a corpus by its digest, from the folder `corpora`, or what the grammars write.

    Raises:
        PoolError: if the corpus is not there, or not what its digest says.
    """
    if corpus:
        return _corpus_library(corpora, corpus, toned)
    return grammar_library(streams, tier, toned=toned)


@lru_cache(maxsize=4)
def _corpus_library(folder: str, digest: str, toned: bool) -> CorpusLibrary:  # noqa: FBT001
    path = place(folder) / f"{digest}.parquet"
    if not path.is_file():
        raise PoolError(f"no corpus {str(path)!r}: build with --corpus FILE, which keeps a copy there")
    writings = frozen(path)
    if corpus_digest(writings) != digest:
        raise PoolError(f"corpus {str(path)!r} does not match the digest in its name: build with --corpus FILE again")
    return CorpusLibrary(writings, toned=toned)


class CorpusLibrary:
    """Texts of a corpus. The topics with the fewest texts are kept for demonstrations.

    Each text is one of those that a row asks for before any is a second time in a stratum.
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

    def asked(self, wanted: Wanted) -> Asked:
        """Deal groups of texts of one label, all that the corpus has, in an order of the stratum's own.

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
        found = list(_cells(self, wanted.short)[label])
        wanted.shared.of("texts", label.format, label.topic, label.tone).shuffle(found)
        chosen = found[group * wanted.count :][: wanted.count]
        wanted.own.of("texts").shuffle(chosen)
        return Asked(label, tuple(map(self.text, chosen)))


@lru_cache(maxsize=8)
def _cells(library: CorpusLibrary, short: bool) -> dict[Label, list[int]]:  # noqa: FBT001
    """Return the texts of each label that may be asked for, by index."""
    found: dict[Label, list[int]] = {}
    for index, entry in enumerate(library.entries):
        if not entry.shown and (entry.size == "short" or not short):
            found.setdefault(entry.label, []).append(index)
    return found


@lru_cache(maxsize=8)
def _groups(library: CorpusLibrary, count: int, short: bool) -> list[tuple[Label, int]]:  # noqa: FBT001
    cells = _cells(library, short).items()
    return [(label, group) for label, found in cells for group in range(len(found) // count)]


def _shown(labels: Sequence[Label]) -> frozenset[str]:
    """Return the topics that are kept for demonstrations: an eighth of them, two at least if three would be left."""
    times = Counter(label.topic for label in labels)
    rarest = sorted(times, key=lambda topic: (times[topic], topic))
    return frozenset(rarest[: min(SHOWN, max(2, len(rarest) // 8))] if len(rarest) >= 5 else ())
