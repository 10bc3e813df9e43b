"""The words that a prompt is laid out in before it is packed: pieces, units, filler, pools and the key."""

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
"""Before which units of a pool another may be put."""


@dataclass(frozen=True, slots=True)
class Piece:
    """An indivisible segment of text: its token counts add at its edges.

    The text ends in one newline (the last piece of a prompt in none), starts and otherwise ends in no white space, and
    does not start with ``/``. With a `turn` it is the whole content of one message, and ends in no newline; a ``call``
    of a tool is the tool's name, a space and its arguments as JSON.
    """

    text: str
    role: Role
    turn: Turn | None = None


@dataclass(frozen=True, slots=True)
class Unit:
    """Pieces that enter a prompt or stay out together.

    `facts` are what the text states, for solvers' tests and readers of the segments file.
    """

    pieces: tuple[Piece, ...]
    facts: tuple[str, ...] = ()


def unit(text: str, role: Role = "filler", facts: tuple[str, ...] = ()) -> Unit:
    """Return a unit of one piece without turns."""
    return Unit((Piece(text, role),), facts)


@dataclass(frozen=True, slots=True)
class Plain:
    """Units of one piece of filler that state no facts, by their texts: a pool takes many of these in half of the time.

    >>> list(Plain(["one line"])) == [unit("one line")]
    True
    """

    texts: Iterable[str]

    def __iter__(self) -> Iterator[Unit]:
        """Yield them as units."""
        return map(unit, self.texts)


@dataclass(frozen=True, slots=True)
class Placed:
    """A unit with a wanted depth: filler tokens before it / all filler tokens of the body, 0 first, 1 last.

    Where `rank` is given, units stand in the order of their ranks whatever their depths. Where `at` is, in all placed
    units or in none, a unit stands where that value falls among the ranks of ranked filler: its depth comes out.
    """

    unit: Unit
    depth: float
    rank: int | None = None
    at: int | None = None

    @classmethod
    def line(cls, text: str, role: Role, depth: float, rank: int | None = None, at: int | None = None) -> Placed:
        """Return a unit of one piece without turns in its place."""
        return cls(unit(text, role), depth, rank, at)


NO_UNITS: Indices = np.empty(0, dtype=np.int64)


class Order(Protocol):
    """One order of pool indices for all profiles, of which a budget takes a prefix."""

    def take(self, count: int) -> Indices:
        """Return the first `count` indices; fewer only if there are no more."""


@dataclass(frozen=True, slots=True)
class Filler:
    """What fills a prompt: units of one pool.

    `order` is drawn from as far as the budget goes; `spares` close the last gap, each used at most once. Where there
    are none, the next units of the order do, so that no unit is kept from its place in the order. ``free`` and
    ``sequence`` keep the order and put spares at random places, or where `joints` (one for each unit of the pool) says
    that one may stand before a unit, and last. ``ranked`` sorts all by `ranks` (one for each unit), stably.

    Where a prefix will not do in prompts of any size, `fitted` gives the order for this many tokens, with the tokens of
    each unit of the pool. At least the first `least` units must fit, or what is asked cannot be told.
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
    """Writes what only the packed order tells over marks of the same length in characters and in tokens.

    `places` holds for each placed unit, in order, how many units stand before it in the body.
    """

    def prompt(self, text: str, places: Sequence[int]) -> str:
        """Return a prompt with numbers instead of marks."""

    def key(self, key: Key, places: Sequence[int]) -> Key:
        """Return a key with numbers instead of marks."""


@dataclass(frozen=True, slots=True)
class Layout:
    """A prompt before it is packed: only the amount of filler is open, and numbers that count what was packed."""

    head: tuple[Piece, ...]
    placed: tuple[Placed, ...]
    filler: Filler
    tail: tuple[Piece, ...]
    numbering: Numbering | None = None

    @property
    def has_calls(self) -> bool:
        """Whether it is a conversation with tool calls: then its head and each of its units end in a result."""
        return any(piece.turn == RESULT for piece in self.head)

    @classmethod
    def haystack(
        cls, introduction: str, placed: Iterable[Placed], filler: Filler, question: str, demos: Iterable[str] = ()
    ) -> Layout:
        """Return the usual layout: an introduction (and demonstrations), units among filler, and the question last."""
        head = (Piece(introduction, "instruction"), *(Piece(demo, "demo") for demo in demos))
        return cls(head, tuple(placed), filler, (Piece(question, "question"),))


@dataclass(frozen=True, slots=True)
class Key:
    """What a reply is scored against: one plain target, and every accepted answer."""

    target: str
    answers: tuple[str, ...]
    choices: tuple[str, ...] | None = None
    random_string_to_prepend: str | None = None

    @classmethod
    def accepting(cls, *forms: str, choices: tuple[str, ...] | None = None) -> Key:
        """Return the key with these accepted forms, of which the first is the target."""
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

    `source` is the digest of the files it is made from; `make` must be a module-level function, and what it makes a
    function of the streams and this description alone. `corpora` is the folder of frozen corpora, where one is read:
    where it lies decides nothing.
    """

    name: str
    version: int
    tier: str
    source: str
    make: Callable[[Streams, PoolSpec], Iterable[Unit]]
    corpora: str = ""
    has_calls: bool = False
    """Whether its units are jobs in turns: tool calls, each with its result."""
