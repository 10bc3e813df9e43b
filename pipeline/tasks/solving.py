"""Finds lines and words in a prompt without trying a pattern at every character."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, wraps
from itertools import accumulate
from typing import Any, TypeVar, cast

from pipeline.caches import lru_cache, register

Span = tuple[int, int]


class ReadError(ValueError):
    """A text is not a prompt of a task, or does not state exactly one answer.

    Any function that reads prompts may raise it, so their docstrings need not mention it.
    """


class Lines:
    """The lines of a part of a text, without their newlines, and the span of each."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        self._start = start
        self.texts = text[start:end].split("\n")[:-1]

    def span(self, number: int) -> Span:
        """Return the span of a line, newline included."""
        return self._edges[number] + number, self._edges[number + 1] + number + 1

    def number_of(self, span: Span) -> int | None:
        """Return the number of the line with this span, or None."""
        number = bisect(range(len(self.texts)), span[0], key=lambda one: self.span(one)[0]) - 1
        return number if number >= 0 and self.span(number) == span else None

    @cached_property
    def _edges(self) -> list[int]:
        return list(accumulate(map(len, self.texts), initial=self._start))


def whole_lines(pattern: re.Pattern[str], opening: str, text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern of one or more lines that begins with ``^`` and `opening`.

    They are those of ``finditer``, which would try the pattern at every character.
    """
    at = 0 if text.startswith(opening) else text.find(f"\n{opening}") + 1
    while at or text.startswith(opening):
        found = pattern.match(text, at)
        if found:
            yield found
        at = text.find(f"\n{opening}", found.end() - 1 if found else at) + 1
        if not at:
            return


def contains_words(words: str, text: str) -> bool:
    """Return whether words occur in a text, in any case, and not as part of longer ones.

    >>> contains_words("oak", "An Oak stood there."), contains_words("oak", "It was soaked.")
    (True, False)
    """
    words, text = words.lower(), text.lower()
    at = text.find(words)
    while at >= 0:
        end = at + len(words)
        if not (is_letter(text[at - 1 : at]) or is_letter(text[end : end + 1])):
            return True
        at = text.find(words, at + 1)
    return False


def count_words(words: str, text: str) -> int:
    """Return how often words occur in a text in this case, and not as part of longer ones.

    >>> count_words("oak", "An oak, another oak, and an Oakley soaked."), count_words("oak", "")
    (2, 0)
    """
    found, at = 0, text.find(words)
    while at >= 0:
        end = at + len(words)
        found += not (is_letter(text[at - 1 : at]) or is_letter(text[end : end + 1]))
        at = text.find(words, end)
    return found


def is_letter(one: str) -> bool:
    """Return whether a character is part of a word; False for an empty string."""
    return one.isalnum() or one == "_"


BUDGET = 40 * 1024 * 1024
"""Characters of all lines in the cache; with what was read from them they take about three bytes each."""
READING_CHARACTERS = 100
"""Characters added to the length of each cached line, for what was read from it."""

Line = TypeVar("Line")
Read = TypeVar("Read", bound=Callable[..., Any])


class LineCache:
    """Keeps what functions of strings returned, and drops everything when it is full.

    Exceptions are not kept, and the functions must not return None.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._tables: list[dict[Any, Any]] = []
        self.size = 0
        """Characters of all arguments in the cache."""

    def cached(self, read: Read) -> Read:
        """Return a function that looks into the cache first; it takes only strings."""
        known: dict[tuple[str, ...], Any] = {}
        self._tables.append(known)

        @wraps(read)
        def recall(*texts: str) -> Any:
            found = known.get(texts)
            if found is None:
                found = read(*texts)
                self._make_room(sum(map(len, texts)))
                known[texts] = found
            return found

        return cast(Read, recall)

    def cached_map(self, read: Callable[[str], Line], weight: int = 1) -> Callable[[Sequence[str]], list[Line]]:
        """Return a function that maps `read` over many strings, most of them in the cache.

        `weight` is how many times the usual memory its results take; each counts as so many strings.
        """
        known = _Known(read, self._make_room, weight)
        self._tables.append(known)

        def recall(texts: Sequence[str]) -> list[Line]:
            return list(map(known.__getitem__, texts))

        return recall

    def _make_room(self, fresh: int) -> None:
        if self.size + fresh > self._budget:
            self.clear()
        self.size += fresh

    def clear(self) -> None:
        """Drop everything."""
        for known in self._tables:
            known.clear()
        self.size = 0


class _Known(dict[str, Any]):
    """What a function returned for each string; it is called for missing ones."""

    def __init__(self, read: Callable[[str], Any], make_room: Callable[[int], None], weight: int) -> None:
        super().__init__()
        self._read, self._make_room, self._weight = read, make_room, weight

    def __missing__(self, text: str) -> Any:
        line = self._read(text)
        self._make_room(self._weight * (len(text) + READING_CHARACTERS))
        self[text] = line
        return line


LINES = register(LineCache(BUDGET))


class PromptCache:
    """Keeps the last result of each of its functions until it is cleared."""

    def __init__(self) -> None:
        self._drops: list[Callable[[], None]] = []

    def cached(self, read: Read) -> Read:
        """Return a function that remembers its last arguments."""
        kept = lru_cache(maxsize=1)(read)
        self._drops.append(kept.cache_clear)
        return cast(Read, kept)

    def clear(self) -> None:
        """Drop everything, as when a row is done."""
        for drop in self._drops:
            drop()


PROMPT = PromptCache()
