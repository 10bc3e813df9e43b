"""The stages of a build, in order, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from pipeline.assemble.fit import check_fit
from pipeline.assemble.jobs import FileJob, PackJob, count_job, pack_is_done, render_job, run_pack, sample_job
from pipeline.assemble.plan import Plan, Shard
from pipeline.engine import run
from pipeline.errors import CorruptError
from pipeline.frozen.guard import check_frozen, check_rows
from pipeline.profiles import Profile
from pipeline.progress import meter
from pipeline.prove.balance import check_balance
from pipeline.prove.seal import seal
from pipeline.prove.shard import Proof, ProveJob, read_proof, run_prove
from pipeline.recipe import digest
from pipeline.store.files import clean_aside
from pipeline.store.manifest import Made, Manifest, SealedShard, manifest_path, read_manifest
from pipeline.store.recipes import check_release, keep_recipe, recipe_path


@dataclass(frozen=True)
class Stages:
    """A plan and how to run it: on what engine, which `part` of how many, quietly or not."""

    plan: Plan
    open_executor: Callable[[], Executor]
    part: tuple[int, int] = (1, 1)
    quiet: bool = False

    def sample(self) -> int:
        """Draw the samples that are not there; return how many files were written."""
        return self._files("sample", [sample_job(self.plan, family) for family in self.plan.families])

    def render(self) -> int:
        """Render the pools that are not there; return how many files were written."""
        return self._files("render", [render_job(self.plan, spec) for spec in self.plan.all_pools()])

    def count(self) -> int:
        """Count the pools that are not counted in each profile; return how many files were written."""
        plan = self.plan
        return self._files(
            "count", [count_job(plan, spec, profile) for profile in plan.profiles for spec in plan.all_pools()]
        )

    def pack(self) -> int:
        """Pack the shards that are not there, without proving them; return how many were written."""
        owed = [job for job in self._jobs() if not pack_is_done(job.pack)]
        self._prepare(owed)
        self._run("pack", run_packed, owed)
        return len(owed)

    def build(self) -> list[Manifest | None]:
        """Run all stages; return the manifest of each profile, None where parts are still owed."""
        owed = [job for job in self._jobs() if read_proof(job) is None]
        self._prepare(owed)
        self._run("build", run_made, owed)
        return [self._sealed(profile) for profile in self.plan.profiles]

    def verify(self) -> list[Manifest | None]:
        """Prove every shard again from its bytes, with full second counts, and seal the manifests.

        Raises:
            CorruptError: for the first shard that does not hold; all that do not are moved aside.
        """
        check_frozen(self.plan)
        faults = [fault for fault in self._run("verify", run_checked, self._jobs(full=True)) if fault]
        if faults:
            more = f" (and {len(faults) - 1} more)" if len(faults) > 1 else ""
            raise CorruptError(faults[0] + more)
        return [self._sealed(profile, again=True) for profile in self.plan.profiles]

    def _prepare(self, owed: Sequence[ProveJob]) -> None:
        """Make what packing needs, and clear away what other recipes left in its folders.

        Pools are rendered first, by all workers, and every stratum is checked for fit against them. A recipe that does
        not fit leaves only these pools behind: their keys name their content, so a corrected recipe reuses them.
        """
        check_frozen(self.plan)
        check_release(self.plan.out, self.plan.recipe)
        if not owed:
            keep_recipe(self.plan.out, self.plan.recipe)
            return
        self._made("render", [render_job(self.plan, spec) for spec in self.plan.all_pools()])
        check_fit(self.plan, list(dict.fromkeys(job.pack.shard.profile for job in owed)))
        self.sample()
        self.count()
        keep_recipe(self.plan.out, self.plan.recipe)
        for profile in self.plan.profiles:
            remove_strangers(self.plan, profile)

    def _files(self, label: str, jobs: Sequence[FileJob]) -> int:
        check_frozen(self.plan)
        if not all(job.is_done() for job in jobs):
            keep_recipe(self.plan.out, self.plan.recipe)
        return self._made(label, jobs)

    def _made(self, label: str, jobs: Iterable[FileJob]) -> int:
        owed = [job for job in jobs if not job.is_done()]
        with meter(label, len(owed), quiet=self.quiet) as shown:
            for _ in run(run_file, owed, self.open_executor):
                shown.advance(1, 0)
        return len(owed)

    def _run(self, label: str, fn: Callable[[ProveJob], str], jobs: Sequence[ProveJob]) -> list[str]:
        """Run a function on shards and return what it says of each that is wrong."""
        faults = []
        with meter(label, sum(job.pack.shard.tokens for job in jobs), quiet=self.quiet) as shown:
            for rows, tokens, fault in run(partial(_sized, fn), jobs, self.open_executor):
                shown.advance(rows, tokens)
                faults.append(fault)
        return faults

    def _jobs(self, *, full: bool = False) -> list[ProveJob]:
        number, of = self.part
        return [_job(self.plan, shard, full=full) for shard in self.plan.all_shards()[number - 1 :: of]]

    def _sealed(self, profile: Profile, *, again: bool = False) -> Manifest | None:
        """Seal a profile if the proofs of the whole recipe are there; keep a manifest that already says so."""
        shards = [shard for family in self.plan.recipe.families for shard in self.plan.shards(family, profile)]
        proofs = [proof for proof in (read_proof(_job(self.plan, shard)) for shard in shards) if proof]
        if len(proofs) < len(shards):
            return None
        check_rows(self.plan.out, profile.name, {proof.shard: proof.row_digest for proof in proofs})
        remove_strangers(self.plan, profile)
        clean_aside(owned(self.plan, profile))
        known = read_manifest(self.plan.out, profile.name)
        tier = known.tiers.get(self.plan.recipe.tier) if known else None
        if known and tier and not again and _says(tier, digest(self.plan.recipe), proofs):
            return known
        check_balance(self.plan)
        return seal(self.plan, profile, proofs)


def proof_state(plan: Plan) -> list[tuple[Shard, bool]]:
    """Return every shard of a plan, and whether it is there and proven."""
    return [(shard, read_proof(_job(plan, shard)) is not None) for shard in plan.all_shards()]


def _says(tier: Made, recipe: str, proofs: Sequence[Proof]) -> bool:
    shards = tuple(SealedShard(**asdict(proof)) for proof in sorted(proofs, key=lambda proof: proof.shard))
    return (tier.recipe_digest, tier.shards) == (recipe, shards)


def _job(plan: Plan, shard: Shard, *, full: bool = False) -> ProveJob:
    return ProveJob(PackJob(plan, shard), full)


def _sized(fn: Callable[[ProveJob], str], job: ProveJob) -> tuple[int, int, str]:
    return job.pack.shard.rows, job.pack.shard.tokens, fn(job)


def run_file(job: FileJob) -> None:
    """Make one small file."""
    job.run()


def run_packed(job: ProveJob) -> str:
    """Pack a shard."""
    run_pack(job.pack)
    return ""


def run_made(job: ProveJob) -> str:
    """Pack a shard and prove it in the same process, which has the vocabulary in memory."""
    run_pack(job.pack)
    run_prove(job)
    return ""


def run_checked(job: ProveJob) -> str:
    """Prove a shard; return what is wrong with it, so that one run finds all faults of a build."""
    try:
        run_prove(job)
    except CorruptError as fault:
        return str(fault)
    return ""


def remove_strangers(plan: Plan, profile: Profile) -> None:
    """Remove shards of this tier that the recipe does not name: readers find shards by pattern."""
    for part in ("data", "keys", "proofs"):
        own = {shard.path(plan.out, part) for family in plan.recipe.families for shard in plan.shards(family, profile)}
        for path in sorted((plan.out / profile.name / part).glob(f"*/{plan.recipe.tier}/test-*")):
            if path.with_name(path.name.partition(".part-")[0]) not in own:
                path.unlink(missing_ok=True)


def owned(plan: Plan, profile: Profile) -> list[Path]:
    """Return every file that a plan makes for a profile."""
    files = [recipe_path(plan.out, plan.recipe.tier), manifest_path(plan.out, profile.name)]
    for family in plan.recipe.families:
        files += [plan.samples_path(family), *(plan.pool_path(spec) for spec in plan.pools(family))]
        files += [plan.counts_path(spec, profile) for spec in plan.pools(family)]
        shards = plan.shards(family, profile)
        files += [shard.path(plan.out, part) for shard in shards for part in ("data", "keys", "proofs")]
    return files
