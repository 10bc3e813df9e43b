"""The file of predictions that a run appends to: one JSON object a line."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pipeline.errors import PredictionsError
from pipeline.store.journal import UNREADABLE, Journal


class Predictions(Journal):
    """An open file of predictions of one model on one split; `answered` are the ids that have a reply.

    Args:
        path: the file; it is made if it is not there.
        model: whose predictions they are.
        tags: the split tags that ids may end in.
    """

    def __init__(self, path: Path, model: str, tags: frozenset[str]) -> None:
        super().__init__(path, "give another --out")
        self._model, self._tags = model, tags
        self.answered: set[str] = set()

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
        if isinstance(text, str):
            self.answered.add(row_id)

    def keep(self, row_id: str, prediction: str, more: Mapping[str, Any]) -> None:
        """Write a reply down."""
        self._append({"id": row_id, "prediction": prediction, "model": self._model, **more})
        self.answered.add(row_id)

    def keep_failure(self, row_id: str, error: str) -> None:
        """Record why a row has no reply; the next run sends it again."""
        self._append({"id": row_id, "prediction": None, "model": self._model, "error": error})
