"""One shard of a copy, read as a stranger would read it: its files by their digests, its rows by what they say."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path
from typing import Any

from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan
from pipeline.errors import CarraraError
from pipeline.frozen.lock import ShardLock
from pipeline.paths import held_there
from pipeline.prove.needles import mark_faults
from pipeline.prove.row import drawn_faults, sample_faults, turns_of
from pipeline.prove.witness import Witness
from pipeline.rows import CANARY, DATA_SCHEMA, KEYS_SCHEMA, Row, row_digest, sha256_text
from pipeline.store.journal import UNREADABLE
from pipeline.store.manifest import PARTS, SealedShard, shard_faults
from pipeline.store.parquet import read_rows
from pipeline.tasks import task_of
from pipeline.tasks.base import Sample

ROW_FAULTS = 20
"""How many faulty rows of one shard are named."""
OWN = ("id", "metadata")
"""What the public rows of a withheld split say otherwise than its keys."""
KEYS = ("index", "keys")
"""Where the same rows without text may lie; in public, without answers too."""
Place = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class CheckJob:
    """One shard of a copy: what its manifest says of it, what its lock says, and the keys it should have.

    `drawn` is the plan that its samples are drawn from again, if the seed is public or the lock tells it, `corpora`
    whether the texts of users are at hand that it needs, and `start` the place of its first row among those of the
    family.
    """

    folder: Path
    plan: Plan
    shard: SealedShard
    withheld: bool
    tag: str
    locked: ShardLock | None = None
    keys: Path | None = None
    drawn: Plan | None = None
    corpora: bool = False
    start: int = 0

    @property
    def name(self) -> str:
        """The shard below ``data``."""
        return self.shard.shard

    def path(self, part: str) -> Path:
        """Return the file of the shard in one part of the copy."""
        return self.folder / part / f"{self.name}.parquet"


@dataclass(frozen=True, slots=True)
class Checked:
    """What was seen of one shard: how many of its rows were `recounted`, and how many `drawn` again."""

    shard: str
    ids: tuple[str, ...]
    places: Mapping[Place, int]
    recounted: int
    drawn: int
    faults: tuple[str, ...]


def check_shard(job: CheckJob) -> Checked:
    """Check one shard of a copy: its files, then every row. What lies in a store is fetched once."""
    files = [job.path(part) for part in PARTS if job.shard.file(part)[1]] + [path for path in [job.keys] if path]
    with held_there(*files):
        return _checked(job)


def _checked(job: CheckJob) -> Checked:
    faults = list(_file_faults(job))
    reader = Reader(job)
    if job.path("data").is_file():
        try:
            reader.read()
        except (CarraraError, ArithmeticError, *UNREADABLE) as fault:
            faults.append(str(fault) if isinstance(fault, CarraraError) else f"it has no readable rows ({fault!r})")
        faults += reader.faults
    named = tuple(f"{job.name}: {fault}" for fault in faults)
    return Checked(job.name, tuple(reader.ids), reader.places, reader.witness.recounted, reader.drawn, named)


def _file_faults(job: CheckJob) -> Iterator[str]:
    """Compare the shard's files with the digests of manifest and lock; a withheld split has files of its own."""
    for part, _, fault in shard_faults(job.folder, job.shard):
        yield f"the file in {part} {fault.replace('were proven', 'the manifest lists')}"
    for part in ("data", "keys") if job.locked and not job.withheld else ():
        _, said = job.shard.file(part)
        if said and said != getattr(job.locked, f"{part}_sha256"):
            yield f"the file in {part} differs from the bytes that were frozen"
    if job.locked and job.locked.rows != job.shard.rows:
        yield f"the manifest says {job.shard.rows} rows, but {job.locked.rows} were frozen"


