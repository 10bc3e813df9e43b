"""Local Dask clusters. Workers preload this file, which gives them small shards and slow rows."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from sysconfig import get_path
from typing import Any

import builds

QUIET = ("--no-dashboard",)
BARE, BARE_PATH = (sys.executable, "-S"), {"PYTHONPATH": get_path("purelib")}
"""A Python that reads no .pth files, so that it finds no checkout, and the environment that it needs."""


class Cluster:
    """A scheduler and its workers in a folder; the end of the block kills all processes.

    A `bare` scheduler has the installed packages, but not Carrara, which is in a checkout.
    """

    def __init__(self, folder: Path, *, bare: bool = False) -> None:
        self.folder, self.bare = folder, bare
        self.file = folder / "scheduler.json"
        self.started: list[subprocess.Popen[bytes]] = []
        self.logs: dict[int, Path] = {}
        folder.mkdir(parents=True, exist_ok=True)
        self.start_scheduler()

    def start_scheduler(self, port: int = 0) -> None:
        """Start the scheduler, also to replace a dead one."""
        self.file.unlink(missing_ok=True)
        self.scheduler = self._start(
            "scheduler", "--host", "127.0.0.1", "--port", port, "--scheduler-file", self.file, "--idle-timeout", 300,
            python=BARE if self.bare else (sys.executable,), env=BARE_PATH if self.bare else None,
        )  # fmt: skip
        builds.wait_for(lambda: self.file.is_file() and self.file.read_text().strip().endswith("}"))
        self.address = str(json.loads(self.file.read_text())["address"])

    def worker(
        self, *options: object, nanny: bool = False, path: Sequence[Path] = (), pause: float = 0
    ) -> subprocess.Popen[bytes]:
        """Start a worker, perhaps with a nanny; it looks for packages in the folders of `path` first."""
        own = self.folder / f"worker-{len(self.started)}"
        own.mkdir()
        here = Path(__file__).resolve()
        env = {
            "PYTHONPATH": os.pathsep.join(map(str, [*path, here.parent, os.environ.get("PYTHONPATH", "")])),
            builds.PAUSE: str(pause),
        }
        return self._start(
            "worker", self.address, "--nthreads", 1, "--nanny" if nanny else "--no-nanny", "--local-directory", own,
            "--death-timeout", 60, *([] if path else ["--preload", here]), *options, cwd=own, env=env,
        )  # fmt: skip

    def _start(
        self,
        kind: str,
        *options: object,
        python: Sequence[str] = (sys.executable,),
        cwd: Path | None = None,
        env: dict[str, str] | None = None,
    ) -> subprocess.Popen[bytes]:
        path = self.folder / f"{kind}-{len(self.started)}.log"
        with path.open("wb") as log:
            process = subprocess.Popen(
                [*python, "-m", f"distributed.cli.dask_{kind}", *map(str, options), *QUIET],
                cwd=cwd or self.folder,
                env={**os.environ, **(env or {}), "DASK_DISTRIBUTED__WORKER__MULTIPROCESSING_METHOD": "spawn"},
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.started.append(process)
        self.logs[process.pid] = path
        return process

    def joined(self, worker: subprocess.Popen[bytes]) -> str:
        """Wait until a worker has joined the scheduler, and return its address."""
        builds.wait_for(lambda: "Registered to:" in self.logs[worker.pid].read_text())
        return re.findall(r"Start worker at: +(tcp://[\d.:]+)", self.logs[worker.pid].read_text())[-1]

    def stop(self, process: subprocess.Popen[bytes], number: int = signal.SIGKILL) -> None:
        """Kill a process and all processes of its group."""
        for pid in builds.group_of(process.pid):
            builds.signalled(pid, number)
        process.wait(timeout=30)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *fault: object) -> None:
        for process in reversed(self.started):
            self.stop(process)


def dask_setup(worker: Any) -> None:
    """Give a worker small shards and slow rows; Dask calls this when it preloads the file."""
    builds.make_small()


def writers(out: Path) -> set[int]:
    """Return the processes that are writing a shard below a folder, or died while doing so."""
    return {int(half.name.rpartition("-")[2]) for half in out.glob("o200k/data/*/*/*.part-*")}
