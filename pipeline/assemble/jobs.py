"""The stages sample, render and count, whose files packing needs, and packing. Jobs skip files that are done."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from pipeline.artifacts.parquet import has_key, is_whole, matches_checksum, read_table, write_rows, write_with_checksum
from pipeline.assemble.cache import LAYOUTS, SAMPLES, layout_of
from pipeline.assemble.cutter import CountedPool, Cutter, cutter_for
from pipeline.assemble.packing import Counts
from pipeline.assemble.plan import Affinity, Plan, RowRange, Shard, row_streams
from pipeline.assemble.pools import BUDGET, UNIT_SCHEMA, UNIT_TEXT, Pool, PoolCache
from pipeline.assemble.row_order import RowPlan
from pipeline.caches import lru_cache, register
from pipeline.errors import CorruptError
from pipeline.profiles import Profile
from pipeline.recipe import digest, is_secret
from pipeline.rows import KEYS_SCHEMA, TEXT_COLUMNS, Row, plain_json, schema_of
from pipeline.storage import prefetched, prefetched_existing
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, PoolSpec, Sample

POOLS = register(PoolCache(BUDGET))
SAMPLE_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("subtask", pa.string()),
        ("length", pa.int32()),
        ("complexity", pa.int32()),
        ("index", pa.int32()),
        ("latent", pa.string()),
        ("ranking", pa.binary()),
        ("relevant", pa.list_(pa.string())),
        ("question", pa.string()),
        ("target", pa.string()),
        ("answers", pa.list_(pa.string())),
        ("choices", pa.list_(pa.string())),
        ("random_string_to_prepend", pa.string()),
    ]
)
COUNT_SCHEMA = pa.schema([("tokens", pa.int32())])


@dataclass(frozen=True, slots=True)
class FileJob:
    """Makes one small file of a plan, unless it is done; `make` returns its content, which may be `secret`.

    Jobs with the same `affinity` need the same worlds, so they are best run by the same process.
    """

    path: Path
    key: str
    schema: pa.Schema
    make: Callable[[], pa.Table]
    affinity: Affinity
    stage: str
    secret: bool = False

    def is_done(self) -> bool:
        """Return whether the file is the one that this plan would write."""
        return is_whole(self.path, self.key, self.schema.names)

    def state(self) -> str:
        """Return "done", "broken" if the file differs from what any plan wrote, or ""."""
        with prefetched_existing(self.path):
            if self.is_done():
                return "done"
            return "broken" if self.path.is_file() and not matches_checksum(self.path) else ""

    def run(self) -> None:
        """Write the file if it is not done."""
        if not self.is_done():
            write_with_checksum(self.path, self.make(), self.key, secret=self.secret)


def sample_job(plan: Plan, row_range: RowRange) -> FileJob:
    """Return the job that draws the samples of a shard, which all profiles share."""
    key = digest([plan.sample_key(row_range.family), row_range.start, row_range.stop])
    make = partial(_sample_table, plan, row_range)
    path, secret = plan.samples_path(row_range), is_secret(plan.recipe.seed)
    return FileJob(path, key, SAMPLE_SCHEMA, make, plan.affinity(row_range.family), "sample", secret)


def render_job(plan: Plan, spec: PoolSpec) -> FileJob:
    """Return the job that renders a pool."""
    path, key = plan.pool_path(spec), plan.pool_key(spec)
    make = partial(_unit_table, plan, spec)
    return FileJob(path, key, UNIT_SCHEMA, make, plan.pool_affinity(spec), "render")


def count_job(plan: Plan, spec: PoolSpec, profile: Profile) -> FileJob:
    """Return the job that counts a pool in a profile."""
    path, key = plan.counts_path(spec, profile), plan.count_key(spec, profile)
    make = partial(_count_table, plan, spec, profile)
    return FileJob(path, key, COUNT_SCHEMA, make, plan.pool_affinity(spec), "count")


def _sample_table(plan: Plan, row_range: RowRange) -> pa.Table:
    # The check of fit has drawn some of them already.
    records = [sample_record(SAMPLES.take(plan, row) or draw_sample(plan, row)) for row in _rows(plan, row_range)]
    return pa.Table.from_pylist(records, schema=SAMPLE_SCHEMA)


def _rows(plan: Plan, row_range: RowRange) -> list[RowPlan]:
    return plan.rows(row_range.family)[row_range.start : row_range.stop]


def _unit_table(plan: Plan, spec: PoolSpec) -> pa.Table:
    """Return a pool in one chunk, since chunks would affect the bytes of the file."""
    return made_pool(plan.root, spec).table.combine_chunks()


def _count_table(plan: Plan, spec: PoolSpec, profile: Profile) -> pa.Table:
    counts = pool_counts(read_pool(plan, spec), cutter_for(profile, plan.recipe.frame))
    return pa.table({"tokens": counts.astype(np.int32)}, schema=COUNT_SCHEMA)


def pool_counts(pool: Pool, cutter: Cutter) -> Counts:
    """Return the tokens of each unit of a pool in the middle of a prompt."""
    parts = (
        map(cutter.text_tokens, pool.plain_texts())
        if pool.plain
        else map(cutter.unit_tokens, pool.batches(facts=False))
    )
    return np.concatenate([*parts])


def draw_sample(plan: Plan, row: RowPlan) -> Sample:
    """Draw one sample from its own streams."""
    own, shared = row_streams(plan, row.stratum, row.index)
    return replace(plan.task(row.stratum).sample(row.stratum, row.index, own, shared), id=row.id)


def sample_record(sample: Sample) -> Row:
    """Return a sample as a row of its file."""
    cell = sample.stratum
    return {
        "id": sample.id,
        "subtask": cell.subtask,
        "length": cell.length,
        "complexity": cell.complexity,
        "index": sample.index,
        "latent": plain_json(dict(sample.latent)),
        "ranking": sample.ranking,
        "relevant": list(sample.relevant),
        "question": sample.question,
        **sample.key.columns(),
    }


def samples_of(plan: Plan, family: str) -> Iterator[Sample]:
    """Return all samples of a family, read from files or else drawn."""
    return chain.from_iterable(samples_in(plan, row_range) for row_range in plan.row_ranges(family))


def samples_in(plan: Plan, row_range: RowRange) -> Iterator[Sample]:
    """Return the samples of a shard, read from its file or else drawn."""
    job = sample_job(plan, row_range)
    with prefetched_existing(job.path):
        if job.is_done():
            return read_samples(plan, row_range)
    return (draw_sample(plan, row) for row in _rows(plan, row_range))


def read_samples(plan: Plan, row_range: RowRange) -> Iterator[Sample]:
    """Read the samples of a shard.

    Raises:
        CorruptError: if the file is missing or broken, or has other rows than this plan; it is removed.
    """
    rows, path = _rows(plan, row_range), plan.samples_path(row_range)
    records = read_input(path).to_pylist()
    if [row.id for row in rows] != [record["id"] for record in records]:
        path.unlink(missing_ok=True)
        raise CorruptError(f"{str(path)!r} did not match the recipe and was removed: run the command again")
    return map(_sample, rows, records)


def read_input(path: Path, columns: list[str] | None = None) -> pa.Table:
    """Read a file that packing needs, or some of its columns.

    Raises:
        CorruptError: if it is missing or broken; it is removed, so that the next run makes it again.
    """
    with suppress(FileNotFoundError), prefetched(path):
        if matches_checksum(path):
            return read_table(path, columns)
    path.unlink(missing_ok=True)
    raise CorruptError(f"{str(path)!r} is missing or broken, and was removed: run the command again")


def _sample(row: RowPlan, record: dict[str, Any]) -> Sample:
    latent, relevant = json.loads(record["latent"]), tuple(record["relevant"])
    key, ranking = Key.of(record), record["ranking"]
    return Sample(row.id, row.stratum, row.index, latent, relevant, record["question"], key, ranking)


def made_pool(root: int | str, spec: PoolSpec) -> Pool:
    """Make a pool in memory, from the streams below a root."""
    return Pool.of(spec.make(Streams((root, "pool", f"{spec.name}@{spec.version}")), spec))


def pool_of(plan: Plan, spec: PoolSpec) -> Pool:
    """Return a pool, read from its file or else made in memory."""

    def load() -> Pool:
        done = render_job(plan, spec).is_done()
        return _opened_pool(plan.pool_path(spec)) if done else made_pool(plan.root, spec)

    return POOLS.get((plan.pool_path(spec), plan.pool_key(spec)), load)


def read_pool(plan: Plan, spec: PoolSpec) -> Pool:
    """Return a rendered pool, from the cache or its file."""
    path = plan.pool_path(spec)
    return POOLS.get((path, plan.pool_key(spec)), lambda: _opened_pool(path))


def _opened_pool(path: Path) -> Pool:
    return Pool(read_input(path, UNIT_TEXT), lambda: read_input(path, ["facts"]))


@lru_cache(maxsize=8)
def read_counts(path: Path, key: str) -> Counts:
    """Return a pool's counts, cached by path and content key."""
    return np.asarray(read_input(path).column("tokens").to_numpy(), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PackJob:
    """Pack one shard and write its data and keys."""

    plan: Plan
    shard: Shard

    @property
    def affinity(self) -> Affinity:
        """Jobs with the same affinity need the same worlds."""
        return self.plan.affinity(self.shard.family)

    @property
    def data(self) -> Path:
        """The file of rows."""
        return self.shard.path(self.plan.out, "data")

    @property
    def proof(self) -> Path:
        """The file of the proof."""
        return self.shard.path(self.plan.out, "proofs")

    @property
    def keys(self) -> Path:
        """The file of the same rows without text."""
        return self.shard.path(self.plan.out, "keys")

    def is_done(self) -> bool:
        """Return whether both files are the ones that this plan would write, by their footers."""
        return has_key(self.data, self.shard.key) and has_key(self.keys, self.shard.key)

    def run(self) -> None:
        """Pack and write the shard if it is not done."""
        if not self.is_done():
            self.proof.unlink(missing_ok=True)
            keys: list[Row] = []
            secret = is_secret(self.plan.recipe.seed)
            schema = schema_of(self.plan.schema_version)
            write_rows(self.data, _kept(pack_rows(self), keys), schema, self.shard.key, secret=secret)
            write_rows(self.keys, keys, KEYS_SCHEMA, self.shard.key, secret=secret)


def _kept(rows: Iterator[Row], keys: list[Row]) -> Iterator[Row]:
    """Yield rows, and collect them without their text in `keys`."""
    for row in rows:
        keys.append({name: value for name, value in row.items() if name not in TEXT_COLUMNS})
        yield row


def pack_rows(job: PackJob) -> Iterator[Row]:
    """Yield the rows of a shard."""
    LAYOUTS.turn_to(job.plan, job.shard.row_range)
    for sample in read_samples(job.plan, job.shard.row_range):
        yield cut_row(job.plan, sample, job.shard.profile, LAYOUTS.of(job.plan, sample))


def cut_row(plan: Plan, sample: Sample, profile: Profile, layout: Layout | None = None) -> Row:
    """Cut one sample for one profile; without a `layout`, lay it out first."""
    task, layout = plan.task(sample.stratum), layout or layout_of(plan, sample)
    own, _ = row_streams(plan, sample.stratum, sample.index)
    spec = next(spec for spec in task.pools(sample.stratum) if spec.name == layout.filler.pool)
    counts = read_counts(plan.counts_path(spec, profile), plan.count_key(spec, profile))
    cutter = cutter_for(profile, plan.recipe.frame)
    return cutter.cut(
        task, sample, layout, CountedPool(read_pool(plan, spec), counts), own.of("packing"), plan.recipe.reserve
    )
