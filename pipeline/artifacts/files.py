"""Atomic writes: on a disk, files are written under a temporary name and renamed; in a store, they are put whole."""

from __future__ import annotations

import errno
import fcntl
import glob
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pipeline.errors import BuildError, CarraraError
from pipeline.storage import StoreError, StorePath, checked_file, clear_unlocked, prefetched, temporary_path, write_file
from pipeline.typed import read_json

NONE_THERE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.EINVAL, errno.ELOOP)
"""Error codes of opening where there is no regular file; EINVAL is our own, for a device or a pipe."""
TURN = ".turn"
"""The name of a file that one process at a time locks, since folders cannot be locked on NFS."""
T = TypeVar("T")
MOST_BYTES = 64 << 20
"""The largest JSON file that is read: the largest that Carrara writes have a few MB."""


@contextmanager
def atomic_write(path: Path, *, secret: bool = False) -> Iterator[Path]:
    """Yield a temporary path to write to; on success it replaces `path`, on failure it is removed.

    A `secret` file can be read by its owner only. In a store, the store's own permissions apply.

    Raises:
        BuildError: if the folder cannot be written, the disk is full, or `path` is a device.
    """
    if isinstance(path, StorePath):
        try:
            with write_file(path) as here:
                yield here
        except OSError as fault:
            place = path if isinstance(fault, StoreError) else Path(tempfile.gettempdir()) / path.name
            raise BuildError(write_fault(place, fault)) from fault
        return
    aside, held = temporary_path(path), -1
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        check_regular(path)
        held = _make_locked(aside, 0o600 if secret else 0o666)
        yield aside
        os.replace(aside, path)
    except OSError as fault:
        raise BuildError(write_fault(path, fault)) from fault
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        if held >= 0:
            os.close(held)


def _make_locked(path: Path, mode: int) -> int:
    """Make a file and lock it, so that a build that removes leftovers skips it."""
    while True:
        held = os.open(path, os.O_RDWR | os.O_CREAT, mode)
        with suppress(OSError):  # a file system without locks
            fcntl.flock(held, fcntl.LOCK_SH)
        if path.exists():
            return held
        os.close(held)  # it was cleared away before it was locked


def check_regular(path: Path) -> None:
    """Check that a path is free, or a file or folder: a device must not be replaced, and may be read without end.

    Raises:
        BuildError: if it is a device or a pipe.
    """
    if not isinstance(path, StorePath) and path.exists() and not (path.is_file() or path.is_dir()):
        raise BuildError(f"{str(path)!r} is a device or a pipe: give a file name")


@contextmanager
def atomic_folder(path: Path, *, secret: bool = False) -> Iterator[Path]:
    """Yield an empty folder to fill; on success it replaces `path`, on failure it is removed.

    `path` must be missing or an empty folder. A `secret` folder can be read by its owner only.

    Raises:
        BuildError: if the folder cannot be written or the disk is full, or `path` is in a store.
    """
    if isinstance(path, StorePath):
        raise BuildError(f"{str(path)!r} is in a store, which cannot take a whole folder at once: give one on a disk")
    aside, held = temporary_path(path), -1
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        for stale in path.parent.glob(f"{glob.escape(path.name)}.part-*"):
            _clear_stale(stale)
        aside.mkdir(mode=0o700 if secret else 0o777)
        with suppress(OSError):  # a file system without locks
            held = _locked(aside)
        yield aside
        for each in aside.rglob("*") if secret else ():
            each.chmod(0o700 if each.is_dir() else 0o600)
        os.replace(aside, path)
    except OSError as fault:
        raise BuildError(write_fault(path, fault)) from fault
    finally:
        shutil.rmtree(aside, ignore_errors=True)
        if held >= 0:
            os.close(held)


def _locked(folder: Path) -> int:
    """Open a folder and lock it; the kernel releases the lock when the folder is closed or the process ends."""
    held = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held


def _clear_stale(folder: Path) -> None:
    """Remove a temporary folder unless a live process is filling it."""
    with suppress(OSError):
        held = _locked(folder)
        shutil.rmtree(folder, ignore_errors=True)
        os.close(held)


