"""From a layout to a published row: count, pack, join, and check the sum with one encode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from random import Random
from typing import Any, Protocol

import numpy as np

from pipeline.assemble.packing import Counts, Packing, pack
from pipeline.assemble.pools import Pool, Taken
from pipeline.caches import lru_cache
from pipeline.errors import ExactError, FitError
from pipeline.profiles import Profile
from pipeline.rows import CANARY, Row, plain_json, sha256_text
from pipeline.tasks.base import Key, Layout, Piece, Placed, Sample, Task, Unit
from pipeline.turns import CALL, RESULT, has_calls, messages_of
from pipeline.typed import (
    TIERS,
)

MARKED = ("demo", "relevant", "match", "decoy", "anchor")
"""Roles of segments that a row marks as needles."""
LABELS = {"system": "System", "user": "User", "assistant": "Model", "call": "Call", "tool": "Result"}


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

    def __call__(self, pieces: Sequence[Piece], *, opens: bool = False) -> int: ...


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

    def join(self, layout: Layout, stock: Stock, packing: Packing) -> Joined:
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


def turns_in(pieces: Iterable[Piece]) -> list[tuple[str, str]]:
    """Return the turns that pieces are."""
    return [(piece.turn or "", piece.text) for piece in pieces]


class JoinedCalls(Joined):
    """A conversation with tool calls: a job is marked whole, by all that it adds to what is sent.

    `tokens_of` counts the pieces of a job; `tokens` starts behind the head.
    """

    def _fixed(self, pieces: Sequence[Piece], depth: float | None) -> None:
        tokens = 0 if depth is None else self.tokens_of(pieces)
        start, role = self.chars, next((piece.role for piece in pieces if piece.role in MARKED), None)
        for piece in pieces:
            self._add(piece)
        if role:
            self.needles.append(
                {
                    "role": role,
                    "char_start": start,
                    "char_end": self.chars - len("\n\n"),
                    "token_start": self.tokens,
                    "token_end": self.tokens + tokens,
                    "depth": depth,
                }
            )
        self.tokens += tokens


MEMO = 20_000
"""Texts of which the tokens are remembered."""


class Known(dict[str, int]):
    """The tokens of texts that were counted, as many as MEMO; others are counted when they are asked for."""

    def __init__(self, count: Callable[[Sequence[str]], Iterable[int]]) -> None:
        super().__init__()
        self._count = count

    def __missing__(self, text: str) -> int:
        """Count a text."""
        self.learn([text])
        return self[text]

    def learn(self, texts: Sequence[str]) -> None:
        """Count those of some texts that are not known, all at once."""
        fresh = list(dict.fromkeys(text for text in texts if text not in self))
        if len(self) + len(fresh) > MEMO:
            self.clear()
        self.update(zip(fresh, map(int, self._count(fresh)), strict=True))


class Cutter:
    """Cuts rows for one profile and frame; remembers the counts of texts that many prompts share."""

    def __init__(self, profile: Profile, frame: str, canary: str = CANARY) -> None:
        self.profile, self.frame, self.canary = profile, frame, canary
        self._counter = counter = profile.counter()
        self._alone = Known(lambda texts: map(counter.count, texts))
        self._inside = Known(lambda texts: counter.counts(texts))
        self._of_turn: dict[str, int] = {}

    def tokens(self, pieces: Sequence[Piece], *, opens: bool = False) -> int:
        """Return the tokens of pieces in a prompt (`opens`: from its first character).

        A real turn's template tokens are counted with its message.
        """
        total = 0
        for piece in pieces:
            if piece.turn is None:
                total += (self._alone if opens else self._inside)[piece.text]
            else:
                total += self._alone[piece.text] + self._turn_tokens(piece.turn)
            opens = False
        return total

    def unit_tokens(self, units: Sequence[Unit]) -> Counts:
        """Return the tokens of each pool unit in the middle of a prompt."""
        if all(len(unit.pieces) == 1 and unit.pieces[0].turn is None for unit in units):
            return self.text_tokens([unit.pieces[0].text for unit in units])
        if any(piece.turn == RESULT for piece in units[0].pieces):
            return np.array(self.profile.job_tokens(turns_in(unit.pieces) for unit in units), dtype=np.int64)
        return np.array([self.tokens(unit.pieces) for unit in units], dtype=np.int64)

    def text_tokens(self, texts: Sequence[str]) -> Counts:
        """Return the tokens of each text in the middle of a prompt."""
        return np.asarray(self._counter.counts(texts), dtype=np.int64)

    def _turn_tokens(self, turn: str) -> int:
        """Return what a message adds to the template; a reply's share is counted with the request after it."""
        if turn not in self._of_turn:
            more = {"user": ("user", "assistant", "user"), "assistant": ("user",)}.get(turn, ("system", "user"))
            added = self.profile.overhead(more, self.frame) - self.profile.overhead(("user",), self.frame)
            self._of_turn[turn] = added
        return self._of_turn[turn]

    def fixed_tokens(self, layout: Layout) -> int:
        """Return all tokens that are sent in addition to the filler."""
        if layout.has_calls:
            jobs = self.profile.job_tokens(turns_in(item.unit.pieces) for item in layout.placed)
            ends = (
                self.profile.opening_tokens(turns_in(layout.head)),
                self.profile.closing_tokens(turns_in(layout.tail)),
            )
            return sum(jobs) + sum(ends)
        template = self.profile.overhead(("user",), self.frame)
        if layout.tail[-1].turn:
            template -= self._turn_tokens("user")
        pieces = (piece for item in layout.placed for piece in item.unit.pieces)
        self._inside.learn([piece.text for piece in pieces if piece.turn is None])
        placed = sum(self.tokens(item.unit.pieces) for item in layout.placed)
        return (
            template + placed + self.tokens(layout.head, opens=True) + self.tokens(layout.tail, opens=not layout.head)
        )

    def cut(self, task: Task, sample: Sample, layout: Layout, stock: Stock, rng: Random, reserve: int | None) -> Row:
        """Return the row of a sample, exact to the token.

        Raises:
            FitError: if too little room is left for filler, or for the answer.
            ExactError: if the finished prompt does not count what its parts count.
        """
        layout = replace(layout, placed=in_order(layout.placed))
        context = self.profile.window(sample.stratum.length)
        max_new = self.profile.reply_tokens(reserve, task.room_of(sample.stratum))
        room = context - max_new - self.fixed_tokens(layout)
        try:
            depths, at = [item.depth for item in layout.placed], [item.at for item in layout.placed]
            packing = pack(room, stock.counts, layout.filler, depths, rng, at)
        except FitError as fault:
            raise FitError(f"{sample.stratum} in profile {self.profile.name}: {fault}") from None
        joined = self._joined(layout).join(layout, stock, packing)
        places = [filler + before for before, filler in enumerate(packing.slots)]
        key = task.key(sample, Taken(stock.pool, packing.units) if task.keyed_by_packing else ())
        prompt = joined.prompt
        if layout.numbering:
            key, prompt = layout.numbering.key(key, places), layout.numbering.prompt(prompt, places)
        self._assert_answerable(sample, key, max_new)
        self.profile.check_calls(sum(role == CALL for role, _ in joined.messages), f"{sample.stratum}, row {sample.id}")
        told = {**task.packed_metadata(sample, places), **task.filled(sample, packing.units)}
        row = {
            **labels(task, sample, self.profile.name, self.frame),
            **self._tokens(joined, context, max_new),
            "question": sample.question,
            "answer_prefix": "",
            **key.columns(),
            **_text_columns(joined, prompt, task, sample, key, {**told, "canary": self.canary}),
        }
        self._assert_exact(row, joined.messages)
        return row

    def _assert_answerable(self, sample: Sample, key: Key, max_new: int) -> None:
        """A reply must be able to hold its answer, whatever corpus that comes from."""
        longest = max(map(self._counter.count, key.answers))
        if longest > max_new:
            raise FitError(
                f"{sample.stratum} in profile {self.profile.name}: row {sample.id} has an answer of {longest} "
                "tokens, but only "
                f"{max_new} are kept for the reply: shorten the texts of the corpus or raise reserve"
            )

    def _joined(self, layout: Layout) -> Joined:
        if layout.has_calls:
            opening = self.profile.opening_tokens(turns_in(layout.head))
            return JoinedCalls(lambda pieces, opens=False: self.profile.job_tokens([turns_in(pieces)])[0], opening)
        opening = self.profile.gaps(("user",), self.frame)[0]
        turns = ("user", "assistant", "user")
        return Joined(self.tokens, opening, self.profile.gaps(turns, self.frame)[2] if layout.tail[-1].turn else 0)

    def _tokens(self, joined: Joined, context: int, max_new: int) -> Row:
        roles = tuple(role for role, _ in joined.messages) or ("user",)
        if has_calls(joined.messages):
            template = context - max_new - sum(self._alone[text] for role, text in joined.messages if role != CALL)
        else:
            template = self.profile.overhead(roles, self.frame)
        return {
            "context_tokens": context,
            "prompt_tokens": context - max_new - template,
            "template_tokens": template,
            "max_new_tokens": max_new,
        }

    def _assert_exact(self, row: Row, turns: Sequence[tuple[str, str]]) -> None:
        if has_calls(turns):
            counted = self.profile.sent_tokens(turns, self.frame, self._counter) - row["template_tokens"]
        elif row["messages"]:  # each is encoded by itself, and most stand in many conversations
            counted = sum(self._alone[turn["content"]] for turn in row["messages"])
        else:
            counted = self._counter.count(row["prompt"])
        if counted != row["prompt_tokens"]:
            raise ExactError(
                f"row {row['id']} in profile {self.profile.name}: {row['prompt_tokens']} prompt tokens were "
                "planned but "
                f"{counted} counted: a segment of this task breaks the boundary rule"
            )


