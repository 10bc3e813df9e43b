"""What readers made of single lines, within one budget for all readers, and of the prompt that is read now.

Prompts of one build share paragraphs, and a worker reads prompts of every subtask: a budget for each reader would add
up, and one in paragraphs would say nothing about bytes. A whole prompt is read by solver and checks in turn, and never
again: at the longest length what a reader keeps of it takes tens of megabytes, so it is dropped with the row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import Any, TypeVar, cast

BUDGET = 40 * 1024 * 1024
"""Characters of all lines in the cache; with what was read in them they take about three bytes each."""
PARTED = 100
"""Characters that a short line counts for beyond its own, of which several things are kept."""

Line = TypeVar("Line")
Read = TypeVar("Read", bound=Callable[..., Any])


class LineCache:
    """Keeps what functions of strings returned, and drops everything when it is full.

    What a function raises is not kept; it must never return None.
    """

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._tables: list[dict[Any, Any]] = []
        self.size = 0
        """Characters of all arguments in the cache."""

    def of(self, read: Read) -> Read:
        """Return a function that looks into the cache first; it takes strings alone."""
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

    def of_each(self, read: Callable[[str], Line]) -> Callable[[Sequence[str]], list[Line]]:
        """Return a function of many strings that says of each what `read` says of it: most are known."""
        known = _Known(read, self._make_room)
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
    """What a function said of each string, which it is asked for the first time."""

    def __init__(self, read: Callable[[str], Any], make_room: Callable[[int], None]) -> None:
        super().__init__()
        self._read, self._make_room = read, make_room

    def __missing__(self, text: str) -> Any:
        line = self._read(text)
        self._make_room(len(text) + PARTED)
        self[text] = line
        return line


LINES = LineCache(BUDGET)


class PromptCache:
    """Keeps what each of some functions returned last, until it is told to drop it."""

    def __init__(self) -> None:
        self._drops: list[Callable[[], None]] = []

    def of(self, read: Read) -> Read:
        """Return a function that remembers its last arguments."""
        kept = lru_cache(maxsize=1)(read)
        self._drops.append(kept.cache_clear)
        return cast(Read, kept)

    def clear(self) -> None:
        """Drop everything: the row is done with."""
        for drop in self._drops:
            drop()


PROMPT = PromptCache()
