"""The file of predictions that a run appends to: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import PredictionsError
from pipeline.store.journal import UNREADABLE, Journal
from pipeline.store.refusals import CUT


class Predictions(Journal):
    """An open file of predictions of one model on one split.

    What a row has is one of three: a reply (`answered`; `cut` those of them that ended where their room did), a reply
    without text (`empty`), or a server's final refusal (`refused`). A failed try is none of them.

    Args:
        path: the file; it is made if it is not there.
        model: whose predictions they are.
        tags: the split tags that ids may end in.
        again: whether rows that were refused, or have an empty reply, are asked again.
    """

    def __init__(self, path: Path, model: str, tags: frozenset[str], *, again: bool = False) -> None:
        super().__init__(path, "give another --out")
        self._model, self._tags, self._again = model, tags, again
        self.answered: set[str] = set()
        self.cut: set[str] = set()
        self.empty: set[str] = set()
        self.refused: dict[str, str] = {}
        self._owed: set[str] = set()

    def is_done(self, row_id: str) -> bool:
        """Tell whether a row is not asked any more."""
        known = row_id in self.answered or row_id in self.empty or row_id in self.refused
        return known and row_id not in self._owed

    def _note(self, number: int, line: bytes) -> None:
        try:
            said = json.loads(line)
            row_id, model, text = str(said["id"]), str(said["model"]), said["prediction"]
        except UNREADABLE:
            raise PredictionsError(
                f"{str(self.path)!r}, line {number} is not a prediction by carrara run: give another --out, or "
                "fix the line"
            ) from None
        if model != self._model:
            raise PredictionsError(
                f"{str(self.path)!r} has predictions of {model!r}, not {self._model!r}: give another --out"
            )
        if row_id.rpartition("-")[2] not in self._tags:
            own = " and ".join(sorted(self._tags))
            raise PredictionsError(
                f"{str(self.path)!r} has predictions for another split: the tag of {row_id!r} is not {own}: give "
                "another --out"
            )
        if said.get("refused"):
            self._take_refusal(row_id, str(said["refused"]))
        elif not said.get("error"):
            self._take(row_id, text, said.get("finish_reason"))
        if self._again and row_id not in self.answered:
            self._owed.add(row_id)

    def _take(self, row_id: str, text: object, reason: object) -> None:
        if row_id in self.answered:
            return
        self.refused.pop(row_id, None)
        if isinstance(text, str) and text.strip():
            self.answered.add(row_id)
            self.empty.discard(row_id)
            self._owed.discard(row_id)
        else:
            self.empty.add(row_id)
        is_cut = isinstance(reason, str) and reason.lower() in CUT
        (self.cut.add if is_cut else self.cut.discard)(row_id)

    def _take_refusal(self, row_id: str, error: str) -> None:
        if row_id not in self.answered and row_id not in self.empty:
            self.refused[row_id] = error

    def keep(self, row_id: str, prediction: str | None, more: Mapping[str, Any]) -> None:
        """Write a reply down; None is one without text."""
        self._append({"id": row_id, "prediction": prediction, "model": self._model, **more})
        self._owed.discard(row_id)
        self._take(row_id, prediction, more.get("finish_reason"))

    def keep_refusal(self, row_id: str, error: str) -> None:
        """Record that the server will never answer a row; the next run does not send it again."""
        self._append({"id": row_id, "prediction": None, "model": self._model, "refused": error})
        self._owed.discard(row_id)
        self._take_refusal(row_id, error)

    def keep_failure(self, row_id: str, error: str) -> None:
        """Record why a row has no reply; the next run sends it again."""
        self._append({"id": row_id, "prediction": None, "model": self._model, "error": error})
