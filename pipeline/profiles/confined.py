"""Calls in a process of their own, with bounds: what reads a stranger's file may take all memory, never end, or abort.

Tokenizers are read by libraries in C and Rust, whose faults no ``except`` catches. A file is tried here before this
process opens it; what the libraries print goes nowhere. The first call starts a process that has the libraries loaded
and forks for each call, so that the next ones take some milliseconds; it ends with the process that started it.
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
"""Memory and processor time that a call may take."""
PATIENCE = 3
"""Times MOST_SECONDS that it may take by the clock: the machine may be busy."""
ONE_THREAD = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Threads have stacks, which count as memory; a machine may have hundreds."""
READ_ONCE = ("CARRARA_", "HF_", "HOME", "HUGGINGFACE_", "TMPDIR", "TRANSFORMERS_", "XDG_")
"""How the names of variables begin that libraries read when they are imported."""
SCRIPT = "import sys; sys.path[:] = {path!r}; from pipeline.profiles.confined import serve; serve()"
TOO_MUCH = f"it takes more than {MOST_BYTES >> 20:,} MB or {MOST_SECONDS} s for a few lines of text"


class Call(NamedTuple):
    """A call: a function of a module with what it is given, modules that it uses, and where it is made."""

    function: Callable[..., object]
    args: tuple[Any, ...]
    uses: tuple[str, ...]
    folder: str
    environment: Mapping[str, str]


class Outcome(NamedTuple):
    """The number of the process that made a call, how it ended (negative for a signal), and what went wrong."""

    pid: int
    code: int
    said: str


def check_call(where: str, call: Callable[..., object], *args: Any, uses: tuple[str, ...] = ()) -> None:
    """Make a call in a process of its own, for what goes wrong alone.

    In a worker process nothing is called: the process that started it has done so.

    Args:
        where: what is tried, for the error that says that it takes too much or crashes.
        call: a function of a module.
        args: what it is given.
        uses: modules that it imports, if they are installed, which take long to import.

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
    if done.said:
        raise ProfileError(done.said if done.said.startswith(where.partition(":")[0]) else f"{where}: {done.said}")


class _Server:
    """The process that forks for calls."""

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
        """Tell whether it runs still, and libraries would read the same environment if they were imported now."""
        return self.process.poll() is None and self.environment == _environment()


_lock = Lock()
_servers: list[_Server] = []
"""The one that runs, if any."""


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(READ_ONCE)}


@contextmanager
def _served() -> Iterator[_Server]:
    """Give the process that forks to one thread at a time; one that fails or is interrupted is not used again."""
    with _lock:
        server = _servers.pop() if _servers else _Server()
        if server.owner != os.getpid():  # that of the process which this one was forked from
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
    """Make each call on standard input in a fork of this process, and print how it ended, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    told = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    while True:
        try:
            call = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        for name in call.uses:
            with suppress(Exception):  # the call says what is missing
                import_module(name)
        pickle.dump(_forked(call), told)
        told.flush()


def _forked(call: Call) -> Outcome:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(read)
        _make(call, os.fdopen(write, "wb"))
    os.close(write)
    with os.fdopen(read, "rb") as said:
        text = said.read().decode(errors="replace")
    _, status = os.waitpid(pid, 0)
    return Outcome(pid, os.waitstatus_to_exitcode(status), text)


def _make(call: Call, out: BinaryIO) -> None:
    """Make a call within its bounds, write what goes wrong, and end the process."""
    os.chdir(call.folder)
    os.environ.clear()
    os.environ.update({**call.environment, **dict.fromkeys(ONE_THREAD, "1"), "TOKENIZERS_PARALLELISM": "false"})
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(PATIENCE * MOST_SECONDS)
    said = ""
    try:
        call.function(*call.args)
    except MemoryError:
        said = TOO_MUCH
    except BaseException as fault:  # a panic in Rust is no Exception
        said = str(fault) if isinstance(fault, ProfileError) else first_line(fault)
    with out:
        out.write(said.encode(errors="replace"))
    os._exit(0)
