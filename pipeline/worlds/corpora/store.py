"""Frozen corpora of every kind: known by a digest, kept in a folder under it, and read from there."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import BuildError, PoolError
from pipeline.paths import StoreError, place, readable, written
from pipeline.worlds.corpora.records import Corpus
from pipeline.worlds.writing.corpus import corpus_digest, freeze, frozen, read_corpus

WRITINGS = "writings"
"""What texts for mrcr are called beside the tables of other corpora."""


@dataclass(frozen=True, slots=True)
class Kept:
    """A corpus that is frozen: its digest, the tables that it has, and how many passages its questions need.

    Where questions have answers, several of them, or graded passages, `answers`, `facts` or `grades` is among the
    tables; `needed` tells for each number whether it is of questions with answers.
    """

    digest: str
    tables: frozenset[str]
    path: Path
    needed: frozenset[tuple[int, bool]] = frozenset()
    facts: int = 0
    """The most answers that a question has."""
    labels: int = 0
    """How many labels have examples."""

    def fits(self, tables: frozenset[str], complexity: int) -> bool:
        """Tell whether rows that need some tables can be asked of it."""
        if "labelled" in tables:
            return complexity == self.labels
        if not tables <= self.tables or "questions" not in tables:
            return tables <= self.tables
        if "facts" in tables:
            return self.facts >= complexity
        if "grades" in tables:
            return any(count >= complexity for count, _ in self.needed)
        return (complexity, True) in self.needed or ("answers" not in tables and (complexity, False) in self.needed)


def is_imported(path: Path) -> bool:
    """Tell whether a file is a corpus that was imported, and no list of texts for mrcr."""
    try:
        with pq.ParquetFile(readable(path)) as file:
            return "table" in file.schema_arrow.names
    except StoreError:
        raise
    except (OSError, ValueError, pa.ArrowException):
        return False


def keep(path: Path, folder: Path) -> Kept:
    """Check a corpus and keep a copy in a folder, under its digest.

    Raises:
        PoolError: naming what is wrong with the file.
        BuildError: if the folder cannot be written.
    """
    if not is_imported(path):
        return Kept(freeze(read_corpus(path), folder), frozenset({WRITINGS}), path)
    corpus = Corpus.read(path)
    put(corpus, folder / f"{corpus.digest}.parquet")
    needed = frozenset((len(one.gold), bool(one.answers)) for one in corpus.questions if not one.shown)
    facts = max((len(one.answers) for one in corpus.questions if not one.shown), default=0)
    told = {
        "facts": facts > 1,
        "answers": any(one for _, one in needed),
        "grades": any(one.grades for one in corpus.questions),
    }
    tables = {*corpus.tables(), *(name for name, there in told.items() if there)}
    labels = len({one.label for one in corpus.labelled if one.shown})
    return Kept(corpus.digest, frozenset(tables), path, needed, facts, labels)


def put(corpus: Corpus, path: Path) -> None:
    """Write a corpus, unless it is there and whole.

    Raises:
        BuildError: if it cannot be written.
    """
    if path.is_file() and is_imported(path):
        try:
            if Corpus.read(path).digest == corpus.digest:
                return
        except PoolError:
            pass  # a broken copy is written again
    try:
        with written(path) as aside:
            corpus.write(aside)
    except OSError as fault:
        raise BuildError(f"a corpus cannot be written to {str(path.parent)!r}: {fault.strerror or fault}") from None


def has_all(folder: Path, digests: Iterable[str]) -> bool:
    """Tell whether a folder holds some corpora, each with the content that its name says."""
    try:
        return all(_digest_of(folder / f"{each}.parquet") == each for each in digests)
    except PoolError:
        return False


def _digest_of(path: Path) -> str:
    return Corpus.read(path).digest if is_imported(path) else corpus_digest(frozen(path))


@lru_cache(maxsize=4)
def corpus_of(folder: str, digest: str) -> Corpus:
    """Return a corpus out of the folder that a build keeps corpora in.

    Raises:
        PoolError: if it is not there, or not what its digest says.
    """
    path = place(folder) / f"{digest}.parquet"
    if not path.is_file():
        raise PoolError(f"no corpus {str(path)!r}: build with --corpus FILE, which keeps a copy there")
    corpus = Corpus.read(path)
    if corpus.digest != digest:
        raise PoolError(f"corpus {str(path)!r} does not match the digest in its name: build with --corpus FILE again")
    return corpus
