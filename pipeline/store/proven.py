"""What was proven of the rows of a split, in numbers and in words."""

from __future__ import annotations

from msgspec import Struct

from pipeline.typed import Line, Whole

NONE = "none"
"""The name of the second encoder where there is none."""


class Proven(Struct, kw_only=True, frozen=True, omit_defaults=True):
    """How many rows were proven: exact, solved from their text, recounted by another encoder than the `counter`.

    That is `quick` for `quick_recounted` of them and `second` for the others, as in the proof of a shard; manifests may
    name `quick` under `second` too, as they once did. Rows about users' own texts cannot be solved by a program: those
    that are not solved are checked.
    """

    rows: Whole
    exact: Whole
    solved: Whole
    recounted: Whole
    counter: tuple[Line, ...]
    second: tuple[Line, ...]
    quick: tuple[Line, ...] | None = None
    quick_recounted: Whole | None = None

    @property
    def again(self) -> tuple[str, ...]:
        """The encoders that counted rows again; empty where no second one reads the vocabulary."""
        return tuple(sorted({*self.second, *(self.quick or ())} - {NONE}))

    @property
    def recounts(self) -> str:
        """Which encoders counted how many rows again, in words."""
        others = ", ".join(name for name in self.again if name not in (self.quick or ()))
        if not self.again:
            return "none recounted: no second encoder reads this vocabulary"
        if not self.quick_recounted:
            return f"{told_rows(self.recounted, self.rows)} recounted by {others}"
        told = f"{self.quick_recounted:,} by {', '.join(self.quick or ())}"
        left = self.recounted - self.quick_recounted
        return f"{told_rows(self.recounted, self.rows)} recounted: {told}, {left:,} by {others}"

    @property
    def checked(self) -> int:
        """How many rows were checked and not solved."""
        return self.rows - self.solved

    @property
    def answers(self) -> str:
        """How the answers were proven, in words."""
        return told_answers(self.solved, self.checked)


def told_rows(count: int, rows: int) -> str:
    """Return how many of all rows something is said of, in words."""
    return "all" if count == rows else f"{count:,}"


def told_answers(solved: int, checked: int) -> str:
    """Return in words how the answers of so many rows were proven."""
    if not checked:
        return "all re-solved from their text"
    return f"{solved:,} re-solved from their text, {checked:,} checked in it" if solved else "all checked in their text"
