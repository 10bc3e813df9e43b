"""Endless sets of rows to train on, of which any row can be made alone: `stream`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.errors import RecipeError
from pipeline.recipe import Knob
from pipeline.rows import Row
from pipeline.training.apart import Known, read_known
from pipeline.training.epochs import EPOCH, Spec, cell_of, checked, epoch_of
from pipeline.training.iterable import to_iterable


@dataclass(frozen=True)
class Stream:
    """An endless set of rows; ``stream[i]`` is a pure function of what it was made from and of `i`.

    Attributes:
        spec: what decides the rows.
        rank, world: which share of the rows iteration yields: every `world`-th epoch of 4,096 rows, from that of number
            `rank` on, so that a process makes each of its worlds once.
        start: how many rows of the share were yielded before.
        known: digests of releases for evaluation; rows that touch one are left out.
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

    def __iter__(self) -> Rows:
        """Yield the rows of this share, from `start` on, without end."""
        return Rows(self)

    def shard(self, rank: int, world: int) -> Stream:
        """Return the share of one of `world` processes: no two have a row in common, and all have all rows.

        Raises:
            RecipeError: if there is no such rank, or this is a share already.
        """
        if not 0 <= rank < world:
            raise RecipeError(f"rank {rank} of {world}: give 0 to {world - 1}")
        if self.world > 1:
            raise RecipeError("this stream is a share already: share the whole one")
        return replace(self, rank=rank, world=world)

    def skip(self, rows: int) -> Stream:
        """Return this stream from a later row of its share on, as where training goes on after a stop."""
        return replace(self, start=self.start + rows)

    def index(self, nth: int) -> int:
        """Return the number in the stream of the nth row of this share."""
        turn, place = divmod(nth, EPOCH)
        return (turn * self.world + self.rank) * EPOCH + place

    def apart(self, known: Known | None) -> Stream:
        """Return this stream without rows that touch what is known of releases for evaluation."""
        return replace(self, known=known)

    def to_iterable(self, shards: int = 1) -> Any:
        """Return the rows as an endless `datasets.IterableDataset`, split among `shards` workers of a loader."""
        return to_iterable([self.shard(rank, shards) for rank in range(shards)])


class Rows(Iterator[Row]):
    """An iteration over a stream.

    Attributes:
        taken: how many rows of the share were made, those left out among them: ``stream.skip(rows.taken)`` goes on.
        dropped: how many were left out since they touch a release for evaluation, by what they touch.
    """

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.taken = stream.start
        self.dropped: dict[str, int] = {}

    def __next__(self) -> Row:
        """Return the next row."""
        while True:
            row = self._stream[self._stream.index(self.taken)]
            self.taken += 1
            touched = self._stream.known.touched(row) if self._stream.known else ""
            if not touched:
                return row
            self.dropped[touched] = self.dropped.get(touched, 0) + 1


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
    """Return an endless set of rows of one task to train on, exact to the token and proven as in a build.

    Args:
        task: family and subtask, such as ``bio.multihop``.
        tokenizer: a profile, or a file of one.
        length: tokens of prompt, template and reply together.
        complexity: the number of relevant updates; the least that the task has unless it is given.
        seed: any whole number; no two seeds share a row, and none of them a row with an evaluation.
        ids: whether each unit begins with an opaque id, and the reply is to give those of the evidence.
        quotes: whether the reply is to give the evidence word for word; not together with `ids`.
        shots: demonstrations in each prompt; as many as the task has unless it is given, none with `ids` or `quotes`.
        reserve: tokens for the reply, in place of the task's own number.
        frame: ``chat`` or ``raw``.
        known: digests of releases for evaluation, or the file of `carrara train prove`; iteration leaves out rows that
            touch one.
        knobs: further knobs of the task, by name.

    Raises:
        RecipeError: for a task that is unknown or never streamed, or a value that it does not take.
        ProfileError: if the profile cannot be loaded.
    """
    if ids and quotes:
        raise RecipeError("ids and quotes: give one of the two")
    form = "ids" if ids else "quotes" if quotes else ""
    spec = Spec(cell_of(task, length, complexity, shots, knobs or {}), tokenizer, seed, form, frame, reserve)
    return Stream(checked(spec), known=read_known(known) if isinstance(known, str | Path) else known)
