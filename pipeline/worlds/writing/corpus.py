"""Corpora: texts of a user's own (or of a language model) in place of those that grammars write.

A corpus is a Parquet or JSON Lines file with the columns `format`, `topic` and `text`, and `tone` if requests are to
name one. It is frozen by its content: a build keeps a copy under the digest of what it says, and the digest stands in
every row.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import BuildError, PoolError
from pipeline.streams import Streams
from pipeline.worlds.writing.library import SHOWN, SIZES, Entry, Label, Library, grammar_library
from pipeline.worlds.writing.library import WORLD as WRITTEN
from pipeline.worlds.writing.sources import source_digest

COLUMNS = ("format", "topic", "tone", "text")
NEEDED = ("format", "topic", "text")
LONGEST = 2000
"""Bytes of a text: about 512 tokens, which the longest reply has to hold."""
LONGEST_NAME = 80
MARK = re.compile(
    r"<[|\uff5c]|</?s>|<(?:bos|eos|pad|unk|sop|eop)>|<(?:start|end)_of_turn>|</?think>"
    r"|\[/?(?:INST|SYSTEM_PROMPT|gMASK|sMASK|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS)\]"
)
"""What chat templates and tokenizers read as their own."""
TURN = re.compile(r"^(?:(?:User|Model|System|Assistant|Human):|======== )", re.MULTILINE)
"""How lines of a transcript start."""
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
RUN, MOST = 5, 0.5
"""Two texts of one format and topic are doubles if one holds more than MOST of the other's runs of RUN words."""
WORD = re.compile(r"[^\W_]+")
SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])
NAMED_FAULTS = 8
SHOWN_CHARS = 80
"""Of a wrong value, in an error."""

