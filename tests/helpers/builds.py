"""Small builds to compare and to break. Run as a script, this is the command `carrara` with small shards, slow rows."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from pipeline.artifacts import parquet
from pipeline.artifacts.manifest import Manifest
from pipeline.artifacts.split import Split
from pipeline.assemble import jobs, plan
from pipeline.assemble.plan import Plan, make_plan
from pipeline.errors import RecipeError, unknown
from pipeline.executors import Inline
from pipeline.recipe import Recipe, load_recipe
from pipeline.stages import Stages
from pipeline.storage import requests
from pipeline.tasks import TASKS, families
from pipeline.tasks.base import Task

Place = tuple[str, str]
SWEPT = ("cl100k", "deepseek-v3", "gemma3", "glm4", "llama3.1", "mistral-tekken", "o200k", "qwen2.5")
"""Profiles that tests of tasks cover; the others share their vocabularies, or have their own tests."""
SMOKE = load_recipe("smoke").strata
SMOKE_ROWS = sum(cell.total for cell in SMOKE)
SMOKE_TOKENS = sum(cell.total * cell.length for cell in SMOKE)
SHARD_TOKENS = 8192
SHARDS = 5
"""The number of shards of SHARD_TOKENS that RECIPE has."""

PAUSE, SILENCE = "CARRARA_TEST_PAUSE", "CARRARA_TEST_SILENCE"
"""Environment variables for when this file is run as a script: the seconds that each row takes, and the factor for
those that a store may be silent."""

RECIPE = """
[[strata]]
family = "{family}"
subtasks = ["standard"]
complexity = [1]
lengths = [2048, 4096]
rows = {rows}
"""


def retold(split: Split, change: Callable[[dict[str, Any]], object]) -> Split:
    """Return a split with a changed manifest."""
    manifest = msgspec.to_builtins(split.manifest)
    change(manifest)
    return replace(split, manifest=msgspec.convert(manifest, Manifest))


def recipe_file(path: Path, *, rows: int = 6, families: Iterable[str] = ("bio",), **changed: str | int) -> Path:
    """Write a recipe; `changed` are top-level keys to set."""
    top = {"release": "tiny", "version": "1.0.0", "seed": 7, "tier": "32k", **changed}
    lines = [f"{name} = {json.dumps(value)}" for name, value in top.items()]
    tables = [RECIPE.format(family=family, rows=rows) for family in families]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([*lines, *tables]), encoding="ascii")
    return path


def planned(recipe: Path, out: Path, profiles: tuple[str, ...] = ("o200k",)) -> Plan:
    return make_plan(load_recipe(str(recipe)), profiles, out)


def stages(
    recipe: Path,
    out: Path,
    profiles: tuple[str, ...] = ("o200k",),
    *,
    part: tuple[int, int] = (1, 1),
    engine: Callable[[], Executor] = Inline,
) -> Stages:
    """Return the stages of a build in this process."""
    forget()
    return Stages(planned(recipe, out, profiles), engine, part, quiet=True)


def chosen(wanted: str) -> list[Place]:
    """Return the tasks for an option: a family, family.subtask, or "" for all.

    Raises:
        RecipeError: if there is no such task, with the nearest known name.
    """
    named = {f"{family}.{subtask}": [(family, subtask)] for family, subtask in TASKS}
    named |= {family: [place for place in TASKS if place[0] == family] for family in families()}
    if wanted and wanted not in named:
        raise RecipeError(unknown("task", wanted, named))
    return named[wanted] if wanted else list(TASKS)


def profile_of(task: Task) -> str:
    """Return a profile that can send the prompts of a task."""
    return "qwen3" if task.has_calls else "o200k"


def with_every_task(recipe: Recipe) -> Recipe:
    """Return a recipe with every task in every complexity; those that it lacks get strata of golden files.

    Tasks with tool calls are left out, since few profiles can send them; they have their own tests.
    """
    asked = {(cell.family, cell.subtask, cell.complexity) for cell in recipe.strata}
    every = [cell for task in TASKS.values() if not task.has_calls for cell in task.golden()]
    more = [cell for cell in every if (cell.family, cell.subtask, cell.complexity) not in asked]
    return replace(recipe, strata=(*recipe.strata, *(replace(cell, tier=recipe.tier) for cell in more)))


def altered(kind: type[Task], **attributes: object) -> Task:
    """Return a task of a class with some attributes changed."""
    return type("Altered", (kind,), {"__slots__": (), **attributes})()


def forget() -> None:
    """Clear what this process has cached of earlier builds."""
    jobs.POOLS.clear()
    jobs.read_counts.cache_clear()
    parquet._matches_checksum.cache_clear()


def files(out: Path) -> list[Path]:
    return [path for path in sorted(out.rglob("*")) if path.is_file()]


def contents(out: Path) -> dict[str, str]:
    """Return the digest of every file below a folder."""
    return {str(path.relative_to(out)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files(out)}


def stamps(out: Path) -> dict[str, tuple[int, int]]:
    """Return for every file what changes whenever it is written: its time of change and inode."""
    return {str(path.relative_to(out)): (path.stat().st_mtime_ns, path.stat().st_ino) for path in files(out)}


def below(files: Mapping[str, Any], *folders: str) -> dict[str, Any]:
    """Keep the files below some folders, such as ``samples`` or ``o200k/data``."""
    return {name: value for name, value in files.items() if name.startswith(tuple(f"{folder}/" for folder in folders))}


def halves(out: Path) -> list[Path]:
    """Return the temporary files that killed processes left."""
    return [path for path in files(out) if ".part-" in path.name]


def command(
    *args: object, small: bool = True, pause: float = 0, env: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """Return the arguments of `subprocess` to run the command in its own process group."""
    head = [str(Path(__file__).resolve())] if small else ["-m", "pipeline"]
    return {
        "args": [sys.executable, *head, *map(str, args)],
        "env": {**os.environ, PAUSE: str(pause), **(env or {})},
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "text": True,
        "start_new_session": True,
    }


def run(*args: object, **how: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(**command(*args, **how), timeout=60, check=False)


class Running:
    """A running command; the end of the block kills its processes."""

    def __init__(self, *args: object, **how: Any) -> None:
        self.process = subprocess.Popen(**command(*args, **how))

    def __enter__(self) -> Running:
        return self

    def __exit__(self, *fault: object) -> None:
        for pid in self.group():
            signalled(pid, signal.SIGKILL)
        self.process.communicate(timeout=30)

    def when(self, happened: Callable[[], object], seconds: float = 120) -> Any:
        """Wait until a function returns something true while the command runs, and return it."""
        end = time.monotonic() + seconds
        while not (result := happened()):
            assert self.process.poll() is None, f"ended with {self.process.returncode}: {self.process.stderr.read()}"
            assert time.monotonic() < end, "it never happened"
            time.sleep(0.002)
        return result

    def ended(self, seconds: float = 120) -> tuple[int, str]:
        """Wait for the end of the command; return its exit code and stderr."""
        _, stderr = self.process.communicate(timeout=seconds)
        return self.process.returncode, stderr

    def gone(self, seconds: float = 10) -> bool:
        """Return whether every process of the run ends within some seconds."""
        end = time.monotonic() + seconds
        while self.group() and time.monotonic() < end:
            time.sleep(0.02)
        return not self.group()

    def group(self) -> list[int]:
        """Return the live processes of the run."""
        return group_of(self.process.pid)

    def workers(self) -> list[int]:
        """Return the worker processes of the run."""
        return spawned(self.process.pid)


def group_of(leader: int) -> list[int]:
    """Return the live processes of a group."""
    return [pid for pid, state, group in _processes() if group == leader and state not in "ZX"]


def spawned(leader: int) -> list[int]:
    """Return the processes of a group that multiprocessing spawned."""
    return [pid for pid in group_of(leader) if b"spawn_main" in _command_line(pid)]


def wait_for(happened: Callable[[], object], seconds: float = 30) -> Any:
    """Wait until a function returns something true, and return it."""
    end = time.monotonic() + seconds
    while not (result := happened()):
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.002)
    return result


def _processes() -> Iterable[tuple[int, str, int]]:
    for path in sorted(Path("/proc").glob("[0-9]*/stat")):
        try:
            fields = path.read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        except OSError:
            continue
        yield int(path.parent.name), fields[0], int(fields[2])


def _command_line(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def signalled(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def lines(text: str) -> list[str]:
    """Return the lines that are not blank."""
    return [line for line in text.splitlines() if line.strip()]


def flip(path: Path, at: int, mask: int = 0xFF) -> None:
    """Change one byte of a file, but not its size."""
    raw = bytearray(path.read_bytes())
    raw[at] ^= mask
    path.write_bytes(raw)


def footer(raw: bytes) -> range:
    """Return the range of a Parquet file's footer, including its length and the closing mark."""
    return range(len(raw) - 8 - int.from_bytes(raw[-8:-4], "little"), len(raw))


def slowed(cut: Callable[..., Any]) -> Callable[..., Any]:
    def slow(*args: Any) -> Any:
        time.sleep(float(os.environ.get(PAUSE, 0)))
        return cut(*args)

    return slow


def make_small() -> None:
    """Give this process small shards, slow rows, and little patience with a store."""
    plan.SHARD_TOKENS = SHARD_TOKENS
    jobs.cut_row = slowed(jobs.cut_row)
    if SILENCE in os.environ:
        factor, config = float(os.environ[SILENCE]), requests.OPTIONS["s3"]["config_kwargs"]
        for name in ("connect_timeout", "read_timeout"):
            config[name] *= factor
        for name in ("CONNECT", "REPLY", "LONGEST"):
            setattr(requests, name, factor * getattr(requests, name))


if __name__ in ("__main__", "__mp_main__"):
    make_small()

if __name__ == "__main__":
    from pipeline.cli import cli

    cli()
