"""What a task is: a base class to extend, and what goes in and out of it.

A task samples a latent structure, lays it out as text, and re-derives the answer from the text alone by other code. It
knows no tokenizer and no packing, and reads no file but a user's corpus. Adding one is a file here, a line
in ``FAMILIES`` and a golden file; ``docs/add-a-task.md`` walks through it.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from random import Random
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams, words
from pipeline.tasks.layout import (
    NO_UNITS,
    Filler,
    FillerOrder,
    Joints,
    Key,
    Layout,
    Numbering,
    Order,
    Piece,
    Placed,
    Plain,
    PoolSpec,
    Role,
    Turn,
    Turns,
    Unit,
    unit,
)

__all__ = [
    "NO_UNITS",
    "CorpusKnob",
    "Filler",
    "FillerOrder",
    "Joints",
    "Key",
    "Layout",
    "Needle",
    "Numbering",
    "Order",
    "Piece",
    "Placed",
    "Plain",
    "PoolSpec",
    "Published",
    "Role",
    "Sample",
    "Task",
    "Turn",
    "Turns",
    "Unit",
    "unit",
]

Proof = Literal["solved", "checked"]
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Sample:
    """The latent structure of one instance. `latent` holds plain JSON types and all that `layout` needs.

    A task whose filler is ranked by a search keeps the ranking beside it, so that no search is needed to pack:
    `ranking` is the places of a pool's units, the first to enter first, as little-endian 32-bit integers.

    Two of its names mean the same in every task, and stay in the metadata of published rows: ``asked`` is the kind of
    thing that the row asks for, where a task asks for several kinds (chance is computed for each), and ``attributes``
    lists the kinds where one row asks for more than one.
    """

    id: str
    stratum: Stratum
    index: int
    latent: Mapping[str, Any]
    relevant: tuple[str, ...]
    question: str
    key: Key
    ranking: bytes = b""

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of things that the row asks for; none where the task names no kind."""
        named = (*self.latent.get("attributes", ()), self.latent.get("asked", ""))
        return frozenset(str(kind) for kind in named if kind)


@dataclass(frozen=True, slots=True)
class Needle:
    """A marked segment of a published prompt; the characters it spans, and its depth (None outside the body)."""

    role: str
    char_start: int
    char_end: int
    depth: float | None


