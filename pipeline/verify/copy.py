"""A copy of a split, checked against its manifest and its lock.

No build is needed: rows are counted and solved from what is published. If answers are withheld, this checks that counts
are exact, that each prompt has one answer, and, given the maintainer's own build, that it is the right one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from pipeline.artifacts.journal import UNREADABLE
from pipeline.artifacts.lite import LITE, lite_file
from pipeline.artifacts.manifest import (
    PARTS,
    ShardRecord,
    describe_answers,
    shard_faults,
)
from pipeline.artifacts.parquet import columns_of, read_rows
from pipeline.artifacts.split import Selection, Split
from pipeline.assemble.jobs import draw_sample
from pipeline.assemble.plan import Plan
from pipeline.corpora.records import has_all
from pipeline.errors import CarraraError
from pipeline.executors import run
from pipeline.profiles import Profile
from pipeline.recipe import Recipe
from pipeline.rows import DATA_SCHEMA, row_digest
from pipeline.storage import StorePath, prefetched_existing
from pipeline.tasks.base import Sample
from pipeline.terminal.progress import meter
from pipeline.verify.claims import claim_faults, published_recipe
from pipeline.verify.lock import Lock, ProfileLock, ShardLock
from pipeline.verify.row import RowChecker

ROW_FAULTS = 20
"""The most faulty rows of a shard that are reported."""


@dataclass(frozen=True, slots=True)
class CheckJob:
    """One shard of a copy, with its records in the manifest and the lock, and the maintainer's keys.

    `plan` is made from the recipe as far as the manifest states it. `drawn` is the plan to draw samples again, if the
    seed is public or in the lock. `corpora` states whether the users' texts that it needs are available. `start` is the
    index of the shard's first row in its family.
    """

    folder: Path
    plan: Plan
    shard: ShardRecord
    withheld: bool
    tag: str
    locked: ShardLock | None = None
    own_keys: Path | None = None
    drawn: Plan | None = None
    corpora: bool = False
    start: int = 0

    def path(self, part: str) -> Path:
        """Return the file of the shard in one part of the copy."""
        return self.folder / part / f"{self.shard.shard}.parquet"

    def samples(self) -> Iterator[Sample | None]:
        """Draw the samples of the shard again, if the seed is known; None for rows whose corpus is not available."""
        if self.drawn is None:
            return
        for row in self.drawn.rows(self.shard.shard.partition("/")[0])[self.start : self.start + self.shard.rows]:
            yield draw_sample(self.drawn, row) if self.corpora or not row.stratum.knob("corpus", "") else None


@dataclass(frozen=True, slots=True)
class CheckedShard:
    """The result for one shard: how many rows were `solved`, `recounted`, and drawn again (`redrawn`)."""

    shard: str
    ids: tuple[str, ...]
    solved: int
    recounted: int
    redrawn: int
    faults: tuple[str, ...]


def check_shard(job: CheckJob) -> CheckedShard:
    """Check one shard of a copy: its files, then every row. Files in a store are fetched once."""
    files = [job.path(part) for part in PARTS if job.shard.file(part)[1]] + [path for path in [job.own_keys] if path]
    checker = RowChecker(job.plan, job.plan.profiles[0], job.tag, full=True, drawn=job.drawn, withheld=job.withheld)
    with prefetched_existing(*files):
        faults = list(_file_faults(job))
        if job.path("data").is_file():
            faults += _row_faults(job, checker)
    named = tuple(f"{job.shard.shard}: {fault}" for fault in faults)
    counts = checker.solved, checker.recounted, checker.redrawn
    return CheckedShard(job.shard.shard, tuple(checker.ids), *counts, named)


def _file_faults(job: CheckJob) -> Iterator[str]:
    """Compare a shard's files with the digests of the manifest, and unless answers are withheld, with the lock's."""
    for part, _, fault in shard_faults(job.folder, job.shard):
        yield f"the file in {part} {fault.replace('were proven', 'the manifest lists')}"
    for part in ("data", "keys") if job.locked and not job.withheld else ():
        _, listed = job.shard.file(part)
        if listed and listed != getattr(job.locked, f"{part}_sha256"):
            yield f"the file in {part} differs from the bytes that were frozen"
    if job.locked and job.locked.rows != job.shard.rows:
        yield f"the manifest says {job.shard.rows} rows, but {job.locked.rows} were frozen"


def _row_faults(job: CheckJob, checker: RowChecker) -> Iterator[str]:
    """Read all rows and yield what is wrong with them; only the first ROW_FAULTS are reported one by one."""
    beside = [job.path(part) for part in ("index", "keys") if job.shard.file(part)[1]]
    keys = next((path for path in beside[:1] if path.is_file()), None)
    try:
        rows = checker.rows(job.path("data"), keys, job.samples(), job.own_keys)
        digest = row_digest(row for row in rows if row.keys() >= set(DATA_SCHEMA.names))
    except (CarraraError, ArithmeticError, *UNREADABLE) as fault:
        yield str(fault) if isinstance(fault, CarraraError) else f"it has no readable rows ({fault!r})"
        digest = ""
    yield from checker.faults[:ROW_FAULTS]
    if len(checker.faults) > ROW_FAULTS:
        yield f"{len(checker.faults) - ROW_FAULTS} more rows fail"
    if digest and len(checker.ids) != job.shard.rows:
        yield f"it holds {len(checker.ids)} rows, expected {job.shard.rows}"
    if digest and not job.withheld:
        if job.shard.row_digest not in (None, digest):
            yield "its rows differ from those that the manifest lists"
        if job.locked and job.locked.row_digest != digest:
            yield "its rows differ from those that were frozen"


@dataclass(frozen=True, slots=True)
class SplitCopy:
    """A split to check, with everything that it is checked against.

    `own` is the maintainer's folder of the same profile; `corpora` are folders that may contain users' texts.
    """

    split: Split
    profile: Profile
    lock: Lock | None = None
    own: Path | None = None
    corpora: tuple[Path, ...] = ()

    @property
    def withheld(self) -> bool:
        """Whether answers are withheld: the manifest has `withheld`, or lacks a seed."""
        manifest = self.split.manifest
        return manifest.withheld is not None or any(made.seed is None for made in manifest.tiers.values())

    @property
    def frozen(self) -> ProfileLock | None:
        """The profile's record in the lock."""
        return self.lock.profiles.get(self.split.tokenizer) if self.lock else None

    def jobs(self) -> Iterator[CheckJob]:
        """Yield a job for each shard."""
        for tier, made in self.split.manifest.tiers.items():
            recipe = published_recipe(self.split.manifest, tier)
            plan = Plan(recipe, (self.profile,), self.split.folder, recipe.families)
            drawn, corpora = self._drawn(recipe, tier)
            locked = self.frozen.tiers[tier].shards if self.frozen and tier in self.frozen.tiers else {}
            starts: Counter[str] = Counter()
            for shard in sorted(made.shards, key=lambda shard: shard.shard):
                family = shard.shard.partition("/")[0]
                keys = self.own / "keys" / f"{shard.shard}.parquet" if self.own and self.withheld else None
                lock = locked.get(shard.shard)
                start = starts[family]
                yield CheckJob(
                    self.split.folder, plan, shard, self.withheld, made.tag, lock, keys, drawn, corpora, start
                )
                starts[family] += shard.rows

    def _drawn(self, published: Recipe, tier: str) -> tuple[Plan | None, bool]:
        """Return the plan to draw a tier's samples again, and whether the corpora that it needs are available.

        The seed comes from the manifest, or from the lock if keys are withheld.
        """
        frozen = self.lock.tiers.get(tier) if self.lock else None
        recipe = published if not self.withheld else frozen.recipe if frozen else None
        if recipe is None:
            return None, False
        needed = {str(corpus) for cell in recipe.strata if (corpus := cell.knob("corpus", ""))}
        homes = [folder.parent for folder in self.corpora if needed and has_all(folder, needed)]
        plan = Plan(recipe, (self.profile,), homes[0] if homes else self.split.folder, recipe.families)
        return plan, bool(homes)


