"""Calls in a separate, limited process: a library that reads a stranger's file may exhaust memory, hang or abort.

Tokenizers are read by libraries in C and Rust, whose faults no ``except`` catches. So a file is tried here before this
process opens it, and what the libraries print is discarded. The first call starts a server that loads the libraries
and forks for each call, so that later calls take milliseconds. The server ends with the process that started it.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import parent_process
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

from pipeline.errors import ProfileError, first_line
from pipeline.storage import clear_temporary

MOST_BYTES, MOST_SECONDS = 2 << 30, 60
"""Memory in bytes and processor time in seconds that a call may take."""
PATIENCE = 3
"""Multiple of MOST_SECONDS that a call may take by the clock, since the machine may be busy."""
ONE_THREAD = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Variables that limit threads: their stacks count as memory, and a machine may start hundreds."""
READ_ONCE = ("CARRARA_", "HF_", "HOME", "HUGGINGFACE_", "TMPDIR", "TRANSFORMERS_", "XDG_")
"""Prefixes of the environment variables that libraries read when they are imported."""
SCRIPT = "import sys; sys.path[:] = {path!r}; from pipeline.profiles.confined import serve; serve()"
TOO_MUCH = f"it takes more than {MOST_BYTES >> 20:,} MB or {MOST_SECONDS} s for a few lines of text"


class Call(NamedTuple):
    """A call: a module-level function, its arguments, modules that it uses, and its folder and environment."""

    function: Callable[..., object]
    args: tuple[Any, ...]
    uses: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]


class Outcome(NamedTuple):
    """The id of the process that made a call, its exit code (negative for a signal), and what went wrong."""

    pid: int
    code: int
    problem: str


def check_call(where: str, call: Callable[..., object], *args: Any, uses: tuple[str, ...] = ()) -> None:
    """Make a call in a separate process, only to see whether it fails.

    A worker process makes no call: the process that started it has done so.

    Args:
        where: what is tried, named in errors.
        call: a module-level function.
        args: its arguments.
        uses: modules that it imports if they are installed, and that are slow to import.

    Raises:
        ProfileError: if the call fails, takes too much, or ends its process.
    """
    if parent_process() is not None:
        return
    with _served() as server:
        done = server.outcome(Call(call, args, uses, os.getcwd(), dict(os.environ)))
    clear_temporary([done.pid])
    if done.code:
        ended = done.code in (-signal.SIGABRT, -signal.SIGKILL, -signal.SIGXCPU, -signal.SIGALRM)
        raise ProfileError(f"{where}: {TOO_MUCH if ended else f'its process ended with {done.code}'}")
    if done.problem:
        named = done.problem.startswith(where.partition(":")[0])
        raise ProfileError(done.problem if named else f"{where}: {done.problem}")


class _Server:
    """The server process, which forks for each call."""

    def __init__(self) -> None:
        self.owner, self.environment = os.getpid(), _environment()
        self.process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT.format(path=[path or os.getcwd() for path in sys.path])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "TOKENIZERS_PARALLELISM": "false"},
        )

    def outcome(self, call: Call) -> Outcome:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        try:
            pickle.dump(call, self.process.stdin)
            self.process.stdin.flush()
            done = pickle.load(self.process.stdout)
        except (OSError, EOFError):
            return Outcome(self.process.pid, self.process.wait() or 1, "")
        assert isinstance(done, Outcome)
        return done

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        self.process.wait()
        for end in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                if end is not None:
                    end.close()

    def serves(self) -> bool:
        """Tell whether it still runs, and has the environment that libraries would read if they were imported now."""
        return self.process.poll() is None and self.environment == _environment()


_lock = Lock()
_servers: list[_Server] = []
"""The running server, if any."""


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(READ_ONCE)}


@contextmanager
def _served() -> Iterator[_Server]:
    """Lend the server to one thread at a time; a server that fails or is interrupted is not used again."""
    with _lock:
        server = _servers.pop() if _servers else _Server()
        if server.owner != os.getpid():  # it belongs to the process that this one was forked from
            server = _Server()
        if not server.serves():
            server.close()
            server = _Server()
        try:
            yield server
        except BaseException:
            server.close()
            raise
        _servers.append(server)


def serve() -> None:
    """Read calls from standard input until it ends, make each in a fork, and write its outcome to standard output."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    out = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    while True:
        try:
            call = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for name in call.uses:
            with suppress(Exception):  # the call itself reports what is missing
                import_module(name)
        pickle.dump(_forked(call), out)
        out.flush()


def _forked(call: Call) -> Outcome:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _make(call, os.fdopen(write, "wb"))
    os.close(write)
    with os.fdopen(read, "rb") as file:
        text = file.read().decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    return Outcome(pid, os.waitstatus_to_exitcode(status), text)


def _make(call: Call, out: BinaryIO) -> None:
    """Make a call within its limits, write what went wrong, and end the process."""
    os.chdir(call.folder)
    os.environ.clear()
    os.environ.update({**call.environment, **dict.fromkeys(ONE_THREAD, "1"), "TOKENIZERS_PARALLELISM": "false"})
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(PATIENCE * MOST_SECONDS)
    problem = ""
    try:
        call.function(*call.args)
    except MemoryError:
        problem = TOO_MUCH
    except BaseException as fault:  # a panic in Rust is not an Exception
        problem = str(fault) if isinstance(fault, ProfileError) else first_line(fault)
    with out:
        out.write(problem.encode(errors="replace"))
    os._exit(0)
