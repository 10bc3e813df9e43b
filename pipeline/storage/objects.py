"""Objects of a store by URL: info, listings, and reading, putting, copying and removing whole objects."""

from __future__ import annotations

import errno
import hashlib
import os
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

from pipeline.storage.requests import StoreError, is_empty, kind_of, request, send

WHOLE = 5 * 2**30
"""The most bytes that are put in one request, so that an object is complete or absent."""
LAG = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 3.0, 3.0)
"""Seconds between checks for an object that was put, since some stores show it late."""
TAGS = ("ETag", "md5Hash", "etag", "blob_id", "generation")
TIMES = ("LastModified", "mtime", "updated", "last_commit", "created")
"""fsspec's names, by store, for an object's tag and its time of change."""
_MEMORY = threading.local()


class Info(NamedTuple):
    """A store's info on a place: bytes, whether it is a folder, a tag that changes with content, the time of change."""

    size: int
    folder: bool
    tag: str
    changed: float


def info(url: str) -> Info:
    """Return a store's info on a place.

    Raises:
        FileNotFoundError: if nothing is there.
        StoreError: if the store does not answer.
    """
    details = request(url, lambda system: system.info(url))
    tag = next((str(details[name]) for name in TAGS if details.get(name)), "")
    at = next((details[name] for name in TIMES if details.get(name)), 0)
    changed = at.timestamp() if hasattr(at, "timestamp") else at if isinstance(at, int | float) else 0.0
    return Info(int(details.get("size") or 0), details["type"] == "directory", tag or str(at), float(changed))


def children(url: str) -> list[tuple[str, bool]]:
    """Return the names in a folder, sorted, and whether each is a folder; empty if there is no such folder."""
    try:
        listed = request(url, lambda system: system.ls(url, detail=True))
    except (FileNotFoundError, NotADirectoryError):
        return []
    own = _steps(url.partition("://")[2])
    named: dict[str, bool] = {}
    for each in listed:
        steps = _steps(each["name"])
        if len(steps) == len(own) + 1 and steps[-2:-1] == own[-1:]:  # listing an object returns the object itself
            named[steps[-1]] = named.get(steps[-1], False) or each["type"] == "directory"
    return sorted(named.items())


def sizes(url: str) -> dict[tuple[str, ...], int]:
    """Return the bytes of every object below a folder by relative path, from one listing, which may be out of date."""
    try:
        listed = request(url, lambda system: system.find(url, detail=True))
    except FileNotFoundError:
        return {}
    depth = len(_steps(url.partition("://")[2]))
    return {tuple(_steps(name)[depth:]): int(each.get("size") or 0) for name, each in listed.items()}


def _steps(name: str) -> list[str]:
    return [step for step in name.split("/") if step]


def read(url: str, last: int | None = None) -> bytes:
    """Return an object, or its `last` bytes, by one request.

    Raises:
        FileNotFoundError: if there is none.
        StoreError: if the store refuses or does not answer.
    """
    return bytes(request(url, lambda system: _last_of(system, url, last) if last else system.cat_file(url)))


def _last_of(system: Any, url: str, last: int) -> bytes:
    """Return the last bytes of an object; for an empty object, some stores raise an error, caught here."""
    try:
        return bytes(system.cat_file(url, start=-last))
    except Exception as fault:
        if is_empty(fault):
            return b""
        raise


def put(url: str, data: bytes) -> None:
    """Put an object by one request, and check that the store has it, by its size and its digest or bytes.

    Raises:
        StoreError: if the store refuses it, or has something else in the end.
    """
    _forget(url)
    checked = {"chunksize": WHOLE, "ContentMD5": b64encode(_md5(data)).decode()} if kind_of(url) == "s3" else {}
    try:
        request(url, lambda system: send(system, url, data, **checked))
    except FileNotFoundError:
        raise StoreError(errno.EIO, "the bucket or repo does not exist: create it, or give another", url) from None
    shown = "nothing"
    for pause in LAG:
        time.sleep(pause)
        try:
            there = info(url)
            if there.size == len(data) and (_is_digest(there.tag, data) or read(url) == data):
                return
            shown = f"{there.size} other bytes"
        except FileNotFoundError:
            shown = "nothing"
    raise StoreError(
        errno.EIO, f"{len(data)} bytes were put, but the store shows {shown}: run the same command again", url
    )


def copy(url: str, other: str) -> bool:
    """Have a store copy an object within a bucket; return whether the copy has the same size and tag.

    Raises:
        FileNotFoundError: if there is none.
        StoreError: if the store refuses or does not answer.
    """
    _forget(other)
    request(other, lambda system: system.cp_file(url, other))
    here, there = info(url), info(other)
    return (here.size, here.tag) == (there.size, there.tag)


def remove(url: str) -> None:
    """Remove an object.

    Raises:
        FileNotFoundError: if there is none, in stores that report it.
        StoreError: if the store refuses or does not answer.
    """
    _forget(url)
    request(url, lambda system: system.rm_file(url))


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _is_digest(tag: str, data: bytes) -> bool:
    """Return whether a tag is the MD5 of the bytes, in hexadecimal or Base64."""
    digest, tag = _md5(data), tag.strip('"')
    try:
        return tag == digest.hex() or b64decode(tag, validate=True) == digest
    except ValueError:
        return False


@contextmanager
def in_memory(content: Mapping[str, bytes | None]) -> Iterator[None]:
    """Let this thread read some objects from memory while the block runs; None stands for a missing object.

    Blocks may be nested. An object that the thread changes in an inner block is dropped from outer blocks, too.
    """
    before = getattr(_MEMORY, "objects", {})
    _MEMORY.objects = {**before, **content}
    try:
        yield
    finally:
        _MEMORY.objects = {name: whole for name, whole in before.items() if name in _MEMORY.objects}


def bytes_in_memory(url: str) -> bytes | None:
    """Return an object that this thread has in memory, or None.

    Raises:
        FileNotFoundError: if it is known to be missing.
    """
    known: Mapping[str, bytes | None] = getattr(_MEMORY, "objects", {})
    if url not in known:
        return None
    if (whole := known[url]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    return whole


def _forget(url: str) -> None:
    """Drop an object that this thread is about to change from memory."""
    known: Mapping[str, bytes | None] = getattr(_MEMORY, "objects", {})
    if url in known:
        _MEMORY.objects = {name: whole for name, whole in known.items() if name != url}
