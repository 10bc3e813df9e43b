"""Reading predictions from files of any known format, one by one; unreadable lines are reported and skipped."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import PredictionsError, first_line
from pipeline.paths import readable, streamed
from pipeline.score.harnesses import HELMET, LIGHTEVAL, LONGBIO, shape_of
from pipeline.score.logs import is_plain_log, read_log, read_plain_log
from pipeline.score.objects import FORMS, LONGEST_LINE, UNREADABLE, Found, misfit, object_of
from pipeline.score.results import Fault
from pipeline.score.shapes import SHAPES, Shape
from pipeline.store.asked import ASKED

FOLDER = (
    *("samples_*.jsonl", "*.eval", "traces.jsonl", "predictions/*/*.jsonl", "details_*.parquet"),
    *("inference_results.json", "*.jsonl", "*.parquet", "*.json"),
)
"""What is looked for in a folder: the first that is there."""


def files_of(given: Iterable[Path]) -> list[Path]:
    """Return the given files of predictions, and those in the given folders.

    Raises:
        PredictionsError: naming what is not there, or a folder that holds none.
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
        PredictionsError: if the file is of no known form.
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
        raise PredictionsError(f"{str(path)!r} is not a file of predictions: no line of it is a JSON object; {FORMS}")
    if empty:
        yield Fault("unreadable", f"{path}: it is empty")


def _numbered(path: Path, file: BinaryIO) -> Iterator[tuple[str, bytes]]:
    """Yield lines with their place; one that is too long is given as far as it was read."""
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
        raise PredictionsError(f"{str(path)!r} is not a file of predictions: its first object has {names}; {FORMS}")
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
            number = 0
            for batch in file.iter_batches(256 if shape is PLAIN else 8, columns=columns):
                for body in batch.to_pylist():
                    number += 1
                    where = f"{path}: row {number}"
                    yield shape.read(where, body) if shape.fits(body) else misfit(where, shape)
    except (ValueError, TypeError, LookupError, pa.ArrowException) as fault:
        if isinstance(fault, MemoryError):
            raise
        raise PredictionsError(f"{str(path)!r} cannot be read ({first_line(fault)}): write it again") from None


def _is_indented(start: bytes) -> bool:
    """Tell whether a file starts as JSON over several lines, or as a list."""
    first = start.lstrip()
    return first[:1] == b"[" or first.split(b"\n", 1)[0].strip() == b"{"


def _whole(path: Path) -> Iterator[Found]:
    """Read the results of HELMET or LongBio-Benchmark, which are one value of JSON.

    LongBio-Benchmark knows rows by their number in the file of data that it copies beside its results.
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
        raise PredictionsError(f"{str(path)!r} is not a file of predictions: {FORMS}")
    for number, each in enumerate(items, start=1):
        where = f"{path}: item {number}"
        yield shape.read(where, each) if isinstance(each, dict) and shape.fits(each) else misfit(where, shape)


def _json(path: Path) -> Any:
    if path.stat().st_size > LONGEST_LINE:
        raise PredictionsError(f"{str(path)!r} has {LONGEST_LINE:,} bytes or more: it is no file of predictions")
    try:
        return json.loads(path.read_bytes())
    except UNREADABLE as fault:
        raise PredictionsError(f"{str(path)!r} is not a file of predictions ({first_line(fault)}): {FORMS}") from None


def _numbered_row(item: Any, rows: Any) -> Any:
    """Return a result of LongBio-Benchmark with the id of its row."""
    try:
        number = item["datapoint"]["context_idx"]
        return {**item, "id": rows[number]["id"]} if number >= 0 else item
    except (LookupError, TypeError):
        return item


OURS = ["id", "prediction", "error", "refused", "finish_reason", "prompt_sha256"]
"""Columns of a Parquet file of predictions."""
PLAIN = next(shape for shape in SHAPES if shape.name == "plain")
