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
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from fnmatch import fnmatchcase
from io import SEEK_CUR, SEEK_END, SEEK_SET
from pathlib import Path, PosixPath, PurePosixPath
from typing import Any, BinaryIO, NoReturn, Self, TypeVar, cast

from pipeline.storage import objects
from pipeline.storage.objects import Info, held, held_bytes
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
        """Refuse.

        Raises:
            TypeError: always.
        """
        raise TypeError(f"{str(self)!r} is in a store and no file of this machine")

    def __eq__(self, other: object) -> bool:
        """Tell whether two places have the same URL."""
        return str(self) == str(other) if isinstance(other, UrlPath) else NotImplemented

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

    def samefile(self, other_path: object) -> bool:
        """Tell whether two places are one."""
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
        """Return what the store says of the place.

        Raises:
            FileNotFoundError: if nothing is there.
            StoreError: if the store does not say.
        """
        if (whole := objects.held_bytes(str(self))) is not None:
            return Info(len(whole), folder=False, tag=hashlib.sha256(whole).hexdigest(), changed=0.0)
        return objects.info(str(self))

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

    def iterdir(self) -> Generator[Self, None, None]:
        """Yield what is in the folder, by name.

        Raises:
            FileNotFoundError: if there is no such folder.
            NotADirectoryError: if it is an object.
        """
        found = objects.children(str(self))
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
        """Return the bytes of every object below the folder, as one listing shows them: it may be late."""
        return {self.joinpath(*steps): size for steps, size in objects.sizes(str(self)).items() if steps}

    # content

    def read_bytes(self) -> bytes:
        """Return an object, by one request.

        Raises:
            FileNotFoundError: if there is none.
        """
        if (whole := objects.held_bytes(str(self))) is not None:
            return whole
        return objects.read(str(self))

    def tail(self, size: int) -> bytes:
        """Return the last bytes of an object, or all of it if it has fewer.

        Raises:
            FileNotFoundError: if there is none.
        """
        if (whole := objects.held_bytes(str(self))) is not None:
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
            if not missing_ok and self.info().folder:
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self))
            objects.remove(str(self))
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
        if self.parts[:2] != target.parts[:2] or not objects.copy(str(self), str(target)):
            target.write_bytes(self.read_bytes())


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


def prefetched(*paths: Path) -> AbstractContextManager[None]:
    """Fetch objects once: while the block runs, this thread reads them from memory. Files of a disk are left alone.

    Raises:
        FileNotFoundError: if one is not there.
    """
    return objects.held({str(path): path.read_bytes() for path in paths if isinstance(path, StorePath)})


def prefetched_existing(*paths: Path) -> AbstractContextManager[None]:
    """Fetch objects once, as `held_once` does, and remember which are not there until this thread puts them."""
    return objects.held({str(path): _there(path) for path in paths if isinstance(path, StorePath)})


def _there(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


T = TypeVar("T")
R = TypeVar("R")
AT_ONCE = 32
"""Questions that wait for an answer at a time."""
AHEAD = 64 * 1024 * 1024
"""Bytes of answers that are under way, or wait to be used."""


def _weightless(_: object) -> int:
    return 0


def map_in_order(
    act: Callable[[T], R], items: Iterable[T], where: Path, weigh: Callable[[T], int] = _weightless
) -> Iterator[R]:
    """Yield what a function returns for each item, in their order.

    Args:
        act: asks for places below `where`; in a store AT_ONCE of them at the same time, by threads.
        items: what it is asked about.
        where: a folder; on a disk one thing is done after the other.
        weigh: the bytes that an answer takes; those asked for at the same time take AHEAD, or are one.
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
    """Yield paths, each readable from memory in its turn, while those that follow it are fetched from their store.

    Args:
        files: the paths and the bytes of each.
        where: the folder that they are below.
    """
    for path, whole in map_in_order(_fetched, files, where, lambda file: file[1]):
        with held({str(path): whole} if whole is not None else {}):
            yield path


def _fetched(file: tuple[Path, int]) -> tuple[Path, bytes | None]:
    path, _ = file
    return path, path.read_bytes() if isinstance(path, StorePath) else None


END = 256 * 1024
"""Bytes at the end of an object that are fetched first: its footer, and all of a small one."""
RANGES_AHEAD = 4 * 1024 * 1024
"""Bytes that are fetched at a time of what is read from start to end."""


class Ranges(io.RawIOBase):
    """An object, open to read: each read is a request, but for those of its end, which is fetched once.

    Raises:
        FileNotFoundError: if there is none.
    """

    def __init__(self, path: StorePath) -> None:
        self._path, self._at = path, 0
        self._size = path.info().size
        self._end = b""

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def seekable(self) -> bool:
        """Tell that it has places."""
        return True

    def seek(self, offset: int, whence: int = SEEK_SET) -> int:
        """Go to a place."""
        self._at = max(0, offset + {SEEK_SET: 0, SEEK_CUR: self._at, SEEK_END: self._size}[whence])
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read what fits, or what is left."""
        view = memoryview(buffer).cast("B")
        stop = min(self._size, self._at + len(view))
        if self._at >= stop:
            return 0
        found = self._fetched(self._at, stop)
        view[: len(found)] = found
        self._at = stop
        return len(found)

    def _fetched(self, start: int, stop: int) -> bytes:
        first = max(0, self._size - END)
        if start < first:
            return self._asked(start, stop)
        self._end = self._end or self._asked(first, self._size)
        return self._end[start - first : stop - first]

    def _asked(self, start: int, stop: int) -> bytes:
        url = str(self._path)
        found = bytes(request(url, lambda system: system.cat_file(url, start=start, end=stop)))
        if len(found) != stop - start:
            raise StoreError(errno.EIO, "it changes while it is read: run the same command again", url)
        return found


def readable(path: Path) -> Path | BinaryIO:
    """Return what a library that seeks in files can be given: the path, or an object of a store, fetched in parts.

    Raises:
        OSError: if a store has no such object, or does not answer.
    """
    if not isinstance(path, StorePath):
        return path
    known = held_bytes(str(path))
    return cast(BinaryIO, Ranges(path)) if known is None else io.BytesIO(known)


def streamed(path: Path) -> BinaryIO:
    """Open a file that is read from its start to its end; of an object in a store a few megabytes are held at a time.

    Raises:
        OSError: if it is not there, or cannot be read.
    """
    if not isinstance(path, StorePath):
        return path.open("rb")
    return io.BufferedReader(cast(io.RawIOBase, readable(path)), RANGES_AHEAD)
