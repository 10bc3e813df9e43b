"""Corpora: texts of a user's own (or of a language model) in place of those that grammars write.

A corpus is a Parquet or JSON Lines file with the columns `format`, `topic` and `text`, and `tone` if requests are to
name one. It is frozen by its content: a build keeps a copy under the digest of what it says, and the digest stands in
every row.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import PoolError
from pipeline.streams import Streams
from pipeline.worlds.writing.library import SHOWN, SIZES, Entry, Label, Library, grammar_library
from pipeline.worlds.writing.library import WORLD as WRITTEN
from pipeline.worlds.writing.sources import source_digest

COLUMNS = ("format", "topic", "tone", "text")
NEEDED = ("format", "topic", "text")
LONGEST = 2000
"""Bytes of a text: about 512 tokens, which the longest reply has to hold."""
LONGEST_NAME = 80
MARKS = ("<|", "<start_of_turn>", "<end_of_turn>", "[INST]", "[/INST]", "</s>")
"""What chat templates read as their own."""
LABELLED = re.compile(r"^(User|Model|System):", re.MULTILINE)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")
SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])
NAMED_FAULTS = 8


@dataclass(frozen=True, slots=True)
class Writing:
    """A text and what it is; `tone` may be empty."""

    format: str
    topic: str
    tone: str
    text: str


def read_corpus(path: Path) -> tuple[Writing, ...]:
    """Read and check a user's corpus.

    Raises:
        PoolError: naming the file and, by row from 1, what is wrong with each of the first faulty rows.
    """
    rows = list(_records(path))
    found = [_writing(row) for row in rows]
    faults = [f"row {number}: {fault}" for number, fault in _faults(found)]
    if not rows:
        faults = ["it has no rows"]
    if faults:
        more = f" (and {len(faults) - NAMED_FAULTS} more)" if len(faults) > NAMED_FAULTS else ""
        raise PoolError(f"corpus {str(path)!r}: {'; '.join(faults[:NAMED_FAULTS])}{more}")
    return tuple(writing for writing in found if isinstance(writing, Writing))


def _records(path: Path) -> Iterator[Mapping[str, Any]]:
    if not path.is_file():
        raise PoolError(f"no corpus {str(path)!r}: give a .parquet or .jsonl file")
    try:
        if path.suffix == ".parquet":
            table = pq.read_table(path)
            missing = [name for name in NEEDED if name not in table.column_names]
            if missing:
                raise PoolError(f"corpus {str(path)!r} lacks the column {missing[0]!r}: it has {table.column_names}")
            yield from table.select([name for name in COLUMNS if name in table.column_names]).to_pylist()
            return
        yield from _lines(path)
    except (OSError, UnicodeDecodeError, pa.ArrowException) as fault:
        raise PoolError(f"corpus {str(path)!r} cannot be read: {fault}") from None


def _lines(path: Path) -> Iterator[Mapping[str, Any]]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as fault:
            raise PoolError(f"corpus {str(path)!r}, line {number} is no JSON: {fault}") from None
        if not isinstance(record, dict):
            raise PoolError(f"corpus {str(path)!r}, line {number}: give an object with {', '.join(NEEDED)}")
        yield record


def _writing(record: Mapping[str, Any]) -> Writing | str:
    """Return a record as a text, without white space around it, or what is wrong with its columns."""
    values = {name: record.get(name) for name in COLUMNS}
    values["tone"] = values["tone"] or ""
    for name, value in values.items():
        if not isinstance(value, str):
            return f"{name} is {value!r}: give text" if name in record else f"it lacks {name!r}"
    return Writing(**{name: str(value).replace("\r\n", "\n").strip() for name, value in values.items()})


def _faults(found: Sequence[Writing | str]) -> Iterator[tuple[int, str]]:
    first: dict[str, int] = {}
    for number, writing in enumerate(found, start=1):
        if isinstance(writing, str):
            yield number, writing
            continue
        fault = text_fault(writing.text) or name_fault(writing)
        if not fault and first.setdefault(writing.text, number) != number:
            fault = f"its text stands in row {first[writing.text]} too"
        if fault:
            yield number, fault


def text_fault(text: str) -> str:
    """Return what keeps a text out of a corpus, or nothing."""
    size = len(text.encode())
    if not text:
        return "its text is empty"
    if size > LONGEST:
        return f"its text has {size} bytes: give {LONGEST} at the most"
    if not unicodedata.is_normalized("NFC", text):
        return "its text is not in Unicode's form NFC"
    held = next((mark for mark in MARKS if mark in text), None)
    if held or CONTROL.search(text):
        return f"its text holds {held or CONTROL.findall(text)[0]!r}, which chat templates or readers take for a mark"
    return "a line of its text starts like a turn of a transcript" if LABELLED.search(text) else ""


def name_fault(writing: Writing) -> str:
    """Return what keeps a format, topic or tone out of a request, or nothing."""
    for name, value in (("format", writing.format), ("topic", writing.topic), ("tone", writing.tone)):
        odd = "\n" in value or CONTROL.search(value) or value.endswith(".") or "  " in value
        if odd or len(value) > LONGEST_NAME or (not value and name != "tone"):
            return f"its {name} is {value!r}: give a plain phrase of 1 to {LONGEST_NAME} characters"
    if " about " in f" {writing.format} " or re.search(r" in an? [\w-]+ tone$", f"{writing.format} {writing.topic}"):
        return f"its format {writing.format!r} and topic {writing.topic!r} cannot be told apart in a request"
    if " " in writing.tone or not unicodedata.is_normalized("NFC", writing.format + writing.topic + writing.tone):
        return f"its tone is {writing.tone!r}: give one word, and all names in Unicode's form NFC"
    return ""


def corpus_digest(writings: Iterable[Writing]) -> str:
    """Return the SHA-256 of what a corpus says, in its order."""
    total = hashlib.sha256()
    for writing in writings:
        total.update(json.dumps(astuple(writing)).encode())
    return total.hexdigest()


def freeze(writings: Sequence[Writing], folder: Path) -> str:
    """Keep a corpus in a folder, under its digest, and return the digest; one that is kept already stays as it is."""
    digest = corpus_digest(writings)
    path = folder / f"{digest}.parquet"
    if not path.is_file():
        folder.mkdir(parents=True, exist_ok=True)
        columns = zip(*map(astuple, writings), strict=True)
        aside = path.with_suffix(".aside")
        pq.write_table(pa.table(dict(zip(COLUMNS, map(list, columns), strict=True)), schema=SCHEMA), aside)
        aside.replace(path)
    return digest


def source_of(corpus: str) -> str:
    """Return what the texts come from: the digest of the grammars' files, or of the corpus."""
    return f"corpus {corpus}" if corpus else f"{WRITTEN} {source_digest()}"


