"""Places in stores of objects that are paths: ``s3://bucket/release``, ``gs://``, ``hf://``, ``memory://``.

A `StorePath` is a `pathlib.Path`, so that what joins, compares and takes apart paths needs no second form. Whatever
touches a disk asks the store instead, by a few requests that every store of fsspec has: what is there, a listing, a
read, a write of one whole object, a removal. No folder is ever made: one is there as long as something is in it.

What a store has not (links, permissions, appending) is an error, and so is every use by code that hands a path to the
kernel: `__fspath__` refuses, so that nothing lands in a local folder called ``s3:``.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat as mode_of
import threading
import time
from base64 import b64decode, b64encode
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PosixPath, PurePosixPath
from typing import Any, NamedTuple, NoReturn, Self

from pipeline.paths.asking import StoreError, asked, kind_of

WHOLE = 5 * 2**30
"""Bytes up to which an object is put in one request, so that it is there whole or not at all."""
LAG = (0.0, 0.05, 0.2, 0.5, 1.0, 2.0, 3.0, 3.0)
"""Seconds between looks for an object that was put: some stores show it late."""
TAGS = ("ETag", "etag", "md5Hash", "blob_id", "generation")
TIMES = ("LastModified", "mtime", "updated", "last_commit", "created")
"""What file systems of fsspec call the tag of an object, and when it changed."""
_HELD = threading.local()


class Info(NamedTuple):
    """What a store says of a place: bytes, whether it is a folder, a tag that changes with content, when it changed."""

    size: int
    folder: bool
    tag: str
    changed: float


class StorePath(PosixPath):
    """A place in a store."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the URL."""
        text = super().__str__()
        protocol, colon, rest = text.partition(":/")
        if colon and "/" not in protocol:
            return f"{protocol}://{rest}"
        return f"{text}//" if text.endswith(":") and "/" not in text else text

    def __fspath__(self) -> NoReturn:
        """Refuse.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"{str(self)!r} is in a store and no file of this machine")

    def __eq__(self, other: object) -> bool:
        """Tell whether two places have the same URL."""
        return str(self) == str(other) if isinstance(other, StorePath) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the URL."""
        return hash(str(self))

    @property
    def parent(self) -> Self:
        """The folder above; a bucket has none."""
        return super().parent if len(self.parts) > 2 else self

    @property
    def parents(self) -> Sequence[Self]:
        """All folders above, the nearest first."""
        above = [self]
        while above[-1].parent != above[-1]:
            above.append(above[-1].parent)
        return above[1:]

    def is_absolute(self) -> bool:
        """Tell that no working directory counts."""
        return True

    def absolute(self) -> Self:
        """Return the place itself."""
        return self

    def expanduser(self) -> Self:
        """Return the place itself."""
        return self

    def resolve(self, strict: bool = False) -> Self:  # noqa: FBT001, FBT002 (as pathlib has it)
        """Return the place without steps up."""
        kept: list[str] = []
        for part in self.parts:
            if part != "..":
                kept.append(part)
            elif len(kept) > 2:
                kept.pop()
        return type(self)(*kept)

    def as_uri(self) -> str:
        """Return the URL."""
        return str(self)

    # what is there

    def info(self) -> Info:
        """Return what the store says of the place.

        Raises:
            FileNotFoundError: if nothing is there.
            StoreError: if the store does not say.
        """
        if (whole := held_bytes(self)) is not None:
            return Info(len(whole), folder=False, tag=hashlib.sha256(whole).hexdigest(), changed=0.0)
        return _info_of(asked(str(self), lambda system: system.info(str(self))))

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return size and time of change, as far as the store knows them.

        Raises:
            FileNotFoundError: if nothing is there.
        """
        found = self.info()
        mode = mode_of.S_IFDIR | 0o777 if found.folder else mode_of.S_IFREG | 0o666
        at = int(found.changed)
        return os.stat_result((mode, 0, 0, 1, 0, 0, found.size, at, at, at))

    def lstat(self) -> os.stat_result:
        """Return what `stat` does: there are no links."""
        return self.stat()

    def _is(self, wanted: Callable[[Info], bool]) -> bool:
        try:
            return wanted(self.info())
        except (FileNotFoundError, NotADirectoryError):
            return False

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Tell whether there is an object or something in the folder."""
        return self._is(lambda _: True)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Tell whether there is an object."""
        return self._is(lambda found: not found.folder)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Tell whether there is something in the folder."""
        return self._is(lambda found: found.folder)

    def _never(self) -> bool:
        return False

    is_symlink = is_mount = is_socket = is_fifo = is_block_device = is_char_device = is_junction = _never

    def samefile(self, other_path: object) -> bool:
        """Tell whether two places are one."""
        return str(self.resolve()) == str(other_path)

    def _children(self) -> list[tuple[str, bool]]:
        """Return names in the folder and whether they are folders, sorted; nothing if there is no such folder."""
        try:
            found = asked(str(self), lambda system: system.ls(str(self), detail=True))
        except (FileNotFoundError, NotADirectoryError):
            return []
        own = self.parts[1:]
        named: dict[str, bool] = {}
        for each in found:
            parts = [part for part in each["name"].split("/") if part]
            if len(parts) == len(own) + 1 and (not own or parts[-2] == own[-1]):  # a store also lists what is a file
                named[parts[-1]] = named.get(parts[-1], False) or each["type"] == "directory"
        return sorted(named.items())

    def iterdir(self) -> Generator[Self, None, None]:
        """Yield what is in the folder, by name.

        Raises:
            FileNotFoundError: if there is no such folder.
            NotADirectoryError: if it is an object.
        """
        found = self._children()
        if not found and not self.info().folder:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(self))
        yield from [self / name for name, _ in found]

    def glob(self, pattern: str, **_: Any) -> Generator[Self, None, None]:
        """Yield what matches a pattern of names, each folder listed once."""
        yield from self._matching(PurePosixPath(pattern).parts)

    def rglob(self, pattern: str, **_: Any) -> Generator[Self, None, None]:
        """Yield what matches a pattern in any folder below."""
        yield from self._matching(("**", *PurePosixPath(pattern).parts))

    def _matching(self, parts: Sequence[str]) -> list[Self]:
        if not parts:
            return [self]
        first, rest = parts[0], parts[1:]
        if first == "**":
            below = [where for where, _, _ in self.walk()]
            return sorted({path for each in below for path in each._matching(rest)}) if rest else below
        if not any(mark in first for mark in "*?["):
            following = self / first
            return following._matching(rest) if rest else [following] if following.exists() else []
        fit = [(self / name, folder) for name, folder in self._children() if fnmatchcase(name, first)]
        return [path for each, folder in fit if folder or not rest for path in each._matching(rest)]

    def walk(self, *_: Any, **__: Any) -> Iterator[tuple[Self, list[str], list[str]]]:
        """Yield each folder, from the top, with the names of folders and objects in it."""
        inside = self._children()
        folders = [name for name, folder in inside if folder]
        yield self, folders, [name for name, folder in inside if not folder]
        for name in folders:
            yield from (self / name).walk()

    # content

    def read_bytes(self) -> bytes:
        """Return an object, by one request.

        Raises:
            FileNotFoundError: if there is none.
        """
        if (whole := held_bytes(self)) is not None:
            return whole
        return bytes(asked(str(self), lambda system: system.cat_file(str(self))))

    def tail(self, size: int) -> bytes:
        """Return the last bytes of an object, or all of it if it has fewer.

        Raises:
            FileNotFoundError: if there is none.
        """
        if (whole := held_bytes(self)) is not None:
            return whole[-size:]
        return bytes(asked(str(self), lambda system: system.cat_file(str(self), start=-size)))

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any:
        """Open an object: all of it is read at once, and written at once when the file is closed.

        Raises:
            FileNotFoundError: if it is to be read and is not there.
            OSError: for a mode that stores do not have, such as appending.
        """
        kind = mode.replace("b", "").replace("t", "")
        if kind not in ("r", "w", "x"):
            raise StoreError(errno.EINVAL, f"an object cannot be opened with mode {mode!r}", str(self))
        if kind == "x" and self.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self))
        raw = io.BytesIO(self.read_bytes()) if kind == "r" else _Put(self)
        return raw if "b" in mode else io.TextIOWrapper(raw, encoding or "utf-8", errors, newline)

    def read_text(self, encoding: str | None = None, errors: str | None = None, newline: str | None = None) -> str:
        """Return the text of an object.

        Raises:
            FileNotFoundError: if there is none.
        """
        with self.open("r", -1, encoding, errors, newline) as file:
            return str(file.read())

    def write_bytes(self, data: Any) -> int:
        """Put an object in one request, and see that the store has it.

        Raises:
            StoreError: if the store does not take it, or shows something else in the end.
        """
        whole = bytes(data)
        checked = {"chunksize": WHOLE, "ContentMD5": b64encode(_md5(whole)).decode()} if _is_s3(self) else {}
        asked(str(self), lambda system: system.pipe_file(str(self), whole, **checked))
        _confirm(self, whole)
        return len(whole)

    def write_text(
        self, data: str, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> int:
        """Put a text."""
        self.write_bytes(data.replace("\n", newline or "\n").encode(encoding or "utf-8", errors or "strict"))
        return len(data)

    # changes

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:  # noqa: FBT001, FBT002
        """Make nothing: a folder is there as soon as something is in it.

        Raises:
            FileExistsError: if something is there and must not be.
        """
        if not exist_ok and self.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self))

    def touch(self, mode: int = 0o666, exist_ok: bool = True) -> None:  # noqa: FBT001, FBT002
        """Put an empty object where there is none.

        Raises:
            FileExistsError: if there is one and must not be.
        """
        if not self.exists():
            self.write_bytes(b"")
        elif not exist_ok:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self))

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002
        """Remove an object.

        Raises:
            FileNotFoundError: if there is none and must be.
            IsADirectoryError: if it is a folder.
        """
        try:
            if self.info().folder:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self))
            asked(str(self), lambda system: system.rm_file(str(self)))
        except FileNotFoundError:
            if not missing_ok:
                raise

    def rmdir(self) -> None:
        """Remove nothing: a folder goes with the last that was in it.

        Raises:
            OSError: if something is in it.
        """
        if self.exists():
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(self))

    def replace(self, target: str | os.PathLike[str]) -> Self:
        """Put an object elsewhere in a store, then remove it here; between the two it is in both places.

        Raises:
            FileNotFoundError: if there is none.
        """
        other = target if isinstance(target, type(self)) else type(self)(str(target))
        if other != self:
            self.copy_to(other)
            self.unlink(missing_ok=True)
        return other

    rename = replace

    def copy_to(self, target: StorePath) -> None:
        """Put an object elsewhere in a store, by the store itself where it is the same one.

        Raises:
            FileNotFoundError: if there is none.
            StoreError: if the copy is not what was copied.
        """
        if self.parts[:2] == target.parts[:2]:
            asked(str(target), lambda system: system.cp_file(str(self), str(target)))
            here, there = self.info(), target.info()
            if here.size == there.size and here.tag == there.tag:
                return
        target.write_bytes(self.read_bytes())

    def _lacking(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreError(errno.ENOTSUP, "stores have no links, owners and permissions", str(self))

    chmod = lchmod = symlink_to = hardlink_to = link_to = readlink = owner = group = _lacking


class _Put(io.BytesIO):
    """A file that is put as one object when it is closed; after an error in its block nothing is put."""

    def __init__(self, path: StorePath) -> None:
        super().__init__()
        self._path = path

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is not None:
            super().close()
        self.close()

    def close(self) -> None:
        """Put what was written, once."""
        if not self.closed:
            whole = self.getvalue()
            super().close()
            self._path.write_bytes(whole)


def held_once(*paths: Path) -> AbstractContextManager[None]:
    """Fetch objects once: while the block runs, this thread reads them from memory. Files of a disk are left alone.

    Raises:
        FileNotFoundError: if one is not there.
    """
    return held({path: path.read_bytes() for path in paths if isinstance(path, StorePath)})


@contextmanager
def held(content: Mapping[Path, bytes]) -> Iterator[None]:
    """Let this thread read some objects from memory while the block runs."""
    before = getattr(_HELD, "whole", {})
    _HELD.whole = {**before, **{str(path): whole for path, whole in content.items()}}
    try:
        yield
    finally:
        _HELD.whole = before


def held_bytes(path: StorePath) -> bytes | None:
    """Return an object that this thread holds in memory; None if it does not."""
    known: dict[str, bytes] = getattr(_HELD, "whole", {})
    return known.get(str(path)) if known else None


def _info_of(said: dict[str, Any]) -> Info:
    """Return what a file system of fsspec says, under one set of names."""
    tag = next((str(said[name]) for name in TAGS if said.get(name)), "")
    at = next((said[name] for name in TIMES if said.get(name)), 0)
    changed = at.timestamp() if hasattr(at, "timestamp") else at if isinstance(at, int | float) else 0.0
    return Info(int(said.get("size") or 0), said["type"] == "directory", tag or str(at), float(changed))


def _is_s3(path: StorePath) -> bool:
    return kind_of(str(path)) == "s3"


def _md5(data: bytes) -> bytes:
    return hashlib.md5(data, usedforsecurity=False).digest()


def _confirm(path: StorePath, data: bytes) -> None:
    """See that a store has what was put: by size, and by its digest or by its bytes.

    Raises:
        StoreError: if it still has not after a while.
    """
    shown = "nothing"
    for pause in LAG:
        time.sleep(pause)
        try:
            found = path.info()
            if found.size == len(data) and (_is_digest(found.tag, data) or path.read_bytes() == data):
                return
            shown = f"{found.size} other bytes"
        except FileNotFoundError:
            shown = "nothing"
    raise StoreError(
        errno.EIO, f"{len(data)} bytes were put, but the store shows {shown}: run the same command again", str(path)
    )


def _is_digest(tag: str, data: bytes) -> bool:
    """Tell whether a tag is the MD5 of the bytes, in hexadecimal or Base64; others say nothing."""
    digest, tag = _md5(data), tag.strip('"')
    try:
        return tag == digest.hex() or b64decode(tag, validate=True) == digest
    except ValueError:
        return False
