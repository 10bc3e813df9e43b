"""One recipe of a tier at a time in a release folder: two would remove each other's shards.

Who builds holds a shared lock on a file of its recipe, so that parts and repeated builds of one recipe go together. Who
verifies holds one on the recipe that is kept there, which needs no right to write, so that no build changes what is
being proven. A job of a build holds the lock too while it runs, on whatever machine: it may outlive the command that
sent it. The kernel lets go of a lock when the process dies, in whatever container or way: a stale file holds nobody up.

Files are opened for writing wherever that is allowed, also if nothing is written: NFS locks no others for one alone.

Stores have no locks. Who builds there has a lease, which others see; who verifies has none, since nothing is written,
and of two that begin within the same moments neither may see the other where listings are late.
"""

from __future__ import annotations

import fcntl
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from pipeline.errors import BuildError
from pipeline.paths import Lease, StorePath, clear_dead, holder_of, opened_to_lock
from pipeline.recipe import Recipe, digest
from pipeline.store.files import disk_fault
from pipeline.store.recipes import recipe_path

NAME = ".building-"
TRIES, WAIT = 20, 0.05
"""How often, and after how many seconds, a lock is asked for that another build may hold for a moment."""


@contextmanager
def occupied(out: Path, recipe: Recipe) -> Iterator[None]:
    """Keep a folder for the builds of a recipe while the block runs.

    Raises:
        BuildError: if another recipe of this tier, or another release, is being built there; it names the process. Or
            if the tier is being verified.
    """
    if isinstance(out, StorePath):
        with _leased(out, recipe):
            yield
        return
    path = _place(out, recipe)
    file = _held(path)
    try:
        for other in _others(path, itself=False):
            if who := _holder(other):
                raise BuildError(_other(out, who))
        if _is_verified(recipe_path(out, recipe.tier)):
            raise BuildError(
                f"another command is verifying tier {recipe.tier} of {str(out)!r}: wait for it, or give another folder "
                "with --out"
            )
        yield
    finally:
        _let_go(path, file)


@contextmanager
def at_work(out: Path, recipe: Recipe) -> Iterator[None]:
    """Keep a folder for the builds of a recipe while one of their jobs runs. In a store nothing is held.

    Raises:
        BuildError: if no build of it holds the folder any more: another may have begun.
    """
    if isinstance(out, StorePath):
        yield
        return
    path = _place(out, recipe)
    try:
        file = _shared(path, os.O_RDONLY)
        if file is None:
            sorted(path.parent.iterdir())  # NFS may remember that there was none until the folder is read again
            file = _shared(path, os.O_RDONLY)
    except OSError:  # one that may not be read here
        file = -1
    if file is None:
        raise BuildError(f"the build of {str(out)!r} that this job belongs to has ended: run the same command again")
    try:
        yield
    finally:
        if file >= 0:
            _let_go(path, file)


@contextmanager
def unchanged(out: Path, recipe: Recipe) -> Iterator[None]:
    """Keep builds of a recipe's tier out of a folder while it is verified. Nothing is written there.

    Raises:
        BuildError: if such a build is running; it names the process.
    """
    if isinstance(out, StorePath):
        for lease in _others(_place(out, recipe), itself=True):
            if who := holder_of(lease):
                raise BuildError(_built(out, who))
        yield
        return
    file = -1
    with suppress(OSError):  # no recipe there, or a file system without locks
        file = os.open(recipe_path(out, recipe.tier), os.O_RDONLY | os.O_NONBLOCK)
        fcntl.flock(file, fcntl.LOCK_SH)
    try:
        for other in _others(_place(out, recipe), itself=True):
            if who := _holder(other):
                raise BuildError(_built(out, who))
        yield
    finally:
        if file >= 0:
            os.close(file)


@contextmanager
def _leased(out: StorePath, recipe: Recipe) -> Iterator[None]:
    """Hold a lease of a recipe, and refuse where another holds one of another recipe."""
    path = _place(out, recipe)
    with Lease(path) as own:
        for other in _others(path, itself=False):
            if who := holder_of(other):
                raise BuildError(_other(out, who))
        clear_dead(path, own.path)
        yield


def _other(out: Path, who: str) -> str:
    return f"another recipe is being built in {str(out)!r} ({who}): wait for it, or give another folder with --out"


def _built(out: Path, who: str) -> str:
    return f"{str(out)!r} is being built ({who}): verify it when that has ended"


P = TypeVar("P", bound=Path)


def _place(out: P, recipe: Recipe) -> P:
    """Return the file of a recipe that is being built, or the beginning of the name of its leases."""
    release = digest([recipe.release, recipe.version, recipe.variant, recipe.frame])[:8]
    return out / f"{NAME}{release}-{recipe.tier}-{digest(recipe)[:12]}"


def _others(own: P, *, itself: bool) -> Iterator[P]:
    """Yield the files of recipes of the same tier, or of any of another release, perhaps with the recipe's own."""
    mine = own.name.removeprefix(NAME).split("-")
    for other in sorted(own.parent.glob(f"{NAME}*-*-*")):
        theirs = other.name.removeprefix(NAME).split("-")[:3]
        if (itself or theirs != mine) and (theirs[1] == mine[1] or theirs[0] != mine[0]):
            yield other


def _held(path: Path) -> int:
    """Open the file of a recipe and share its lock; one that was removed meanwhile is made again.

    A file of somebody else that may not be written is shared as it is, unless nobody holds it any more.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            try:
                file = _shared(path, os.O_RDWR | os.O_CREAT)
            except PermissionError:
                if not path.exists():
                    raise
                file = _shared(path, os.O_RDONLY) if _holder(path) or path.exists() else None
            else:
                _sign(file)
            if file is not None:
                return file
    except OSError as fault:
        raise BuildError(disk_fault(path, fault)) from fault


def _sign(file: int | None) -> None:
    """Write into a file who holds it."""
    if file is not None:
        os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())


def _shared(path: Path, how: int) -> int | None:
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


def _holder(path: Path) -> str:
    """Return who holds the lock of a recipe's file; a file that nobody holds is removed."""
    with suppress(OSError):
        file = opened_to_lock(path)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        except BlockingIOError:
            first = os.read(file, 200).decode(errors="replace").partition("\n")[0]
            return "".join(filter(str.isprintable, first)) or "unknown"
        finally:
            os.close(file)
    return ""


def _is_verified(path: Path) -> bool:
    """Tell whether somebody holds the lock of a kept recipe for longer than a build that asks the same."""
    for _ in range(TRIES):
        try:
            file = opened_to_lock(path)
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


def _let_go(path: Path, file: int) -> None:
    """Remove the file, unless another build of the recipe holds it too."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    os.close(file)
