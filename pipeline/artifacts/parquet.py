"""Parquet files with the content key of what they were made from in the footer."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from os import SEEK_END
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.artifacts.files import atomic_write, read_fault
from pipeline.errors import BuildError, CarraraError, CorruptError, first_line
from pipeline.rows import SMALL_COLUMNS, Row, check_rows, text_bytes
from pipeline.storage import StoreError, StorePath, checked_file, prefetched, readable

KEY = b"carrara.key"
CHECKSUM = b"carrara.sha256:"
BLANK = b"0" * 64
"""A small file's footer also has a digest of all its bytes, computed with BLANK in place of the digest itself."""
GROUP_BYTES = 32 * 1024 * 1024
SLICE_BYTES = 4 * 1024 * 1024
"""About how many bytes of rows are Python objects at a time: as many as a row of the longest length has."""
CHUNK = 1024 * 1024
TAIL = 64 * 1024
"""Bytes at the end of an object that are read to get its footer."""
CHUNKING = {"min_chunk_size": 256 * 1024, "max_chunk_size": 1024 * 1024, "norm_level": 0}


def write_rows(path: Path, rows: Iterable[Row], schema: pa.Schema, key: str, *, secret: bool = False) -> int:
    """Write rows in groups of about 32 MB of text; return the number of rows."""
    count = 0
    with atomic_write(path, secret=secret) as aside, _writer(aside, schema, key) as writer:
        for table in _groups(rows, schema):
            writer.write_table(table, row_group_size=len(table))
            count += len(table)
            del table  # before the next one is made
    return count


def write_table(path: Path, table: pa.Table, key: str) -> None:
    """Write a small table in one piece."""
    with atomic_write(path) as aside, _writer(aside, table.schema, key) as writer:
        writer.write_table(table)


def write_with_checksum(path: Path, table: pa.Table, key: str, *, secret: bool = False) -> None:
    """Write a small table that a build reads again (samples, segments, counts), with a digest of all its bytes."""
    with atomic_write(path, secret=secret) as aside:
        with _writer(aside, table.schema, key) as writer:
            writer.add_key_value_metadata({b"carrara.whole": CHECKSUM + BLANK})
            writer.write_table(table)
        at, _, checksum = _checksum_of(aside)
        with aside.open("r+b") as file:
            file.seek(at)
            file.write(checksum)


def rewrite(source: Path, path: Path, key: str, changed: Callable[[pa.Table], pa.Table]) -> None:
    """Write a changed copy of a file, one row group in memory at a time."""
    with atomic_write(path) as aside, ExitStack() as open_files:
        writer: pq.ParquetWriter | None = None
        for group in read_groups(source):
            table = changed(group)
            writer = writer or open_files.enter_context(_writer(aside, table.schema, key))
            writer.write_table(table, row_group_size=len(table))


@contextmanager
def _writer(path: Path, schema: pa.Schema, key: str) -> Iterator[pq.ParquetWriter]:
    with pq.ParquetWriter(
        path,
        schema,
        compression="zstd",
        compression_level=3,
        write_page_index=True,
        write_page_checksum=True,
        use_content_defined_chunking=CHUNKING,
        use_dictionary=[name for name in SMALL_COLUMNS if name in schema.names],
        store_schema=False,
    ) as writer:
        writer.add_key_value_metadata({KEY: key.encode()})
        yield writer


