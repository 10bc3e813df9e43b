"""What the tasks of the family have in common: lines of messages, and a question behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal
from pipeline.tasks.base import Digest, Key, Layout, Placed, PoolSpec, Published, Sample, Task, Turns, unit
from pipeline.tasks.depths import depths
from pipeline.tasks.tally import pool, proof, reader, text
from pipeline.worlds.utterances import Intent

Line = tuple[int, str, str, Intent]
"""A line before it is written: its day, its clerk, its message and what that asks."""


class TallyTask(Task):
    """Lines that are placed among others."""

    family = "tally"
    max_new_tokens = 64
    shortest = 8192
    knobs: Mapping[str, tuple[Any, ...] | Digest] = MappingProxyType({"stated": pool.STATED})

    fits: Mapping[int, int] = MappingProxyType({})
    """The shortest length at which a complexity fits, where that is not 4,096."""

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return a stratum of one row, at the shortest length at which the complexity fits."""
        return Stratum(self.family, self.subtask, "32k", self.fits.get(complexity, 4096), complexity, 1)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of lines."""
        return (pool.spec_of(stratum),)

    def lines(self, stratum: Stratum, some: Sequence[Line]) -> list[str]:
        """Write lines as the stratum has them."""
        stated = pool.is_stated(stratum)
        return [text.line(date, clerk, said, intent if stated else None) for date, clerk, said, intent in some]

    def around(
        self, sample: Sample, decoys: Sequence[Line], without: Sequence[Intent], own: Streams, shared: Streams
    ) -> Layout:
        """Put relevant lines at depths that are uniform over the stratum, and decoys anywhere, among other lines."""
        stratum, anywhere = sample.stratum, own.of("decoys")
        wanted = depths(shared, own, stratum.rows, sample.index, len(sample.relevant))
        placed = [Placed(unit(one, "relevant"), depth) for one, depth in zip(sample.relevant, wanted, strict=True)]
        placed += [Placed(unit(one, "decoy"), anywhere.random()) for one in self.lines(stratum, decoys)]
        return Layout(
            head=text.head(self.subtask, stated=pool.is_stated(stratum)),
            placed=tuple(placed),
            filler=pool.filler(stratum, without, own),
            tail=text.tail(self.subtask, sample.question),
        )

    def drawn(self, stratum: Stratum, index: int, shared: Streams, purpose: str, kinds: int) -> int:
        """Return what a row is dealt of so many kinds."""
        return deal(shared.of(purpose), stratum.rows, index, kinds)

    def made(
        self, stratum: Stratum, index: int, latent: Mapping[str, Any], relevant: Sequence[Line], asked: str, key: str
    ) -> Sample:
        """Return a sample; the plan names it."""
        return Sample("", stratum, index, latent, tuple(self.lines(stratum, relevant)), asked, Key(key, (key,)))

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read all lines and answer the question.

        Raises:
            ValueError: if the text cannot be read, or has no answer.
        """
        return (reader.solve(turns[-1][1]),)

    def check(self, row: Published) -> list[str]:
        """Prove that marked lines are needed and others not, and that near misses are there.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        return list(proof.faults(row))
