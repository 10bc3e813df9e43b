"""Endless streams of training rows, with random access: `stream`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.errors import FitError, RecipeError
from pipeline.recipe import Knob
from pipeline.rows import Row
from pipeline.training.apart import Known, read_known
from pipeline.training.epochs import EPOCH, Spec, cell_of, checked, epoch_of
from pipeline.training.iterable import to_iterable


@dataclass(frozen=True)
class Stream:
    """An endless stream of rows; ``stream[i]`` is a pure function of `spec` and `i`.

    Attributes:
        spec: what determines the rows.
        rank, world: the share that iteration yields: every `world`-th epoch of 4,096 rows, beginning with number
            `rank`, so that each world is made by one process only.
        start: how many rows of the share to skip.
        known: digests of releases for evaluation; iteration leaves out rows that share something with them, and rows
            that do not fit the length.
    """

    spec: Spec
    rank: int = 0
    world: int = 1
    start: int = 0
    known: Known | None = None

    def __getitem__(self, index: int) -> Row:
        """Return a row.

        Raises:
            IndexError: for a negative index.
            BuildError: if the row is not proven.
        """
        if index < 0:
            raise IndexError(f"row {index}: streams begin at 0 and have no end")
        number, place = divmod(index, EPOCH)
        return epoch_of(self.spec, number).row(index, place)

    def kept(self, index: int) -> Row | str:
        """Return a row, or why iteration leaves it out: "fit", or the kind of content it shares with a release.

        Raises:
            FitError: if the stream's first row does not fit the length either.
        """
        try:
            row = self[index]
        except FitError:
            _ = self[0]  # at the shortest lengths the worlds of some epochs have passages too long for a few rows
            return "fit"
        return (self.known.touched(row) if self.known else "") or row

    def __iter__(self) -> Rows:
        """Yield the rows of this share endlessly, beginning at `start`."""
        return Rows(self)

    def shard(self, rank: int, world: int) -> Stream:
        """Return the share of one of `world` processes; the shares are disjoint and together have all rows.

        Raises:
            RecipeError: if there is no such rank, or this is already a share.
        """
        if not 0 <= rank < world:
            raise RecipeError(f"rank {rank} of {world}: give 0 to {world - 1}")
        if self.world > 1:
            raise RecipeError("this stream is a share already: share the whole one")
        return replace(self, rank=rank, world=world)

    def skip(self, rows: int) -> Stream:
        """Return this stream without the next `rows` rows of its share, to continue training after a stop."""
        return replace(self, start=self.start + rows)

    def index(self, nth: int) -> int:
        """Return the index in the stream of row `nth` of this share."""
        turn, place = divmod(nth, EPOCH)
        return (turn * self.world + self.rank) * EPOCH + place

    def apart(self, known: Known | None) -> Stream:
        """Return this stream without rows that share something with releases for evaluation."""
        return replace(self, known=known)

    def to_iterable(self, shards: int = 1) -> Any:
        """Return the rows as an endless `datasets.IterableDataset`, split among `shards` data loader workers."""
        return to_iterable([self.shard(rank, shards) for rank in range(shards)])


class Rows(Iterator[Row]):
    """An iteration over a stream.

    Attributes:
        taken: how many rows of the share were skipped, yielded or left out: ``share.skip(rows.taken)`` continues.
        dropped: how many were left out, by the reason: what they share with a release for evaluation, or "fit".
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.taken = stream.start
        self.dropped: dict[str, int] = {}

    def __next__(self) -> Row:
        """Return the next row."""
        while True:
            row = self._stream.kept(self._stream.index(self.taken))
            self.taken += 1
            if not isinstance(row, str):
                return row
            self.dropped[row] = self.dropped.get(row, 0) + 1


def stream(
    task: str,
    *,
    tokenizer: str,
    length: int,
    complexity: int | None = None,
    seed: int = 0,
    ids: bool = False,
    quotes: bool = False,
    shots: int | None = None,
    reserve: int | None = None,
    frame: str = "chat",
    known: Known | str | Path | None = None,
    knobs: Mapping[str, Knob] | None = None,
) -> Stream:
    """Return an endless stream of one task's rows for training, exact to the token and proven as in a build.

    Args:
        task: family and subtask, such as ``bio.multihop``.
        tokenizer: a profile's name or file.
        length: the nominal length in tokens, for prompt, template and reply together.
        complexity: the complexity; by default the task's first.
        seed: any whole number; no two seeds share a row, and no seed shares one with an evaluation.
        ids: whether each unit begins with an opaque id, and replies must give those of the evidence.
        quotes: whether replies must quote the evidence; not together with `ids`.
        shots: demonstrations in each prompt; by default the task's own number, or none with `ids` or `quotes`.
        reserve: tokens for the reply, instead of the task's own number.
        frame: ``chat`` or ``raw``.
        known: digests of releases for evaluation, or the file of `carrara train prove`; iteration leaves out rows that
            share something with them.
        knobs: further knobs of the task, by name.

    Raises:
        RecipeError: for a task that is unknown or never streamed, or an invalid value.
    """
    if ids and quotes:
        raise RecipeError("ids and quotes: give one of the two")
    form = "ids" if ids else "quotes" if quotes else ""
    spec = Spec(cell_of(task, length, complexity, shots, knobs or {}), tokenizer, seed, form, frame, reserve)
    return Stream(checked(spec), known=read_known(known) if isinstance(known, str | Path) else known)
