"""Logs of Inspect: a ZIP with a file of JSON for each sample, or one indented file of JSON."""

from __future__ import annotations

import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from pipeline.errors import PredictionsError, first_line
from pipeline.paths import streamed
from pipeline.score.objects import FORMS, LONGEST_LINE, Found, misfit, object_of
from pipeline.score.results import Fault
from pipeline.score.shapes import SHAPES

ZSTD, ENCRYPTED = 93, 1
INFLATED = 2000
"""Times its size that a log may grow; Deflate reaches 1,032."""
SAMPLE = re.compile(r"samples/[A-Za-z0-9][\w .,:=@+~-]*\.json", re.ASCII)
"""Names of samples in a log: no folder below, and nothing that a terminal would act upon."""
INSPECT = next(shape for shape in SHAPES if shape.name == "Inspect")


def read_log(path: Path) -> Iterator[Found]:
    """Read an Inspect log (.eval): a ZIP with a file of JSON for each sample."""
    try:
        with streamed(path) as whole, zipfile.ZipFile(whole) as log:
            samples = sorted(
                (each for each in log.infolist() if _is_sample(each.filename)), key=lambda each: each.filename
            )
            for each in samples:
                if not SAMPLE.fullmatch(each.filename):
                    raise PredictionsError(f"{str(path)!r} has an entry {each.filename[:160]!a}: it is no Inspect log")
            if not samples:
                raise PredictionsError(f"{str(path)!r} is a ZIP file but not an Inspect log with samples: {FORMS}")
            if sum(each.file_size for each in samples) > max(LONGEST_LINE, INFLATED * path.stat().st_size):
                raise PredictionsError(f"{str(path)!r} would inflate more than {INFLATED:,} times: it is no log")
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
    """Return the bytes of an entry; Inspect packs with Zstandard, which zipfile learns in Python 3.14 only."""
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
    """Tell whether a file starts as a log of Inspect in JSON: an object over several lines, with its version first."""
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
                    f"{str(path)!r} has a line or a sample of {LONGEST_LINE:,} bytes or more: it is no log"
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
