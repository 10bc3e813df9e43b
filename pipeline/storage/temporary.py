"""Temporary files and folders, which killed processes may leave, and writing whole files."""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import ENOLCK, ENOSYS, EOPNOTSUPP
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.storage.path import StorePath

NO_LOCKS = (ENOLCK, ENOSYS, EOPNOTSUPP)
"""Error codes of locking on a file system without locks."""


def temporary_path(path: Path) -> Path:
    """Return a unique path beside a path, which no process on any host or in any container uses."""
    host = "".join(filter(str.isalnum, socket.gethostname()))[:16] or "host"
    return path.with_name(f"{path.name}.part-{host}-{secrets.token_hex(4)}-{os.getpid()}")


def open_for_lock(path: Path) -> int:
    """Open a file only to lock it, and return its descriptor.

    It is opened for writing if allowed, since NFS grants exclusive locks only for such files.
    """
    return os.open(path, (os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY) | os.O_NONBLOCK)


def clear_unlocked(aside: Path) -> None:
    """Remove a temporary file that a killed process left, unless a live process has locked it.

    On a file system without locks it stays in any case.
    """
    with suppress(OSError):
        held = open_for_lock(aside)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            aside.unlink()
        finally:
            os.close(held)


def temporary_folder() -> TemporaryDirectory[str]:
    """Make a temporary folder whose name includes this process's number (see `clear_temporary`)."""
    return TemporaryDirectory(prefix=f"carrara-{os.getpid()}-", ignore_cleanup_errors=True)


def clear_temporary(pids: Iterable[int]) -> None:
    """Remove the temporary folders of processes that were killed."""
    for pid in pids:
        for path in Path(tempfile.gettempdir()).glob(f"carrara-{pid}-*"):
            shutil.rmtree(path, ignore_errors=True)


@contextmanager
def write_file(path: Path) -> Iterator[Path]:
    """Yield a local file to write to; on success it replaces `path`, on failure it is removed.

    For a store, the file has no name, so that a killed process leaves nothing behind, and it is put as one object.

    Raises:
        OSError: if the disk is full, or the folder or the store cannot be written.
    """
    if isinstance(path, StorePath):
        with _nameless() as here:
            yield here
            whole = here.read_bytes()
        path.write_bytes(whole)
        return
    aside = temporary_path(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield aside
        aside.replace(path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


@contextmanager
def _nameless() -> Iterator[Path]:
    """Yield an empty local file without a name; on systems without ``/proc`` it has one."""
    with tempfile.TemporaryFile(prefix="carrara-") as file:
        nameless = Path(f"/proc/self/fd/{file.fileno()}")
        if nameless.exists():
            yield nameless
        else:
            with tempfile.NamedTemporaryFile(prefix="carrara-") as named:
                yield Path(named.name)