Rows = dict[int, "Writing | str"]


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
        PoolError: naming the file and, by row from 1 (lines of JSON Lines), what is wrong with the first faulty ones.
    """
    rows = {number: _writing(record) for number, record in _records(path)}
    faults = [f"row {number}: {fault}" for number, fault in sorted(_faults(rows).items())]
    if not rows:
        faults = ["it has no rows"]
    if faults:
        more = f" (and {len(faults) - NAMED_FAULTS} more)" if len(faults) > NAMED_FAULTS else ""
        raise PoolError(f"corpus {str(path)!r}: {'; '.join(faults[:NAMED_FAULTS])}{more}")
    return tuple(writing for writing in rows.values() if isinstance(writing, Writing))


def _records(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    readers = {".parquet": _table, ".jsonl": _lines}
    if path.suffix.lower() not in readers:
        raise PoolError(f"corpus {str(path)!r} has the unknown suffix {path.suffix!r}: give a .parquet or .jsonl file")
    if not path.is_file():
        raise PoolError(f"no corpus {str(path)!r}: give a .parquet or .jsonl file")
    try:
        yield from readers[path.suffix.lower()](path)
    except (OSError, ValueError, pa.ArrowException) as fault:
        raise PoolError(f"corpus {str(path)!r} cannot be read: {str(fault)[:200]}") from None


def _table(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with pq.ParquetFile(path) as file:
        names = file.schema_arrow.names
        for name in COLUMNS:
            if names.count(name) > 1 or (name in NEEDED and name not in names):
                fault = f"has two columns {name!r}" if name in names else f"lacks the column {name!r}"
                raise PoolError(f"corpus {str(path)!r} {fault}: it has {', '.join(names[:12])}")
        columns = [name for name in COLUMNS if name in names]
        yield from enumerate(file.read(columns=columns).to_pylist(), start=1)


def _lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each line that holds something. No other mark ends a line: texts may hold them."""
    for number, line in enumerate(path.read_bytes().decode("utf-8-sig").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as fault:
            raise PoolError(f"corpus {str(path)!r}, row {number} is no JSON: {fault}") from None
        if not isinstance(record, dict):
            raise PoolError(f"corpus {str(path)!r}, row {number}: give an object with {', '.join(NEEDED)}")
        yield number, record


def _writing(record: Mapping[str, Any]) -> Writing | str:
    """Return a record as a text, without white space around it, or what is wrong with its columns."""
    values = {name: record.get(name) for name in COLUMNS}
    if values["tone"] is None:
        values["tone"] = ""
    for name, value in values.items():
        if not isinstance(value, str):
            return f"{name} is {_short(value)}: give text" if name in record else f"it lacks {name!r}"
    return Writing(**{name: str(value).replace("\r\n", "\n").strip() for name, value in values.items()})


def _short(value: object) -> str:
    said = ascii(value)
    return said if len(said) <= SHOWN_CHARS else said[:SHOWN_CHARS] + "..."


def _faults(rows: Rows) -> dict[int, str]:
    """Return what is wrong, by row."""
    faults: dict[int, str] = {}
    first: dict[str, int] = {}
    cells: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for number, writing in rows.items():
        fault = writing if isinstance(writing, str) else text_fault(writing.text) or name_fault(writing)
        if fault or isinstance(writing, str):
            faults[number] = fault
        elif first.setdefault(writing.text, number) != number:
            faults[number] = f"its text stands in row {first[writing.text]} too"
        else:
            cells[writing.format, writing.topic].append((number, writing.text))
    for cell in cells.values():
        for later, earlier in near_doubles([text for _, text in cell]):
            faults[cell[later][0]] = f"more than half of its text stands in row {cell[earlier][0]} too"
    return faults


def near_doubles(texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of texts that are nearly an earlier one, and the places of those."""
    holders: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
    sizes: list[int] = []
    for place, text in enumerate(texts):
        words = WORD.findall(text.lower())
        runs = set(zip(*(words[at:] for at in range(RUN)), strict=False))
        shared = Counter(other for run in runs for other in holders[run])
        sizes.append(len(runs))
        yield from ((place, other) for other, held in shared.items() if held > MOST * min(len(runs), sizes[other]))
        for run in runs:
            holders[run].append(place)


def text_fault(text: str) -> str:
    """Return what keeps a text out of a corpus, or nothing."""
    size = len(text.encode(errors="surrogatepass"))
    if not text:
        return "its text is empty"
    if size > LONGEST:
        return f"its text has {size} bytes: give {LONGEST} at the most"
    if not unicodedata.is_normalized("NFC", text):
        return "its text is not in Unicode's form NFC"
    if held := MARK.search(text) or CONTROL.search(text):
        return f"its text holds {held[0]!a}, which chat templates or readers take for a mark"
    return "a line of its text starts like a turn of a transcript" if TURN.search(text) else ""


def name_fault(writing: Writing) -> str:
    """Return what keeps a format, topic or tone out of a request, or nothing."""
    for name, value in (("format", writing.format), ("topic", writing.topic), ("tone", writing.tone)):
        if (not value and name != "tone") or not _is_phrase(value):
            return (
                f"its {name} is {_short(value)}: give a plain phrase of 1 to {LONGEST_NAME} characters in Unicode's "
                "form NFC, without a full stop"
            )
    if " about " in f" {writing.format} " or re.search(r" in an? [\w-]+ tone$", f"{writing.format} {writing.topic}"):
        return f"its format {writing.format!r} and topic {writing.topic!r} cannot be told apart in a request"
    return "" if re.fullmatch(r"[\w-]*", writing.tone) else f"its tone is {_short(writing.tone)}: give one word"


def _is_phrase(name: str) -> bool:
    odd = "\n" in name or "  " in name or name.endswith(".") or CONTROL.search(name) or MARK.search(name)
    return not odd and len(name) <= LONGEST_NAME and unicodedata.is_normalized("NFC", name)


def corpus_digest(writings: Iterable[Writing]) -> str:
    """Return the SHA-256 of what a corpus says, in its order."""
    total = hashlib.sha256()
    for writing in writings:
        total.update(json.dumps(astuple(writing)).encode())
    return total.hexdigest()


def freeze(writings: Sequence[Writing], folder: Path) -> str:
    """Keep a corpus in a folder, under its digest, and return the digest; a copy that is whole stays as it is.

    Raises:
        BuildError: if the folder cannot be written.
    """
    digest = corpus_digest(writings)
    path = folder / f"{digest}.parquet"
    with suppress(PoolError):
        if corpus_digest(_frozen(path)) == digest:
            return digest
    columns = zip(*map(astuple, writings), strict=True)
    _write(path, pa.table(dict(zip(COLUMNS, map(list, columns), strict=True)), schema=SCHEMA))
    return digest


def _write(path: Path, table: pa.Table) -> None:
    aside = path.with_name(f"{path.name}.part-{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, aside)
        aside.replace(path)
    except OSError as fault:
        raise BuildError(f"no corpus can be kept in {str(path.parent)!r}: {fault.strerror or fault}") from None
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


def _frozen(path: Path) -> tuple[Writing, ...]:
    """Read a copy. It was checked when it was frozen: its digest says that it is still the same."""
    return tuple(found for _, record in _records(path) if isinstance(found := _writing(record), Writing))


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
    if not path.is_file():
        raise PoolError(f"no corpus {str(path)!r}: build with --corpus FILE, which keeps a copy of it there")
    writings = _frozen(path)
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
