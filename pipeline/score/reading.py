"""Reads predictions from files of any known format, one by one; unreadable lines are reported and skipped."""

from __future__ import annotations

import json
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.artifacts.asked import ASKED
from pipeline.errors import PredictionsError, first_line
from pipeline.score.formats import HELMET, LIGHTEVAL, LONGBIO, SHAPES, Entry, Shape, shape_of
from pipeline.score.results import Fault
from pipeline.storage import readable, streamed
from pipeline.storage.inflated import largest_piece

LONGEST_LINE = 256 * 1024 * 1024
"""Most bytes of a line that are read; a logged sample of a million tokens takes up to 20 MB."""
FORMS = "give JSON Lines or Parquet with id and prediction, or the output of carrara run, a batch or a harness"
UNREADABLE = (ValueError, RecursionError)

Found = Entry | Fault


def object_of(where: str, line: bytes) -> dict[str, Any] | Fault:
    """Return the JSON object in a line, or a fault."""
    try:
        found = json.loads(line)
    except UNREADABLE as fault:
        kind = "the line is incomplete" if not line.endswith(b"\n") else "no JSON"
        return Fault("unreadable", f"{where}: {kind} ({first_line(fault)})")
    if not isinstance(found, dict):
        return Fault("unreadable", f"{where}: {type(found).__name__} instead of an object")
    return found


def misfit(where: str, shape: Shape) -> Fault:
    """Return the fault of an object whose format differs from that of earlier ones."""
    return Fault("unreadable", f"{where}: not in the format of the lines before it ({shape.name})")


ZSTD, ENCRYPTED = 93, 1
INFLATED = 2000
"""Most times its size to which a log may decompress; Deflate reaches 1,032, and replies 10 to 50."""
SAMPLE = re.compile(r"samples/[A-Za-z0-9][\w .,:=@+~-]*\.json", re.ASCII)
"""Names of samples in a log: without subfolders or control characters."""
INSPECT = next(shape for shape in SHAPES if shape.name == "Inspect")


def read_log(path: Path) -> Iterator[Found]:
    """Read an Inspect log (.eval): a ZIP file with a JSON file for each sample."""
    try:
        with streamed(path) as whole, zipfile.ZipFile(whole) as log:
            samples = sorted(
                (each for each in log.infolist() if _is_sample(each.filename)), key=lambda each: each.filename
            )
            for each in samples:
                if not SAMPLE.fullmatch(each.filename):
                    raise PredictionsError(
                        f"{str(path)!r} has an entry {each.filename[:160]!a}: it is not an Inspect log"
                    )
            if not samples:
                raise PredictionsError(f"{str(path)!r} is a ZIP file but not an Inspect log with samples: {FORMS}")
            if sum(each.file_size for each in samples) > max(LONGEST_LINE, INFLATED * path.stat().st_size):
                raise PredictionsError(
                    f"{str(path)!r} would decompress to more than {INFLATED:,} times: it is not a log"
                )
            for each in samples:
                yield _sample(f"{path}: {each.filename}", _unpacked(path, log, each))
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError) as fault:
        raise PredictionsError(
            f"{str(path)!r} is a broken ZIP file ({first_line(fault)}): check that the evaluation has finished"
        ) from None
    except (RuntimeError, NotImplementedError) as fault:  # encrypted, or packed by a method that zipfile does not know
        raise PredictionsError(
            f"{str(path)!r} is a ZIP file that cannot be read ({first_line(fault)}): {FORMS}"
        ) from None


def _is_sample(name: str) -> bool:
    return name.startswith("samples/") and name.endswith(".json")


