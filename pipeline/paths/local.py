"""Paths on a disk of this machine: names that no other process uses, and files that are none."""

from __future__ import annotations

import fcntl
import os
import secrets
import socket
from contextlib import suppress
from errno import EINVAL, ENOLCK, ENOSYS, EOPNOTSUPP
from pathlib import Path

from pipeline.paths.store import StorePath

NO_LOCKS = (ENOLCK, ENOSYS, EOPNOTSUPP)
"""What locking says where the file system has no locks."""


def aside_of(path: Path) -> Path:
    """Return a name beside a path that no other process uses, on whatever host or in whatever container."""
    host = "".join(filter(str.isalnum, socket.gethostname()))[:16] or "host"
    return path.with_name(f"{path.name}.part-{host}-{secrets.token_hex(4)}-{os.getpid()}")


def opened_to_lock(path: Path) -> int:
    """Open a file that is only to be locked, and return its descriptor.

    It is opened for writing wherever that is allowed: NFS locks no other file for one process alone.
    """
    return os.open(path, (os.O_RDWR if os.access(path, os.W_OK) else os.O_RDONLY) | os.O_NONBLOCK)


def clear_unheld(aside: Path) -> None:
    """Remove a file that a killed process left aside; one that a living process holds locked stays.

    Where files cannot be locked, nobody can tell, and all stay.
    """
    with suppress(OSError):
        held = opened_to_lock(aside)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            aside.unlink()
        finally:
            os.close(held)


def checked_file(path: Path) -> Path:
    """Return a path that is no device and no pipe: opening or reading one may never end. Stores have none.

    Raises:
        OSError: if it is one.
    """
    if not isinstance(path, StorePath) and path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(EINVAL, "it is a device or a pipe, not a file", str(path))
    return path


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        OSError: if it is a device or a pipe, or cannot be read.
        UnicodeDecodeError: if it is not text.
    """
    return checked_file(path).read_text(encoding="utf-8")
