"""What a corpus holds, in four tables, and the one file that they are frozen in.

The file is Parquet with a row for each record and the name of its table in the column `table`; columns that a table
does not have are null. A corpus is known by the SHA-256 of what its records say, in their order.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import PoolError
from pipeline.paths import readable
from pipeline.worlds.corpora.rules import holds, plain, rarest, searched, with_words

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
    """A short text that a search may find, in one line; the title may be empty."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """A question about passages.

    `answers` has a group of accepted forms for each answer, the first of them the one to show; there are none where
    passages are only judged. `gold` are the passages that are needed, by id, and `ranked` others as a search has found
    them, the best first, with their `grades` where these were given. Questions that are `shown` are never asked: they
    are for demonstrations.
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
    """A long text of paragraphs, one a line."""

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
        """Yield every record as plain values, with the name of its table."""
        for name, some in self.tables().items():
            yield from ({"table": name, **asdict(one)} for one in some)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each passage stands, by its id."""
        return {passage.id: place for place, passage in enumerate(self.passages)}

    @cached_property
    def plain(self) -> list[str]:
        """All passages, titles included, in small letters without punctuation: where words are looked for first."""
        return plain("\n".join(f"{one.title} {one.text}" for one in self.passages)).split("\n")

    def holding(self, places: Sequence[int], forms: tuple[str, ...]) -> list[int]:
        """Return which of some passages hold a searched answer, title included."""
        some = with_words([self.plain[place] for place in places], rarest(forms))
        told = ((places[one], self.passages[places[one]]) for one in some)
        return [place for place, one in told if holds(searched(f"{one.title} {one.text}"), forms)]

    @cached_property
    def doubles(self) -> frozenset[int]:
        """The places of passages that say what an earlier one says: paragraphs of documents may."""
        first: dict[tuple[str, str], int] = {}
        every = enumerate(self.passages)
        return frozenset(place for place, one in every if first.setdefault((one.title, one.text), place) != place)

    @cached_property
    def digest(self) -> str:
        """The SHA-256 of what the records say."""
        total = hashlib.sha256()
        for record in self.records():
            total.update(json.dumps(list(record.values())).encode())
        return total.hexdigest()

    def write(self, path: Path) -> None:
        """Write the file of the corpus; the same records give the same bytes."""
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
        """Read the file of a corpus.

        Raises:
            PoolError: if it cannot be read as one.
        """
        found: dict[str, list[Any]] = {name: [] for name in KINDS}
        try:
            with pq.ParquetFile(readable(path)) as file:
                for batch in file.iter_batches(GROUP):
                    for record in batch.to_pylist():
                        found[record["table"]].append(KINDS[record["table"]](record))
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as fault:
            raise PoolError(f"corpus {str(path)!r} cannot be read: {str(fault)[:200]}") from None
        passages, questions, documents, labelled = map(tuple, found.values())
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
"""The tables, each with what makes a record of a row."""
