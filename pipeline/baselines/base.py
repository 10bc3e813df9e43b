"""A prompt as simulated readers see it: passages, some of which they see, and their replies from those.

A family has a `PromptView` of its own, which defines its passages and the reply when the answer was not seen. Any other
family is read by lines.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import Literal

from pipeline.languages import asking
from pipeline.recipe import Stratum
from pipeline.rows import Row
from pipeline.streams import stream
from pipeline.tasks import task_of
from pipeline.tasks.base import Turns
from pipeline.verify.row import turns_of

WORDS = re.compile(r"[^\W_]+")
QUESTIONS = re.compile(r"(?<=[?])\s+")
End = Literal["first", "last"]
FIRST: End = "first"
LAST: End = "last"


@dataclass(frozen=True, slots=True)
class Passage:
    """A unit of the text that is seen whole or not at all: its number, and its span in the text."""

    number: int
    text: str
    start: int
    end: int


class PromptView:
    """A row as a reader gets it: prompt and question, but no key. `named` is whether its subtask names a language.

    Args:
        row: a row with at least the columns ``pipeline.baselines.COLUMNS``.
    """

    def __init__(self, row: Row) -> None:
        self.row_id: str = row["id"]
        self.question: str = row["question"]
        self.tokens: int = row["prompt_tokens"]
        named = asking(row["subtask"])
        self.subtask: str = named[0] if named else row["subtask"]
        self.named = named is not None
        self.turns: Turns = turns_of(row)
        self.task = task_of(Stratum(row["family"], row["subtask"], "32k", 0, 0, 1))

    @property
    def text(self) -> str:
        """The text that has the passages."""
        return self.turns[-1][1]

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the passages; what precedes and follows it is always seen."""
        return self.text.find("\n") + 1, max(self.text.rfind(self.question), 0)

    @cached_property
    def passages(self) -> tuple[Passage, ...]:
        """All passages of the body, in order: here its lines."""
        start, passages = self.body[0], []
        for number, unit in enumerate(self.units()):
            passages.append(Passage(number, unit, start, start + len(unit)))
            start += len(unit)
        return tuple(passages)

    def units(self) -> Sequence[str]:
        """Return the body cut into passages."""
        return self.text[slice(*self.body)].splitlines(keepends=True)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return the reply of a reader of some passages: what they say, or else what `missed` returns."""
        start, end = self.body
        text = "".join([self.text[:start], *(passage.text for passage in seen), self.text[end:]])
        try:
            return self.task.solve([*self.turns[:-1], ("user", text)])[0]
        except ValueError:
            return self.missed(seen)

    def missed(self, seen: Sequence[Passage]) -> str:
        """Return the reply if the passages seen do not answer: here a guess."""
        return self.guess()

    def guess(self) -> str:
        """Return the reply from the question alone: here that it is not known."""
        return "I do not know."

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return the first or last passages that match half of what is asked, read as if they matched all of it.

        None if nothing in the question can be half known.
        """
        return None

    def last_match(self) -> Sequence[Passage] | None:
        """Return the last passages that match what is asked; here, where just one matches, those that match half."""
        return self.half_known(LAST)

    def alike(self) -> Sequence[Passage]:
        """Return for each question the passage that shares most words with it, the first of equals."""
        bags = [set(WORDS.findall(passage.text.lower())) for passage in self.passages]
        chosen = [_most_common(set(WORDS.findall(asked.lower())), bags) for asked in self.questions() if bags]
        return [self.passages[number] for number in sorted(set(chosen))]

    def by_words(self) -> str:
        """Return the reply by shared words alone: from the passage that has most of them."""
        return self.answer(self.alike())

    def questions(self) -> Sequence[str]:
        """Return the questions, where one prompt asks several."""
        return QUESTIONS.split(self.question)


def _most_common(wanted: set[str], bags: Sequence[set[str]]) -> int:
    counted = ((len(wanted & bag), -number) for number, bag in enumerate(bags))
    return -max(counted, key=itemgetter(0, 1))[1]


def names_in(text: str, words: int) -> Iterator[str]:
    """Yield every run of `words` capitalized words; runs may overlap."""
    for match in re.finditer(rf"(?=\b({' '.join(['[A-Z][A-Za-z]+'] * words)})\b)", text):
        yield match[1]


def half_name(text: str, name: str) -> str | None:
    """Return a name in a text that shares at least half of its parts, in place, with a given name.

    >>> half_name("The hobby of Ann Bo Lee is golf.", "Ann Mia Lee")
    'Ann Bo Lee'
    """
    parts = name.split(" ")
    if sum(part in text for part in parts) * 2 < len(parts):
        return None
    for candidate in names_in(text, len(parts)):
        if 2 * sum(one == other for one, other in zip(candidate.split(" "), parts, strict=True)) >= len(parts):
            return candidate
    return None


WINDOW = 32_768
"""Tokens that the readers of one end read."""
HALF_LIFE = 65_536
"""A passage this many tokens before the end is forgotten with probability 1/2, twice as far with 3/4."""


@dataclass(frozen=True, slots=True)
class Reader:
    """A reader with a stated weakness. `replies` is a pure function; it returns None if the reader does not apply."""

    name: str
    title: str
    replies: Callable[[PromptView], str | None]


def everything(view: PromptView) -> str:
    """Return the task's own solution of the whole text.

    Raises:
        ValueError: if the text cannot be read.
    """
    return view.task.solve(view.turns)[0]


def the_last(view: PromptView) -> str:
    """Answer from the passages in the last tokens."""
    size = len(view.text)
    return view.answer([one for one in view.passages if (size - one.start) * view.tokens <= WINDOW * size])


def the_first(view: PromptView) -> str:
    """Answer from the passages in the first tokens; the question is known all the same."""
    size = len(view.text)
    return view.answer([one for one in view.passages if one.end * view.tokens <= WINDOW * size])


def one_passage(view: PromptView) -> str:
    """Answer from the one passage that shares most words with the question, or by its words alone."""
    return view.by_words()


def half_known(view: PromptView) -> str | None:
    """Answer from the first passage that matches half of what is asked."""
    return _answer(view, view.half_known(FIRST))


def last_match(view: PromptView) -> str | None:
    """Answer from the last passage that matches."""
    return _answer(view, view.last_match())


def forgetful(view: PromptView) -> str:
    """Answer from the passages that are not forgotten; the row's id seeds which are."""
    rng, size = stream("readers", "forgets", view.row_id), len(view.text)
    lives = ((size - one.start) / size * view.tokens / HALF_LIFE for one in view.passages)
    kept = [rng.random() < 0.5**life for life in lives]
    return view.answer([one for one, is_kept in zip(view.passages, kept, strict=True) if is_kept])


def nothing(view: PromptView) -> str:
    """Guess from the question alone."""
    return view.guess()


def _answer(view: PromptView, seen: Sequence[Passage] | None) -> str | None:
    return None if seen is None else view.answer(seen)


READERS = {
    reader.name: reader
    for reader in (
        Reader("all", "reads everything, and answers as the task's own solver does", everything),
        Reader("last32k", "reads only the last 32K tokens", the_last),
        Reader("first32k", "reads only the first 32K tokens, and the question", the_first),
        Reader("passage", "reads only the passage that shares the most words with the question", one_passage),
        Reader("half-name", "takes the first passage that matches half of the name or request", half_known),
        Reader("last-match", "takes the last passage that matches, whichever is asked for", last_match),
        Reader("forgets", "forgets passages, half of those 64K tokens before the end", forgetful),
        Reader("no-context", "reads nothing but the question, and guesses", nothing),
    )
}
