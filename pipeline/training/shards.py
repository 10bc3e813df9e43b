"""Shards of training rows: Parquet files that are written, continued after a stop, and proven again.

A shard has consecutive rows of a stream with about 8M tokens, at most an epoch. Its content key is a digest of
everything that determines it, so a shard that exists is not written again.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from pipeline.artifacts.files import atomic_write, remove_temporary
from pipeline.artifacts.parquet import content_key, has_key, read_rows, write_rows
from pipeline.errors import BuildError, CorruptError
from pipeline.executors import run
from pipeline.recipe import Knob, digest
from pipeline.rows import CANARY, DATA_SCHEMA, SCHEMA_VERSION, TRAIN_CANARY, Row
from pipeline.storage import map_in_order
from pipeline.tasks import task_of
from pipeline.training.apart import Known, read_known
from pipeline.training.epochs import EPOCH, Spec, cell_of, checked
from pipeline.training.stream import Stream

SHARD_TOKENS = 8 << 20
EVIDENCE = pa.field("evidence", pa.list_(pa.string()), nullable=False)
TRAIN_SCHEMA = DATA_SCHEMA.append(EVIDENCE).append(pa.field("evidence_form", pa.string(), nullable=False))
INDEX = "training.json"


@dataclass(frozen=True, slots=True)
class TrainJob:
    """Writes rows `start` to ``stop - 1`` of a stream to a file, unless it exists."""

    spec: Spec
    start: int
    stop: int
    path: Path
    known: Path | None = None
    known_digest: str = ""

    @property
    def key(self) -> str:
        """The content key of the file."""
        version = task_of(self.spec.cell).version
        return digest([SCHEMA_VERSION, TRAIN_CANARY, version, self.spec, self.start, self.stop, self.known_digest])

    def may_write(self) -> bool:
        """Return whether the file does not exist, or has these rows or the first of them."""
        there = content_key(self.path) if self.path.exists() else ""
        return not there or any(there == replace(self, stop=at).key for at in range(self.stop, self.start, -1))

    def rows(self, dropped: dict[str, int]) -> Iterator[Row]:
        """Yield the rows that fit and share nothing with known releases; count the others in `dropped`, by reason."""
        stream = Stream(self.spec, known=_known(self.known))
        for index in range(self.start, self.stop):
            row = stream.kept(index)
            if isinstance(row, str):
                dropped[row] = dropped.get(row, 0) + 1
            else:
                yield row


_read: dict[Path, Known] = {}


def _known(path: Path | None) -> Known | None:
    """Return the digests in a file, cached in the process."""
    if path is not None and path not in _read:
        _read.clear()
        _read[path] = read_known(path)
    return None if path is None else _read[path]


def run_train(job: TrainJob) -> int:
    """Write a shard, and beside it how many rows it has and how many were left out, by reason.

    Returns:
        The number of rows.
    """
    aside = job.path.with_suffix(".json")
    if not (has_key(job.path, job.key) and aside.is_file()):
        dropped: dict[str, int] = {}
        count = write_rows(job.path, job.rows(dropped), TRAIN_SCHEMA, job.key)
        with atomic_write(aside) as file:
            file.write_text(json.dumps({"rows": count, "dropped": dropped}) + "\n", encoding="ascii")
    return int(json.loads(aside.read_text(encoding="ascii"))["rows"])


def train_jobs(spec: Spec, rows: int, out: Path, known: Path | None, known_digest: str = "") -> list[TrainJob]:
    """Return the jobs for the first `rows` rows of a stream, including rows that will be left out."""
    each = max(1, min(EPOCH, SHARD_TOKENS // spec.cell.length))
    folder = out / f"{spec.task}-{spec.cell.length}-{spec.cell.complexity}"
    return [
        TrainJob(
            spec, at, min(rows, at + each), folder / f"train-{at:012d}.parquet", known, known_digest
        )
        for at in range(0, rows, each)
    ]  # fmt: skip


def write_shards(
    specs: Sequence[Spec],
    rows: int,
    out: Path,
    open_executor: Callable[[], Executor],
    known: Path | None = None,
    done: Callable[[int], object] = bool,
) -> dict[str, Any]:
    """Write the first rows of some streams below a folder, and return its index, which is written last.

    Args:
        specs: the streams.
        rows: how many rows of each.
        out: the folder, on a disk or in a store.
        open_executor: opens an executor.
        known: a file of digests of releases for evaluation.
        done: called with the number of rows of each shard.

    Raises:
        BuildError: if the folder has other rows of these tasks, or more.
    """
    digests = _known(known)
    jobs = [
        job for spec in specs for job in train_jobs(spec, rows, out, known, digests.digest if digests else "")
    ]  # fmt: skip
    foreign = {path for folder in {job.path.parent for job in jobs} for path in folder.glob("train-*.parquet")}
    foreign -= {job.path for job in jobs}
    foreign |= {job.path for job, may in zip(jobs, map_in_order(TrainJob.may_write, jobs, out), strict=True) if not may}
    if foreign:
        raise BuildError(
            f"{str(min(foreign))!r} has other rows, or more, than would be written: repeat the options that it was "
            "made with, or give another folder"
        )
    written, dropped = 0, Counter[str]()
    for count in run(run_train, jobs, open_executor):
        done(count)
    remove_temporary(file for job in jobs for file in (job.path, job.path.with_suffix(".json")))
    for aside in sorted(out.glob("*/train-*.json")):  # including streams that were written here before
        counts = json.loads(aside.read_text(encoding="ascii"))
        written += counts["rows"]
        dropped.update(counts["dropped"])
    others = [spec for spec in (specs_in(out) if (out / INDEX).is_file() else ()) if spec not in specs]
    index = {
        "canary": TRAIN_CANARY,
        "streams": [asdict(spec) for spec in (*others, *specs)],
        "rows": written,
        "dropped": dict(dropped),
        "apart_from": list(digests.titles) if digests else [],
    }
    with atomic_write(out / INDEX) as aside:
        aside.write_text(json.dumps(index, indent=1) + "\n", encoding="ascii")
    return index


def specs_in(out: Path) -> list[Spec]:
    """Return the streams that a folder was written from.

    Raises:
        BuildError: if it has no readable index.
    """
    try:
        index = json.loads((out / INDEX).read_text(encoding="ascii"))
        return [_spec(each) for each in index["streams"]]
    except (OSError, ValueError, KeyError, TypeError) as fault:
        raise BuildError(
            f"{str(out)!r} has no {INDEX} that can be read ({fault}): write it with carrara train"
        ) from None


def _spec(stored: dict[str, Any]) -> Spec:
    cell = stored["cell"]
    knobs: dict[str, Knob] = dict(map(tuple, cell["knobs"]))
    made = cell_of(f"{cell['family']}.{cell['subtask']}", cell["length"], cell["complexity"], cell["shots"], knobs)
    return checked(Spec(made, stored["tokenizer"], stored["seed"], stored["form"], stored["frame"], stored["reserve"]))


def verify_shards(out: Path) -> int:
    """Make and prove every row of a folder again, and compare it; return the number of rows.

    Raises:
        CorruptError: for the first row that differs, or that has the canary of evaluation.
        BuildError: if the folder has no readable index.
    """
    streams = {spec.tag: Stream(spec) for spec in specs_in(out)}
    count = 0
    for path in sorted(out.glob("*/*.parquet")):
        if content_key(path) is None:
            raise CorruptError(f"{str(path)!r} cannot be read: remove it, and run the same command again")
        for row in read_rows(path):
            if f'"{CANARY}"' in row["metadata"]:
                raise CorruptError(f"{str(path)!r}, row {row['id']!r}: it carries the canary of evaluation")
            tag = row["id"].rpartition("-")[2]
            if tag not in streams or row != streams[tag][_number(row["id"])]:
                raise CorruptError(f"{str(path)!r}, row {row['id']!r}: it is not the row that its stream has")
            count += 1
    return count


def _number(name: str) -> int:
    """Return a row's index in its stream from its id: the second part from the end in a pair, else the third."""
    parts = name.split("-")
    digits = parts[-2][:-1] if parts[-2][-1:] in ("a", "b") else parts[-3]
    return int(digits)
