"""The recipes of a release folder, kept with what was built from them."""

from __future__ import annotations

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, TypeVar

from pipeline.artifacts.files import (
    atomic_write,
    closed_within,
    denied,
    disk_fault,
    read_fault,
    read_record,
)
from pipeline.errors import BuildError
from pipeline.recipe import (
    Recipe,
    Stratum,
    digest,
    is_secret,
    recipe_fault,
)
from pipeline.storage import Lease, StorePath, clear_dead, holder_of, open_for_lock
from pipeline.typed import (
    TIERS,
)


def recipe_path(out: Path, tier: str) -> Path:
    """Return where the recipe of a tier is kept."""
    return out / "recipes" / f"{tier}.json"


def write_recipe(out: Path, recipe: Recipe) -> None:
    """Write a recipe to the release folder, unless it is there already."""
    check_release(out, recipe)
    if not has_recipe(out, recipe):
        with atomic_write(recipe_path(out, recipe.tier), secret=is_secret(recipe.seed)) as aside:
            aside.write_text(_text(recipe), encoding="ascii")


def has_recipe(out: Path, recipe: Recipe) -> bool:
    """Return whether a release folder keeps just this recipe of its tier."""
    path = recipe_path(out, recipe.tier)
    return path.is_file() and path.read_bytes() == _text(recipe).encode()


def _text(recipe: Recipe) -> str:
    return json.dumps(asdict(recipe), indent=1) + "\n"


def check_release(out: Path, recipe: Recipe) -> None:
    """Check that a folder is of the same release; within it a tier may be cut again.

    Raises:
        BuildError: naming both releases.
    """
    for other in _readable_recipes(out, recipe.tier):
        again = other.tier == recipe.tier and _name(other) == _name(recipe)
        if not again and _release_of(other) != _release_of(recipe):
            theirs, ours = (" ".join(filter(None, _release_of(each))) for each in (other, recipe))
            raise BuildError(f"{str(out)!r} holds {theirs}, not {ours}: give another folder with --out")


def _release_of(recipe: Recipe) -> tuple[str, ...]:
    return recipe.release, recipe.version, recipe.variant, recipe.frame


def _name(recipe: Recipe) -> tuple[str, ...]:
    return recipe.release, recipe.variant


def _readable_recipes(out: Path, mended: str) -> list[Recipe]:
    """Return the recipes of a folder; the recipe of the tier which is about to be built may be broken."""
    found = []
    for path in _recipe_files(out):
        try:
            found.append(_read(path))
        except BuildError as fault:
            if path != recipe_path(out, mended) or denied(fault.__cause__ or fault):
                raise
    return found


def read_recipes(out: Path) -> list[Recipe]:
    """Return the recipes of a release folder, by tier.

    Raises:
        BuildError: if one of them cannot be read, or a folder beside them.
    """
    if closed := closed_within(out):
        raise BuildError(closed)
    return [_read(path) for path in _recipe_files(out)]


def _recipe_files(out: Path) -> list[Path]:
    """Return the files of recipes, by name; known tiers are asked for, since a store may list them late."""
    asked = {path for tier in TIERS if (path := recipe_path(out, tier)).is_file()}
    return sorted(asked.union((out / "recipes").glob("*.json")))


def _read(path: Path) -> Recipe:
    try:
        recipe = read_record(path, Recipe)
        if fault := recipe_fault(recipe) or _unknown_key(json.loads(path.read_bytes())):
            raise ValueError(fault)
    except (OSError, ValueError) as fault:
        if denied(fault):
            raise BuildError(read_fault(path, fault)) from fault
        raise BuildError(
            f"{str(path)!r} cannot be read ({getattr(fault, 'strerror', None) or fault}): build its tier again"
        ) from fault
    return recipe


def _unknown_key(table: dict[str, Any]) -> str:
    """Return the fault of a key that recipes do not have, such as a damaged one; empty if there is none."""
    tables = [(table, Recipe), *((cell, Stratum) for cell in table["strata"])]
    extra = [key for each, kind in tables for key in each.keys() - {field.name for field in fields(kind)}]
    return f"recipes have no key {min(extra)!r}" if extra else ""


HOLD_NAME = ".building-"
TRIES, WAIT = 20, 0.05
"""How often, and after how many seconds, a lock is asked for that another build may hold for a moment."""


