"""The base of all tasks of `code`: a row's own files among those of the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Given, Shuffled, Streams
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
)
from pipeline.tasks.code import solve, text
from pipeline.tasks.code.reading import Repository, read
from pipeline.tasks.lines import Dealer
from pipeline.worlds.forge import (
    DOCS,
    WORLD,
    Domain,
    Namer,
    domains,
    forge,
    package_name,
    pool_texts,
    source_digest,
)

CACHED_ROWS = 1024
"""Rows whose texts are cached, as a shard is sampled, packed and proven in turn."""
SPARES = 32


class Written(NamedTuple):
    """A file or commits written for a row, with their role."""

    text: str
    role: Role


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a row asks and what is written for it; `shown` is published, with the ``guesses`` of guessers."""

    question: str
    key: Key
    files: Sequence[Written]
    shown: Mapping[str, Any]


class Packages:
    """The packages of a row. Their names and those of their functions do not occur in the pool."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self._taken: set[str] = set()
        self._functions: set[str] = set()

    def new(self, domain: Domain | None = None) -> tuple[str, Namer]:
        """Return the name of a new package, and a namer for it that never repeats a function's name in a row."""
        drawn = domain or self.rng.choice(domains())
        while (name := package_name(self.rng, drawn, of_row=True)) in self._taken:
            drawn = domain or self.rng.choice(domains())
        self._taken.add(name)
        namer = Namer(self.rng, drawn, of_row=True)
        namer.taken = self._functions
        return name, namer


def make_files(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write the files of a pool."""
    _, docs, _ = spec.name.split("-")
    return Plain(pool_texts(streams, spec.tier, docs))


def spec_of(tier: str, docs: str) -> PoolSpec:
    """Return a pool of a tier."""
    return PoolSpec(f"forge-{docs}-{tier}", 4, tier, f"{WORLD}:{source_digest()}", make_files)


class CodeTask(Task):
    """A question about files or commits. `complexity` is the number of steps, functions or commits that it needs."""

    __slots__ = ()

    family = "code"
    version = 5
    scorer = "exact"
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({})
    reply: str = text.NAME
    """The prompt's request for the form of the reply."""

    @abstractmethod
    def drawn(self, dealer: Dealer) -> Drawn:
        """Draw what a row asks, and what is written for it."""

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw what is asked, and write the files that its answer needs."""
        drawn = plan_row(self, stratum, index, row_streams, stratum_streams)
        relevant = tuple(one.text for one in drawn.files if one.role == "relevant")
        return Sample("", stratum, index, drawn.shown, relevant, drawn.question, drawn.key)

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        """Return what was written for the row, without the short files that only import."""
        return tuple(text for text in sample.relevant if "/__init__.py" not in text[: text.index("\n")])


class FilesTask(CodeTask):
    """A question about files."""

    __slots__ = ()

    def docs(self, stratum: Stratum) -> str:
        """Return what docstrings of functions over lists state: the value of the knob ``docs``, if there is one."""
        return str(self.knob(stratum, "docs")) if "docs" in self.knobs else DOCS[0]

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec_of(stratum.tier, self.docs(stratum)),)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the files of a row among those of the world, all in random order."""
        stratum = sample.stratum
        drawn = plan_row(self, stratum, sample.index, row_streams, stratum_streams)
        wanted = iter(depths(stratum_streams, row_streams, stratum.rows, sample.index, len(sample.relevant)))
        rng = row_streams.of("decoys")
        placed = [
            Placed.line(one.text, one.role, next(wanted) if one.role == "relevant" else rng.random())
            for one in drawn.files
        ]
        return Layout(
            head=(Piece(text.INTRODUCTION, "instruction"), Piece(text.START, "instruction")),
            placed=tuple(placed),
            filler=self.filler(stratum, row_streams),
            tail=(Piece(text.TAIL.format(reply=self.reply, question=sample.question), "question"),),
        )

    def filler(self, stratum: Stratum, row_streams: Streams) -> Filler:
        """Return the world's files in random order; a prompt takes whole packages or their first files, so all run."""
        world = forge(row_streams, stratum.tier)
        spares = world.units + Shuffled(row_streams.of("spares"), world.lone).take(SPARES)
        units = world.units + world.lone
        ranks = np.argsort(np.frombuffer(row_streams.of("ranks").randbytes(4 * units), dtype="<u4"), kind="stable")
        order = Given(world.order(row_streams.of("filler")))
        return Filler(self.pools(stratum)[0].name, order, spares, policy="ranked", ranks=ranks)

    @abstractmethod
    def solved(self, repository: Repository) -> tuple[str, ...]:
        """Return the accepted answers to the question about some files.

        Raises:
            ReadError: if there is not exactly one.
        """

    def answers(self, text: str) -> tuple[str, ...]:
        """Read the files, and answer."""
        return self.solved(read(text))

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that relevant files are needed, that decoys are not, and that all imports can be resolved."""
        return solve.faults(row, self.solved)


@lru_cache(maxsize=CACHED_ROWS)
def plan_row(task: CodeTask, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Drawn:
    """Return what a row asks and what is written for it; cached for the rows of a shard."""
    return task.drawn(Dealer(stratum, index, row_streams, stratum_streams))