def _unpacked(path: Path, log: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return the bytes of an entry; Inspect compresses with Zstandard, which zipfile supports only from Python 3.14."""
    if max(entry.file_size, entry.compress_size) > LONGEST_LINE:
        raise ValueError(f"a sample of {max(entry.file_size, entry.compress_size):,} bytes")
    if entry.compress_type != ZSTD or entry.flag_bits & ENCRYPTED:
        return log.read(entry)
    with streamed(path) as file:
        file.seek(entry.header_offset + 26)
        sizes = file.read(4)
        file.seek(int.from_bytes(sizes[:2], "little") + int.from_bytes(sizes[2:], "little"), 1)
        packed = file.read(entry.compress_size)
    with pa.input_stream(pa.BufferReader(packed), compression="zstd") as stream:
        found = bytes(stream.read(entry.file_size + 1))
    if len(found) != entry.file_size:
        raise ValueError("a sample is not as long as it says")
    return found


def _sample(where: str, raw: bytes) -> Found:
    found = object_of(where, raw + b"\n")
    if isinstance(found, Fault):
        return found
    return INSPECT.read(where, found) if INSPECT.fits(found) else misfit(where, INSPECT)


def is_plain_log(start: bytes) -> bool:
    """Tell whether a file starts like an Inspect log in JSON: an object over several lines, its version first."""
    return start.lstrip()[:1] == b"{" and b'"version"' in start[:64] and b'"eval"' in start


def read_plain_log(path: Path) -> Iterator[Found]:
    """Read an Inspect log in JSON, sample by sample, as Inspect indents it."""
    gathered: list[bytes] | None = None
    number = found = size = 0
    with streamed(path) as file:
        while line := file.readline(LONGEST_LINE):
            size = size + len(line) if gathered else len(line)
            if size >= LONGEST_LINE:
                raise PredictionsError(
                    f"{str(path)!r} has a line or a sample of {LONGEST_LINE:,} bytes or more: it is not a log"
                )
            if gathered is None and line.rstrip() == b"    {":
                gathered = []
            if gathered is not None:
                gathered.append(line)
            if gathered and line.rstrip() in (b"    }", b"    },"):
                body, gathered = b"".join(gathered).rstrip().rstrip(b","), None
                number += 1
                if b'"epoch"' in body and b'"output"' in body:
                    found += 1
                    yield _sample(f"{path}: object {number}", body)
    if not found:
        raise PredictionsError(f"{str(path)!r} is not an Inspect log with samples: {FORMS}")
    if gathered:
        yield Fault("unreadable", f"{path}: it ends within a sample")


FOLDER = (
    *("samples_*.jsonl", "*.eval", "traces.jsonl", "predictions/*/*.jsonl", "details_*.parquet"),
    *("inference_results.json", "*.jsonl", "*.parquet", "*.json"),
)
"""File name patterns; the first with a match in a folder is used."""


def files_of(given: Iterable[Path]) -> list[Path]:
    """Return the given prediction files, and those in the given folders.

    Raises:
        PredictionsError: naming a path that does not exist, or a folder without predictions.
    """
    return [path for each in given for path in _files(each)]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        what = "is a device or a pipe, not a file" if path.exists() else "does not exist"
        raise PredictionsError(f"{str(path)!r} {what}: {FORMS}")
    for pattern in FOLDER:
        found = (each for each in path.rglob(pattern) if each.is_file() and not each.name.endswith(ASKED))
        if some := sorted(found):
            return some
    raise PredictionsError(f"{str(path)!r} has no predictions: {FORMS}")


def read_predictions(path: Path) -> Iterator[Found]:
    """Yield the predictions of a file, and a fault for each place that cannot be read.

    Raises:
        PredictionsError: if the file has no known format, or cannot be read.
    """
    try:
        with streamed(path) as file:
            start = file.read(4096)
        if start.startswith(b"PAR1"):
            yield from _parquet(path)
        elif start.startswith(b"PK\x03\x04"):
            yield from read_log(path)
        elif is_plain_log(start):
            yield from read_plain_log(path)
        elif path.suffix == ".json" and start.lstrip()[:1] in (b"{", b"[") and _is_indented(start):
            yield from _whole(path)
        else:
            yield from _lines(path)
    except OSError as fault:
        raise PredictionsError(f"{str(path)!r} cannot be read: {fault.strerror or first_line(fault)}") from None
    except MemoryError:
        raise PredictionsError(f"{str(path)!r} cannot be read: it needs more memory than there is") from None


def _lines(path: Path) -> Iterator[Found]:
    """Read JSON Lines; the first readable object determines the format of all."""
    shape: Shape | None = None
    empty = True
    with streamed(path) as file:
        for where, line in _numbered(path, file):
            if not line.strip():
                continue
            empty = False
            found = object_of(where, line)
            if isinstance(found, Fault):
                yield found
                continue
            shape = shape or _known(path, found)
            yield shape.read(where, found) if shape.fits(found) else misfit(where, shape)
    if shape is None and not empty:
        raise PredictionsError(f"{str(path)!r} is not a prediction file: no line of it is a JSON object; {FORMS}")
    if empty:
        yield Fault("unreadable", f"{path}: it is empty")


def _numbered(path: Path, file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield lines with their places; a line that is too long is cut to its beginning."""
    number = 0
    while line := file.readline(LONGEST_LINE):
        number += 1
        yield f"{path}:{number}", line
        while len(line) == LONGEST_LINE and not line.endswith(b"\n"):
            line = file.readline(LONGEST_LINE)


def _known(path: Path, found: dict[str, Any]) -> Shape:
    shape = shape_of(found)
    if shape is None:
        names = ", ".join(sorted(found)[:8]) or "nothing"
        raise PredictionsError(f"{str(path)!r} is not a prediction file: its first object has {names}; {FORMS}")
    return shape


def _parquet(path: Path) -> Iterator[Found]:
    try:
        with pq.ParquetFile(readable(path)) as file:
            names = file.schema_arrow.names
            shape, columns = (LIGHTEVAL, ["doc", "model_response"]) if "model_response" in names else (PLAIN, OURS)
            columns = [name for name in columns if name in names]
            if len(columns) < 2 or (shape is PLAIN and columns[:2] != OURS[:2]):
                raise PredictionsError(
                    f"{str(path)!r} has the columns {', '.join(names[:8])}: it must have id and prediction"
                )
            number, most = 0, LONGEST_LINE // largest_piece(path, file.metadata, columns)
            for batch in file.iter_batches(max(1, min(most, 256 if shape is PLAIN else 8)), columns=columns):
                for body in batch.to_pylist():
                    number += 1
                    where = f"{path}: row {number}"
                    yield shape.read(where, body) if shape.fits(body) else misfit(where, shape)
    except (ValueError, TypeError, LookupError, pa.ArrowException) as fault:
        if isinstance(fault, MemoryError):
            raise
        raise PredictionsError(f"{str(path)!r} cannot be read ({first_line(fault)}): write it again") from None


def _is_indented(start: bytes) -> bool:
    """Tell whether a file starts like JSON over several lines, or like a list."""
    first = start.lstrip()
    return first[:1] == b"[" or first.split(b"\n", 1)[0].strip() == b"{"


def _whole(path: Path) -> Iterator[Found]:
    """Read the results of HELMET or LongBio-Benchmark, which are one JSON value.

    LongBio-Benchmark refers to rows by their number in the data file that it copies beside its results.
    """
    found = _json(path)
    items: Any = None
    shape = LONGBIO if isinstance(found, list) else HELMET
    if isinstance(found, list):
        rows = _json(path.with_name("data.json")) if path.with_name("data.json").is_file() else []
        items = [_numbered_row(each, rows) for each in found]
    elif isinstance(found, dict):
        items = found.get("data")
    if not isinstance(items, list) or not any(isinstance(each, dict) and shape.fits(each) for each in items):
        raise PredictionsError(f"{str(path)!r} is not a prediction file: {FORMS}")
    for number, each in enumerate(items, start=1):
        where = f"{path}: item {number}"
        yield shape.read(where, each) if isinstance(each, dict) and shape.fits(each) else misfit(where, shape)


def _json(path: Path) -> Any:
    if path.stat().st_size > LONGEST_LINE:
        raise PredictionsError(f"{str(path)!r} has {LONGEST_LINE:,} bytes or more: it is not a prediction file")
    try:
        return json.loads(path.read_bytes())
    except UNREADABLE as fault:
        raise PredictionsError(f"{str(path)!r} is not a prediction file ({first_line(fault)}): {FORMS}") from None


def _numbered_row(item: Any, rows: Any) -> Any:
    """Return a result of LongBio-Benchmark with the id of its row."""
    try:
        number = item["datapoint"]["context_idx"]
        return {**item, "id": rows[number]["id"]} if number >= 0 else item
    except (LookupError, TypeError):
        return item


OURS = ["id", "prediction", "error", "refused", "finish_reason", "prompt_sha256"]
"""Columns of a Parquet prediction file."""
PLAIN = next(shape for shape in SHAPES if shape.name == "plain")
