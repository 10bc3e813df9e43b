"""What the model of a harness is told to answer, and what that must score."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from answering import KEY, digest
from pipeline.artifacts.split import Split
from pipeline.metrics import headline, pair_scores, score

CHANCE = {"bio": 0.15, "idk": 0.6, "latent_list": 0.3, "mrcr": 0.05}
"""What the replies of other rows of a family may score; in idk the same letter is right in about half of them."""


@dataclass(frozen=True)
class Asked:
    """A split, and for each row a reply: its own target, or that of another row of its family."""

    split: Split
    replies: dict[str, str]

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        return list(self.split.rows())

    @cached_property
    def scores(self) -> dict[str, float]:
        return {row["id"]: score(row, self.replies[row["id"]]) for row in self.rows}

    def mean(self, **stratum: Any) -> float:
        """Return the mean score of the rows of a stratum, but for those with turns if `turns` is False."""
        turns = stratum.pop("turns", True)
        chosen = [
            self.scores[row["id"]]
            for row in self.rows
            if row == {**row, **stratum} and (turns or row["messages"] is None)
        ]
        assert chosen, stratum
        return sum(chosen) / len(chosen)

    def headline(self, **stratum: Any) -> float:
        """Return the headline of the rows of a stratum, but for those with turns if `turns` is False."""
        turns = stratum.pop("turns", True)
        rows = {row["id"]: row for row in self.rows if row == {**row, **stratum} and (turns or row["messages"] is None)}
        return headline(rows, pair_scores(rows, {row_id: self.scores[row_id] for row_id in rows}))

    def key(self, path: Path) -> Path:
        """Write what the model of a harness answers from."""
        entries = {}
        for row in self.rows:
            turns = [(turn["role"], turn["content"]) for turn in row["messages"] or ()]
            entries[digest(turns or [("user", row["prompt"])])] = {
                "reply": self.replies[row["id"]],
                "room": row["max_new_tokens"],
            }
        path.write_text(json.dumps(entries), encoding="utf-8")
        return path

    def serve(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Let the server of this process answer so."""
        monkeypatch.setenv(KEY, str(self.key(folder / "key.json")))


def families(split: Split) -> list[list[dict[str, Any]]]:
    rows = sorted(split.key_rows(), key=lambda row: (row["family"], row["subtask"], row["length"], row["id"]))
    return [list(group) for _, group in groupby(rows, key=lambda row: row["family"])]
