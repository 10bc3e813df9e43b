"""From a layout to a row: count, pack, join, and check the sum with one encode."""

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
from pipeline.errors import ExactError, FitError, RecipeError
from pipeline.profiles import Profile
from pipeline.rows import CANARY, Row, plain_json, sha256_text
from pipeline.tasks.base import Key, Layout, Piece, Placed, Sample, Task, Unit
from pipeline.turns import CALL, RESULT, has_calls, messages_of
from pipeline.typed import (
    TIERS,
)

NEEDLE_ROLES = ("demo", "relevant", "match", "decoy", "anchor")
"""Roles of segments that a row marks as needles."""
LABELS = {"system": "System", "user": "User", "assistant": "Model", "call": "Call", "tool": "Result"}


def reading(piece: Piece) -> str:
    """Return a piece as it appears in `prompt`, where real turns get a label and a blank line after them."""
    return f"{LABELS[piece.turn]}: {piece.text}\n\n" if piece.turn else piece.text


def conversation(turns: Sequence[tuple[str, str]]) -> str:
    """Return real turns as they appear in `prompt`."""
    return "\n\n".join(f"{LABELS[role]}: {content}" for role, content in turns)


@dataclass(frozen=True, slots=True)
class CountedPool:
    """A rendered pool, with the tokens of each unit."""

    pool: Pool
    counts: Counts


class TokensOf(Protocol):
    """Counts the tokens of fixed pieces; with `opens`, at the start of the prompt."""

    def __call__(self, pieces: Sequence[Piece], *, opens: bool = False) -> int: ...


@dataclass(slots=True)
class PromptBuilder:
    """A prompt under construction, with running offsets in characters and in tokens of what is sent.

    `tokens_of` counts fixed pieces. `tokens` starts with the template's tokens before the first character. With real
    turns, it is where the next request would begin: a request is counted together with the template of its reply, whose
    last `closing` tokens follow the reply.
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
        """The whole text, without the blank line after the last of real turns."""
        return "".join(self.parts).rstrip() if self.messages else "".join(self.parts)

    def join(self, layout: Layout, counted: CountedPool, packing: Packing) -> PromptBuilder:
        """Join a packed layout and return itself."""
        self._fixed(layout.head, None)
        start, add = 0, self._spoken(counted, packing) if counted.pool.spoken else self._plain(counted, packing)
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
            if piece.role in NEEDLE_ROLES:
                self.needles.append(self._needle(piece, self._text_tokens(piece, tokens), depth))
            self._add(piece)
            self.tokens += tokens

    def _text_tokens(self, piece: Piece, tokens: int) -> int:
        """Return the tokens of a piece's text alone; `tokens` of a request include what the template adds for it."""
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

    def _plain(self, counted: CountedPool, packing: Packing) -> Callable[[int, int], None]:
        """Return a function that adds a range of filler units; their texts are read from the pool all at once."""
        texts = counted.pool.texts(packing.units)

        def add(start: int, end: int) -> None:
            self._filler(texts[start:end], packing, start, end)

        return add

    def _spoken(self, counted: CountedPool, packing: Packing) -> Callable[[int, int], None]:
        """Return the same function for filler that consists of real turns."""
        units = counted.pool.turns(packing.units)

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
    """Return pieces as turns."""
    return [(piece.turn or "", piece.text) for piece in pieces]


class CallsBuilder(PromptBuilder):
    """A conversation with tool calls, whose needles are whole jobs with all that they add to what is sent.

    `tokens_of` counts the pieces of a job; `tokens` starts after the head.
    """

    def _fixed(self, pieces: Sequence[Piece], depth: float | None) -> None:
        tokens = 0 if depth is None else self.tokens_of(pieces)
        start, role = self.chars, next((piece.role for piece in pieces if piece.role in NEEDLE_ROLES), None)
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
"""The most texts whose token counts are cached."""


class Known(dict[str, int]):
    """A cache of token counts for up to MEMO texts; others are counted on access."""

    def __init__(self, count: Callable[[Sequence[str]], Iterable[int]]) -> None:
        super().__init__()
        self._count = count

    def __missing__(self, text: str) -> int:
        """Count a text."""
        self.learn([text])
        return self[text]

    def learn(self, texts: Sequence[str]) -> None:
        """Count all texts that are not cached in one batch."""
        fresh = list(dict.fromkeys(text for text in texts if text not in self))
        if len(self) + len(fresh) > MEMO:
            self.clear()
        self.update(zip(fresh, map(int, self._count(fresh)), strict=True))