def library_of(streams: Streams, tier: str, corpus: str, *, toned: bool) -> Library:
    """Return the library of a tier: a frozen corpus by its digest, or what the grammars write.

    Raises:
        PoolError: if the corpus is not there, or not what its digest says.
    """
    if corpus:
        return _corpus_library(streams.corpora, corpus, toned)
    return grammar_library(streams, tier, toned=toned)


@lru_cache(maxsize=4)
def _corpus_library(folder: str, digest: str, toned: bool) -> CorpusLibrary:  # noqa: FBT001
    path = Path(folder) / f"{digest}.parquet"
    writings = read_corpus(path)
    if corpus_digest(writings) != digest:
        raise PoolError(f"corpus {str(path)!r} does not say what its name, a digest, promises: freeze it again")
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
        self._chars = sum(map(len, self._texts)) / len(self._texts)

    def text(self, index: int) -> str:
        """Return a text."""
        return self._texts[index]

    def chars(self, entry: Entry) -> float:
        """Return the mean length of the corpus's texts."""
        return self._chars


def _shown(labels: Sequence[Label]) -> frozenset[str]:
    """Return the topics that are kept for demonstrations: an eighth of them, two at least if three would be left."""
    times = Counter(label.topic for label in labels)
    rarest = sorted(times, key=lambda topic: (times[topic], topic))
    return frozenset(rarest[: min(SHOWN, max(2, len(rarest) // 8))] if len(rarest) >= 5 else ())


def _use(label: Label, shown: frozenset[str], times: Counter[Label]) -> str:
    if label.topic in shown:
        return "show"
    return "ask" if times[label] > 1 else "fill"