def split_faults(copy: SplitCopy) -> Iterator[str]:
    """Yield what is wrong with a manifest by itself, and compared with its folder."""
    yield from (f"manifest.json: {fault}" for fault in claim_faults(copy.split, copy.profile, {}))
    named = {path for part in PARTS for path in copy.split.shards(part)}
    for path in sorted(path for part in PARTS for path in (copy.split.folder / part).rglob("*")):
        if path not in named and (path.is_file() if isinstance(path, StorePath) else not path.is_dir()):
            yield f"{path.relative_to(copy.split.folder)} is not in the manifest"
    yield from _lite_faults(copy.split)


def _lite_faults(split: Split) -> Iterator[str]:
    """Yield the tiers whose file of lite rows differs from the shards."""
    for tier in split.manifest.tiers:
        path = split.folder / lite_file(tier)
        if not isinstance(path, StorePath) and path.is_file():  # published splits are downloaded before verification
            try:
                own = read_rows(path)
                rows = split.shard_rows(columns_of(path), Selection(tiers=(tier,), size=LITE))
                same = all(one == other for one, other in zip_longest(own, rows))
            except CarraraError:
                same = False
            if not same:
                yield f"{lite_file(tier)} differs from the rows of the shards"


def _lock_faults(copy: SplitCopy, lock: Lock) -> Iterator[str]:
    manifest, frozen = copy.split.manifest, copy.frozen
    for name in ("release", "version", "variant", "frame", "schema_version"):
        if getattr(manifest, name) != getattr(lock, name):
            yield f"{name} is {getattr(manifest, name)!r}, but was frozen as {getattr(lock, name)!r}"
    if frozen is None:
        yield f"profile {copy.split.tokenizer} is not in the lock of {lock.title}"
        return
    tokenizer = manifest.tokenizer
    if (tokenizer.digest, tokenizer.vocabulary_sha256) != (frozen.digest, frozen.vocabulary_sha256):
        yield f"profile {copy.split.tokenizer} has a different digest from the frozen one"
    for name in ("counter", "second"):
        counters = sorted({each for made in manifest.tiers.values() for each in getattr(made.proven, name) or ()})
        if copy.split.manifest.withheld is None and counters != sorted(getattr(frozen, name)):
            yield f"proven.{name} is {', '.join(counters)}, but was frozen as {', '.join(getattr(frozen, name))}"
    if sorted(manifest.tiers) != sorted(frozen.tiers):
        yield f"its tiers are {', '.join(manifest.tiers)}, but {', '.join(frozen.tiers)} were frozen"
    for tier in sorted(manifest.tiers.keys() & frozen.tiers.keys()):
        made, wanted = manifest.tiers[tier], lock.tiers[tier]
        if made.tag != wanted.tag:
            yield f"tier {tier} has tag {made.tag}, but was frozen as {wanted.tag}"
        if made.seed is not None and made.seed != wanted.recipe.seed:
            yield f"tier {tier} has a different seed from the frozen one"
        present, shards = {shard.shard for shard in made.shards}, frozen.tiers[tier].shards.keys()
        yield from (f"{name} was frozen but is missing" for name in sorted(shards - present))
        yield from (f"{name} is there but was not frozen" for name in sorted(present - shards))


