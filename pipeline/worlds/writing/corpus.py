"""Corpora: texts of a user's own (or of a language model) in place of those that grammars write.

A corpus is a Parquet or JSON Lines file with the columns `format`, `topic` and `text`, and `tone` if requests are to
name one. It is frozen by its content: a build keeps a copy under the digest of what it says, and the digest stands in
every row.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import BuildError, PoolError
from pipeline.paths import readable, written
from pipeline.worlds.writing.checks import Writing, faults_of, shortened

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
        yield from enumerate(file.read(columns=columns).to_pylist(), start=1)


def _lines(path: Path) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Yield each line that holds something. No other mark ends a line: texts may hold them."""
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
    """Return a record as a text, without white space around it, or what is wrong with its columns."""
    values = {name: record.get(name) for name in COLUMNS}
    if values["tone"] is None:
        values["tone"] = ""
    for name, value in values.items():
        if not isinstance(value, str):
            return f"{name} is {shortened(value)}: give text" if name in record else f"it lacks {name!r}"
    return Writing(**{name: str(value).replace("\r\n", "\n").strip() for name, value in values.items()})


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
        if corpus_digest(frozen(path)) == digest:
            return digest
    columns = zip(*map(astuple, writings), strict=True)
    _write(path, pa.table(dict(zip(COLUMNS, map(list, columns), strict=True)), schema=SCHEMA))
    return digest


def _write(path: Path, table: pa.Table) -> None:
    try:
        with written(path) as aside:
            pq.write_table(table, aside)
    except OSError as fault:
        raise BuildError(f"a corpus cannot be written to {str(path.parent)!r}: {fault.strerror or fault}") from None


def frozen(path: Path) -> tuple[Writing, ...]:
    """Read a copy. It was checked when it was frozen: its digest says that it is still the same."""
    return tuple(found for _, record in _records(path) if isinstance(found := _writing(record), Writing))
