"""One recipe of a tier at a time in a release folder: two would remove each other's shards.

Who builds holds a shared lock on a file of its recipe, so that parts and repeated builds of one recipe go together. The
kernel lets go of it when the process dies, in whatever container or way, so that a stale file holds nobody up.
"""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pipeline.errors import BuildError
from pipeline.recipe import Recipe, digest
from pipeline.store.files import disk_fault

NAME = ".building-"


@contextmanager
def occupied(out: Path, recipe: Recipe) -> Iterator[None]:
    """Keep a folder for the builds of a recipe while the block runs.

    Raises:
        BuildError: if another recipe of this tier, or another release, is being built there; it names the process.
    """
    release = digest([recipe.release, recipe.version, recipe.variant, recipe.frame])[:8]
    path = out / f"{NAME}{release}-{recipe.tier}-{digest(recipe)[:12]}"
    file = _held(path)
    try:
        for other in sorted(out.glob(f"{NAME}*-*-*")):
            same_tier = other.name.split("-")[-2] == recipe.tier
            same_release = other.name.removeprefix(NAME).startswith(release)
            if other != path and (same_tier or not same_release):
                _refuse_held(other)
        yield
    finally:
        _let_go(path, file)


def _held(path: Path) -> int:
    """Open the file of a recipe and share its lock; one that was removed meanwhile is made again."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        while True:
            file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
            with suppress(OSError):  # a file system without locks
                fcntl.flock(file, fcntl.LOCK_SH)
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(file), path.stat()):
                    os.write(file, f"process {os.getpid()} on {socket.gethostname()}".encode())
                    return file
            os.close(file)
    except OSError as fault:
        raise BuildError(disk_fault(path, fault)) from fault


def _refuse_held(path: Path) -> None:
    """Refuse a folder if the lock of a file is held; remove a file that nobody holds."""
    with suppress(FileNotFoundError, PermissionError):
        file = os.open(path, os.O_RDWR)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink()
        except BlockingIOError:
            who = "".join(filter(str.isprintable, os.read(file, 200).decode(errors="replace")))
            raise BuildError(
                f"another recipe is being built in {str(path.parent)!r} ({who}): wait for it, or give another folder "
                "with --out"
            ) from None
        finally:
            os.close(file)


def _let_go(path: Path, file: int) -> None:
    """Remove the file, unless another build of the recipe holds it too."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    os.close(file)