def joint_faults(checked: list[CheckedShard]) -> Iterator[str]:
    """Yield the ids that occur more than once, in one shard or in several."""
    ids = Counter(each for shard in checked for each in shard.ids)
    yield from (f"id {name!r} occurs {times} times" for name, times in sorted(ids.items()) if times > 1)


@dataclass(frozen=True, slots=True)
class CopyFindings:
    """The result of checking a copy: a summary in one line, and all faults."""

    line: str
    faults: tuple[str, ...]


def check_copy(copy: SplitCopy, open_executor: Callable[[], Executor], *, quiet: bool) -> CopyFindings:
    """Check every byte and every row of a copy, without changing it."""
    jobs, checked = list(copy.jobs()), []
    with meter("verify", sum(job.shard.tokens for job in jobs), quiet=quiet) as shown:
        for job, shard in zip(jobs, run(check_shard, jobs, open_executor), strict=True):
            checked.append(shard)
            shown.advance(len(shard.ids), job.shard.tokens)
    locked = _lock_faults(copy, copy.lock) if copy.lock else ()
    # What is wrong with rows comes before the manifest's figures, which then differ too, and say less.
    faults = [*(f"manifest.json: {fault}" for fault in locked), *(each for shard in checked for each in shard.faults)]
    faults += [*joint_faults(checked), *split_faults(copy)]
    return CopyFindings(_summary(copy, checked), tuple(faults))


def _summary(copy: SplitCopy, checked: Sequence[CheckedShard]) -> str:
    rows, again = sum(len(each.ids) for each in checked), sum(each.recounted for each in checked)
    second = copy.profile.second()
    counted = (
        f"{'all' if again == rows else format(again, ',')} recounted by {second.name}" if second else "none recounted"
    )
    source = f"as in the lock of {copy.lock.title}" if copy.lock and not copy.withheld else "as its manifest says"
    solved = sum(each.solved for each in checked)
    proven = describe_answers(solved, rows - solved)
    if rows > solved and copy.withheld:  # without answers, rows that no program solves cannot be checked
        proven = f"{solved:,} re-solved from their text, {rows - solved:,} that no program can solve"
    answers = ", ".join([proven, *_answers_checked(copy, rows, sum(each.redrawn for each in checked))])
    unseen = _not_seen(copy, all_drawn=all(each.redrawn == len(each.ids) for each in checked))
    return (
        f"{copy.split.title}: {rows:,} rows in {len(checked)} shard{'s' * (len(checked) != 1)}, {counted}, {answers}; "
        f"every byte {source}"
        f"{f' ({unseen})' if unseen else ''}"
    )


def _answers_checked(copy: SplitCopy, rows: int, drawn: int) -> Iterator[str]:
    """Yield what the questions and answers of a copy were compared with."""
    if copy.withheld:
        yield "answers match the keys" if copy.own else "answers withheld"
    what = "questions and answers drawn again from the seed of the lock"
    what = what if copy.withheld else "questions and keys drawn again from the seed"
    if drawn == rows:
        yield what
    elif drawn or not copy.withheld or copy.lock:
        yield f"{what} in {drawn:,} rows; {rows - drawn:,} come from a corpus that is not here"


def _not_seen(copy: SplitCopy, *, all_drawn: bool) -> str:
    """Return which changes to a copy this check cannot detect, in words; "" if none."""
    if copy.own or (copy.lock and not copy.withheld):
        return ""
    if copy.withheld:
        what = "text" if all_drawn else "question or text"
        return f"without the frozen folder, a {what} that was changed together with its digests is not seen"
    what = "filler" if all_drawn else "filler, or a text of a corpus with its key,"
    return f"without a lock, {what} that was changed together with its digests is not seen"
