"""Objects of a store as files that are fetched where they are read, so that a few columns cost only themselves."""

from __future__ import annotations

import errno
import io
from io import SEEK_CUR, SEEK_END, SEEK_SET
from pathlib import Path
from typing import Any, BinaryIO, cast

from pipeline.paths.asking import StoreError, asked
from pipeline.paths.objects import held_bytes
from pipeline.paths.store import StorePath

END = 256 * 1024
"""Bytes at the end of an object that are fetched first: its footer, and all of a small one."""
AHEAD = 4 * 1024 * 1024
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
        found = bytes(asked(url, lambda system: system.cat_file(url, start=start, end=stop)))
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
    return io.BufferedReader(cast(io.RawIOBase, readable(path)), AHEAD)
