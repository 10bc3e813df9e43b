"""Finding lines and words in a prompt without trying a pattern at every letter of it."""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

Span = tuple[int, int]


class Lines:
    """The lines of a text from one place to another, without their newlines, and where each stands."""

    def __init__(self, text: str, start: int = 0, end: int | None = None) -> None:
        self._start = start
        self.texts = text[start:end].split("\n")[:-1]

    def span(self, number: int) -> Span:
        """Return where a line starts, and where it ends behind its newline."""
        return self._edges[number] + number, self._edges[number + 1] + number + 1

    def at(self, span: Span) -> int | None:
        """Return the number of the line that stands in a place; None if it is not that of a line."""
        number = bisect(range(len(self.texts)), span[0], key=lambda one: self.span(one)[0]) - 1
        return number if number >= 0 and self.span(number) == span else None

    @cached_property
    def _edges(self) -> list[int]:
        return list(accumulate(map(len, self.texts), initial=self._start))


def whole_lines(pattern: re.Pattern[str], opening: str, text: str) -> Iterator[re.Match[str]]:
    """Yield what a pattern of one line or several finds in a text, where ``^`` and `opening` are what it begins with.

    It yields what ``finditer`` does, which tries such a pattern at every letter.
    """
    at = 0 if text.startswith(opening) else text.find(f"\n{opening}") + 1
    while at or text.startswith(opening):
        found = pattern.match(text, at)
        if found:
            yield found
        at = text.find(f"\n{opening}", found.end() - 1 if found else at) + 1
        if not at:
            return


def stands(words: str, text: str) -> bool:
    """Tell whether words stand in a text, in capitals or not, and not as a part of longer ones.

    >>> stands("oak", "An Oak stood there."), stands("oak", "It was soaked.")
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


def times(words: str, text: str) -> int:
    """Return how often words stand in a text just so, and not as a part of longer ones.

    >>> times("oak", "An oak, another oak, and an Oakley soaked."), times("oak", "")
    (2, 0)
    """
    found, at = 0, text.find(words)
    while at >= 0:
        end = at + len(words)
        found += not (is_letter(text[at - 1 : at]) or is_letter(text[end : end + 1]))
        at = text.find(words, end)
    return found


def is_letter(one: str) -> bool:
    """Tell whether a character, if there is one, is of a word."""
    return one.isalnum() or one == "_"
