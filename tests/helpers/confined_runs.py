"""Confined runs of the command: each in its own process, with limits of memory and time.

The input reaches third-party libraries in C and Rust, which may abort, print, or use up all memory. Run as a script,
this file is the process from which the runs are forked, with all modules loaded and without threads, so that a run
takes some ten milliseconds.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

MOST_BYTES = 4 << 30
"""Bytes that the kernel allows a run; MOST_MB and MOST_SECONDS are what a test accepts."""
MOST_MB, MOST_SECONDS = 1000, 10
STUCK = 60
"""Seconds after which a run is killed."""
TRACEBACK = 99


@dataclass(frozen=True, slots=True)
class Ended:
    """The end of a run: exit code (negative for a signal), output, CPU seconds, and peak memory in MB."""

    exit_code: int
    stdout: str
    stderr: str
    seconds: float
    mb: float


class Forks:
    """The process from which runs are forked."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).resolve())], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def run(self, args: Sequence[object], cwd: Path) -> Ended:
        """Run the command in a folder."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps([list(map(str, args)), str(cwd)]).encode() + b"\n")
        self.process.stdin.flush()
        return Ended(*json.loads(self.process.stdout.readline()))


@cache
def forks() -> Forks:
    """Return the process of this test session; it ends when its input is closed."""
    return Forks()


def serve() -> None:
    """For each line of input (the arguments of a run and its folder), run the command and print how it ended."""
    import pipeline.cli
    from pipeline.cli.group import COMMANDS
    from pipeline.errors import CarraraError
    from pipeline.profiles import confined
    from pipeline.profiles.counters import TRANSFORMERS

    for name in COMMANDS:
        pipeline.cli.cli.get_command(None, name)  # type: ignore[arg-type]
    # The command sets it later, and servers keep to one environment.
    os.environ["TRANSFORMERS_NO_ADVISORY_WARNINGS"] = "1"
    with TemporaryDirectory() as place:
        for line in sys.stdin:
            args, cwd = json.loads(line)
            if args[0] == "plan":
                with suppress(CarraraError):  # the recipe may be invalid
                    _warm(args, cwd)
            if args[0] == "profile":
                import_module(TRANSFORMERS)
            with confined._served():  # it starts the server that tries tokenizers, unless it runs: all forks use it
                pass
            outputs = [Path(place) / name for name in ("stdout", "stderr")]
            ended = _forked(args, cwd, outputs)
            if ended[0] < 0:  # it may have left an answer of the server unread
                confined._servers.pop().close()
            sys.stdout.write(json.dumps(ended) + "\n")
            sys.stdout.flush()


def _warm(args: Sequence[str], cwd: str) -> None:
    """Make the pools of a plan once before forking; they do not depend on profiles."""
    from pipeline.assemble.jobs import pool_of
    from pipeline.assemble.plan import make_plan
    from pipeline.recipe import load_recipe

    os.chdir(cwd)
    plan = make_plan(load_recipe(args[1]), ("o200k",), Path(args[args.index("--out") + 1]))
    for spec in plan.all_pools():
        pool_of(plan, spec)


def _borrow_server() -> None:
    """Let this fork use the server of its parent as if it had started it."""
    from pipeline.profiles import confined

    (server,) = confined._servers
    server.owner = os.getpid()
    server.process.poll = lambda: None  # type: ignore[method-assign]


def _forked(args: Sequence[str], cwd: str, outputs: Sequence[Path]) -> list[Any]:
    pid = os.fork()
    if not pid:
        _run(args, cwd, outputs)
    _, status, used = os.wait4(pid, 0)
    texts = [path.read_bytes().decode(errors="replace") for path in outputs]
    return [os.waitstatus_to_exitcode(status), *texts, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024]


def _run(args: Sequence[str], cwd: str, outputs: Sequence[Path]) -> None:
    code = TRACEBACK
    try:
        for number, path in enumerate(outputs, 1):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.chdir(cwd)
        resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        signal.alarm(STUCK)
        _borrow_server()
        from pipeline.cli import cli

        cli.main(args, prog_name="carrara")
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    serve()
