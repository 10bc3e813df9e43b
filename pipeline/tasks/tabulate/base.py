"""What the tasks of `tabulate` share: from the rows of a table to lines among those of the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import CorpusKnob, Filler, Key, Layout, Piece, Placed, PublishedRow, Sample, Task, depths
from pipeline.tasks.lines import Dealer, Line

ROWS = 256
"""How many rows' draws are cached: a shard is sampled, packed and proven in turn."""
ROOMS = {16: 512, 64: 2048, 256: 8192}
"""Tokens for the reply by the number of rows."""
STOPS_AT = 64
"""Rows after which a naive reader ends its table."""
DECOYS = (1.0, 0.5, 0.0)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a row of the data set asks, and the lines written for it, in the order of the text.

    `table` has the lines of the answer: one for the head, and one for each row. `shown` is published, with the
    ``guesses`` of naive readers.
    """

    introduction: str
    tail: str
    question: str
    table: Sequence[str]
    lines: Sequence[Line]
    shown: Mapping[str, Any]


class TabulateTask(Task):
    """A table is asked for; `complexity` is the number of its rows."""

    __slots__ = ()

    family = "tabulate"
    version = 3
    scorer = "rows"
    complexities = tuple(ROOMS)
    max_new_tokens = max(ROOMS.values())
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({"decoys": DECOYS})
    opening: str
    """What precedes the lines."""
    golden_shapes: Mapping[int, tuple[int, float]] = MappingProxyType({})
    """The length and the knob ``decoys`` of golden rows, by complexity, unless they are the usual ones."""

    def max_new_tokens_of(self, stratum: Stratum) -> int:
        """Return the room for the table, about twice what it takes."""
        return ROOMS[stratum.complexity]

    def placed_of(self, stratum: Stratum) -> int:
        """Return how many lines the answer is written from."""
        return stratum.complexity

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return a stratum of one row that is not too long to read."""
        length, decoys = self.golden_shapes.get(complexity, (4096, DECOYS[0]))
        knobs = () if decoys == DECOYS[0] else (("decoys", decoys),)
        return Stratum(self.family, self.subtask, "32k", length, complexity, 1, knobs=knobs)

    @abstractmethod
    def drawn(self, dealer: Dealer, wanted: Sequence[float]) -> Drawn:
        """Draw what is asked, and lines; those with the rows of the table are at the depths `wanted`, in order."""

    @abstractmethod
    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return the filler of a row."""

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        drawn = plan_row(self, stratum, index, row_streams, stratum_streams)
        relevant = tuple(line.text for line in drawn.lines if line.role == "relevant")
        return Sample("", stratum, index, drawn.shown, relevant, drawn.question, Key.accepting("\n".join(drawn.table)))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the lines of a row, in their order, among those of the world."""
        drawn = plan_row(self, sample.stratum, sample.index, row_streams, stratum_streams)
        placed = [
            Placed.line(line.text, line.role, line.depth or 0.0, rank=place if line.at is None else None, at=line.at)
            for place, line in enumerate(drawn.lines)
        ]
        return Layout(
            head=(Piece(drawn.introduction, "instruction"), Piece(self.opening, "instruction")),
            placed=tuple(placed),
            filler=self.filler(sample, row_streams),
            tail=(Piece(drawn.tail.format(question=sample.question), "question"),),
        )

    @abstractmethod
    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that the marked lines are those of the table, and that there are as many decoys as promised."""

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        return sample.relevant


@lru_cache(maxsize=ROWS)
def plan_row(task: TabulateTask, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Drawn:
    """Return what a row asks and shows; the rows of a shard are cached."""
    wanted = depths(stratum_streams, row_streams, stratum.rows, index, task.placed_of(stratum))
    return task.drawn(Dealer(stratum, index, row_streams, stratum_streams), sorted(wanted))


def overlap(right: int, wanted: int, size: int) -> float:
    """Return the F1 of a table of `size` rows, `right` of them right."""
    return round(2 * right / (wanted + size), 6)
