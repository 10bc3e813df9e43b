"""Holds: a release folder is reserved for one recipe while that is built, and closed to builds while it is verified.

On a disk a hold is a lock on a small file, in a store a lease; both name the process that holds them.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

from pipeline.artifacts.files import write_fault
from pipeline.artifacts.recipes import recipe_path
from pipeline.errors import BuildError
from pipeline.recipe import Recipe, digest
from pipeline.storage import Lease, StorePath, clear_dead, holder_of, open_for_lock

HOLD_NAME = ".building-"
TRIES, WAIT = 20, 0.05
"""How often, and at what interval in seconds, to try a lock that another build may hold for a moment."""


@contextmanager
def hold_for_build(out: Path, recipe: Recipe) -> Iterator[None]:
    """Hold a folder for the builds of a recipe while the block runs.

    Raises:
        BuildError: if another recipe of this tier, or another release, is being built there (with the process that
            builds it), or if the tier is being verified.
    """
    path = _hold_path(out, recipe)
    if isinstance(path, StorePath):
        with Lease(path) as own:
            _refuse_others(out, recipe)
            clear_dead(path, own.path)
            yield
        return
    file = _create_shared(path)
    try:
        _refuse_others(out, recipe)
        if _is_being_verified(recipe_path(out, recipe.tier)):
            raise BuildError(
                f"another command is verifying tier {recipe.tier} of {str(out)!r}: wait for it, or give another folder "
                "with --out"
            )
        yield
    finally:
        _release(path, file)


@contextmanager
def hold_for_job(out: Path, recipe: Recipe) -> Iterator[None]:
    """Hold a folder for the builds of a recipe while one of their jobs runs. In a store this does nothing.

    Raises:
        BuildError: if no build of the recipe holds the folder any more, so that another may have begun.
    """
    if isinstance(out, StorePath):
        yield
        return
    path = _hold_path(out, recipe)
    try:
        file = _open_shared(path, os.O_RDONLY)
        if file is None:
            sorted(path.parent.iterdir())  # NFS may cache that there was none until the folder is read again
            file = _open_shared(path, os.O_RDONLY)
    except OSError:  # not readable here
        file = -1
    if file is None:
        raise BuildError(f"the build of {str(out)!r} that this job belongs to has ended: run the same command again")
    try:
        yield
    finally:
        if file >= 0:
            _release(path, file)


@contextmanager
def hold_for_verify(out: Path, recipe: Recipe) -> Iterator[None]:
    """Keep builds of a recipe's tier out of a folder while it is verified. Writes nothing.

    Raises:
        BuildError: if such a build is running, with its process.
    """
    file = -1
    with suppress(OSError):  # no recipe there, or a file system without locks
        if not isinstance(out, StorePath):
            file = os.open(recipe_path(out, recipe.tier), os.O_RDONLY | os.O_NONBLOCK)
            fcntl.flock(file, fcntl.LOCK_SH)
    try:
        _refuse_others(out, recipe, verifying=True)
        yield
    finally:
        if file >= 0:
            os.close(file)


def _refuse_others(out: Path, recipe: Recipe, *, verifying: bool = False) -> None:
    """Raise a BuildError if a conflicting recipe (see `_holds_beside`) is being built in a folder."""
    for hold in _holds_beside(_hold_path(out, recipe), itself=verifying):
        if who := holder_of(hold) if isinstance(hold, StorePath) else _holder_of(hold):
            raise BuildError(
                f"{str(out)!r} is being built ({who}): verify it when that has ended"
                if verifying
                else f"another recipe is being built in {str(out)!r} ({who}): wait for it, or give another folder with "
                "--out"
            )


P = TypeVar("P", bound=Path)


def _hold_path(out: P, recipe: Recipe) -> P:
    """Return the path of a recipe's hold, or the prefix of its leases in a store."""
    return out / _hold_name(recipe)


@lru_cache(maxsize=16)
def _hold_name(recipe: Recipe) -> str:
    """Return the name of a recipe's hold (cached, since every job needs it)."""
    release = digest([recipe.release, recipe.version, recipe.variant, recipe.frame])[:8]
    return f"{HOLD_NAME}{release}-{recipe.tier}-{digest(recipe)[:12]}"


def _holds_beside(own: P, *, itself: bool) -> Iterator[P]:
    """Yield the holds of other recipes of the same tier, and of other releases; with `itself` also the recipe's own."""
    mine = own.name.removeprefix(HOLD_NAME).split("-")
    for other in sorted(own.parent.glob(f"{HOLD_NAME}*-*-*")):
        theirs = other.name.removeprefix(HOLD_NAME).split("-")[:3]
        if (itself or theirs != mine) and (theirs[1] == mine[1] or theirs[0] != mine[0]):
            yield other


def _create_shared(path: Path) -> int:
    """Open a hold's file and share its lock; make the file again if it was removed meanwhile.

    Another user's file that is not writable is shared as it is, unless nobody holds it any more.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                file = _open_shared(path, os.O_RDWR | os.O_CREAT)
            except PermissionError:
                if not path.exists():
                    raise
                file = _open_shared(path, os.O_RDONLY) if _holder_of(path) or path.exists() else None
            else:
                if file is not None:
                    os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())
            if file is not None:
                return file
    except OSError as fault:
        raise BuildError(write_fault(path, fault)) from fault


def _open_shared(path: Path, how: int) -> int | None:
    """Open a file and share its lock; return None if there is none, or it was removed meanwhile."""
    try:
        file = os.open(path, how, 0o666)
    except FileNotFoundError:
        return None
    with suppress(OSError):  # a file system without locks
        fcntl.flock(file, fcntl.LOCK_SH)
    with suppress(FileNotFoundError):
        if os.path.samestat(os.fstat(file), path.stat()):
            return file
    os.close(file)
    return None


def _holder_of(path: Path) -> str:
    """Return the process that holds a hold's lock, or "" after removing a file that nobody holds."""
    with suppress(OSError):
        file = open_for_lock(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        except BlockingIOError:
            first = os.read(file, 200).decode(errors="replace").partition("\n")[0]
            return "".join(filter(str.isprintable, first)) or "unknown"
        finally:
            os.close(file)
    return ""


def _is_being_verified(path: Path) -> bool:
    """Return whether a recipe's file is locked for verification, not just for a moment by a build's same check."""
    for _ in range(TRIES):
        try:
            file = open_for_lock(path)
        except OSError:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return False
        except BlockingIOError:
            time.sleep(WAIT)
        except OSError:  # a file system without locks
            return False
        finally:
            os.close(file)
    return True


def _release(path: Path, file: int) -> None:
    """Close a hold's file, and remove it unless another build of the recipe holds it too."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    os.close(file)