class Cutter:
    """Cuts rows for one profile and frame; caches the counts of texts that many prompts share."""

    def __init__(self, profile: Profile, frame: str, canary: str = CANARY) -> None:
        self.profile, self.frame, self.canary = profile, frame, canary
        self._counter = counter = profile.counter()
        self._alone = Known(lambda texts: map(counter.count, texts))
        self._inside = Known(lambda texts: counter.counts(texts))
        self._of_turn: dict[str, int] = {}

    def tokens(self, pieces: Sequence[Piece], *, opens: bool = False) -> int:
        """Return the tokens of pieces in a prompt; with `opens`, at its start.

        For real turns this includes the template's tokens.
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
        """Return the tokens that a message adds to the template; those of a reply are counted with its request."""
        if turn not in self._of_turn:
            more = {"user": ("user", "assistant", "user"), "assistant": ("user",)}.get(turn, ("system", "user"))
            added = self.profile.overhead(more, self.frame) - self.profile.overhead(("user",), self.frame)
            self._of_turn[turn] = added
        return self._of_turn[turn]

    def fixed_tokens(self, layout: Layout) -> int:
        """Return the tokens of everything that is sent except the filler."""
        if layout.has_calls:
            jobs = self.profile.job_tokens(turns_in(item.unit.pieces) for item in layout.placed)
            ends = (
                self.profile.opening_tokens(turns_in(layout.head), layout.tools),
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

    def cut(
        self, task: Task, sample: Sample, layout: Layout, counted: CountedPool, rng: Random, reserve: int | None
    ) -> Row:
        """Return the row of a sample, exact to the token.

        Raises:
            FitError: if too little room is left for filler or the answer, or there are too many calls for the profile.
            ExactError: if the token count of the finished prompt is not the sum of its parts.
        """
        layout = replace(layout, placed=in_order(layout.placed))
        context = self.profile.window(sample.stratum.length)
        max_new = self.profile.reply_tokens(reserve, task.max_new_tokens_of(sample.stratum))
        room = context - max_new - self.fixed_tokens(layout)
        try:
            depths, at = [item.depth for item in layout.placed], [item.at for item in layout.placed]
            packing = pack(room, counted.counts, layout.filler, depths, rng, at)
        except FitError as fault:
            raise FitError(f"{sample.stratum} in profile {self.profile.name}: {fault}") from None
        joined = self._joined(layout).join(layout, counted, packing)
        places = [filler + before for before, filler in enumerate(packing.slots)]
        key = task.key(sample, Taken(counted.pool, packing.units) if task.keyed_by_packing else ())
        prompt = joined.prompt
        if layout.numbering:
            key, prompt = layout.numbering.key(key, places), layout.numbering.prompt(prompt, places)
        self._assert_answerable(sample, key, max_new)
        self.profile.check_calls(sum(role == CALL for role, _ in joined.messages), f"{sample.stratum}, row {sample.id}")
        packed = {**task.packed_metadata(sample, places), **task.filled(sample, packing.units)}
        packed |= {"tools": layout.tools} if layout.tools else {}
        row = {
            **stratum_columns(task, sample, self.profile.name, self.frame),
            **self._tokens(joined, context, max_new),
            "question": sample.question,
            "answer_prefix": "",
            **key.columns(),
            **_text_columns(joined, prompt, task, sample, key, {**packed, "canary": self.canary}),
        }
        self._assert_exact(row, joined.messages, layout.tools)
        return row

    def _assert_answerable(self, sample: Sample, key: Key, max_new: int) -> None:
        """Check that every accepted answer, which may come from a corpus, fits the reply."""
        longest = max(map(self._counter.count, key.answers))
        if longest > max_new:
            raise FitError(
                f"{sample.stratum} in profile {self.profile.name}: row {sample.id} has an answer of {longest} "
                "tokens, but only "
                f"{max_new} are kept for the reply: shorten the texts of the corpus or raise reserve"
            )

    def _joined(self, layout: Layout) -> PromptBuilder:
        if layout.has_calls:
            opening = self.profile.opening_tokens(turns_in(layout.head), layout.tools)
            return CallsBuilder(lambda pieces, opens=False: self.profile.job_tokens([turns_in(pieces)])[0], opening)
        opening = self.profile.gaps(("user",), self.frame)[0]
        turns = ("user", "assistant", "user")
        return PromptBuilder(
            self.tokens, opening, self.profile.gaps(turns, self.frame)[2] if layout.tail[-1].turn else 0
        )

    def _tokens(self, joined: PromptBuilder, context: int, max_new: int) -> Row:
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

    def _assert_exact(self, row: Row, turns: Sequence[tuple[str, str]], tools: str) -> None:
        if has_calls(turns):
            counted = self.profile.sent_tokens(turns, self.frame, self._counter, tools) - row["template_tokens"]
        elif row["messages"]:  # each is encoded separately, and most occur in many conversations
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
def cutter_for(profile: Profile, frame: str, canary: str = CANARY) -> Cutter:
    """Return this process's cutter for a profile, a frame and a canary."""
    return Cutter(profile, frame, canary)


def in_order(placed: Sequence[Placed]) -> tuple[Placed, ...]:
    """Return placed units in the order of the prompt: by `rank`, then `at`, then depth."""
    return tuple(sorted(placed, key=lambda item: (item.rank or 0, item.at or 0, item.depth)))


def bucket(length: int) -> str:
    """Return the smallest tier that includes a length."""
    return next(tier for tier, limit in TIERS.items() if length <= limit)


def stratum_columns(task: Task, sample: Sample, tokenizer: str, frame: str) -> Row:
    """Return the columns that describe a row's stratum."""
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
    """Return baselines, rounded as in rows.

    Raises:
        RecipeError: if a task gives one that is not a score.
    """
    for name, value in values.items():
        if not 0 <= value <= 1:
            raise RecipeError(f"baseline {name!r} is {value}: give a score from 0 to 1")
    return {name: round(value, 6) for name, value in values.items()}


def _text_columns(
    joined: PromptBuilder, prompt: str, task: Task, sample: Sample, key: Key, packed: Mapping[str, Any]
) -> Row:
    """Return the columns of text and metadata; `packed` is metadata that depends on the packed prompt."""
    metadata = {
        **packed,
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
