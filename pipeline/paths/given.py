"""From what a user typed to a path: on this machine, or in a store."""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.errors import RecipeError, adding, unknown
from pipeline.paths.asking import ALIASES, kind_of
from pipeline.paths.local import aside_of
from pipeline.paths.store import StorePath

URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
LOCAL = ("file", "local")
EXTRAS = {"s3": "s3", "gs": "gs", "hf": "hub"}
"""The extra that brings the package of a protocol; `memory` needs fsspec alone, which comes with any of them."""
_COPIES: list[TemporaryDirectory[str]] = []


def place(given: str | os.PathLike[str]) -> Path:
    """Return the path of what a user typed: a `StorePath` for a URL, and a path of this machine for anything else.

    Raises:
        RecipeError: if no file system is known by that name, its package is missing, or no folder is named.
    """
    if isinstance(given, StorePath):
        return given
    text = os.fspath(given)
    found = URL.fullmatch(text)
    if not found:
        return _local(text)
    protocol, rest = found[1].lower(), found[2]
    if protocol in LOCAL:
        if not rest.startswith("/"):
            raise RecipeError(f"{text!r} names no path from the root: give one such as file:///data/release")
        return Path(rest)
    _check_known(protocol, text)
    path = StorePath(f"{protocol}://{rest}")
    if len(path.parts) < 2 or ".." in path.parts or "::" in text:
        raise RecipeError(f"{text!r} names no folder of a store: give one such as {protocol}://bucket/release")
    return path


def _local(text: str) -> Path:
    if not text:
        raise RecipeError("a path is empty: give a folder or a file")
    protocol, _, rest = text.partition(":")
    if "://" in text or protocol == "arn" or (rest and protocol in (*EXTRAS, *ALIASES, *LOCAL, "memory")):
        if Path(text).exists():
            return Path(text)
        right = f"{protocol}:///{rest.lstrip('/')}" if protocol in LOCAL else f"{protocol}://{rest.lstrip('/')}"
        wanted = "s3://bucket/release" if protocol == "arn" or "://" in text else right
        raise RecipeError(f"{text!r} is neither a path nor the URL of a store: give one such as {wanted}")
    return Path(text)


def _check_known(protocol: str, text: str) -> None:
    if protocol in ("http", "https"):
        raise RecipeError(
            f"{text!r} is the address of a server: set AWS_ENDPOINT_URL to that, and give the store as s3://bucket/release"
        )
    extra = EXTRAS.get(kind_of(f"{protocol}://"), "s3")
    try:
        from fsspec.registry import get_filesystem_class, known_implementations, registry
    except ImportError:
        raise RecipeError(f"{text!r} needs the package fsspec: {adding(extra)}") from None
    if protocol not in known_implementations and protocol not in registry:
        raise RecipeError(unknown("kind of store", protocol, known_implementations))
    try:
        get_filesystem_class(protocol)
    except ImportError as fault:
        if kind_of(f"{protocol}://") in EXTRAS:
            raise RecipeError(f"{text!r} needs a package that is not installed: {adding(extra)}") from None
        raise RecipeError(f"{text!r} needs a package that is not installed: {fault}") from None


@lru_cache(maxsize=16)
def on_disk(folder: Path) -> Path:
    """Return a folder of this machine with the files of a folder, for a library that reads files itself.

    Raises:
        OSError: if a store does not answer, or the machine has no room.
    """
    if not isinstance(folder, StorePath):
        return folder
    copy = TemporaryDirectory(prefix="carrara-", ignore_cleanup_errors=True)
    _COPIES.append(copy)  # it goes when the process ends
    for path in folder.iterdir():
        if path.is_file():
            (Path(copy.name) / path.name).write_bytes(path.read_bytes())
    return Path(copy.name)


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Yield a file of this machine to write to; on success it takes the place of `path`, and in any case it is gone.

    For a store it has no name, so that nothing of it is left by a process that is killed, and is put as one object.

    Raises:
        OSError: if there is no room for it, or the folder or the store does not take it.
    """
    if isinstance(path, StorePath):
        with _nameless() as here:
            yield here
            whole = here.read_bytes()
        path.write_bytes(whole)
        return
    aside = aside_of(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield aside
        aside.replace(path)
    finally:
        with suppress(OSError):
            aside.unlink(missing_ok=True)


@contextmanager
def _nameless() -> Iterator[Path]:
    """Yield an empty file of this machine without a name; with one where the kernel has no ``/proc``."""
    with tempfile.TemporaryFile(prefix="carrara-") as file:
        nameless = Path(f"/proc/self/fd/{file.fileno()}")
        if nameless.exists():
            yield nameless
        else:
            with tempfile.NamedTemporaryFile(prefix="carrara-") as named:
                yield Path(named.name)
