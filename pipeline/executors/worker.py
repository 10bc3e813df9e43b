"""What runs on the workers of a cluster: checks of the environment, and jobs."""

from __future__ import annotations

import hashlib
import os
import pickle
import socket
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.errors import BuildError, CarraraError, ProfileError, first_line
from pipeline.executors.memory import keep_below
from pipeline.storage import parse_location

TRIES, WAIT = 10, 0.1
"""How often, and at what interval in seconds, a worker looks for the mark of a folder."""

PACKAGES = ("pyarrow", "tiktoken", "splintr-rs", "toktok-rs", "tokenizers")
"""Packages that affect the bytes of files, since they write them or proofs name their versions."""
FOR_SOME = "tokenizers"
"""The one of these that only a few profiles need, so that workers may lack it."""
PAUSED_AT = 0.95
"""The share of the memory limit for pausing, at which a worker starts to clear caches."""

_TURN = threading.Lock()
_FIT: set[bytes] = set()


class FolderMark(NamedTuple):
    """The mark of a folder: its path and digest, and whether workers must be able to write there."""

    path: str
    sha256: str
    writes: bool


class WorkerEnvironment(NamedTuple):
    """The environment of a process: host, Carrara's version and digest, versions of PACKAGES, and a fault.

    A version is empty if the package is not installed.
    """

    host: str
    version: str
    sha256: str
    packages: tuple[str, ...]
    fault: str = ""


class JobContext(NamedTuple):
    """What is sent with each job: the client's environment, and the marks of its folders."""

    here: WorkerEnvironment
    mark: FolderMark
    others: tuple[FolderMark, ...] = ()


def inspect_environment(*marks: FolderMark) -> WorkerEnvironment:
    """Return the environment of this process, with what is wrong with it or its folders as `fault`."""
    try:
        import pipeline

        release = getattr(pipeline, "__version__", "")
        # Files may change while a process runs: the digest is that at its first check.
        known: dict[str, str] = pipeline.__dict__.setdefault("_digest_at_start", {})
        digest = known.setdefault("sha256", package_digest(Path(str(pipeline.__file__)).parent))
    except Exception as fault:
        return WorkerEnvironment(socket.gethostname(), "", "", (), f"{type(fault).__name__}: {fault}")
    wrong = next(filter(None, map(mark_fault, marks)), "")
    return WorkerEnvironment(socket.gethostname(), str(release), digest, tuple(map(_version, PACKAGES)), wrong)


def missing_environment(fault: Exception, host: str, version: object, here: WorkerEnvironment) -> WorkerEnvironment:
    """Return what is known of a worker that could not run `inspect_environment`.

    Args:
        fault: what that raised.
        host: its host.
        version: its `pipeline.__version__`, or the exception that asking for it raised.
        here: this machine's environment.
    """
    strange = isinstance(fault, ImportError | AttributeError) and "pipeline" in str(fault)
    if isinstance(version, str) and (version != here.version or strange):
        return WorkerEnvironment(host, version, "", ())
    foreign = isinstance(version, AttributeError)  # another package called pipeline, without a version
    return WorkerEnvironment(host, "", "", (), "" if foreign else f"{type(fault).__name__}: {first_line(fault)}")


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def package_digest(package: Path) -> str:
    """Return the digest of all code and word pools of a package, which determine the rows."""
    total = hashlib.sha256()
    files = {*package.rglob("*.py"), *(package / "worlds").rglob("*")}
    for path in sorted(files, key=lambda path: path.relative_to(package).as_posix()):
        if path.is_file() and path.suffix != ".pyc":
            total.update(f"{path.relative_to(package).as_posix()}\0{path.stat().st_size}\0".encode())
            total.update(path.read_bytes())
    return total.hexdigest()


def mark_fault(mark: FolderMark) -> str:
    """Return why this process does not share the folder of a mark, with advice; "" if it does."""
    if "://" in mark.path:
        fault, right = store_fault(mark), "give all workers the packages, the network and the access that this one has"
    else:
        fault, right = folder_fault(mark), "give --out a folder that all of them share, or one in a store"
    return f"{fault}: {right}" if fault else ""


