"""Journals: JSON Lines files to which one process at a time appends; a crash loses at most the last line."""

from __future__ import annotations

import fcntl
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from errno import ENOSPC
from pathlib import Path
from typing import Any, Self

from pipeline.artifacts.files import check_regular
from pipeline.errors import BuildError, CarraraError
from pipeline.storage import NO_LOCKS, StorePath

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)
"""Exceptions that reading a line of another shape may raise."""


class Journal(ABC):
    """A journal, opened as a context manager.

    Args:
        path: the file; it is created if it is missing.
        other: advice for the message if another run has it open.
    """

    def __init__(self, path: Path, other: str) -> None:
        self.path, self._other = path, other

    def __enter__(self) -> Self:
        """Read the file, cut off a broken last line, and open it for appending.

        Raises:
            CarraraError: if a line does not belong in this journal.
            BuildError: if the file cannot be read or written, or another process has it open.
        """
        if isinstance(self.path, StorePath):
            raise BuildError(f"{str(self.path)!r} is in a store, which nothing can be appended to: give one on a disk")
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            check_regular(self.path)
            self._file = self.path.open("a+b", buffering=0)
        except OSError as fault:
            raise self._unwritten(fault) from None
        try:
            self._take_turn()
            self._read()
        except OSError as fault:
            self._file.close()
            raise self._unwritten(fault) from None
        except CarraraError:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def _take_turn(self) -> None:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as fault:
            if fault.errno not in NO_LOCKS:
                raise

    @abstractmethod
    def _note(self, number: int, line: bytes) -> None:
        """Process line `number`, counting from 1; raise a CarraraError if it does not belong in this journal."""

    def _read(self) -> None:
        """Note all lines; cut off a half-written last line."""
        whole = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n") and not _is_whole(line):
                    self._file.truncate(whole)
                    return
                self._note(number, line)
                whole += len(line)
                if not line.endswith(b"\n"):
                    self._file.write(b"\n")
                    return

    def _append(self, record: Mapping[str, Any]) -> None:
        """Write a line.

        Raises:
            BuildError: if it cannot be written.
        """
        line = json.dumps(record).encode() + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise OSError(ENOSPC, "No space left on device")
        except OSError as fault:
            raise self._unwritten(fault) from None

    def _unwritten(self, fault: OSError) -> BuildError:
        if isinstance(fault, BlockingIOError):
            return BuildError(f"{str(self.path)!r} is being written by another run: wait for it, or {self._other}")
        return BuildError(
            f"{str(self.path)!r} cannot be written: {fault.strerror}; run the same command again to continue"
        )


def _is_whole(line: bytes) -> bool:
    try:
        return bool(json.loads(line))
    except UNREADABLE:
        return False