@lru_cache(maxsize=3)
def cutter(profile: Profile, frame: str, canary: str = CANARY) -> Cutter:
    """Return this process's cutter for a profile, of rows that carry a canary."""
    return Cutter(profile, frame, canary)


def in_order(placed: Sequence[Placed]) -> tuple[Placed, ...]:
    """Return placed units in the order in which they will stand: by rank where they have one or stand at one."""
    return tuple(sorted(placed, key=lambda item: (item.rank or 0, item.at or 0, item.depth)))


def bucket(length: int) -> str:
    """Return the smallest tier that holds a length."""
    return next(tier for tier, limit in TIERS.items() if length <= limit)


def labels(task: Task, sample: Sample, tokenizer: str, frame: str) -> Row:
    """Return the columns that name a row's cell."""
    cell = sample.stratum
    return {
        "id": sample.id,
        "family": cell.family,
        "subtask": cell.subtask,
        "tier": cell.tier,
        "bucket": bucket(cell.length),
        "tokenizer": tokenizer,
        "frame": frame,
        "scorer": task.scorer_of(cell),
        "length": cell.length,
        "complexity": cell.complexity,
        "shots": task.shots_of(cell),
        "task_version": task.version,
    }


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Return baselines as rows state them."""
    return {name: round(value, 6) for name, value in values.items()}


def _text_columns(joined: Joined, prompt: str, task: Task, sample: Sample, key: Key, told: Mapping[str, Any]) -> Row:
    """Return the columns of text and of what is told of it; `told` is what only the packed prompt tells."""
    metadata = {
        **told,
        **({} if task.proof == "solved" else {"proof": task.proof}),
        "knobs": dict(sample.stratum.knobs),
        "latent": dict(sample.latent),
        "baselines": rounded(task.baselines(sample, key)),
        "prompt_sha256": sha256_text(prompt),
    }
    return {
        "question_start": joined.question_start,
        "needles": joined.needles,
        "metadata": plain_json(metadata),
        "messages": messages_of(joined.messages) or None,
        "prompt": prompt,
    }
