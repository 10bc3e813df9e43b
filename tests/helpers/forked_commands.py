"""The command of `builds` in processes that are forked from one with all modules: they start at once."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from functools import lru_cache
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pytest

import builds

FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["preloaded"])


@lru_cache
def start_server() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=os.pathsep)
        forkserver.ensure_running()


class Forked:
    """What of `subprocess.Popen` the tests need."""

    def __init__(self, args: list[str], env: Mapping[str, str]) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self._outputs = [Path(self.folder.name, name) for name in ("stdout", "stderr")]
        start_server()
        self._process = FORKS.Process(target=_command, args=(args, env, Path.cwd(), self._outputs))
        self._process.start()
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.exitcode

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float) -> int:
        self._process.join(timeout)
        if self._process.exitcode is None:
            raise subprocess.TimeoutExpired("carrara", timeout)
        return self._process.exitcode

    def communicate(self, timeout: float) -> list[str]:
        """Return the outputs once the process has ended."""
        self.wait(timeout)
        return [path.read_text() if path.exists() else "" for path in self._outputs]


class ForkedRun(builds.Running):
    """A running command with small shards and slow rows; the end of the block kills its processes."""

    def __init__(self, *args: object, pause: float = 0, env: Mapping[str, str] | None = None) -> None:
        how = {**os.environ, builds.PAUSE: str(pause), **(env or {})}
        self.process = Forked(list(map(str, args)), how)  # type: ignore[assignment]
        builds.wait_for(self.group)

    def __exit__(self, *fault: object) -> None:
        super().__exit__(*fault)
        self.process.folder.cleanup()  # type: ignore[attr-defined]


def run(*args: object, **how: Any) -> subprocess.CompletedProcess[str]:
    with ForkedRun(*args, **how) as running:
        outputs = running.process.communicate(timeout=60)
        return subprocess.CompletedProcess(args, running.process.returncode, *outputs)


def _command(args: list[str], env: Mapping[str, str], cwd: Path, outputs: list[Path]) -> None:
    from pipeline.cli import cli

    os.chdir(cwd)
    for number, path in enumerate(outputs, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.environ.clear()
    os.environ.update(env)
    sys.modules["__main__"].__file__ = builds.__file__  # workers run it first
    builds.make_small()
    os.setsid()
    cli(args)
