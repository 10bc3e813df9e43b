"""The protocol of a task, and the words it is written in.

A task samples a latent structure, lays it out as text, and re-derives the answer from the text alone by other code. It
knows no tokenizer, no packing and no files: adding one is a file, a line in ``TASKS`` and a golden file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams

Role = Literal["instruction", "demo", "relevant", "match", "decoy", "anchor", "filler", "question"]
Turn = Literal["system", "user", "assistant"]
Turns = Sequence[tuple[str, str]]
FillerOrder = Literal["free", "ranked", "sequence"]


@dataclass(frozen=True, slots=True)
class Piece:
    """An indivisible segment of text: its token counts add at its edges.

    The text ends in one newline (the last piece of a prompt in none), starts and otherwise ends in no white space, and
    does not start with ``/``. With a `turn` it is the whole content of one message, and ends in no newline.
    """

    text: str
    role: Role
    turn: Turn | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """Pieces that enter a prompt or stay out together.

    `facts` are what the text states, for solvers' tests and readers of the segments file. `edges` name the kind of its
    first and last line where some kinds must not touch (empty: may touch anything).
    """

    pieces: tuple[Piece, ...]
    facts: tuple[str, ...] = ()
    edges: tuple[str, str] = ("", "")


def unit(text: str, role: Role = "filler", facts: tuple[str, ...] = (), edges: tuple[str, str] = ("", "")) -> Unit:
    """Return a unit of one piece without turns."""
    return Unit((Piece(text, role),), facts, edges)


@dataclass(frozen=True, slots=True)
class Placed:
    """A unit with a wanted depth: filler tokens before it / all filler tokens of the body, 0 first, 1 last.

    Where `rank` is given, units stand in the order of their ranks whatever their depths. A placed unit never touches a
    filler unit whose facing edge has the same name as its own.
    """

    unit: Unit
    depth: float
    rank: int | None = None


class Order(Protocol):
    """One order of pool indices for all profiles, of which a budget takes a prefix."""

    def take(self, count: int) -> Indices:
        """Return the first `count` indices; fewer only if there are no more."""


@dataclass(frozen=True, slots=True)
class Filler:
    """What fills a prompt: units of one pool.

    `order` is drawn from as far as the budget goes; `spares` close the last gap, each used at most once. ``free`` and
    ``sequence`` keep the order and put spares at random places; ``ranked`` sorts all by `ranks` (one for each unit of
    the pool), stably.
    """

    pool: str
    order: Order
    spares: Indices
    policy: FillerOrder = "free"
    ranks: Indices | None = None


class Numbering(Protocol):
    """Writes what only the packed order tells over marks of the same length in characters and in tokens.

    `places` holds for each placed unit, in order, how many units stand before it in the body.
    """

    def prompt(self, text: str, places: Sequence[int]) -> str:
        """Return a prompt with numbers in place of marks."""

    def key(self, key: Key, places: Sequence[int]) -> Key:
        """Return a key with numbers in place of marks."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt before it is packed: only the amount of filler is open, and numbers that count what was packed."""

    head: tuple[Piece, ...]
    placed: tuple[Placed, ...]
    filler: Filler
    tail: tuple[Piece, ...]
    numbering: Numbering | None = None


@dataclass(frozen=True, slots=True)
class Key:
    """What a reply is scored against: one plain target, and every accepted answer."""

    target: str
    answers: tuple[str, ...]
    choices: tuple[str, ...] | None = None
    random_string_to_prepend: str | None = None


@dataclass(frozen=True, slots=True)
class Sample:
    """The latent structure of one instance. `latent` holds plain JSON types and all that `layout` needs."""

    id: str
    stratum: Stratum
    index: int
    latent: Mapping[str, Any]
    relevant: tuple[str, ...]
    question: str
    key: Key


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """A pool of filler units that the render stage writes once for all profiles.

    `source` is the digest of the files it is made from; `make` must be a module-level function, and what it makes a
    function of the streams and this description alone.
    """

    name: str
    version: int
    tier: str
    source: str
    make: Callable[[Streams, PoolSpec], Iterable[Unit]]


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


@dataclass(frozen=True, slots=True)
class Digest:
    """The values of a knob that names `what` by its SHA-256; the default names none."""

    what: str

    def allows(self, value: object) -> bool:
        """Tell whether a value is a digest, or none."""
        return isinstance(value, str) and (not value or bool(re.fullmatch("[0-9a-f]{64}", value)))


class Task(Protocol):
    """A family's structure asked in one way. Registered in ``pipeline.tasks.TASKS``.

    `version` moves with every change of any row; golden files see to that. `max_new_tokens` holds every key of the
    task with margin in every profile; `shots` is the default number of demonstrations,
    `most_shots` how many a recipe may ask for.
    """

    family: str
    subtask: str
    version: int
    scorer: str
    shots: int
    most_shots: int
    max_new_tokens: int
    complexities: tuple[int, ...]
    keyed_by_packing: bool
    """Whether `key` needs the packed units; most do not, and gathering them costs time."""
    paired: bool
    """Whether complexities 1 and 0 are two forms of the same questions: they share streams, and ids but for a or b."""
    knobs: Mapping[str, tuple[Any, ...] | Digest]
    """The knobs it takes, each with its allowed values, the default first."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pools that the layouts of a stratum draw from."""

    def sample(self, stratum: Stratum, index: int, row: Streams, cell: Streams) -> Sample:
        """Draw row `index` of a stratum, with id "" (the plan names it).

        `row` holds the streams of this row, `cell` those that all rows of the stratum share.
        """

    def layout(self, sample: Sample, row: Streams, cell: Streams) -> Layout:
        """Lay a sample out as text; the same for every profile."""

    def key(self, sample: Sample, packed: Sequence[Unit]) -> Key:
        """Return the key; tasks whose answer depends on what was packed compute it from the packed filler."""

    def packed_metadata(self, sample: Sample, places: Sequence[int]) -> dict[str, Any]:
        """Return what only the packed prompt tells, for the row's metadata.

        `places` holds for each placed unit, in order, how many units stand before it in the body. Most tasks: {}.
        """

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Re-derive the answers from what is sent, by code that shares nothing with `sample`.

        Raises:
            ValueError: if the text cannot be read as this task's, or states no answer or two.
        """

    def check(self, row: Published) -> list[str]:
        """Return what is wrong with a row: relevance, irrelevance, uniqueness, offsets, tells. Empty if proven."""

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the expected score of guessers that do not read the context, and of naive ones that do."""


class Sampled:
    """What most tasks share: the key is the sample's, and the packed prompt tells nothing that the sample does not."""

    __slots__ = ()

    def key(self, sample: Sample, packed: Sequence[Unit]) -> Key:
        """Return the sample's key."""
        return sample.key

    def packed_metadata(self, sample: Sample, places: Sequence[int]) -> dict[str, Any]:
        """Return nothing."""
        return {}
