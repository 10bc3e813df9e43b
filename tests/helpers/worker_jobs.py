"""Jobs for executors. Workers import them by name, and next to nothing else, so that they start soon."""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from pipeline.storage import temporary_folder


def double(number: int) -> int:
    return 2 * number


def noted(job: tuple[str, int]) -> int:
    """Make a file that shows that the job was started."""
    folder, number = job
    (Path(folder) / f"{number}-{os.getpid()}-{time.monotonic_ns()}").touch()
    return number


@dataclass(frozen=True)
class WithAffinity:
    """A job with an affinity, which takes some time."""

    affinity: str


def worker_of(job: WithAffinity) -> tuple[str, int]:
    """Return the affinity of a job, and the process that it ran in."""
    time.sleep(0.1)
    return job.affinity, os.getpid()


def deadly_once(job: tuple[str, int]) -> int:
    """Kill the first worker that runs job 3."""
    folder, number = job
    if number == 3:
        try:
            (Path(folder) / "died").touch(exist_ok=False)
        except FileExistsError:
            return number
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def deadly(job: tuple[str, int]) -> int:
    """Kill every worker that runs job 3."""
    noted(job)
    if job[1] == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return job[1]


def deadly_in_a_folder(job: tuple[str, int]) -> int:
    """Kill the worker of job 3 while every worker has a temporary folder open."""
    with temporary_folder():
        time.sleep(0.2)
        return deadly(job)


class OddError(Exception):
    """An error that cannot be pickled."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.handle = lambda: number


def odd_fault(number: int) -> None:
    """Raise an error that cannot be pickled."""
    raise OddError(number)


def faulty(job: tuple[str, int]) -> int:
    """Fail at job 3, and work slowly otherwise."""
    noted(job)
    if job[1] == 3:
        raise ValueError("job 3 is wrong")
    time.sleep(0.05)
    return job[1]
