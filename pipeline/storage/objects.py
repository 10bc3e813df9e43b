"""Objects of a store, by their URLs: what is there, and one whole object read, put, copied or removed at a time."""

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
"""Bytes up to which an object is put in one request, so that it is there whole or not at all."""
LAG = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 3.0, 3.0)
"""Seconds between looks for an object that was put: some stores show it late."""
TAGS = ("ETag", "md5Hash", "etag", "blob_id", "generation")
TIMES = ("LastModified", "mtime", "updated", "last_commit", "created")
"""What file systems of fsspec call the tag of an object, and when it changed."""
_HELD = threading.local()


class Info(NamedTuple):
    """What a store says of a place: bytes, whether it is a folder, a tag that changes with content, when it changed."""

    size: int
    folder: bool
    tag: str
    changed: float


def info(url: str) -> Info:
    """Return what a store says of a place.

    Raises:
        FileNotFoundError: if nothing is there.
        StoreError: if the store does not say.
    """
    said = request(url, lambda system: system.info(url))
    tag = next((str(said[name]) for name in TAGS if said.get(name)), "")
    at = next((said[name] for name in TIMES if said.get(name)), 0)
    changed = at.timestamp() if hasattr(at, "timestamp") else at if isinstance(at, int | float) else 0.0
    return Info(int(said.get("size") or 0), said["type"] == "directory", tag or str(at), float(changed))


def children(url: str) -> list[tuple[str, bool]]:
    """Return the names in a folder and whether they are folders, sorted; nothing if there is no such folder."""
    try:
        found = request(url, lambda system: system.ls(url, detail=True))
    except (FileNotFoundError, NotADirectoryError):
        return []
    own = _steps(url.partition("://")[2])
    named: dict[str, bool] = {}
    for each in found:
        steps = _steps(each["name"])
        if len(steps) == len(own) + 1 and steps[-2:-1] == own[-1:]:  # an object is listed as what is in itself
            named[steps[-1]] = named.get(steps[-1], False) or each["type"] == "directory"
    return sorted(named.items())


def sizes(url: str) -> dict[tuple[str, ...], int]:
    """Return the bytes of every object below a folder by the steps to it, as one listing shows them: it may be late."""
    try:
        found = request(url, lambda system: system.find(url, detail=True))
    except FileNotFoundError:
        return {}
    depth = len(_steps(url.partition("://")[2]))
    return {tuple(_steps(name)[depth:]): int(each.get("size") or 0) for name, each in found.items()}


def _steps(name: str) -> list[str]:
    return [step for step in name.split("/") if step]


def read(url: str, last: int | None = None) -> bytes:
    """Return an object by one request, or so many of its last bytes.

    Raises:
        FileNotFoundError: if there is none.
        StoreError: if the store does not give it.
    """
    return bytes(request(url, lambda system: _last_of(system, url, last) if last else system.cat_file(url)))


def _last_of(system: Any, url: str, last: int) -> bytes:
    """Return the last bytes of an object; of an empty one some stores have none to give."""
    try:
        return bytes(system.cat_file(url, start=-last))
    except Exception as fault:
        if is_empty(fault):
            return b""
        raise


def put(url: str, data: bytes) -> None:
    """Put an object by one request, and see that the store has it: by its size, and its digest or its bytes.

    Raises:
        StoreError: if the store does not take it, or shows something else in the end.
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
    """Have a store copy an object within a bucket; tell whether the copy is as large and has the same tag.

    Raises:
        FileNotFoundError: if there is none.
        StoreError: if the store does not do it.
    """
    _forget(other)
    request(other, lambda system: system.cp_file(url, other))
    here, there = info(url), info(other)
    return (here.size, here.tag) == (there.size, there.tag)


def remove(url: str) -> None:
    """Remove an object.

    Raises:
        FileNotFoundError: if the store says that there is none; some do not.
        StoreError: if the store does not do it.
    """
    _forget(url)
    request(url, lambda system: system.rm_file(url))


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _is_digest(tag: str, data: bytes) -> bool:
    """Tell whether a tag is the MD5 of the bytes, in hexadecimal or Base64; others say nothing."""
    digest, tag = _md5(data), tag.strip('"')
    try:
        return tag == digest.hex() or b64decode(tag, validate=True) == digest
    except ValueError:
        return False


@contextmanager
def held(content: Mapping[str, bytes | None]) -> Iterator[None]:
    """Let this thread read some objects from memory while the block runs; None is for one that is not there.

    Blocks may be nested. What the thread changes in an inner one is not held in the outer one either.
    """
    before = getattr(_HELD, "whole", {})
    _HELD.whole = {**before, **content}
    try:
        yield
    finally:
        _HELD.whole = {name: whole for name, whole in before.items() if name in _HELD.whole}


def held_bytes(url: str) -> bytes | None:
    """Return an object that this thread holds in memory; None if it does not.

    Raises:
        FileNotFoundError: if it was not there when it was to be held.
    """
    known: Mapping[str, bytes | None] = getattr(_HELD, "whole", {})
    if url not in known:
        return None
    if (whole := known[url]) is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url)
    return whole


def _forget(url: str) -> None:
    """Hold an object no longer that this thread is about to change."""
    known: Mapping[str, bytes | None] = getattr(_HELD, "whole", {})
    if url in known:
        _HELD.whole = {name: whole for name, whole in known.items() if name != url}
