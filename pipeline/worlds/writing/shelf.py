"""Where a build's texts come from: the library that the grammars write, or the one of a frozen corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from pipeline.errors import PoolError
from pipeline.streams import Streams
from pipeline.worlds.writing.checks import Writing
from pipeline.worlds.writing.corpus import corpus_digest, frozen
from pipeline.worlds.writing.library import SHOWN, SIZES, Entry, Label, Library, grammar_library
from pipeline.worlds.writing.library import WORLD as WRITTEN
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
    path = Path(folder) / f"{digest}.parquet"
    if not path.is_file():
        raise PoolError(f"no corpus {str(path)!r}: build with --corpus FILE, which keeps a copy of it there")
    writings = frozen(path)
    if corpus_digest(writings) != digest:
        raise PoolError(f"corpus {str(path)!r} does not say what its name promises: build with --corpus FILE again")
    return CorpusLibrary(writings, toned=toned)


class CorpusLibrary:
    """Texts of a corpus. The topics with the fewest texts are kept for demonstrations."""

    def __init__(self, writings: Sequence[Writing], *, toned: bool) -> None:
        labels = [Label(each.format, each.topic, each.tone if toned else "") for each in writings]
        shown, times = _shown(labels), Counter(labels)
        self._texts = [writing.text for writing in writings]
        self.entries = tuple(
            Entry(label, "short" if len(text) <= SIZES["short"][1] else "long", _use(label, shown, times))
            for label, text in zip(labels, self._texts, strict=True)
        )

    def text(self, index: int) -> str:
        """Return a text."""
        return self._texts[index]

    def size(self, index: int) -> float:
        """Return the bytes of a text."""
        return len(self._texts[index].encode())


def _shown(labels: Sequence[Label]) -> frozenset[str]:
    """Return the topics that are kept for demonstrations: an eighth of them, two at least if three would be left."""
    times = Counter(label.topic for label in labels)
    rarest = sorted(times, key=lambda topic: (times[topic], topic))
    return frozenset(rarest[: min(SHOWN, max(2, len(rarest) // 8))] if len(rarest) >= 5 else ())


def _use(label: Label, shown: frozenset[str], times: Counter[Label]) -> str:
    if label.topic in shown:
        return "show"
    return "ask" if times[label] > 1 else "fill"
