"""The stage pack: one shard, cut row by row from its samples and pools, as a file of rows and one of their keys."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pipeline.assemble.cutting import cutter
from pipeline.assemble.jobs import read_counts, read_pool, read_samples
from pipeline.assemble.joining import Stock
from pipeline.assemble.layouts import LAYOUTS, laid_out
from pipeline.assemble.plan import Home, Plan, Shard, row_streams
from pipeline.profiles import Profile
from pipeline.recipe import is_secret
from pipeline.rows import DATA_SCHEMA, KEYS_SCHEMA, TEXT_COLUMNS, Row
from pipeline.store.parquet import is_done, write_rows
from pipeline.tasks.base import Layout, Sample


@dataclass(frozen=True, slots=True)
class PackJob:
    """Pack one shard and write its data and keys."""

    plan: Plan
    shard: Shard

    @property
    def home(self) -> Home:
        """Jobs of one home need the same worlds."""
        return self.plan.home(self.shard.family)

    @property
    def data(self) -> Path:
        """The file of rows."""
        return self.shard.path(self.plan.out, "data")

    @property
    def proof(self) -> Path:
        """The file with what was proven about the shard."""
        return self.shard.path(self.plan.out, "proofs")

    @property
    def keys(self) -> Path:
        """The file of the same rows without text."""
        return self.shard.path(self.plan.out, "keys")


def pack_is_done(job: PackJob) -> bool:
    """Tell whether both files of a shard are the ones this plan would write."""
    return is_done(job.data, job.shard.key) and is_done(job.keys, job.shard.key)


def run_pack(job: PackJob) -> None:
    """Pack and write one shard."""
    if not pack_is_done(job):
        job.proof.unlink(missing_ok=True)
        keys: list[Row] = []
        secret = is_secret(job.plan.recipe.seed)
        write_rows(job.data, _kept(pack_rows(job), keys), DATA_SCHEMA, job.shard.key, secret=secret)
        write_rows(job.keys, keys, KEYS_SCHEMA, job.shard.key, secret=secret)


def _kept(rows: Iterator[Row], keys: list[Row]) -> Iterator[Row]:
    """Pass rows on and keep all of them but their text."""
    for row in rows:
        keys.append({name: value for name, value in row.items() if name not in TEXT_COLUMNS})
        yield row


def pack_rows(job: PackJob) -> Iterator[Row]:
    """Yield the rows of a shard."""
    LAYOUTS.turn_to(job.plan, job.shard.cut)
    for sample in read_samples(job.plan, job.shard.cut):
        yield cut_row(job.plan, sample, job.shard.profile, LAYOUTS.of(job.plan, sample))


def cut_row(plan: Plan, sample: Sample, profile: Profile, layout: Layout | None = None) -> Row:
    """Cut one sample for one profile, and lay it out first where no `layout` is given."""
    task, layout = plan.task(sample.stratum), layout or laid_out(plan, sample)
    own, _ = row_streams(plan, sample.stratum, sample.index)
    spec = next(spec for spec in task.pools(sample.stratum) if spec.name == layout.filler.pool)
    stock = Stock(read_pool(plan, spec), read_counts(plan.counts_path(spec, profile), plan.count_key(spec, profile)))
    knife = cutter(profile, plan.recipe.frame)
    return knife.cut(task, sample, layout, stock, own.of("packing"), plan.recipe.reserve)