def folder_fault(mark: FolderMark) -> str:
    """Return why this process does not share a folder on a disk; "" if it does."""
    folder = os.path.dirname(mark.path)
    try:
        for left in reversed(range(TRIES)):
            if os.path.exists(mark.path) or not left:
                break
            time.sleep(WAIT)
        if file_digest(mark.path) != mark.sha256:
            return f"has another folder {folder!r} than this machine"
        if mark.writes:
            with tempfile.TemporaryFile(dir=folder):
                pass
    except FileNotFoundError:
        return f"does not see the folder {folder!r} of this machine"
    except OSError as fault:
        return f"cannot use the folder {folder!r} ({fault.strerror})"
    return ""


def store_fault(mark: FolderMark) -> str:
    """Return why this process cannot use the store of a mark; "" if it can.

    Writing is not tested, since a killed worker would leave the object; without permission, the first job fails.
    """
    folder = os.path.dirname(mark.path)
    try:
        path = parse_location(mark.path)
        if hashlib.sha256(path.read_bytes()).hexdigest() != mark.sha256:
            return f"sees another {folder!r} than this machine"
    except FileNotFoundError:
        return f"does not see {folder!r}, which this machine does"
    except (CarraraError, OSError) as fault:
        return f"cannot use the store ({fault})"
    return ""


def file_digest(path: str) -> str:
    """Return the digest of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def unfit(seen: WorkerEnvironment, here: WorkerEnvironment) -> str:
    """Return why a worker cannot make the same files as the client; "" if it can."""
    install = f"install Carrara {here.version} there, as here, and restart it"
    if not seen.version:
        return f"lacks Carrara ({seen.fault or 'another package is called pipeline'}): {install}"
    if seen.version != here.version:
        return f"has Carrara {seen.version}, and here is {here.version}: {install}"
    if seen.sha256 != here.sha256:
        return f"has Carrara {seen.version} with other files than here: {install}"
    for name, there, ours in zip(PACKAGES, seen.packages, here.packages, strict=True):
        if there != ours and not (name == FOR_SOME and "" in (there, ours)):
            right = f"install {ours} there" if ours else "remove it there, or install it here"
            return f"has {name} {there or '(none)'}, and here is {ours or 'none'}, so bytes may differ: {right}"
    return seen.fault


class Failed(NamedTuple):
    """An error of the job itself, returned as a result to distinguish it from errors of the cluster."""

    fault: Exception


def call(work: bytes, context: bytes) -> bytes:
    """Run a pickled job, one at a time in a process, if this worker is fit for it.

    Args:
        work: a tuple of the function and its arguments, pickled.
        context: the `JobContext`, pickled.

    Returns:
        The result, or a `Failed`, pickled, since the scheduler unpickles results and may lack Carrara.
    """
    with _TURN:
        try:
            _check_fit(context)
            return pickle.dumps(_done(*pickle.loads(work)))
        except Exception as fault:
            return pickle.dumps(Failed(_portable(fault)))


def _done(fn: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function; errors that may be this machine's fault get its name."""
    try:
        return fn(*arguments)
    except (BuildError, ProfileError) as fault:
        fault.args = (f"worker on {socket.gethostname()!r}: {fault}",)
        raise


def _check_fit(context: bytes) -> None:
    """Check this worker before its first job, since it may have joined late or restarted.

    Raises:
        BuildError: if it is not fit.
    """
    if context in _FIT:
        return
    here, mark, others = pickle.loads(context)
    keep_below(_pausing())
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    os.environ["RAYON_NUM_THREADS"] = "1"
    if fault := unfit(inspect_environment(mark, *others), here):
        raise BuildError(f"a worker on {socket.gethostname()!r} {fault}")
    _FIT.add(context)


def _pausing() -> int | None:
    """Return the bytes of memory that this process may use before Dask pauses it; None if there is no limit."""
    try:
        from distributed import get_worker

        manager = get_worker().memory_manager
        limit = (manager.memory_limit or 0) * (manager.memory_pause_fraction or 0)
    except (ImportError, ValueError, AttributeError):  # not a Dask worker, or one of another version
        return None
    return int(PAUSED_AT * limit) or None


def _portable(fault: Exception) -> Exception:
    """Return an error with its traceback as a note, in a form that can be pickled."""
    fault.add_note(f"On worker {socket.gethostname()}:\n{traceback.format_exc()}")
    try:
        pickle.loads(pickle.dumps(fault))
    except Exception:
        return RuntimeError(f"{type(fault).__name__}: {fault}")
    return fault.with_traceback(None)
