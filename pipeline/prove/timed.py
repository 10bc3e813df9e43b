"""The jobs of a build, each with the CPU time that it took. They stand at the top of a module, as processes need it."""

from __future__ import annotations

from pathlib import Path

from pipeline.assemble.fit import FitJob
from pipeline.assemble.homes import at_home
from pipeline.assemble.jobs import FileJob
from pipeline.assemble.shards import run_pack
from pipeline.errors import FitError
from pipeline.paths import held_there
from pipeline.prove.balance import BalanceJob
from pipeline.prove.proof import Proof
from pipeline.prove.shard import ProveJob, run_prove
from pipeline.terminal.spent import Spent


def run_fit(job: FitJob) -> tuple[str, FitError | None, Spent]:
    """Check one family, and return its name, what does not fit, and the seconds of CPU time that it took."""
    spent = Spent()
    with spent.on("fit"), at_home(job.home):
        fault = job.run()
    return job.family, fault, spent


def run_balance(job: BalanceJob) -> tuple[str, str, Spent]:
    """Look at one family, and return its name, what is wrong, and the seconds of CPU time that it took."""
    spent = Spent()
    with spent.on("balance"), at_home(job.home):
        fault = job.run()
    return job.family, fault, spent


def run_file(job: FileJob) -> Spent:
    """Make one small file and return the seconds of CPU time that it took."""
    spent = Spent()
    with spent.on(job.stage), at_home(job.home):
        job.run()
    return spent


def run_packed(job: ProveJob) -> Spent:
    """Pack a shard and return the seconds of CPU time that it took."""
    spent = Spent()
    with spent.on("pack"):
        run_pack(job.pack)
    return spent


def run_made(job: ProveJob) -> tuple[Spent, Path, Proof]:
    """Pack a shard and prove it in the same process, which has the vocabulary in memory.

    Returns:
        The seconds of CPU time that it took, the file of the proof, and the proof.
    """
    with held_there(job.pack.plan.samples_path(job.pack.shard.cut)):
        spent = run_packed(job)
        with spent.on("prove"):
            proof = run_prove(job)
    return spent, job.path, proof