@contextmanager
def hold_for_build(out: Path, recipe: Recipe) -> Iterator[None]:
    """Keep a folder for the builds of a recipe while the block runs.

    Raises:
        BuildError: if another recipe of this tier, or another release, is being built there; it names the process. Or
            if the tier is being verified.
    """
    if isinstance(out, StorePath):
        with _leased(out, recipe):
            yield
        return
    path = _hold_path(out, recipe)
    file = _create_shared(path)
    try:
        for other in _other_holds(path, itself=False):
            if who := _holder_of(other):
                raise BuildError(_other_build(out, who))
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
    """Keep a folder for the builds of a recipe while one of their jobs runs. In a store nothing is held.

    Raises:
        BuildError: if no build of it holds the folder any more: another may have begun.
    """
    if isinstance(out, StorePath):
        yield
        return
    path = _hold_path(out, recipe)
    try:
        file = _open_shared(path, os.O_RDONLY)
        if file is None:
            sorted(path.parent.iterdir())  # NFS may remember that there was none until the folder is read again
            file = _open_shared(path, os.O_RDONLY)
    except OSError:  # one that may not be read here
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
    """Keep builds of a recipe's tier out of a folder while it is verified. Nothing is written there.

    Raises:
        BuildError: if such a build is running; it names the process.
    """
    if isinstance(out, StorePath):
        for lease in _other_holds(_hold_path(out, recipe), itself=True):
            if who := holder_of(lease):
                raise BuildError(_being_built(out, who))
        yield
        return
    file = -1
    with suppress(OSError):  # no recipe there, or a file system without locks
        file = os.open(recipe_path(out, recipe.tier), os.O_RDONLY | os.O_NONBLOCK)
        fcntl.flock(file, fcntl.LOCK_SH)
    try:
        for other in _other_holds(_hold_path(out, recipe), itself=True):
            if who := _holder_of(other):
                raise BuildError(_being_built(out, who))
        yield
    finally:
        if file >= 0:
            os.close(file)


@contextmanager
def _leased(out: StorePath, recipe: Recipe) -> Iterator[None]:
    """Hold a lease of a recipe, and refuse where another holds one of another recipe."""
    path = _hold_path(out, recipe)
    with Lease(path) as own:
        for other in _other_holds(path, itself=False):
            if who := holder_of(other):
                raise BuildError(_other_build(out, who))
        clear_dead(path, own.path)
        yield


def _other_build(out: Path, who: str) -> str:
    return f"another recipe is being built in {str(out)!r} ({who}): wait for it, or give another folder with --out"


def _being_built(out: Path, who: str) -> str:
    return f"{str(out)!r} is being built ({who}): verify it when that has ended"


P = TypeVar("P", bound=Path)


def _hold_path(out: P, recipe: Recipe) -> P:
    """Return the file of a recipe that is being built, or the beginning of the name of its leases."""
    release = digest([recipe.release, recipe.version, recipe.variant, recipe.frame])[:8]
    return out / f"{HOLD_NAME}{release}-{recipe.tier}-{digest(recipe)[:12]}"


def _other_holds(own: P, *, itself: bool) -> Iterator[P]:
    """Yield the files of recipes of the same tier, or of any of another release, perhaps with the recipe's own."""
    mine = own.name.removeprefix(HOLD_NAME).split("-")
    for other in sorted(own.parent.glob(f"{HOLD_NAME}*-*-*")):
        theirs = other.name.removeprefix(HOLD_NAME).split("-")[:3]
        if (itself or theirs != mine) and (theirs[1] == mine[1] or theirs[0] != mine[0]):
            yield other


def _create_shared(path: Path) -> int:
    """Open the file of a recipe and share its lock; one that was removed meanwhile is made again.

    A file of somebody else that may not be written is shared as it is, unless nobody holds it any more.
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
                _sign(file)
            if file is not None:
                return file
    except OSError as fault:
        raise BuildError(disk_fault(path, fault)) from fault


def _sign(file: int | None) -> None:
    """Write into a file who holds it."""
    if file is not None:
        os.write(file, f"process {os.getpid()} on {socket.gethostname()}\n".encode())


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
    """Return who holds the lock of a recipe's file; a file that nobody holds is removed."""
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
    """Return whether somebody holds the lock of a kept recipe for longer than a build that asks the same."""
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
    """Remove the file, unless another build of the recipe holds it too."""
    with suppress(OSError):
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        path.unlink()
    os.close(file)
