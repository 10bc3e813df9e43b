"""Marks of folders: a file by which workers check that they share a folder, kept while an executor is open."""

from __future__ import annotations

import fcntl
import hashlib
import os
import secrets
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from pipeline.errors import BuildError
from pipeline.executors.worker import FolderMark, file_digest
from pipeline.storage import Lease, StoreError, StorePath, clear_dead, clear_unlocked, temporary_path

MARK_PREFIX = ".shared"
"""Prefix of marks' names; their suffix is that of temporary files, so that the end of a build removes leftovers."""


class MarkedFolder:
    """A marked folder: the mark is a new locked file, or, in a read-only folder, an existing file.

    The kernel releases the lock when the process dies, and the next process removes unlocked marks.
    """

    def __init__(self, folder: Path) -> None:
        self._held = -1
        self._own: Path | None = None
        self._lease: Lease | None = None
        self.mark = (
            self._leased(folder) if isinstance(folder, StorePath) else self._locked(folder) or _required_mark(folder)
        )

    def _leased(self, folder: StorePath) -> FolderMark:
        """Mark a folder in a store by a lease, or by an existing file; remove marks of this machine's dead clients.

        Raises:
            StoreError: if the store does not answer, or refuses the lease and the folder has no file.
        """
        clear_dead(folder / MARK_PREFIX)
        lease = Lease(folder / MARK_PREFIX)
        try:
            self._lease = lease.__enter__()
            return FolderMark(str(lease.path), hashlib.sha256(lease.content).hexdigest(), writes=False)
        except StoreError:  # a read-only split can still be verified
            if mark := existing_mark(folder):
                return mark
            raise

    def _locked(self, folder: Path) -> FolderMark | None:
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            for stale in sorted(folder.glob(f"{MARK_PREFIX}.part-*")):
                clear_unlocked(stale)
            self._own = temporary_path(folder / MARK_PREFIX)
            while not self._own.exists():  # another client may remove it before it is locked
                self._make(self._own)
            return FolderMark(str(self._own), file_digest(str(self._own)), writes=True)
        return None

    def _make(self, path: Path) -> None:
        self._close()
        self._held = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(self._held, fcntl.LOCK_SH)
        os.write(self._held, secrets.token_bytes(32))
        os.fsync(self._held)

    def remove(self) -> None:
        """Remove the mark, unless it is an existing file."""
        if self._own is not None:
            with suppress(OSError):
                self._own.unlink()
        if self._lease is not None:
            self._lease.end()
        self._own = self._lease = None
        self._close()

    def _close(self) -> None:
        if self._held >= 0:
            os.close(self._held)
        self._held = -1


def existing_mark(folder: Path) -> FolderMark | None:
    """Return a mark for a folder that is only read: an existing permanent file, or None if there is none."""
    if isinstance(folder, StorePath):
        place = next((root / name for root, _, names in folder.walk() if (name := _first(names))), None)
        return FolderMark(str(place), hashlib.sha256(place.read_bytes()).hexdigest(), writes=False) if place else None
    for root, folders, names in os.walk(folder):
        folders.sort()
        if name := _first(names):
            path = os.path.join(root, name)
            return FolderMark(path, file_digest(path), writes=False)
    return None


def _first(names: Iterable[str]) -> str:
    """Return the first name that is not of a mark, a lease or a temporary file, or ""."""
    return min((name for name in names if not name.startswith(".") and ".part-" not in name), default="")


def _required_mark(folder: Path) -> FolderMark:
    if mark := existing_mark(folder):
        return mark
    raise BuildError(f"nothing can be written in {str(folder)!r}: give a writable folder with --out")
