"""Corpora: a user's own texts (or a language model's) in place of those that grammars write.

A corpus is a Parquet or JSON Lines file with the columns `format`, `topic` and `text`, and `tone` if requests are to
name one. It is frozen by its content: a build keeps a copy under the digest of its content, and every row has the
digest.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass
from itertools import accumulate
from operator import eq
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import BuildError, PoolError
from pipeline.storage import readable, write_file
from pipeline.storage.inflated import largest_piece

LONGEST = 2000
"""The most bytes of a text: about 512 tokens, which must fit into the longest reply."""
LONGEST_NAME = 80
MARK = re.compile(
    r"<[|\uff5c]|<[a-z_]+\|>|</?s>|<(?:bos|eos|pad|unk|sop|eop)>|<(?:start|end)_of_turn>|</?(?:mm:)?think>|/nothink"
    r"|</?(?:tool_call|tool_response|arg_key|arg_value)>|\]~!?b[\[\]]|\[e~\[|\]<\]"
    r"|\[/?(?:INST|SYSTEM_PROMPT|gMASK|sMASK|TOOL_CALLS|AVAILABLE_TOOLS|TOOL_RESULTS|THINK|ARGS)\]|\[(?:BOS|EOS|EOT)\]"
)
"""What chat templates and tokenizers read as their own markers."""
TURN = re.compile(r"^(?:(?:User|Model|System|Assistant|Human):|======== )", re.MULTILINE)
"""How lines of a transcript start."""
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]")
RUN, MOST = 5, 0.5
"""Texts of one format and topic are doubles if one contains more than MOST of the other's runs of RUN words."""
WORD = re.compile(r"[^\W_]+")
SHOWN_CHARS = 80
"""How many characters of a wrong value errors show."""


@dataclass(frozen=True, slots=True)
class Writing:
    """A text and what it is; `tone` may be empty."""

    format: str
    topic: str
    tone: str
    text: str


def faults_of(rows: Mapping[int, Writing | str]) -> dict[int, str]:
    """Return what is wrong with the rows of a corpus, by row; a string is an error already found."""
    faults: dict[int, str] = {}
    first: dict[str, int] = {}
    cells: defaultdict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for number, writing in rows.items():
        fault = writing if isinstance(writing, str) else text_fault(writing.text) or name_fault(writing)
        if fault or isinstance(writing, str):
            faults[number] = fault
        elif first.setdefault(writing.text, number) != number:
            faults[number] = f"its text is the same as that of row {first[writing.text]}"
        else:
            cells[writing.format, writing.topic].append((number, writing.text))
    for cell in cells.values():
        for later, earlier in near_doubles([text for _, text in cell]):
            faults[cell[later][0]] = f"more than half of its text is also in row {cell[earlier][0]}"
    return faults


