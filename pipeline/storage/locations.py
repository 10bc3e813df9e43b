"""Paths from what a user typed, short names for them, and what may be read at a path."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from errno import EFBIG, EINVAL
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory

from pipeline.errors import RecipeError, adding, unknown
from pipeline.storage.path import StorePath
from pipeline.storage.requests import ALIASES, kind_of
from pipeline.storage.temporary import temporary_folder


def short_names(paths: Iterable[Path]) -> dict[Path, str]:
    """Return the name of each file, with as many parent folders as are needed to make it unique.

    >>> short_names([Path("a/x.jsonl"), Path("b/x.jsonl"), Path("b/y.jsonl")]).values()
    dict_values(['a/x.jsonl', 'b/x.jsonl', 'y.jsonl'])
    """
    left, names = list(dict.fromkeys(paths)), dict[Path, str]()
    whole = {path: path.absolute().parts for path in left}
    for count in range(1, max(map(len, whole.values()), default=0) + 1):
        ends = {path: "/".join(whole[path][-count:]) for path in left}
        times = Counter(ends.values())
        names |= {path: ends[path] for path in left if times[ends[path]] == 1}
        left = [path for path in left if path not in names]
    return {path: names.get(path, str(path)) for path in whole}


def renaming(names: Mapping[Path, str]) -> Callable[[str], str]:
    """Return a function that replaces whole paths in a text by names.

    >>> renaming({Path("x"): "here/x"})("exact: x:1 is no JSON")
    'exact: here/x:1 is no JSON'
    """
    if not names:
        return str
    replacements = {str(path): name for path, name in names.items()}
    paths = "|".join(map(re.escape, sorted(replacements, key=len, reverse=True)))
    pattern = re.compile(rf"(?<!\w)(?:{paths})(?!\w)")
    return lambda text: pattern.sub(lambda match: replacements[match[0]], text)


LARGEST_TEXT = 1 << 24
"""The most bytes of a text that is read whole."""


def checked_file(path: Path, most: int = 0) -> Path:
    """Return a path after checking that it is not a device or a pipe, which might be read without end.

    Args:
        path: a file or folder, which need not exist.
        most: the most bytes that a file may have; 0 for any number.

    Raises:
        OSError: if it is a device or a pipe, or too large.
    """
    if not isinstance(path, StorePath) and path.exists() and not (path.is_file() or path.is_dir()):
        raise OSError(EINVAL, "it is a device or a pipe, not a file", str(path))
    if most and path.is_file() and (size := path.stat().st_size) > most:
        raise OSError(EFBIG, f"it has {size:,} bytes, at most {most:,} are read", str(path))
    return path


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        OSError: if it is a device or a pipe, larger than LARGEST_TEXT, or cannot be read.
        UnicodeDecodeError: if it is not text.
    """
    return checked_file(path, LARGEST_TEXT).read_text(encoding="utf-8")


URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
LOCAL = ("file", "local")
EXTRAS = {"s3": "s3", "gs": "gs", "hf": "hub"}
"""The extra that installs a protocol's package; `memory` only needs fsspec, which all of them install."""
_COPIES: list[TemporaryDirectory[str]] = []


def parse_location(location: str | os.PathLike[str]) -> Path:
    """Return the path for what a user typed: a `StorePath` for a URL, and a local path for anything else.

    Raises:
        RecipeError: if the protocol is unknown, its package is not installed, or no folder is named.
    """
    if isinstance(location, StorePath):
        return location
    text = os.fspath(location)
    match = URL.fullmatch(text)
    if not match:
        return _local(text)
    protocol, rest = match[1].lower(), match[2]
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
    """Return a local folder with the files of a folder, copied if it is in a store.

    Raises:
        OSError: if a store does not answer, or the disk is full.
    """
    if not isinstance(folder, StorePath):
        return folder
    copy = temporary_folder()
    _COPIES.append(copy)  # it is removed when the process ends
    for path in folder.iterdir():
        if path.is_file():
            (Path(copy.name) / path.name).write_bytes(path.read_bytes())
    return Path(copy.name)
