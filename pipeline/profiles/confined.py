"""Calls in a process of their own, with bounds: what reads a stranger's file may take all memory, never end, or abort.

Tokenizers are read by libraries in C and Rust, whose faults no ``except`` catches. A file is tried here before this
process opens it; what the libraries print goes nowhere.
"""

from __future__ import annotations

import os
import pickle
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from multiprocessing import parent_process
from typing import Any

from pipeline.errors import ProfileError, first_line
from pipeline.storage import clear_temporary

MOST_BYTES, MOST_SECONDS = 2 << 30, 60
"""Memory and processor time that a call may take."""
PATIENCE = 3
"""Times MOST_SECONDS that it may take by the clock: the machine may be busy."""
ONE_THREAD = ("RAYON_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""Threads have stacks, which count as memory; a machine may have hundreds."""
SCRIPT = "import sys; sys.path[:] = {path!r}; from pipeline.profiles.confined import answer; answer()"
TOO_MUCH = f"it takes more than {MOST_BYTES >> 20:,} MB or {MOST_SECONDS} s for a few lines of text"


def check_call(where: str, call: Callable[..., object], *args: Any) -> None:
    """Make a call in a process of its own, for what goes wrong alone.

    In a worker process nothing is called: the process that started it has done so.

    Args:
        where: what is tried, for the error that says that it takes too much or crashes.
        call: a function of a module.
        args: what it is given.

    Raises:
        ProfileError: if the call fails, takes too much, or ends its process.
    """
    if parent_process() is not None:
        return
    with subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(path=[path or os.getcwd() for path in sys.path])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **dict.fromkeys(ONE_THREAD, "1"), "TOKENIZERS_PARALLELISM": "false"},
    ) as done:
        told, _ = done.communicate(pickle.dumps((call, args)))
    clear_temporary([done.pid])
    if done.returncode:
        ended = done.returncode in (-signal.SIGABRT, -signal.SIGKILL, -signal.SIGXCPU, -signal.SIGALRM)
        raise ProfileError(f"{where}: {TOO_MUCH if ended else f'its process ended with {done.returncode}'}")
    if said := told.decode(errors="replace"):
        raise ProfileError(said if said.startswith(where.partition(":")[0]) else f"{where}: {said}")


def answer() -> None:
    """Make the call on standard input, and print what goes wrong."""
    told = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for number in (1, 2):
        os.dup2(nowhere, number)
    call, args = pickle.load(sys.stdin.buffer)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_BYTES, MOST_BYTES))
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.alarm(PATIENCE * MOST_SECONDS)
    said = ""
    try:
        call(*args)
    except MemoryError:
        said = TOO_MUCH
    except BaseException as fault:  # a panic in Rust is no Exception
        said = str(fault) if isinstance(fault, ProfileError) else first_line(fault)
    with open(told, "wb") as out:
        out.write(said.encode(errors="replace"))
    os._exit(0)
