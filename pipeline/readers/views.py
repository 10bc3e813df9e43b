"""The readers: each sees some passages of a prompt and answers from them.

A text of more tokens than a reader can take is cut by shares: a passage whose characters end at half of the text is
taken to end at half of its tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipeline.readers.base import FIRST, Passage, Reading
from pipeline.streams import stream

WINDOW = 32_768
"""Tokens that the readers of one end can take."""
HALF_LIFE = 65_536
"""A passage so many tokens before the end is forgotten in one of two prompts, twice as far in three of four."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader with a stated weakness. `replies` is a pure function; it returns None for what it cannot be asked."""

    name: str
    title: str
    replies: Callable[[Reading], str | None]


def everything(reading: Reading) -> str:
    """Return the task's own solution of the whole text.

    Raises:
        ValueError: if the text cannot be read.
    """
    return reading.task.solve(reading.turns)[0]


def the_last(reading: Reading) -> str:
    """Answer from the passages that lie in the last tokens."""
    size = len(reading.text)
    return reading.answer([one for one in reading.passages if (size - one.start) * reading.tokens <= WINDOW * size])


def the_first(reading: Reading) -> str:
    """Answer from the passages that lie in the first tokens; the question is known all the same."""
    size = len(reading.text)
    return reading.answer([one for one in reading.passages if one.end * reading.tokens <= WINDOW * size])


def one_passage(reading: Reading) -> str:
    """Answer from the one passage with most words in common with the question."""
    return reading.answer(reading.alike())


def half_known(reading: Reading) -> str | None:
    """Answer from the first passage that matches half of what is asked."""
    return _answer(reading, reading.half_known(FIRST))


def last_match(reading: Reading) -> str | None:
    """Answer from the last passage that matches."""
    return _answer(reading, reading.last_match())


def forgetful(reading: Reading) -> str:
    """Answer from the passages that are not forgotten; which are, is drawn by the row's id."""
    rng, size = stream("readers", "forgets", reading.row_id), len(reading.text)
    lives = ((size - one.start) / size * reading.tokens / HALF_LIFE for one in reading.passages)
    kept = [rng.random() < 0.5**life for life in lives]
    return reading.answer([one for one, is_kept in zip(reading.passages, kept, strict=True) if is_kept])


def nothing(reading: Reading) -> str:
    """Guess from the question alone."""
    return reading.guess()


def _answer(reading: Reading, seen: Sequence[Passage] | None) -> str | None:
    return None if seen is None else reading.answer(seen)


READERS = {
    reader.name: reader
    for reader in (
        Reader("all", "reads everything, and answers as the task's own solver does", everything),
        Reader("last32k", "reads only the last 32K tokens", the_last),
        Reader("first32k", "reads only the first 32K tokens, and the question", the_first),
        Reader("passage", "reads only the passage with most words in common with the question", one_passage),
        Reader("half-name", "takes the first passage that matches half of the name, or of what is asked", half_known),
        Reader("last-match", "takes the last passage that matches, whichever is asked for", last_match),
        Reader("forgets", "has forgotten passages, half of those 64K tokens before the end", forgetful),
        Reader("no-context", "reads nothing but the question, and guesses", nothing),
    )
}
