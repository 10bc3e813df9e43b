"""Corpora: records in four tables, and the single file that they are frozen in.

The file is Parquet with a row for each record and the name of its table in the column `table`; columns that a table
lacks are null. A corpus is identified by the SHA-256 of its records in order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.caches import lru_cache
from pipeline.corpora.reading import holds, plain, rarest, searched, with_words
from pipeline.errors import BuildError, PoolError
from pipeline.storage import StoreError, parse_location, readable, write_file
from pipeline.storage.inflated import largest_piece
from pipeline.worlds.writing.corpus import corpus_digest, freeze, frozen, read_corpus

SCHEMA = pa.schema(
    [
        ("table", pa.string()),
        ("id", pa.string()),
        ("title", pa.string()),
        ("text", pa.string()),
        ("question", pa.string()),
        ("answers", pa.list_(pa.list_(pa.string()))),
        ("gold", pa.list_(pa.string())),
        ("ranked", pa.list_(pa.string())),
        ("grades", pa.list_(pa.int32())),
        ("label", pa.string()),
        ("shown", pa.bool_()),
    ]
)
GROUP = 1 << 14
"""Records in a row group."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A short text in one line; the title may be empty."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question about passages.

    `answers` has a group of accepted forms for each answer, with the one to show first; it is empty if passages are
    only judged. `gold` are the ids of needed passages, and `ranked` those of others (in HELMET's re-ranking, of all) by
    rank. `grades`, if given, are those of `gold` passages (in HELMET's re-ranking, of `ranked` ones). Questions that
    are `shown` are for demonstrations and never asked.
    """

    id: str
    question: str
    answers: tuple[tuple[str, ...], ...]
    gold: tuple[str, ...]
    ranked: tuple[str, ...]
    grades: tuple[int, ...] = ()
    shown: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A long text with one paragraph per line."""

    id: str
    text: str


@dataclass(frozen=True, slots=True)
class Labelled:
    """A text and its label; those that are `shown` are examples, the others are asked."""

    text: str
    label: str
    shown: bool


@dataclass(frozen=True, eq=False)
class Corpus:
    """The records of a corpus; two with the same records have the same digest."""

    passages: tuple[Passage, ...] = ()
    questions: tuple[Question, ...] = ()
    documents: tuple[Document, ...] = ()
    labelled: tuple[Labelled, ...] = ()

    def tables(self) -> Mapping[str, tuple[Any, ...]]:
        """Return the tables that are not empty, by name."""
        every = {"passages": self.passages, "questions": self.questions, "documents": self.documents}
        return {name: some for name, some in {**every, "labelled": self.labelled}.items() if some}

    def records(self) -> Iterator[dict[str, Any]]:
        """Yield every record as a dict, with the name of its table."""
        for name, some in self.tables().items():
            yield from ({"table": name, **asdict(one)} for one in some)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The index of each passage, by id."""
        return {passage.id: place for place, passage in enumerate(self.passages)}

    @cached_property
    def plain(self) -> list[str]:
        """All passages, with titles, in lower case without punctuation, for a first search of words."""
        return plain("\n".join(f"{one.title} {one.text}" for one in self.passages)).split("\n")

    def holding(self, places: Sequence[int], forms: tuple[str, ...]) -> list[int]:
        """Return which of some passages contain a searched answer, in title or text."""
        some = with_words([self.plain[place] for place in places], rarest(forms))
        candidates = ((places[one], self.passages[places[one]]) for one in some)
        return [place for place, one in candidates if holds(searched(f"{one.title} {one.text}"), forms)]

    @cached_property
    def doubles(self) -> frozenset[int]:
        """The indices of passages that repeat an earlier one, as paragraphs of documents may."""
        first: dict[tuple[str, str], int] = {}
        every = enumerate(self.passages)
        return frozenset(place for place, one in every if first.setdefault((one.title, one.text), place) != place)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of the records."""
        total = hashlib.sha256()
        for record in self.records():
            total.update(json.dumps(list(record.values())).encode())
        return total.hexdigest()

    def write(self, path: Path) -> None:
        """Write the corpus to a file; equal records give equal bytes."""
        with pq.ParquetWriter(path, SCHEMA, compression="zstd") as file:
            some: list[dict[str, Any]] = []
            for record in self.records():
                some.append(record)
                if len(some) == GROUP:
                    file.write_table(pa.Table.from_pylist(some, schema=SCHEMA))
                    some = []
            file.write_table(pa.Table.from_pylist(some, schema=SCHEMA))

    @classmethod
    def read(cls, path: Path) -> Corpus:
        """Read a corpus from a file.

        Raises:
            PoolError: if it cannot be read, or is not a corpus.
        """
        rows: dict[str, list[Any]] = {name: [] for name in KINDS}
        try:
            with pq.ParquetFile(readable(path)) as file:
                largest_piece(path, file.metadata, file.schema_arrow.names)
                for batch in file.iter_batches(GROUP):
                    for record in batch.to_pylist():
                        rows[record["table"]].append(KINDS[record["table"]](record))
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as fault:
            raise PoolError(f"corpus {str(path)!r} cannot be read: {str(fault)[:200]}") from None
        passages, questions, documents, labelled = map(tuple, rows.values())
        return cls(passages, questions, documents, labelled)


def _question(record: Mapping[str, Any]) -> Question:
    gold, ranked, grades = (tuple(record[name]) for name in ("gold", "ranked", "grades"))
    answers = tuple(map(tuple, record["answers"]))
    return Question(record["id"], record["question"], answers, gold, ranked, grades, record["shown"])


KINDS: Mapping[str, Any] = {
    "passages": lambda record: Passage(record["id"], record["title"], record["text"]),
    "questions": _question,
    "documents": lambda record: Document(record["id"], record["text"]),
    "labelled": lambda record: Labelled(record["text"], record["label"], record["shown"]),
}
"""The tables, each with a function that makes a record from a row."""


WRITINGS = "writings"
"""The name, beside those of tables, for texts for mrcr, which have a file format of their own."""


@dataclass(frozen=True, slots=True)
class FrozenCorpus:
    """A frozen corpus: its digest, its tables, and how many passages its questions need.

    `tables` also has `answers`, `facts` or `grades`, if questions have answers, several answers, or graded passages.
    `needed` has pairs: the number of passages that a question needs, and whether it has answers.
    """

    digest: str
    tables: frozenset[str]
    path: Path
    needed: frozenset[tuple[int, bool]] = frozenset()
    facts: int = 0
    """The most answers of a question."""
    labels: int = 0
    """The number of labels that have examples."""

    def fits(self, tables: frozenset[str], complexity: int) -> bool:
        """Return whether rows of a task that needs these tables can be made from it at this complexity."""
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
    """Return whether a file is an imported corpus, not a list of texts for mrcr."""
    try:
        with pq.ParquetFile(readable(path)) as file:
            return "table" in file.schema_arrow.names
    except StoreError:
        raise
    except (OSError, ValueError, pa.ArrowException):
        return False


def freeze_corpus(path: Path, folder: Path) -> FrozenCorpus:
    """Check a corpus and keep a copy in a folder, under its digest.

    Raises:
        PoolError: if the file cannot be read or is not a corpus.
        BuildError: if the folder cannot be written.
    """
    if not is_imported(path):
        return FrozenCorpus(freeze(read_corpus(path), folder), frozenset({WRITINGS}), path)
    corpus = Corpus.read(path)
    write_corpus_file(corpus, folder / f"{corpus.digest}.parquet")
    needed = frozenset((len(one.gold), bool(one.answers)) for one in corpus.questions if not one.shown)
    facts = max((len(one.answers) for one in corpus.questions if not one.shown), default=0)
    optional = {
        "facts": facts > 1,
        "answers": any(one for _, one in needed),
        "grades": any(one.grades for one in corpus.questions),
    }
    tables = {*corpus.tables(), *(name for name, there in optional.items() if there)}
    labels = len({one.label for one in corpus.labelled if one.shown})
    return FrozenCorpus(corpus.digest, frozenset(tables), path, needed, facts, labels)


def write_corpus_file(corpus: Corpus, path: Path) -> None:
    """Write a corpus, unless the file exists and is intact.

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
        with write_file(path) as aside:
            corpus.write(aside)
    except OSError as fault:
        raise BuildError(f"a corpus cannot be written to {str(path.parent)!r}: {fault.strerror or fault}") from None


def has_all(folder: Path, digests: Iterable[str]) -> bool:
    """Return whether a folder has some corpora, each with the content that matches its name."""
    try:
        return all(_digest_of(folder / f"{each}.parquet") == each for each in digests)
    except PoolError:
        return False


def _digest_of(path: Path) -> str:
    return Corpus.read(path).digest if is_imported(path) else corpus_digest(frozen(path))


@lru_cache(maxsize=4)
def corpus_of(folder: str, digest: str) -> Corpus:
    """Return a corpus from the folder in which a build keeps corpora.

    Raises:
        PoolError: if it does not exist, or does not match its digest.
    """
    path = parse_location(folder) / f"{digest}.parquet"
    if not path.is_file():
        raise PoolError(f"no corpus {str(path)!r}: build with --corpus FILE, which keeps a copy there")
    corpus = Corpus.read(path)
    if corpus.digest != digest:
        raise PoolError(f"corpus {str(path)!r} does not match the digest in its name: build with --corpus FILE again")
    return corpus