@dataclass(frozen=True, slots=True)
class Published:
    """A row as a reader finds it: all that `check` may look at."""

    stratum: Stratum
    turns: Turns
    prompt: str
    question: str
    needles: tuple[Needle, ...]
    key: Key
    metadata: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The text of a single-turn prompt."""
        return self.turns[-1][1]

    def spans(self, *roles: str) -> list[Span]:
        """Return where the needles of some roles stand in the prompt, in order: start and end of each."""
        return [(needle.char_start, needle.char_end) for needle in self.needles if needle.role in roles]

    def marked(self, *roles: str) -> list[str]:
        """Return the texts of the needles of some roles, in order."""
        return [self.prompt[start:end] for start, end in self.spans(*roles)]


@dataclass(frozen=True, slots=True)
class CorpusKnob:
    """The values of a knob that names `what` by its SHA-256, which has the `tables`; the default names none."""

    what: str
    tables: frozenset[str] = frozenset()

    def allows(self, value: object) -> bool:
        """Return whether a value is a digest, or none."""
        return isinstance(value, str) and (not value or bool(re.fullmatch("[0-9a-f]{64}", value)))


class Task(ABC):
    """A family's structure asked in one way. Extend it, and list an instance in the `TASKS` of the family's module.

    A task has no state: what it is told at its creation never changes, and all randomness comes from streams.
    """

    __slots__ = ()

    family: str
    subtask: str
    title: str
    """What is asked, as a phrase: "one attribute of one person". Cards and docs show it."""
    scorer: str
    """The name of a scorer in ``pipeline.metrics``."""
    version: int = 1
    """It is raised with every change of any row; golden files see to that."""
    max_new_tokens: int = 64
    """Room for the reply: it holds every key of the task with margin in every profile, see `room_of`."""
    complexities: tuple[int, ...] = (1,)
    """The numbers of relevant updates that it can be asked with."""
    shots: int = 0
    """How many demonstrations a prompt has unless the recipe says otherwise."""
    most_shots: int = 0
    """How many demonstrations a recipe may ask for."""
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({})
    """The knobs it takes, each with its allowed values, the default first."""
    shortest: int = 4096
    """The length in tokens of the rows in its golden file: the shortest at which every complexity fits."""
    keyed_by_packing: bool = False
    """Whether `key` needs the packed units; most do not, and gathering them costs time."""
    twin: str = ""
    """The subtask that asks the same in another haystack: of two cells alike, rows of the same number ask the same."""
    has_calls: bool = False
    """Whether its prompts are conversations with tool calls, which not every profile can send."""
    drawn_as: str = ""
    """Whose streams it draws from, as ``subtask@version``; its own where it names none. Forms of a task in several
    languages share them: rows of the same number are the same but for their words."""
    languages: tuple[str, ...] = ()
    """The languages of its text and of its question, where they are named; other prompts are ASCII."""
    wording: str = ""
    """A digest of the sentences in these languages."""
    proof: Proof = "solved"
    """How far an answer is proven: ``solved`` from the text by a program, or ``checked``, as in users' texts."""
    paired: bool = False
    """Whether complexities 1 and 0 are two forms of the same questions: they share streams, and ids but for a or b."""

    def for_stratum(self, stratum: Stratum) -> Task:
        """Return the task that asks the rows of a stratum: another one where a knob names texts of a user's own."""
        return self

    def with_corpora(self, corpora: str) -> Task:
        """Return the task with the folder that frozen corpora lie in; most tasks read none."""
        return self

    @abstractmethod
    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pools that the layouts of a stratum draw from."""

    @abstractmethod
    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw row `index` of a stratum, with id "" (the plan names it).

        `row_streams` holds the streams of this row alone, `stratum_streams` those that all rows of the stratum share.
        """

    @abstractmethod
    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Lay a sample out as text; the same for every profile."""

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Re-derive the answers from what is sent, by code that shares nothing with `sample`.

        Raises:
            ValueError: if the text cannot be read as this task's, or states no answer or two.
        """
        return self.answers(turns[-1][1])

    def answers(self, text: str) -> tuple[str, ...]:
        """Re-derive the answers from the text of the last turn, which is the whole prompt in most tasks.

        Raises:
            ValueError: as in `solve`.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither `answers` nor `solve`")

    def check(self, row: Published) -> list[str]:
        """Return what is wrong with a row: relevance, irrelevance, uniqueness, offsets, tells. Empty if proven.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        return list(self.faults(row))

    def faults(self, row: Published) -> Iterable[str]:
        """Yield what is wrong with a row, for `check`.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither `faults` nor `check`")

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the expected score of guessers that do not read the context, and of naive ones that do.

        Here: what the sample states as ``guesses``, else a uniform guess among the choices, which is never right where
        there are none.
        """
        if "guesses" in sample.latent:
            return dict(sample.latent["guesses"])
        return {"uniform": 1 / len(key.choices) if key.choices else 0.0}

    def key(self, sample: Sample, packed: Sequence[Unit]) -> Key:
        """Return the sample's key; tasks whose answer depends on what was packed compute it from the packed filler."""
        return sample.key

    def packed_metadata(self, sample: Sample, places: Sequence[int]) -> dict[str, Any]:
        """Return what only the packed prompt tells, for the row's metadata: here nothing.

        `places` holds for each placed unit, in order, how many units stand before it in the body.
        """
        return {}

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return what the packed filler (`units`: indices of its pool) tells, for the metadata: here nothing."""
        return {}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return which kind the row was dealt of each thing that is dealt, and of how many: name to (kind, kinds).

        A proof over all rows shows that kinds are dealt evenly. Here it is what the sample states as ``dealt``.
        """
        return {thing: (kind, kinds) for thing, (kind, kinds) in sample.latent.get("dealt", {}).items()}

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        """Return texts that were written for the row, so that no other row of the family has them. Here none are."""
        return ()

    def golden(self) -> tuple[Stratum, ...]:
        """Return the strata whose first row stands in the task's golden file: here one for each complexity."""
        return tuple(self.golden_stratum(complexity) for complexity in self.complexities)

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return a stratum of one row, at the shortest length."""
        return Stratum(self.family, self.subtask, "32k", self.shortest, complexity, 1)

    def scorer_of(self, stratum: Stratum) -> str:
        """Return the name of the scorer of a stratum's rows: the task's, unless a knob asks for another form."""
        return self.scorer

    def room_of(self, stratum: Stratum) -> int:
        """Return the tokens for the reply in a stratum's rows: the task's, unless its complexity asks for more."""
        return self.max_new_tokens

    def knob(self, stratum: Stratum, name: str) -> Any:
        """Return the value of a knob of the task in a stratum: the first that it allows unless the recipe sets it."""
        allowed = self.knobs[name]
        return stratum.knob(name, "" if isinstance(allowed, CorpusKnob) else allowed[0])

    def shots_of(self, stratum: Stratum) -> int:
        """Return how many demonstrations the prompts of a stratum have."""
        return self.shots if stratum.shots is None else stratum.shots


MOST, BLOCK = 512, 1024
"""Relevant units of a row, at most; rows of a stratum over which depths are uniform by construction, at most."""
HALF = 1 << 32


def depths(stratum_streams: Streams, row_streams: Streams, rows: int, index: int, count: int) -> list[float]:
    """Return the depths of `count` units of row `index`: ``(perm(i) + u) / rows``, of another order for each unit."""
    size = min(rows, BLOCK)
    block, place = divmod(index, size)
    within = words(row_streams.of("depth"), count) / HALF
    found: list[float] = ((_orders(stratum_streams, size, block)[:count, place] + within) / size).tolist()
    return found


def streams_of_twin(task: Task, twin: Task, *streams: Streams) -> tuple[Streams, ...]:
    """Return the streams that the twin of a task has instead of the task's own."""
    own, theirs = (f"{each.family}.{each.subtask}@{each.version}" for each in (task, twin))
    return tuple(replace(each, path=tuple(theirs if part == own else part for part in each.path)) for each in streams)


def history_depths(rng: Random, roles: Sequence[Role], needed: Sequence[float]) -> list[float]:
    """Return a depth for each unit of a history, in order: ``relevant`` ones have those given, others lie between."""
    edges, found, run = [0.0, *needed, 1.0], list[float](), 0
    at = 0
    for role in [*roles, None]:
        if role is not None and role != "relevant":
            run += 1
            continue
        found += sorted(rng.uniform(edges[at], edges[at + 1]) for _ in range(run))
        run = 0
        if role is not None:
            at += 1
            found.append(edges[at])
    return found


@lru_cache(maxsize=64)
def _orders(stratum_streams: Streams, size: int, block: int) -> Indices:
    """Return an order of the rows of a block for each unit."""
    return np.argsort(words(stratum_streams.of("depth", block), MOST * size).reshape(MOST, size), axis=1, kind="stable")
