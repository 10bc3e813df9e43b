"""The stages of a build, in order, on any executor."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from pipeline.artifacts.holds import hold_for_build, hold_for_job, hold_for_verify
from pipeline.artifacts.manifest import Manifest, ShardRecord
from pipeline.artifacts.recipes import check_release, write_recipe
from pipeline.assemble.cache import within_memory_limit
from pipeline.assemble.fit import FitJob, fit_jobs
from pipeline.assemble.jobs import FileJob, PackJob, count_job, render_job, sample_job
from pipeline.assemble.plan import Affinity, Plan, remove, stale_samples, stale_shards
from pipeline.errors import BuildError, CarraraError, CorruptError
from pipeline.executors import MARK_PREFIX, SharedExecutor, run
from pipeline.profiles import OPEN
from pipeline.recipe import Recipe
from pipeline.storage import StorePath, clear_dead, map_in_order, prefetched_existing
from pipeline.terminal.printing import say
from pipeline.terminal.progress import Spent, meter
from pipeline.verify.lock import check_frozen
from pipeline.verify.seal import (
    check_manifest,
    check_recipe,
    listed_shards,
    seal_if_proven,
    unseal_changed,
    verify_manifest,
)
from pipeline.verify.shard import ProveJob, judge, move_aside, read_proofs, run_prove, write_proof
from pipeline.verify.statistics import BalanceJob, balance_jobs

J = TypeVar("J")
R = TypeVar("R")


@dataclass(frozen=True)
class Stages:
    """A plan and how to run it: on which executor, which `part` of how many, quietly or not."""

    plan: Plan
    open_executor: Callable[[], Executor]
    part: tuple[int, int] = (1, 1)
    quiet: bool = False
    spent: Spent = field(default_factory=Spent, compare=False)
    """CPU seconds of each stage so far."""
    balanced: set[str] = field(default_factory=set, compare=False)
    """Families whose balance has been checked."""
    fresh: dict[Path, ShardRecord] = field(default_factory=dict, compare=False)
    """Proofs made by this object, by the path of their file."""

    def sample(self) -> int:
        """Draw the missing samples; return how many files were written."""
        return self._hold_and_make("sample", self._sample_jobs())

    def _sample_jobs(self) -> list[FileJob]:
        return [sample_job(self.plan, rows) for family in self.plan.families for rows in self.plan.row_ranges(family)]

    def render(self) -> int:
        """Render the missing pools; return how many files were written."""
        return self._hold_and_make("render", [render_job(self.plan, spec) for spec in self.plan.all_pools()])

    def count(self) -> int:
        """Count the pools not yet counted in a profile; return how many files were written."""
        return self._hold_and_make("count", self._count_jobs())

    def _count_jobs(self) -> list[FileJob]:
        """Return the jobs that count pools, in groups of as many profiles as a process can keep counters open for."""
        plan = self.plan
        some = (plan.profiles[at : at + OPEN] for at in range(0, len(plan.profiles), OPEN))
        return [count_job(plan, spec, one) for profiles in some for spec in plan.all_pools() for one in profiles]

    def pack(self) -> int:
        """Pack the missing shards without proving them; return how many were written."""
        with self._holding_folder(), SharedExecutor(self.open_executor) as shared:
            return replace(self, open_executor=shared)._pack()

    def _pack(self) -> int:
        jobs = self._shard_jobs()
        packed = map_in_order(lambda job: job.pack.is_done(), jobs, self.plan.out)
        owed = [job for job, done in zip(jobs, packed, strict=True) if not done]
        self._prepare(owed)
        for spent in self._run("pack", self._with_hold(run_timed_pack), by_affinity(owed)):
            self.spent.add(spent)
        return len(owed)

    def build(self) -> list[Manifest | None]:
        """Run all stages; return the manifest of each profile, or None if other parts are still missing."""
        with self._holding_folder(), SharedExecutor(self.open_executor) as shared:
            return replace(self, open_executor=shared)._build()

    def _build(self) -> list[Manifest | None]:
        jobs = self._shard_jobs()
        proofs = dict(zip((job.path for job in jobs), read_proofs(jobs, self.plan.out), strict=True))
        owed = [job for job in jobs if proofs[job.path] is None]
        self._prepare(owed)
        for spent, path, proof in self._run("build", self._with_hold(run_pack_and_prove), by_affinity(owed)):
            self.spent.add(spent)
            self.fresh[path] = proof
        # Proofs in a store are not read again, which would take a request each.
        in_store = isinstance(self.plan.out, StorePath)
        known = {path: proof for path, proof in {**proofs, **self.fresh}.items() if proof and in_store}
        with self.spent.on("seal"):
            return [seal_if_proven(self.plan, profile, known, self._check_balance) for profile in self.plan.profiles]

    def verify(self) -> list[Manifest | None]:
        """Prove every shard again from its bytes, count every row twice, and seal what is not sealed.

        Raises:
            CorruptError: for the first wrong shard or record; files proven broken are moved aside.
            BuildError: if the machine or another version of Carrara is at fault, or a build is running.
        """
        with hold_for_verify(self.plan.out, self.plan.recipe), SharedExecutor(self.open_executor) as shared:
            return replace(self, open_executor=shared)._verify()

    def _verify(self) -> list[Manifest | None]:
        check_frozen(self.plan)
        check_recipe(self.plan.out, self.plan.recipe)
        for profile in self.plan.profiles:
            check_manifest(self.plan, profile)
        jobs = {job.path: job for job in self._shard_jobs(full=True)}
        verdicts = {verdict.path: verdict for verdict in self._run("verify", judge, by_affinity(list(jobs.values())))}
        wrong = [verdicts[path] for path in jobs if verdicts[path].fault]
        if wrong:
            faults = [move_aside(jobs[verdict.path], verdict) for verdict in wrong]
            kind = CorruptError if any(verdict.kind is CorruptError for verdict in wrong) else BuildError
            raise kind(faults[0] + (f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""))
        self.fresh.update({path: verdict.proof for path, verdict in verdicts.items() if verdict.proof})
        for path, verdict in verdicts.items():
            with suppress(BuildError) if jobs[path].listed else nullcontext():  # a copy that is sealed may be read-only
                write_proof(verdict)
        return [verify_manifest(self.plan, profile, self.fresh, self._check_balance) for profile in self.plan.profiles]

    def _prepare(self, owed: Sequence[ProveJob]) -> None:
        """Make what packing needs, and remove what other recipes left in its folders.

        Pools are rendered first, and every stratum is checked for fit against them. A recipe that does not fit leaves
        only these pools behind, which a corrected recipe reuses, since their keys identify their content.
        """
        if not owed:
            self._keep_recipe()
            return
        self._make_missing("render", [render_job(self.plan, spec) for spec in self.plan.all_pools()])
        profiles = dict.fromkeys(job.pack.shard.profile for job in owed)
        self._check("fit", fit_jobs(self.plan, profiles), quiet=self.quiet)
        # together, so that no worker waits between them
        self._make_missing("sample", [*self._sample_jobs(), *self._count_jobs()])
        self._check_balance()
        self._keep_recipe()
        remove(stale_samples(self.plan))
        for profile in self.plan.profiles:
            remove(stale_shards(self.plan, profile))

    def _check_balance(self) -> None:
        jobs = [job for job in balance_jobs(self.plan) if job.family not in self.balanced]
        self._check("balance", jobs, quiet=True)
        self.balanced.update(job.family for job in jobs)

    def _check(self, label: str, jobs: Sequence[FitJob | BalanceJob], *, quiet: bool) -> None:
        """Run a check of each family, and raise the error of the first family that has one."""
        faults = dict[str, CarraraError | None]()
        with meter(label, len(jobs), quiet=quiet) as shown:
            for family, fault, spent in run(partial(run_check, label), jobs, self.open_executor):
                self.spent.add(spent)
                shown.advance(1, 0)
                faults[family] = fault
        for fault in filter(None, (faults[job.family] for job in jobs)):
            raise fault

    @contextmanager
    def _holding_folder(self) -> Iterator[None]:
        """Hold the folder for builds of this recipe, after checking that it may be built there."""
        check_frozen(self.plan)
        check_release(self.plan.out, self.plan.recipe)
        with hold_for_build(self.plan.out, self.plan.recipe):
            clear_dead(self.plan.out / MARK_PREFIX)
            yield

    def _hold_and_make(self, label: str, jobs: Sequence[FileJob]) -> int:
        if all(map_in_order(FileJob.is_done, jobs, self.plan.out)):
            check_frozen(self.plan)
            return 0
        with self._holding_folder():
            self._keep_recipe()
            return self._make_missing(label, jobs)

    def _keep_recipe(self) -> None:
        """Write the recipe to the folder, after unsealing its tier if that will be built again."""
        if names := unseal_changed(self.plan):
            tier, folder = self.plan.recipe.tier, str(self.plan.out)
            say(
                f"carrara: tier {tier} of {folder!r} was sealed for another recipe or version ({', '.join(names)}): it "
                "is not sealed again until all of it is built",
                err=True,
            )
        write_recipe(self.plan.out, self.plan.recipe)

    def _make_missing(self, label: str, jobs: Sequence[FileJob]) -> int:
        states = list(zip(jobs, map_in_order(FileJob.state, jobs, self.plan.out), strict=True))
        owed = [job for job, state in states if state != "done"]
        for job in (job for job, state in states if state == "broken"):
            say(f"carrara: {str(job.path)!r} is not as it was written, and is made again", err=True)
        with meter(label, len(owed), quiet=self.quiet) as shown:
            for spent in run(self._with_hold(run_file), owed, self.open_executor):
                self.spent.add(spent)
                shown.advance(1, 0)
        return len(owed)

    def _with_hold(self, fn: Callable[[J], R]) -> Callable[[J], R]:
        """Wrap a function so that it holds the folder for this recipe while it runs."""
        return partial(_run_with_hold, self.plan.out, self.plan.recipe, fn)

    def _run(self, label: str, fn: Callable[[ProveJob], R], jobs: Sequence[ProveJob]) -> list[R]:
        """Run a function on shards and return its results in order of completion."""
        results = []
        with meter(label, sum(job.pack.shard.tokens for job in jobs), quiet=self.quiet) as shown:
            for rows, tokens, result in run(partial(_sized, fn), jobs, self.open_executor):
                shown.advance(rows, tokens)
                results.append(result)
        return results

    def _shard_jobs(self, *, full: bool = False) -> list[ProveJob]:
        number, of = self.part
        known = {profile.name: listed_shards(self.plan, profile) for profile in self.plan.profiles}
        return [
            ProveJob(PackJob(self.plan, shard), full, known[shard.profile.name].get(shard.name))
            for shard in self.plan.all_shards()[number - 1 :: of]
        ]


def _run_with_hold(out: Path, recipe: Recipe, fn: Callable[[J], R], job: J) -> R:
    with hold_for_job(out, recipe):
        return fn(job)


def _sized(fn: Callable[[ProveJob], R], job: ProveJob) -> tuple[int, int, R]:
    with within_memory_limit(job.affinity, job.pack.shard.profile):
        return job.pack.shard.rows, job.pack.shard.tokens, fn(job)


def run_check(label: str, job: FitJob | BalanceJob) -> tuple[str, CarraraError | None, Spent]:
    """Run a check of a family; return its name, the error if any, and the CPU time."""
    spent = Spent()
    with spent.on(label), within_memory_limit(job.affinity):
        fault = job.run()
    return job.family, fault, spent


def run_file(job: FileJob) -> Spent:
    """Make one small file; return the CPU time."""
    spent = Spent()
    with spent.on(job.stage), within_memory_limit(job.affinity):
        job.run()
    return spent


def run_timed_pack(job: ProveJob) -> Spent:
    """Pack a shard; return the CPU time."""
    spent = Spent()
    with spent.on("pack"):
        job.pack.run()
    return spent


def run_pack_and_prove(job: ProveJob) -> tuple[Spent, Path, ShardRecord]:
    """Pack a shard and prove it in the same process, which has the vocabulary in memory.

    Returns:
        The CPU time, the file of the proof, and the proof.
    """
    with prefetched_existing(job.pack.plan.samples_path(job.pack.shard.row_range)):
        spent = run_timed_pack(job)
        with spent.on("prove"):
            proof = run_prove(job)
    return spent, job.path, proof


def by_affinity(jobs: Sequence[ProveJob]) -> list[ProveJob]:
    """Return jobs by profile, and within these by affinity, so that workers need few worlds at a time.

    Affinities and jobs with the most tokens come first, so that no worker waits long for the last ones.
    """
    profiles = list(dict.fromkeys(job.pack.shard.profile for job in jobs))
    tokens = Counter[Affinity]()
    for job in jobs:
        tokens[job.affinity] += job.pack.shard.tokens
    affinities = [affinity for affinity, _ in tokens.most_common()]
    return sorted(
        jobs,
        key=lambda job: (
            profiles.index(job.pack.shard.profile),
            affinities.index(job.affinity),
            -job.pack.shard.tokens,
        ),
    )
