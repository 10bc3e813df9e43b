"""Paths in object stores: ``s3://bucket/release``, ``gs://``, ``hf://``, ``memory://``.

A `StorePath` is a `pathlib.Path`, so code that joins, compares and splits paths works for both. Methods that would
access a disk ask the store instead, with a few requests that every fsspec store supports: info, a listing, a read, a
write of one whole object, a removal. Folders are never made: one exists as long as something is in it.

Features that stores lack (links, permissions, appending) raise errors, and so does `__fspath__`, so that code which
passes a path to the kernel cannot write to a local folder called ``s3:``.
"""

from __future__ import annotations

import errno
import hashlib
import io
import os
import stat as mode_of
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from io import SEEK_CUR, SEEK_END, SEEK_SET
from pathlib import Path, PosixPath, PurePosixPath
from typing import Any, BinaryIO, NoReturn, Self, TypeVar, cast

from pipeline.storage import objects
from pipeline.storage.objects import Info
from pipeline.storage.requests import StoreError, request


class UrlPath(PosixPath):
    """The URL of a place in a store."""

    __slots__ = ()

    def __str__(self) -> str:
        """Return the URL."""
        text = super().__str__()
        protocol, colon, rest = text.partition(":/")
        if colon and "/" not in protocol:
            return f"{protocol}://{rest}"
        return f"{text}//" if text.endswith(":") and "/" not in text else text

    def __fspath__(self) -> NoReturn:
        """Refuse to be used as a local path.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"{str(self)!r} is in a store and no file of this machine")

    def __eq__(self, other: object) -> bool:
        """Return whether two places have the same URL."""
        return str(self) == str(other) if isinstance(other, UrlPath) else NotImplemented

    def __hash__(self) -> int:
        """Return the hash of the URL."""
        return hash(str(self))

    @property
    def parent(self) -> Self:
        """The folder above; that of a bucket is the bucket itself."""
        return super().parent if len(self.parts) > 2 else self

    @property
    def parents(self) -> Sequence[Self]:
        """All folders above, the nearest first."""
        above = [self]
        while above[-1].parent != above[-1]:
            above.append(above[-1].parent)
        return above[1:]

    def is_absolute(self) -> bool:
        """Return True: no working directory matters."""
        return True

    def absolute(self) -> Self:
        """Return the place itself."""
        return self

    def expanduser(self) -> Self:
        """Return the place itself."""
        return self

    def resolve(self, strict: bool = False) -> Self:  # noqa: FBT001, FBT002 (as pathlib has it)
        """Return the place without ``..`` parts."""
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

    def samefile(self, other_path: object) -> bool:
        """Return whether two places are the same."""
        return str(self.resolve()) == str(other_path)

    def _never(self) -> bool:
        return False

    is_symlink = is_mount = is_socket = is_fifo = is_block_device = is_char_device = is_junction = _never

    def _lacking(self, *_: Any, **__: Any) -> NoReturn:
        raise StoreError(errno.ENOTSUP, "stores have no links, owners and permissions", str(self))

    chmod = lchmod = symlink_to = hardlink_to = link_to = readlink = owner = group = _lacking


class StorePath(UrlPath):
    """A place in a store."""

    __slots__ = ()

    def info(self) -> Info:
        """Return the store's info on the place.

        Raises:
            FileNotFoundError: if nothing is there.
            StoreError: if the store does not answer.
        """
        if (whole := objects.bytes_in_memory(str(self))) is not None:
            return Info(len(whole), folder=False, tag=hashlib.sha256(whole).hexdigest(), changed=0.0)
        return objects.info(str(self))

    def stat(self, *, follow_symlinks: bool = True) -> os.stat_result:
        """Return size and time of change, as far as the store has them.

        Raises:
            FileNotFoundError: if nothing is there.
        """
        info = self.info()
        mode = mode_of.S_IFDIR | 0o777 if info.folder else mode_of.S_IFREG | 0o666
        at = int(info.changed)
        return os.stat_result((mode, 0, 0, 1, 0, 0, info.size, at, at, at))

    def lstat(self) -> os.stat_result:
        """Return what `stat` does, since there are no links."""
        return self.stat()

    def _is(self, wanted: Callable[[Info], bool]) -> bool:
        try:
            return wanted(self.info())
        except (FileNotFoundError, NotADirectoryError):
            return False

    def exists(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether there is an object, or a folder with something in it."""
        return self._is(lambda _: True)

    def is_file(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether there is an object."""
        return self._is(lambda info: not info.folder)

    def is_dir(self, *, follow_symlinks: bool = True) -> bool:
        """Return whether there is a folder with something in it."""
        return self._is(lambda info: info.folder)

    def iterdir(self) -> Generator[Self, None, None]:
        """Yield the folder's content, by name.

        Raises:
            FileNotFoundError: if there is no such folder.
            NotADirectoryError: if it is an object.
        """
        children = objects.children(str(self))
        if not children and not self.info().folder:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(self))
        yield from [self / name for name, _ in children]

    def glob(self, pattern: str, **_: Any) -> Generator[Self, None, None]:
        """Yield what matches a pattern, listing each folder once."""
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
        fit = [(self / name, folder) for name, folder in objects.children(str(self)) if fnmatchcase(name, first)]
        return [path for each, folder in fit if folder or not rest for path in each._matching(rest)]

    def walk(self, *_: Any, **__: Any) -> Iterator[tuple[Self, list[str], list[str]]]:
        """Yield each folder, from the top, with the names of folders and objects in it."""
        inside = objects.children(str(self))
        folders = [name for name, folder in inside if folder]
        yield self, folders, [name for name, folder in inside if not folder]
        for name in folders:
            yield from (self / name).walk()

    def sizes(self) -> dict[Self, int]:
        """Return the bytes of every object below the folder, from one listing, which may be out of date."""
        return {self.joinpath(*steps): size for steps, size in objects.sizes(str(self)).items() if steps}

    # content

    def read_bytes(self) -> bytes:
        """Return an object, by one request.

        Raises:
            FileNotFoundError: if there is none.
        """
        if (whole := objects.bytes_in_memory(str(self))) is not None:
            return whole
        return objects.read(str(self))

    def tail(self, size: int) -> bytes:
        """Return the last bytes of an object, or all of it if it has fewer.

        Raises:
            FileNotFoundError: if there is none.
        """
        if (whole := objects.bytes_in_memory(str(self))) is not None:
            return whole[-size:]
        return objects.read(str(self), size)

    def open(
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> Any:
        """Open an object, which is read whole, or put whole when the file is closed.

        Raises:
            FileNotFoundError: if it is opened for reading and does not exist.
            OSError: for a mode that stores do not support, such as appending.
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
        """Put an object in one request, and check that the store has it.

        Raises:
            StoreError: if the store refuses it, or has something else in the end.
        """
        whole = bytes(data)
        objects.put(str(self), whole)
        return len(whole)

    def write_text(
        self, data: str, encoding: str | None = None, errors: str | None = None, newline: str | None = None
    ) -> int:
        """Put a text."""
        self.write_bytes(data.replace("\n", newline or "\n").encode(encoding or "utf-8", errors or "strict"))
        return len(data)

    # changes

    def mkdir(self, mode: int = 0o777, parents: bool = False, exist_ok: bool = False) -> None:  # noqa: FBT001, FBT002
        """Do nothing, since a folder exists as soon as something is in it.

        Raises:
            FileExistsError: if something is there, unless `exist_ok`.
        """
        if not exist_ok and self.exists():
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self))

    def touch(self, mode: int = 0o666, exist_ok: bool = True) -> None:  # noqa: FBT001, FBT002
        """Put an empty object if there is none.

        Raises:
            FileExistsError: if there is one, unless `exist_ok`.
        """
        if not self.exists():
            self.write_bytes(b"")
        elif not exist_ok:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(self))

    def unlink(self, missing_ok: bool = False) -> None:  # noqa: FBT001, FBT002
        """Remove an object.

        Raises:
            FileNotFoundError: if there is none, unless `missing_ok`.
            IsADirectoryError: if it is a folder, unless `missing_ok`.
        """
        try:
            if not missing_ok and self.info().folder:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self))
            objects.remove(str(self))
        except FileNotFoundError:
            if not missing_ok:
                raise

    def rmdir(self) -> None:
        """Do nothing, since a folder vanishes with its last object.

        Raises:
            OSError: if something is in it.
        """
        if self.exists():
            raise OSError(errno.ENOTEMPTY, os.strerror(errno.ENOTEMPTY), str(self))

    def replace(self, target: str | os.PathLike[str]) -> Self:
        """Copy an object, then remove the original; in between, both exist.

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
        """Copy an object to another place in a store; within a bucket, the store itself copies it.

        Raises:
            FileNotFoundError: if there is none.
            StoreError: if the store refuses it, or the copy differs.
        """
        if self.parts[:2] != target.parts[:2] or not objects.copy(str(self), str(target)):
            target.write_bytes(self.read_bytes())


class _Put(io.BytesIO):
    """A file that is put as one object when closed; after an error in its block, nothing is put."""

    def __init__(self, path: StorePath) -> None:
        super().__init__()
        self._path = path

    def __exit__(self, kind: object, *rest: object) -> None:
        if kind is not None:
            super().close()
        self.close()

    def close(self) -> None:
        """Put the content, once."""
        if not self.closed:
            whole = self.getvalue()
            super().close()
            self._path.write_bytes(whole)


def prefetched(*paths: Path) -> AbstractContextManager[None]:
    """Fetch objects of a store, which this thread reads from memory while the block runs.

    Raises:
        FileNotFoundError: if one does not exist.
    """
    return objects.in_memory({str(path): path.read_bytes() for path in paths if isinstance(path, StorePath)})


def prefetched_existing(*paths: Path) -> AbstractContextManager[None]:
    """Fetch objects like `prefetched`, and remember which do not exist until this thread puts them."""
    return objects.in_memory({str(path): _bytes_if_there(path) for path in paths if isinstance(path, StorePath)})


def _bytes_if_there(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


T = TypeVar("T")
R = TypeVar("R")
AT_ONCE = 32
"""The most requests at the same time."""
AHEAD = 64 * 1024 * 1024
"""The most bytes of results that are being fetched or wait to be used."""


def _weightless(_: object) -> int:
    return 0


def map_in_order(
    act: Callable[[T], R], items: Iterable[T], where: Path, weigh: Callable[[T], int] = _weightless
) -> Iterator[R]:
    """Yield a function's results for items, in order; in a store, up to AT_ONCE calls run at once, in threads.

    Args:
        act: the function, which accesses places below `where`.
        items: its arguments.
        where: a folder; on a disk, calls run one after the other.
        weigh: returns the bytes of a result; all results in flight have at most AHEAD bytes, unless there is only one.
    """
    if not isinstance(where, StorePath):
        yield from map(act, items)
        return
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="carrara-store") as threads:
        waiting: deque[tuple[int, Future[R]]] = deque()
        try:
            for item in items:
                weight = weigh(item)
                while waiting and (len(waiting) >= AT_ONCE or weight + sum(each for each, _ in waiting) > AHEAD):
                    yield waiting.popleft()[1].result()
                waiting.append((weight, threads.submit(act, item)))
            while waiting:
                yield waiting.popleft()[1].result()
        finally:
            threads.shutdown(wait=False, cancel_futures=True)


def prefetch(files: Iterable[tuple[Path, int]], where: Path) -> Iterator[Path]:
    """Yield paths, each readable from memory in its turn, while the next ones are fetched from their store.

    Args:
        files: the paths, with the bytes of each.
        where: a folder above them.
    """
    for path, whole in map_in_order(_fetched, files, where, lambda file: file[1]):
        with objects.in_memory({str(path): whole} if whole is not None else {}):
            yield path


def _fetched(file: tuple[Path, int]) -> tuple[Path, bytes | None]:
    path, _ = file
    return path, path.read_bytes() if isinstance(path, StorePath) else None


END = 256 * 1024
"""Bytes at the end of an object that are fetched together: its footer, or all of a small object."""
RANGES_AHEAD = 4 * 1024 * 1024
"""Bytes fetched at a time when an object is read from start to end."""


class Ranges(io.RawIOBase):
    """An object open for reading: each read is a request, except that the last END bytes are fetched once.

    Raises:
        FileNotFoundError: if there is none.
    """

    def __init__(self, path: StorePath) -> None:
        self._path, self._at = path, 0
        self._size = path.info().size
        self._end = b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Set the position."""
        self._at = max(0, offset + {SEEK_SET: 0, SEEK_CUR: self._at, SEEK_END: self._size}[whence])
        return self._at

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as there are bytes left; return how many were read."""
        view = memoryview(buffer).cast("B")
        stop = min(self._size, self._at + len(view))
        if self._at >= stop:
            return 0
        data = self._fetched(self._at, stop)
        view[: len(data)] = data
        self._at = stop
        return len(data)

    def _fetched(self, start: int, stop: int) -> bytes:
        first = max(0, self._size - END)
        if start < first:
            return self._request_range(start, stop)
        self._end = self._end or self._request_range(first, self._size)
        return self._end[start - first : stop - first]

    def _request_range(self, start: int, stop: int) -> bytes:
        url = str(self._path)
        data = bytes(request(url, lambda system: system.cat_file(url, start=start, end=stop)))
        if len(data) != stop - start:
            raise StoreError(errno.EIO, "it changes while it is read: run the same command again", url)
        return data


def readable(path: Path) -> Path | BinaryIO:
    """Return something that a library which seeks in files can read: the path, or a file that fetches ranges.

    Raises:
        OSError: if a store has no such object, or does not answer.
    """
    if not isinstance(path, StorePath):
        return path
    known = objects.bytes_in_memory(str(path))
    return cast(BinaryIO, Ranges(path)) if known is None else io.BytesIO(known)


def streamed(path: Path) -> BinaryIO:
    """Open a file to read it from start to end; an object of a store is fetched a few megabytes at a time.

    Raises:
        OSError: if it does not exist, or cannot be read.
    """
    if not isinstance(path, StorePath):
        return path.open("rb")
    return io.BufferedReader(cast(io.RawIOBase, readable(path)), RANGES_AHEAD)
