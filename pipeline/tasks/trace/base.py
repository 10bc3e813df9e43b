"""What the tasks of `trace` share: from what a row asks and tells to its own jobs among those of the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams, deal
from pipeline.tasks.base import (
    CorpusKnob,
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    Plain,
    PoolSpec,
    PublishedRow,
    Role,
    Sample,
    Task,
    Unit,
    depths,
    history_depths,
)
from pipeline.tasks.trace import proof, replay, text
from pipeline.worlds.desk import WORLD, CallWriter, Desk, SentenceWriter, desk, pool_size, pool_texts, source_digest

ROWS = 1024
"""How many rows' draws are cached: a shard is sampled, packed and proven in turn."""
SPARES = 24
PER_UNIT = 8
"""The most codes that a unit of the pool uses: those of rows begin after them."""
ERRORS = (0.3, 0.15, 0.0)
TWINS = (3, 0)
TERSE, VERBOSE = "terse", "verbose"
DENSITY = (TERSE, VERBOSE)
KNOBS: Mapping[str, tuple[Any, ...]] = MappingProxyType({"errors": ERRORS, "twins": TWINS, "density": DENSITY})


class Step(NamedTuple):
    """A job written for a row, and its role."""

    text: str
    role: Role


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a row asks, and the jobs written for it: histories, each in order, that mingle in the prompt.

    `shown` goes into the metadata: ``names`` are the things that no other job may name, ``guesses`` the scores of naive
    readers.
    """

    question: str
    key: Key
    histories: Sequence[Sequence[Step]]
    shown: Mapping[str, Any]


class Dealer:
    """What a row is drawn from: the world, its randomness, and what is dealt evenly over its stratum."""

    def __init__(self, task: TraceTask, stratum: Stratum, index: int, streams: tuple[Streams, Streams]) -> None:
        self.task, self.stratum, self.index = task, stratum, index
        self.streams, self._shared = streams
        self.desk: Desk = desk(self.streams, stratum.tier)
        first = self.desk.units * PER_UNIT + self.rng("refs").randrange(1 << 17)
        self.refs, self.batches = self.desk.refs(first), set[str]()
        self.dealt: dict[str, list[int]] = {}

    def rng(self, purpose: str) -> Random:
        """Return the row's generator for a purpose."""
        return self.streams.of(purpose)

    def writer(self, purpose: str) -> CallWriter:
        """Return a writer of calls and results, with a generator for a purpose."""
        sentences, verbose = SentenceWriter(self.desk, self.rng(purpose)), self.knob("density") == VERBOSE
        return CallWriter(sentences, self.refs, self.batches, verbose=verbose)

    def deal(self, thing: str, kinds: int) -> int:
        """Return which of some kinds the row gets: each equally often in a stratum, within one."""
        kind = deal(self._shared.of(thing), self.stratum.rows, self.index, kinds)
        self.dealt[thing] = [kind, kinds]
        return kind

    @property
    def errors(self) -> float:
        """The share of calls that fail or are not carried out."""
        return float(self.knob("errors"))

    def knob(self, name: str) -> Any:
        """Return the value of a knob."""
        return self.task.knob(self.stratum, name)


def make_jobs(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write the jobs of a pool."""
    _, density, errors, _ = spec.name.split("-")
    return Plain(pool_texts(streams, spec.tier, int(errors) / 100, verbose=density == VERBOSE))


def spec_of(tier: str, density: str, errors: float) -> PoolSpec:
    """Return a pool of a tier."""
    name = f"desk-{density}-{errors * 100:.0f}-{tier}"
    return PoolSpec(name, 3, tier, f"{WORLD}:{source_digest()}", make_jobs)


class TraceTask(Task):
    """A question about what an agent did. `complexity` is how many calls, rules or claims its answer needs."""

    __slots__ = ()

    family = "trace"
    version = 7
    scorer = "exact"
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = KNOBS
    reply: str = text.NUMBER
    """How the prompt asks for the reply."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec_of(stratum.tier, self.knob(stratum, "density"), self.knob(stratum, "errors")),)

    @abstractmethod
    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw what a row asks, and the jobs written for it."""

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw what is asked, and write the jobs that its answer needs."""
        drawn = plan_row(self, stratum, index, row_streams, stratum_streams)
        relevant = tuple(step.text for history in drawn.histories for step in history if step.role == "relevant")
        return Sample("", stratum, index, drawn.shown, relevant, drawn.question, drawn.key)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Mingle the histories of a row, each in its order, among jobs of the world."""
        stratum = sample.stratum
        drawn = plan_row(self, stratum, sample.index, row_streams, stratum_streams)
        wanted = depths(stratum_streams, row_streams, stratum.rows, sample.index, len(sample.relevant))
        steps, rng = list[tuple[float, Step]](), row_streams.of("decoys")
        for history in drawn.histories:
            needed = sum(step.role == "relevant" for step in history)
            steps += zip(
                history_depths(rng, [step.role for step in history], sorted(wanted[:needed])), history, strict=True
            )
            wanted = wanted[needed:]
        steps.sort(key=lambda one: one[0])
        units = self.pool_units(stratum, row_streams)
        spares = Shuffled(row_streams.of("spares"), units).take(SPARES)
        order = Shuffled(row_streams.of("filler"), units, frozenset(spares.tolist()))
        return Layout(
            head=(Piece(text.INTRODUCTION, "instruction"), Piece(text.START, "instruction")),
            placed=tuple(
                Placed.line(step.text, step.role, depth, rank=at) for at, (depth, step) in enumerate(steps, start=1)
            ),
            filler=Filler(self.pools(stratum)[0].name, order, spares),
            tail=(Piece(text.TAIL.format(reply=self.asking(sample), question=sample.question), "question"),),
        )

    def asking(self, sample: Sample) -> str:
        """Return how the prompt asks for the reply."""
        return self.reply

    def pool_units(self, stratum: Stratum, row_streams: Streams) -> int:
        """Return how many units the pool of a stratum has."""
        return pool_size(desk(row_streams, stratum.tier), verbose=self.knob(stratum, "density") == VERBOSE)

    def answers(self, text: str) -> tuple[str, ...]:
        """Read the calls about what is asked, and answer."""
        return replay.answers(text)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that exactly the jobs marked as relevant are needed, and that no unmarked job names what is asked."""
        return proof.faults(row)

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        return sample.relevant


@lru_cache(maxsize=ROWS)
def plan_row(task: TraceTask, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Drawn:
    """Return what a row asks and tells; the rows of a shard are cached."""
    return task.drawn(Dealer(task, stratum, index, (row_streams, stratum_streams)))
