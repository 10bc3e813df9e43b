"""Pools in memory, and the joining of packed pieces into one prompt with offsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Protocol

from pipeline.assemble.packing import Counts, Packing
from pipeline.assemble.pools import Pool
from pipeline.tasks.base import Layout, Piece

MARKED = ("demo", "relevant", "match", "decoy", "anchor")
"""Roles of segments that a row marks as needles."""
LABELS = {"system": "System", "user": "User", "assistant": "Model"}


def reading(piece: Piece) -> str:
    """Return a piece as it stands in `prompt`: real turns get a label there, and a blank line after them."""
    return f"{LABELS[piece.turn]}: {piece.text}\n\n" if piece.turn else piece.text


def conversation(turns: Sequence[tuple[str, str]]) -> str:
    """Return real turns as they stand in `prompt`."""
    return "\n\n".join(f"{LABELS[role]}: {content}" for role, content in turns)


@dataclass(frozen=True, slots=True)
class Stock:
    """A rendered pool, and the tokens of each of its units."""

    pool: Pool
    counts: Counts


class TokensOf(Protocol):
    """Counts fixed pieces; `opens`: from the first character of the prompt."""

    def __call__(self, pieces: Sequence[Piece], *, opens: bool = False) -> int: ...  # noqa: D102


@dataclass(slots=True)
class Joined:
    """A prompt under construction, with running offsets in characters and in tokens of what is sent.

    `tokens_of` counts fixed pieces; `tokens` starts at what the template puts before the first character. With real
    turns it stands where the next request would begin: a request is counted with the template of its reply too, of
    which the last `closing` tokens come behind the reply.
    """

    tokens_of: TokensOf
    tokens: int
    closing: int = 0
    chars: int = 0
    parts: list[str] = field(default_factory=list)
    messages: list[tuple[str, str]] = field(default_factory=list)
    needles: list[dict[str, Any]] = field(default_factory=list)
    question_start: int = 0

    @property
    def prompt(self) -> str:
        """The whole text; real turns leave a blank line after the last one, which is no part of it."""
        return "".join(self.parts).rstrip() if self.messages else "".join(self.parts)

    def layout(self, layout: Layout, stock: Stock, packing: Packing) -> Joined:
        """Join a packed layout and return itself."""
        self._fixed(layout.head, None)
        start, add = 0, self._spoken(stock, packing) if stock.pool.spoken else self._plain(stock, packing)
        for item, end, depth in zip(layout.placed, packing.slots, packing.depths, strict=True):
            add(start, end)
            self._fixed(item.unit.pieces, depth)
            start = end
        add(start, len(packing.units))
        self.question_start = self.chars
        self._fixed(layout.tail, None)
        return self

    def _fixed(self, pieces: Sequence[Piece], depth: float | None) -> None:
        for piece in pieces:
            tokens = self.tokens_of((piece,), opens=not self.parts)
            if piece.role in MARKED:
                self.needles.append(self._needle(piece, self._said(piece, tokens), depth))
            self._add(piece)
            self.tokens += tokens

    def _said(self, piece: Piece, tokens: int) -> int:
        """Return the tokens of a piece's text: those of a request are counted with what the template adds."""
        return self.tokens_of((replace(piece, turn="assistant"),)) if piece.turn else tokens

    def _add(self, piece: Piece) -> None:
        text = reading(piece)
        self.parts.append(text)
        self.chars += len(text)
        if piece.turn:
            self.messages.append((piece.turn, piece.text))

    def _needle(self, piece: Piece, tokens: int, depth: float | None) -> dict[str, Any]:
        start = self.chars + reading(piece).rindex(piece.text)
        before = self.tokens - (self.closing if piece.turn == "assistant" else 0)
        return {
            "role": piece.role,
            "char_start": start,
            "char_end": start + len(piece.text),
            "token_start": before,
            "token_end": before + tokens,
            "depth": depth,
        }

    def _plain(self, stock: Stock, packing: Packing) -> Callable[[int, int], None]:
        """Return what adds filler from one place to another; its texts are taken out of the pool at once."""
        texts = stock.pool.texts(packing.units)

        def add(start: int, end: int) -> None:
            self._filler(texts[start:end], packing, start, end)

        return add

    def _spoken(self, stock: Stock, packing: Packing) -> Callable[[int, int], None]:
        """Return the same for filler of real turns."""
        units = stock.pool.turns(packing.units)

        def add(start: int, end: int) -> None:
            turns = list(chain.from_iterable(units[start:end]))
            self.messages.extend(turns)
            self._filler([f"{LABELS[role]}: {text}\n\n" for role, text in turns], packing, start, end)

        return add

    def _filler(self, texts: Sequence[str], packing: Packing, start: int, end: int) -> None:
        self.parts.extend(texts)
        self.chars += sum(map(len, texts))
        self.tokens += int(packing.before[end] - packing.before[start])