def write_fault(path: Path, fault: OSError) -> str:
    """Return why a file cannot be written, and what to do."""
    if isinstance(fault, StoreError):
        return f"cannot write {fault}"
    if fault.errno == errno.ENOSPC:
        return f"the disk of {str(path.parent)!r} is full: free some space and run the same command again to continue"
    if fault.errno in (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
        return f"cannot write {str(path)!r} ({fault.strerror}): give a writable folder with --out"
    return f"cannot write {str(path)!r}: {fault}"


def path_below(folder: Path, *names: str) -> Path:
    """Return the path of a file below a folder.

    Raises:
        BuildError: if the names, which may come from data, lead outside the folder.
    """
    path = folder.joinpath(*names)
    if not path.resolve().is_relative_to(folder.resolve()):
        raise BuildError(f"{'/'.join(names)!r} leads out of {str(folder)!r}: nothing is written there")
    return path


def read_fault(path: Path, fault: Exception) -> str:
    """Return a message for a file that cannot be read because of permissions, memory or the disk."""
    if isinstance(fault, MemoryError):
        return f"not enough memory for {str(path)!r}: lower --workers, or allow more"
    return f"{str(getattr(fault, 'filename', None) or path)!r} cannot be read ({getattr(fault, 'strerror', fault)})"


def read_record(path: Path, shape: type[T], error: type[CarraraError] = BuildError) -> T:
    """Read a JSON file as a record; unknown keys are ignored.

    Raises:
        CarraraError: an `error`, if the file may exist but cannot be read (see `denied`).
        OSError: if there is no file, or it is a device or a pipe.
        ValueError: if it is too large, not JSON, or not of this shape.
    """
    try:
        with prefetched(path):
            if checked_file(path).stat().st_size > MOST_BYTES:
                raise ValueError(f"it is larger than {MOST_BYTES >> 20} MB")
            return read_json(path.read_bytes(), shape)
    except OSError as fault:
        if denied(fault):
            raise error(read_fault(path, fault)) from fault
        raise


def denied(fault: BaseException) -> bool:
    """Return whether an error leaves open whether the file exists, such as a missing permission."""
    return isinstance(fault, OSError) and fault.errno not in NONE_THERE


def closed_within(folder: Path) -> str:
    """Return why a folder, or one in it, cannot be read, so that it would seem empty; "" if all can be read."""
    if isinstance(folder, StorePath):  # stores raise an error by themselves
        return ""
    inside = sorted(folder.iterdir()) if folder.is_dir() and os.access(folder, os.R_OK | os.X_OK) else []
    closed = [each for each in (folder, *inside) if each.is_dir() and not os.access(each, os.R_OK | os.X_OK)]
    return f"{str(closed[0])!r} cannot be read ({os.strerror(errno.EACCES)})" if closed else ""


def link(source: Path, target: Path) -> None:
    """Link to a file, or copy it if the disk has no links. Links are safe since shards are never changed in place."""
    if isinstance(source, StorePath) or target.is_relative_to("/proc"):  # a file without a name cannot be a link
        copy_file(source, target)
        return
    target.unlink(missing_ok=True)
    with suppress(OSError):
        os.link(source, target)
        return
    shutil.copy(source, target)


def copy_file(source: Path, target: Path) -> None:
    """Copy a file, or an object of a store, to a local file."""
    if isinstance(source, StorePath):
        target.write_bytes(source.read_bytes())
    else:
        shutil.copyfile(source, target)


@contextmanager
def exclusive_lock(folder: Path) -> Iterator[None]:
    """Allow one process at a time in this block for a folder, so that it can read a file and write it again.

    Stores have no locks: there, one of two processes that write at the same moment may undo the other's change.
    """
    held, path = -1, folder / TURN
    if not isinstance(folder, StorePath):
        with suppress(OSError):  # no such folder, a read-only one, or a file system without locks
            held = _held_alone(path)
    try:
        yield
    finally:
        if held >= 0:
            with suppress(OSError):
                path.unlink()
            os.close(held)


def _held_alone(path: Path) -> int:
    """Make a file and wait for its lock; make it again if it was removed meanwhile."""
    while True:
        held = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            if os.path.samestat(os.fstat(held), path.stat()):
                return held
        except FileNotFoundError:
            pass
        except OSError:  # a file system without locks
            os.close(held)
            path.unlink(missing_ok=True)
            raise
        os.close(held)


def file_digest(path: Path) -> str:
    """Return the SHA-256 of a file's bytes."""
    with checked_file(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def quarantine(path: Path) -> None:
    """Move a faulty file out of the way, so that the next build makes it again."""
    if path.exists():
        path.replace(path.with_name(path.name + ".corrupt"))


def remove_temporary(paths: Iterable[Path]) -> None:
    """Remove half-written versions of these files that killed processes left, but not those being written."""
    names: dict[Path, set[str]] = {}
    for path in paths:
        if isinstance(path, StorePath):  # what is put there is whole
            continue
        names.setdefault(path.parent, set()).add(path.name)
    for folder, own in names.items():
        for half in sorted(folder.glob("*.part-*")):
            if half.name.partition(".part-")[0] in own:
                clear_unlocked(half)