class Reader:
    """Reads the rows of one shard of a copy and collects what is wrong with them."""

    def __init__(self, job: CheckJob) -> None:
        self.job = job
        self.witness = Witness(job.plan, job.plan.profiles[0], full=True)
        self.cells = {(cell.family, cell.subtask, cell.length): cell for cell in job.plan.recipe.strata}
        self.ids: list[str] = []
        self.places: Counter[Place] = Counter()
        self.faults: list[str] = []
        self.drawn = 0

    def read(self) -> None:
        """Read all rows; what is wrong goes to `faults`, the first faulty rows by name."""
        digest = row_digest(_whole(self._rows()))
        if len(self.faults) > ROW_FAULTS:
            self.faults[ROW_FAULTS:] = [f"{len(self.faults) - ROW_FAULTS} more rows fail"]
        if len(self.ids) != self.job.shard.rows:
            self.faults.append(f"it holds {len(self.ids)} rows in place of {self.job.shard.rows}")
        for said, who in (
            (self.job.shard.row_digest, "that the manifest lists"),
            (self.job.locked and self.job.locked.row_digest, "that were frozen"),
        ):
            if said and said != digest and not self.job.withheld:
                self.faults.append(f"its rows differ from those {who}")

    def _rows(self) -> Iterator[Row]:
        """Yield every row, looked at."""
        second = next((self.job.path(part) for part in KEYS if self.job.shard.file(part)[1]), None)
        beside = second is not None and second.is_file()
        keys: Iterator[Row] = read_rows(second) if second and beside else iter(())
        own: Iterator[Row] = read_rows(self.job.keys) if self.job.keys else iter(())
        samples = self._samples()
        for row, key, kept in zip_longest(read_rows(self.job.path("data")), keys, own):
            if row is None:
                self.faults.append("its keys have more rows than its data")
                return
            sample = next(samples, None)
            self.drawn += sample is not None
            faults = [*self._row_faults(row, kept, sample), *(_key_faults(row, key) if beside else ())]
            self.ids.append(str(row.get("id")))
            self.places[tuple(row.get(name) for name in ("family", "subtask", "length", "complexity"))] += 1
            if faults:
                self.faults.append(f"row {row.get('id')!r}: {'; '.join(faults)}")
            self.witness.seen += 1
            yield row

    def _samples(self) -> Iterator[Sample | None]:
        """Draw the samples of the shard again, where the seed is known and the corpus at hand."""
        plan = self.job.drawn
        if plan is None:
            return iter(())
        rows = plan.rows(self.job.name.partition("/")[0])[self.job.start : self.job.start + self.job.shard.rows]
        return (
            draw_sample(plan, row) if self.job.corpora or not row.stratum.knob("corpus", "") else None for row in rows
        )

    def _row_faults(self, row: Row, kept: Row | None, sample: Sample | None) -> Iterator[str]:
        try:
            faults = list(self._withheld_faults(row, kept, sample) if self.job.withheld else self.witness.faults(row))
            if sample is not None and self.job.drawn and not self.job.withheld and not faults:
                plan = self.job.drawn
                faults = sample_faults(row, sample) or [*mark_faults(row, sample, plan, plan.profiles[0], count=True)]
            yield from faults
            yield from self._release_faults(row)
        except (ArithmeticError, *UNREADABLE) as fault:
            yield f"it cannot be read as a row ({fault!r})"

    def _release_faults(self, row: Row) -> Iterator[str]:
        tag = self.job.tag
        if not row["id"].endswith(f"-{tag}"):
            yield f"its id does not end in {tag}"
        if json.loads(row["metadata"]).get("canary") != CANARY:
            yield "it has no canary"

    def _withheld_faults(self, row: Row, kept: Row | None, sample: Sample | None) -> Iterator[str]:
        """Check a row without its answer, and compare the answer in its text with the maintainer's keys and sample."""
        cell = self.cells.get((row["family"], row["subtask"], row["length"]))
        if cell is None:
            yield "its stratum is not in the manifest"
            return
        yield from self.witness.label_faults(row, cell)
        yield from self.witness.count_faults(row)
        if json.loads(row["metadata"])["prompt_sha256"] != sha256_text(row["prompt"]):
            yield "the SHA-256 of its prompt is wrong"
        if kept is not None and json.loads(kept["metadata"])["prompt_sha256"] != sha256_text(row["prompt"]):
            yield "its prompt is not the one that was built"
        try:
            solved = task_of(cell).solve(turns_of(row)) if task_of(cell).proof == "solved" else None
        except ValueError as fault:
            yield str(fault)
            return
        if sample is not None:
            yield from drawn_faults(row, sample)
            if solved is not None and not task_of(cell).keyed_by_packing and solved != tuple(sample.key.answers):
                yield "the answer in its text differs from the one that was drawn"
        if kept is not None:
            yield from _own_faults(row, kept, solved)
        elif self.job.keys:
            yield "the keys have no row for it"


def _own_faults(row: Row, kept: Row, solved: tuple[str, ...] | None) -> Iterator[str]:
    """Compare a public row with the maintainer's key at the same position."""
    if solved is not None and list(solved) != kept["answers"]:
        yield "the answer in its text differs from the key"
    for name in KEYS_SCHEMA.names:
        if name in row and name not in OWN and row[name] != kept[name]:
            yield f"{name} is {row[name]!r} in place of {kept[name]!r}"


def _key_faults(row: Row, key: Row | None) -> Iterator[str]:
    if key is None:
        yield "it has no row in the keys file"
    elif {name: row.get(name) for name in key} != key:
        yield "its key differs from the one in the keys file"


def _whole(rows: Iterator[Row]) -> Iterator[Row]:
    """Yield rows as long as they have all columns; a digest of others says nothing."""
    return (row for row in rows if row.keys() >= set(DATA_SCHEMA.names))