def _groups(rows: Iterable[Row], schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield groups of rows, with few rows as Python objects at a time, to save memory at 1M.

    The bytes of the file do not depend on the number of pieces that a group is made from.
    """
    parts, some, size, loose = list[pa.RecordBatch](), list[Row](), 0, 0
    for row in rows:
        fresh = text_bytes(row)
        if (parts or some) and size + fresh > GROUP_BYTES:
            yield _joined(parts, some, schema)
            size = loose = 0
        some.append(row)
        size, loose = size + fresh, loose + fresh
        if loose >= SLICE_BYTES:
            parts.append(pa.RecordBatch.from_pylist(some, schema))
            some.clear()
            loose = 0
    if parts or some:
        yield _joined(parts, some, schema)


def _joined(parts: list[pa.RecordBatch], some: list[Row], schema: pa.Schema) -> pa.Table:
    """Return a group's rows as a table, and empty the lists for the next group."""
    last = [pa.RecordBatch.from_pylist(some, schema)] if some else []
    table = pa.Table.from_batches([*parts, *last], schema)
    parts.clear()
    some.clear()
    return table


def content_key(path: Path) -> str | None:
    """Return the content key in a file's footer; None if there is no such file or its footer is broken."""
    try:
        metadata = footer(path).metadata or {}
    except StoreError:
        raise
    except (OSError, ValueError, pa.ArrowException):
        return None
    key: bytes | None = metadata.get(KEY)
    return key.decode(errors="replace") if key else None


def footer(path: Path) -> pq.FileMetaData:
    """Return a file's footer; of an object in a store, only the last bytes are read.

    Raises:
        OSError: if it cannot be read.
        ArrowException: if it is not a footer.
    """
    if not isinstance(path, StorePath):
        return pq.read_metadata(path)
    end = path.tail(TAIL)
    size = int.from_bytes(end[-8:-4], "little") + 8
    return pq.read_metadata(pa.BufferReader(end if size <= len(end) else path.tail(size)))


def has_key(path: Path, key: str) -> bool:
    """Return whether a file's content key is `key`, by its footer only.

    Raises:
        StoreError: if a store does not answer.
    """
    return (isinstance(path, StorePath) or path.is_file()) and content_key(path) == key


def is_whole(path: Path, key: str, columns: list[str]) -> bool:
    """Return whether a small file has this content key and these columns, and all bytes match its checksum.

    Raises:
        BuildError: if it cannot be read.
    """
    try:
        with prefetched(path):
            if not matches_checksum(path):
                return False
            own_footer = footer(path)
    except FileNotFoundError:
        return False
    except StoreError as fault:
        raise BuildError(read_fault(path, fault)) from fault
    return (own_footer.metadata or {}).get(KEY) == key.encode() and own_footer.schema.to_arrow_schema().names == columns


def matches_checksum(path: Path) -> bool:
    """Return whether all bytes of a small file match its checksum. A process reads an unchanged file only once.

    Raises:
        BuildError: if it cannot be read.
    """
    try:
        if isinstance(path, StorePath):
            return _matches_checksum(path, path.info())
        if not path.is_file():
            return False
        now = path.stat()
        return _matches_checksum(path, now.st_mtime_ns, now.st_ctime_ns, now.st_size, now.st_ino)
    except FileNotFoundError:
        return False
    except OSError as fault:
        raise BuildError(read_fault(path, fault)) from fault


@lru_cache(maxsize=4096)
def _matches_checksum(path: Path, *stamp: object) -> bool:
    _, stored, computed = _checksum_of(path)
    return stored == computed


def _checksum_of(path: Path) -> tuple[int, bytes, bytes]:
    """Return the offset of a file's checksum, the checksum, and what it should be."""
    with path.open("rb") as file:
        size = file.seek(0, SEEK_END)
        file.seek(max(0, size - 8))
        start = max(0, size - 8 - int.from_bytes(file.read(4), "little"))
        file.seek(start)
        footer = file.read()
        at = footer.rfind(CHECKSUM) + len(CHECKSUM)
        total = hashlib.sha256()
        file.seek(0)
        for offset in range(0, start, CHUNK):
            total.update(file.read(min(CHUNK, start - offset)))
    total.update(footer[:at] + BLANK + footer[at + len(BLANK) :])
    return start + at, footer[at : at + len(BLANK)], total.hexdigest().encode()


def read_rows(path: Path, columns: list[str] | None = None) -> Iterator[Row]:
    """Yield the rows of a file, one row group in memory at a time."""
    for group in read_groups(path, columns):
        some = max(1, len(group) * SLICE_BYTES // max(1, group.nbytes))
        for start in range(0, len(group), some):
            yield from group.slice(start, some).to_pylist()
        del group  # before the next one is read


def read_groups(path: Path, columns: list[str] | None = None) -> Iterator[pa.Table]:
    """Yield the row groups of a shard.

    Raises:
        CorruptError: if the file is missing, broken, or has no valid rows.
    """
    with opened(path) as file:
        for group in range(file.num_row_groups):
            table = file.read_row_group(group, columns=columns)
            check_rows(table)
            yield table
            del table


def read_table(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a small table whole.

    Raises:
        CorruptError: if the file is missing or broken.
    """
    with opened(path) as file:
        return file.read(columns=columns)


@contextmanager
def opened(path: Path, whole: bytes | None = None) -> Iterator[pq.ParquetFile]:
    """Open a file to read; `whole` is its content, if that has been fetched.

    Raises:
        BuildError: if the machine does not let it be read.
        CorruptError: if it is missing, or reading it in this block fails in any other way.
    """
    try:
        source = readable(checked_file(path)) if whole is None else pa.BufferReader(whole)
        apart = isinstance(path, StorePath)
        with pq.ParquetFile(source, page_checksum_verification=True, pre_buffer=apart) as file:
            yield file
    except CarraraError:
        raise
    except Exception as fault:  # a broken footer makes Arrow raise almost anything
        denied = isinstance(fault, OSError) and fault.errno and not isinstance(fault, FileNotFoundError)
        if denied or isinstance(fault, MemoryError):
            raise BuildError(read_fault(path, fault)) from fault
        raise CorruptError(f"{str(path)!r} cannot be read ({first_line(fault)})") from fault


def columns_of(path: Path) -> list[str]:
    """Return the names of a file's columns.

    Raises:
        CorruptError: if it cannot be read.
    """
    with opened(path) as file:
        return list(file.schema_arrow.names)


def column(table: pa.Table, name: str) -> list[Any]:
    """Return a column as a list of plain values."""
    values: list[Any] = table.column(name).to_pylist()
    return values
