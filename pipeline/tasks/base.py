"""The base class of all tasks, and the types of its inputs and outputs.

A task samples a latent structure, lays it out as text, and derives the answer again from the text alone, with separate
code. It knows nothing of tokenizers or packing, and the only file it may read is a user's corpus. To add one, write a
file here, a line in ``FAMILIES`` and a golden file: see ``docs/add-a-task.md``.
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
    "PublishedRow",
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
    """The latent structure of one row. `latent` contains all that `layout` needs, as plain JSON types.

    If a search ranks the filler, `ranking` keeps the result, so that packing needs no search: the indices of a pool's
    units, best first, as little-endian 32-bit integers.

    Two keys of `latent` mean the same in every task, and stay in the metadata of published rows. ``asked`` is the kind
    of thing that the row asks for, if the task asks for several kinds (chance is computed for each). ``attributes``
    lists the kinds if one row asks for more than one.
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
        """The kinds of things that the row asks for; empty if the task names none."""
        named = (*self.latent.get("attributes", ()), self.latent.get("asked", ""))
        return frozenset(str(kind) for kind in named if kind)


@dataclass(frozen=True, slots=True)
class Needle:
    """A marked segment of a published prompt: its character span and its depth (None outside the body)."""

    role: str
    char_start: int
    char_end: int
    depth: float | None


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """What is published of a row, and all that `check` may look at."""

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
        """Return the (start, end) spans of the needles of some roles, in order."""
        return [(needle.char_start, needle.char_end) for needle in self.needles if needle.role in roles]

    def marked(self, *roles: str) -> list[str]:
        """Return the texts of the needles of some roles, in order."""
        return [self.prompt[start:end] for start, end in self.spans(*roles)]


@dataclass(frozen=True, slots=True)
class CorpusKnob:
    """The values of a knob that names `what` (a corpus with these `tables`) by SHA-256; the default "" names none."""

    what: str
    tables: frozenset[str] = frozenset()

    def allows(self, value: object) -> bool:
        """Return whether a value is a SHA-256 digest or empty."""
        return isinstance(value, str) and (not value or bool(re.fullmatch("[0-9a-f]{64}", value)))