def near_doubles(texts: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Yield the places of texts that are nearly the same as an earlier one, each with that one's place."""
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
    """Return why a text cannot be in a corpus, or an empty string."""
    size = len(text.encode(errors="surrogatepass"))
    if not text:
        return "its text is empty"
    if size > LONGEST:
        return f"its text has {size} bytes: give at most {LONGEST}"
    if not unicodedata.is_normalized("NFC", text):
        return "its text is not in Unicode normalisation form NFC"
    if held := MARK.search(text) or CONTROL.search(text):
        return f"its text has {held[0]!a}, which chat templates or readers would take for a marker"
    return "a line of its text looks like the start of a turn in a transcript" if TURN.search(text) else ""


def name_fault(writing: Writing) -> str:
    """Return why a format, topic or tone cannot be in a request, or an empty string."""
    for name, value in (("format", writing.format), ("topic", writing.topic), ("tone", writing.tone)):
        if (not value and name != "tone") or not _is_phrase(value):
            return (
                f"its {name} is {shortened(value)}: give a plain phrase of 1 to {LONGEST_NAME} characters in Unicode's "
                "normalisation form NFC, without a full stop"
            )
    if " about " in f" {writing.format} " or re.search(r" in an? [\w-]+ tone$", f"{writing.format} {writing.topic}"):
        return f"its format {writing.format!r} and topic {writing.topic!r} cannot be told apart in a request"
    return "" if re.fullmatch(r"[\w-]*", writing.tone) else f"its tone is {shortened(writing.tone)}: give one word"


def _is_phrase(name: str) -> bool:
    odd = "\n" in name or "  " in name or name.endswith(".") or CONTROL.search(name) or MARK.search(name)
    return not odd and len(name) <= LONGEST_NAME and unicodedata.is_normalized("NFC", name)


def shortened(value: object) -> str:
    """Return a value as errors show it."""
    text = ascii(value)
    return text if len(text) <= SHOWN_CHARS else text[:SHOWN_CHARS] + "..."


COLUMNS = ("format", "topic", "tone", "text")
NEEDED = ("format", "topic", "text")
SCHEMA = pa.schema([(name, pa.string()) for name in COLUMNS])
NAMED_FAULTS = 8


def read_corpus(path: Path) -> tuple[Writing, ...]:
    """Read and check a user's corpus.

    Raises:
        PoolError: naming the file and, by row from 1 (lines of JSON Lines), what is wrong with the first faulty ones.
    """
    rows = {number: _writing(record) for number, record in _records(path)}
    faults = [f"row {number}: {fault}" for number, fault in sorted(faults_of(rows).items())]
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
        raise PoolError(f"there is no corpus {str(path)!r}: give a .parquet or .jsonl file")
    try:
        yield from readers[path.suffix.lower()](path)
    except (OSError, ValueError, pa.ArrowException) as fault:
        raise PoolError(f"corpus {str(path)!r} cannot be read: {str(fault)[:200]}") from None


def _table(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    with pq.ParquetFile(readable(path)) as file:
        names = file.schema_arrow.names
        for name in COLUMNS:
            if names.count(name) > 1 or (name in NEEDED and name not in names):
                fault = f"has two columns {name!r}" if name in names else f"lacks the column {name!r}"
                raise PoolError(f"corpus {str(path)!r} {fault}: it has {', '.join(names[:12])}")
        columns = [name for name in COLUMNS if name in names]
        largest_piece(path, file.metadata, columns)
        yield from enumerate(file.read(columns=columns).to_pylist(), start=1)


def _lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each non-blank line. Only newlines end lines: texts may contain other separators."""
    for number, line in enumerate(path.read_bytes().decode("utf-8-sig").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as fault:
            raise PoolError(f"corpus {str(path)!r}, row {number} is not JSON: {fault}") from None
        if not isinstance(record, dict):
            raise PoolError(f"corpus {str(path)!r}, row {number}: give an object with {', '.join(NEEDED)}")
        yield number, record


def _writing(record: Mapping[str, Any]) -> Writing | str:
    """Return a record as a text, stripped of white space, or what is wrong with its columns."""
    values = {name: record.get(name) for name in COLUMNS}
    if values["tone"] is None:
        values["tone"] = ""
    for name, value in values.items():
        if not isinstance(value, str):
            return f"{name} is {shortened(value)}: give text" if name in record else f"it lacks {name!r}"
    return Writing(**{name: str(value).replace("\r\n", "\n").strip() for name, value in values.items()})


def corpus_digest(writings: Iterable[Writing]) -> str:
    """Return the SHA-256 of a corpus's content, in order."""
    total = hashlib.sha256()
    for writing in writings:
        total.update(json.dumps(astuple(writing)).encode())
    return total.hexdigest()


def freeze(writings: Sequence[Writing], folder: Path) -> str:
    """Keep a corpus in a folder under its digest, and return the digest; an intact copy is left alone.

    Raises:
        BuildError: if the folder cannot be written.
    """
    digest = corpus_digest(writings)
    path = folder / f"{digest}.parquet"
    with suppress(PoolError):
        if corpus_digest(frozen(path)) == digest:
            return digest
    columns = zip(*map(astuple, writings), strict=True)
    _write(path, pa.table(dict(zip(COLUMNS, map(list, columns), strict=True)), schema=SCHEMA))
    return digest


def _write(path: Path, table: pa.Table) -> None:
    try:
        with write_file(path) as aside:
            pq.write_table(table, aside)
    except OSError as fault:
        raise BuildError(f"a corpus cannot be written to {str(path.parent)!r}: {fault.strerror or fault}") from None


def frozen(path: Path) -> tuple[Writing, ...]:
    """Read a copy. It was checked when it was frozen; its digest shows that it is unchanged."""
    return tuple(writing for _, record in _records(path) if isinstance(writing := _writing(record), Writing))


DOUBLED = re.compile(r"\b([a-z]+) \1\b")
"""A repeated word, which may arise where two slots meet."""
REPEATED_WORD = re.compile(r"[a-z0-9']+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without punctuation."""
    return REPEATED_WORD.findall(text.lower())


def runs_of(words: list[str], size: int) -> set[str]:
    """Return all runs of `size` words, each with a space after every word.

    Their order is that of lists of words, since a space comes before all letters, and one takes a quarter of the time.

    >>> sorted(runs_of(["a", "year", "ago", "it", "rained"], 4))
    ['a year ago it ', 'year ago it rained ']
    """
    spaced = [f"{word} " for word in words]
    joined, edges = "".join(spaced), [*accumulate(map(len, spaced), initial=0)]
    return {joined[start:stop] for start, stop in zip(edges, edges[size:], strict=False)}


def has_doubled(text: str, words: list[str]) -> bool:
    """Return whether a word of a text is repeated directly.

    The pattern is searched for only where it may be found: letters within an apostrophe are no word of their own here.

    >>> [has_doubled(text, words_of(text)) for text in ("It is is so.", "It is, is it?", "I can't t ell", "so it is")]
    [True, False, True, False]
    """
    return ("'" in text or any(map(eq, words, words[1:]))) and bool(DOUBLED.search(text.lower()))
