"""The file of predictions that a run appends to: one JSON object a line. One process at a time has it."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Mapping
from errno import ENOSPC
from pathlib import Path
from typing import Any

from pipeline.errors import BuildError, PredictionsError

UNREADABLE = (ValueError, TypeError, LookupError, RecursionError)


class Predictions:
    """An open file of predictions of one model on one split; `answered` are the ids that have a reply.

    Args:
        path: the file; it is made if it is not there.
        model: whose predictions they are.
        tags: the split tags that ids may end in.
    """

    def __init__(self, path: Path, model: str, tags: frozenset[str]) -> None:
        self._path, self._model, self._tags = path, model, tags
        self.answered: set[str] = set()

    def __enter__(self) -> Predictions:
        """Read what is there, mend its last line, and open the file for what is to come.

        Raises:
            PredictionsError: if it holds something else, or predictions of another model or split.
            BuildError: if it cannot be read or written, or another process has it.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a+b", buffering=0)
        except OSError as fault:
            raise self._unwritten(fault) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except OSError as fault:
            self._file.close()
            raise self._unwritten(fault) from None
        except PredictionsError:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def _read(self) -> None:
        """Note all ids with a reply; half a last line, which a crash has left, is cut off."""
        whole = 0
        with self._path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if not line.endswith(b"\n") and not _is_whole(line):
                    self._file.truncate(whole)
                    return
                self._note(number, line)
                whole += len(line)
                if not line.endswith(b"\n"):
                    self._file.write(b"\n")
                    return

    def _note(self, number: int, line: bytes) -> None:
        try:
            said = json.loads(line)
            row_id, model, text = str(said["id"]), str(said["model"]), said["prediction"]
        except UNREADABLE:
            raise PredictionsError(
                f"{str(self._path)!r}, line {number} is no prediction of a run: give another --out, or mend the line"
            ) from None
        if model != self._model:
            raise PredictionsError(
                f"{str(self._path)!r} has predictions of {model!r}, not {self._model!r}: give another --out"
            )
        if row_id.rpartition("-")[2] not in self._tags:
            own = " and ".join(sorted(self._tags))
            raise PredictionsError(
                f"{str(self._path)!r} has predictions of another split: the tag of {row_id!r} is not {own}: give "
                "another --out"
            )
        if isinstance(text, str):
            self.answered.add(row_id)

    def keep(self, row_id: str, prediction: str, more: Mapping[str, Any]) -> None:
        """Write a reply down.

        Raises:
            BuildError: if it cannot be written.
        """
        self._write({"id": row_id, "prediction": prediction, "model": self._model, **more})
        self.answered.add(row_id)

    def keep_failure(self, row_id: str, error: str) -> None:
        """Write down why a row has no reply; the next run asks again.

        Raises:
            BuildError: if it cannot be written.
        """
        self._write({"id": row_id, "prediction": None, "model": self._model, "error": error})

    def _write(self, said: Mapping[str, Any]) -> None:
        line = json.dumps(said).encode() + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise OSError(ENOSPC, "No space left on device")
        except OSError as fault:
            raise self._unwritten(fault) from None

    def _unwritten(self, fault: OSError) -> BuildError:
        if isinstance(fault, BlockingIOError):
            return BuildError(f"{str(self._path)!r} is at work in another run: wait for it, or give another --out")
        return BuildError(f"{str(self._path)!r} cannot be written: {fault.strerror}; the same command goes on")


def _is_whole(line: bytes) -> bool:
    try:
        return bool(json.loads(line))
    except UNREADABLE:
        return False