class Task(ABC):
    """One way of asking about a family's text. Extend it, and list an instance in the `TASKS` of the family's module.

    A task is immutable, and all its randomness comes from streams.
    """

    __slots__ = ()

    family: str
    subtask: str
    title: str
    """What is asked, as a phrase: "one attribute of one person". Cards and docs show it."""
    scorer: str
    """The name of a scorer in ``pipeline.metrics``."""
    version: int = 1
    """Incremented with every change of any row; golden files enforce this."""
    max_new_tokens: int = 64
    """Tokens for the reply: enough for every key of the task in every profile, with a margin."""
    complexities: tuple[int, ...] = (1,)
    """The complexities it can be asked at: usually numbers of relevant passages."""
    shots: int = 0
    """Demonstrations in a prompt unless the recipe sets another number."""
    most_shots: int = 0
    """The most demonstrations that a recipe may ask for."""
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({})
    """The knobs it takes, each with its allowed values, the default first."""
    shortest: int = 4096
    """The shortest length, in tokens, at which every complexity fits."""
    fits: Mapping[int, int] = MappingProxyType({})
    """The shortest length at which a complexity fits, for its golden file, unless it is `shortest`."""
    keyed_by_packing: bool = False
    """Whether `key` needs the packed units, which take time to gather."""
    twin: str = ""
    """The subtask that asks the same in another haystack: in otherwise equal strata, row i of both asks the same."""
    has_calls: bool = False
    """Whether its prompts are conversations with tool calls, which not every profile can send."""
    drawn_as: str = ""
    """The task whose streams it draws from, as ``subtask@version``; "" for its own. The forms of a task in several
    languages share streams, so that rows with the same number differ only in their words."""
    languages: tuple[str, ...] = ()
    """The languages of its text and of its question. If there are none, prompts are ASCII."""
    wording: str = ""
    """A digest of the sentences in these languages."""
    proof: Proof = "solved"
    """How an answer is proven: ``solved`` from the text by a program, or only ``checked``, as in users' texts."""
    paired: bool = False
    """Whether complexities 1 and 0 are two forms of a question: they share streams, and ids except for a or b."""

    def for_stratum(self, stratum: Stratum) -> Task:
        """Return the task that makes a stratum's rows: another one if a knob names a user's own texts."""
        return self

    def with_corpora(self, corpora: str) -> Task:
        """Return the task with `corpora` as the folder of its frozen corpora; most tasks read none."""
        return self

    @abstractmethod
    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pools that a stratum's layouts draw from."""

    @abstractmethod
    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw row `index` of a stratum, with the id "" (the plan sets it).

        `row_streams` are this row's own streams; all rows of the stratum share `stratum_streams`.
        """

    @abstractmethod
    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Lay a sample out as text; the same for every profile."""

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Derive the answers again from the turns alone: wordings may be shared with `layout`, what was drawn may not.

        Raises:
            ValueError: if the text is not a prompt of this task, or does not state exactly one answer.
        """
        return self.answers(turns[-1][1])

    def answers(self, text: str) -> tuple[str, ...]:
        """Derive the answers again from the text of the last turn, which is the whole prompt in most tasks.

        Raises:
            ValueError: as in `solve`.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither `answers` nor `solve`")

    def check(self, row: PublishedRow) -> list[str]:
        """Return what is wrong with a row (relevance, irrelevance, uniqueness, offsets, tells); empty if it is proven.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        return list(self.faults(row))

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Yield what is wrong with a row, for `check`.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        raise NotImplementedError(f"{type(self).__name__} has neither `faults` nor `check`")

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the expected scores of guessers, some of which read the context naively.

        By default they are the sample's ``guesses``, or else a uniform guess among the choices, 0 if there are none.
        """
        if "guesses" in sample.latent:
            return dict(sample.latent["guesses"])
        return {"uniform": 1 / len(key.choices) if key.choices else 0.0}

    def key(self, sample: Sample, packed: Sequence[Unit]) -> Key:
        """Return the sample's key. A task whose answer depends on the packed filler computes it here."""
        return sample.key

    def packed_metadata(self, sample: Sample, places: Sequence[int]) -> dict[str, Any]:
        """Return metadata that depends on the packed prompt; none by default.

        `places` gives, for each placed unit in order, the number of units before it in the body.
        """
        return {}

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return metadata that depends on the packed filler (`units`: indices of its pool); none by default."""
        return {}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return what the row was dealt: the name of each dealt thing, its kind, and the number of kinds.

        A proof over all rows shows that kinds are dealt evenly. By default this is the sample's ``dealt``.
        """
        return {thing: (kind, kinds) for thing, (kind, kinds) in sample.latent.get("dealt", {}).items()}

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        """Return texts written for this row, which no other row of the family may contain; none by default."""
        return ()

    def golden(self) -> tuple[Stratum, ...]:
        """Return the strata whose first rows are in the task's golden file: by default one for each complexity."""
        return tuple(self.golden_stratum(complexity) for complexity in self.complexities)

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return a stratum of one row, at the shortest length at which the complexity fits."""
        return Stratum(self.family, self.subtask, "32k", self.fits.get(complexity, self.shortest), complexity, 1)

    def scorer_of(self, stratum: Stratum) -> str:
        """Return the name of the scorer of a stratum's rows: the task's, unless a knob changes the reply's form."""
        return self.scorer

    def max_new_tokens_of(self, stratum: Stratum) -> int:
        """Return the tokens for the reply in a stratum's rows: the task's, unless its complexity needs more."""
        return self.max_new_tokens

    def knob(self, stratum: Stratum, name: str) -> Any:
        """Return the value of a knob in a stratum: the first allowed one unless the recipe sets it."""
        allowed = self.knobs[name]
        return stratum.knob(name, "" if isinstance(allowed, CorpusKnob) else allowed[0])

    def shots_of(self, stratum: Stratum) -> int:
        """Return how many demonstrations the prompts of a stratum have."""
        return self.shots if stratum.shots is None else stratum.shots


MOST_NEEDED, DEPTH_BLOCK = 512, 1024
"""The most relevant units of a row, and the most rows over which depths are uniform by construction."""
HALF = 1 << 32


def depths(stratum_streams: Streams, row_streams: Streams, rows: int, index: int, count: int) -> list[float]:
    """Return the depths of `count` units of row `index`: ``(perm(i) + u) / rows``, with a permutation for each unit."""
    size = min(rows, DEPTH_BLOCK)
    block, place = divmod(index, size)
    within = words(row_streams.of("depth"), count) / HALF
    found: list[float] = ((_orders(stratum_streams, size, block)[:count, place] + within) / size).tolist()
    return found


def streams_of_twin(task: Task, twin: Task, *streams: Streams) -> tuple[Streams, ...]:
    """Return a task's streams as those of its twin."""
    own, theirs = (f"{each.family}.{each.subtask}@{each.version}" for each in (task, twin))
    return tuple(replace(each, path=tuple(theirs if part == own else part for part in each.path)) for each in streams)


def history_depths(rng: Random, roles: Sequence[Role], needed: Sequence[float]) -> list[float]:
    """Return ascending depths for a history's units: `needed` for ``relevant`` ones, draws in between for the rest."""
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
    """Return a permutation of a block's rows for each unit."""
    return np.argsort(
        words(stratum_streams.of("depth", block), MOST_NEEDED * size).reshape(MOST_NEEDED, size), axis=1, kind="stable"
    )
