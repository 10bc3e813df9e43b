"""What a prompt consists of before it is packed: pieces, units, filler, pools and the key."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from pipeline.streams import Indices, Streams
from pipeline.turns import RESULT

Role = Literal["instruction", "demo", "relevant", "match", "decoy", "anchor", "filler", "question"]
Turn = Literal["system", "user", "assistant", "call", "tool"]
Turns = Sequence[tuple[str, str]]
FillerOrder = Literal["free", "ranked", "sequence"]
Joints = NDArray[np.bool_]
"""For each unit of a pool, whether another unit may be put before it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An indivisible segment of text, cut so that the token counts of adjacent pieces add up.

    The text ends in one newline (the last piece of a prompt in none), has no other white space at either end, and
    does not start with ``/``. With a `turn` it is the whole content of one message, without the newline; a ``call``
    of a tool is the tool's name, a space and its arguments as JSON.
    """

    text: str
    role: Role
    turn: Turn | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """Pieces that enter a prompt or stay out together.

    `facts` are the statements of the text, for tests of solvers and for the segments file.
    """

    pieces: tuple[Piece, ...]
    facts: tuple[str, ...] = ()


def unit(text: str, role: Role = "filler", facts: tuple[str, ...] = ()) -> Unit:
    """Return a unit of one piece without turns."""
    return Unit((Piece(text, role),), facts)


@dataclass(frozen=True, slots=True)
class Plain:
    """Filler texts as units of one piece without facts. A pool is written from these in half the time.

    >>> list(Plain(["one line"])) == [unit("one line")]
    True
    """

    texts: Iterable[str]

    def __iter__(self) -> Iterator[Unit]:
        """Yield them as units."""
        return map(unit, self.texts)


@dataclass(frozen=True, slots=True)
class Placed:
    """A unit with a wanted depth: the share of the body's filler tokens that precede it, from 0 to 1.

    Units with a `rank` are in the order of their ranks, whatever their depths. `at` places a unit by that value among
    the ranks of ranked filler, and its depth follows. Either all placed units have `at`, or none.
    """

    unit: Unit
    depth: float
    rank: int | None = None
    at: int | None = None

    @classmethod
    def line(cls, text: str, role: Role, depth: float, rank: int | None = None, at: int | None = None) -> Placed:
        """Place a unit of one piece without turns."""
        return cls(unit(text, role), depth, rank, at)


NO_UNITS: Indices = np.empty(0, dtype=np.int64)


class Order(Protocol):
    """One order of pool indices for all profiles. A budget takes a prefix of it."""

    def take(self, count: int) -> Indices:
        """Return the first `count` indices; fewer only if there are no more."""


@dataclass(frozen=True, slots=True)
class Filler:
    """What fills a prompt: units of one pool.

    Units are taken from `order` until the budget is spent. `spares` close the last gap, each used at most once; without
    spares, the next units of the order do. ``free`` and ``sequence`` keep the order and put spares at random places, or
    with `joints` (one for each unit of the pool) only before the units it allows, or last. ``ranked`` sorts all units
    by `ranks` (one for each unit of the pool), stably.

    If no single order suits prompts of every size, `fitted` returns the order for a number of tokens, given the tokens
    of each unit of the pool. At least the first `least` units must fit, or the question cannot be answered.
    """

    pool: str
    order: Order
    spares: Indices = field(default_factory=lambda: NO_UNITS)
    policy: FillerOrder = "free"
    ranks: Indices | None = None
    joints: Joints | None = None
    fitted: Callable[[int, NDArray[np.int64]], Order] | None = None
    least: int = 0


class Numbering(Protocol):
    """Replaces marks with numbers that depend on the packed order and have as many characters and tokens.

    `places` gives, for each placed unit in order, the number of units before it in the body.
    """

    def prompt(self, text: str, places: Sequence[int]) -> str:
        """Return a prompt with numbers instead of marks."""

    def key(self, key: Key, places: Sequence[int]) -> Key:
        """Return a key with numbers instead of marks."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt before it is packed. Only the amount of filler is open, and the numbers that depend on it."""

    head: tuple[Piece, ...]
    placed: tuple[Placed, ...]
    filler: Filler
    tail: tuple[Piece, ...]
    numbering: Numbering | None = None
    tools: str = ""
    """The tools that are declared to the model, as JSON; only for a conversation with tool calls."""

    @property
    def has_calls(self) -> bool:
        """Whether it is a conversation with tool calls, so that its head and each of its units end in a result."""
        return any(piece.turn == RESULT for piece in self.head)

    @classmethod
    def haystack(
        cls, introduction: str, placed: Iterable[Placed], filler: Filler, question: str, demos: Iterable[str] = ()
    ) -> Layout:
        """Return the usual layout: an introduction, any demonstrations, units among filler, and the question."""
        head = (Piece(introduction, "instruction"), *(Piece(demo, "demo") for demo in demos))
        return cls(head, tuple(placed), filler, (Piece(question, "question"),))


@dataclass(frozen=True, slots=True)
class Key:
    """What a reply is scored against: the target, and all accepted answers."""

    target: str
    answers: tuple[str, ...]
    choices: tuple[str, ...] | None = None
    random_string_to_prepend: str | None = None

    @classmethod
    def accepting(cls, *forms: str, choices: tuple[str, ...] | None = None) -> Key:
        """Return the key that accepts these forms; the first is the target."""
        return cls(forms[0], forms, choices)

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Key:
        """Return the key in the columns of a row."""
        choices = None if row["choices"] is None else tuple(row["choices"])
        return cls(row["target"], tuple(row["answers"]), choices, row["random_string_to_prepend"])

    def columns(self) -> dict[str, Any]:
        """Return the key as columns of a row."""
        return {
            "target": self.target,
            "answers": list(self.answers),
            "choices": None if self.choices is None else list(self.choices),
            "random_string_to_prepend": self.random_string_to_prepend,
        }


@dataclass(frozen=True, slots=True)
class PoolSpec:
    """A pool of filler units that the render stage writes once for all profiles.

    `source` is the digest of the files it is made from. `make` must be a module-level function whose units depend only
    on the streams and this description. `corpora` is the folder of frozen corpora, if one is read; its location has no
    effect on the units.
    """

    name: str
    version: int
    tier: str
    source: str
    make: Callable[[Streams, PoolSpec], Iterable[Unit]]
    corpora: str = ""
    has_calls: bool = False
    """Whether its units consist of turns: tool calls, each with its result."""
