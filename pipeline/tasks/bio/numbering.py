"""Running numbers: written once it is known which biographies stand where."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count

from pipeline.tasks.base import Key
from pipeline.tasks.bio.citation_text import running
from pipeline.tasks.bio.reader import END, START


@dataclass(frozen=True, slots=True)
class Running:
    """Counts the biographies of a prompt, and cites some of them.

    `shown` and `asked` are the places, among the placed units, of the people whom demonstrations and key cite, in the
    order in which their marks stand there.
    """

    tier: str
    shown: tuple[int, ...]
    asked: tuple[int, ...]

    def prompt(self, text: str, places: Sequence[int]) -> str:
        """Return a prompt whose biographies are numbered, and its demonstrations cite these numbers."""
        start, end = text.index(START) + len(START), text.rindex("\n" + END) + 1
        body = self._filled(text[start:end], count(1))
        return text[:start] + body + self._filled(text[end:], iter(self._numbers(self.shown, places)))

    def key(self, key: Key, places: Sequence[int]) -> Key:
        """Return a key that cites the numbers of the asked."""
        numbers = self._numbers(self.asked, places)
        answers = tuple(self._filled(answer, iter(numbers)) for answer in key.answers)
        return replace(key, target=answers[0], answers=answers)

    def _numbers(self, cited: Sequence[int], places: Sequence[int]) -> list[int]:
        return [places[one] + 1 for one in cited]

    def _filled(self, text: str, numbers: Iterator[int]) -> str:
        """Return a text with a number in place of each mark."""
        first, *rest = text.split(f"[{running(0, self.tier)}]")
        return first + "".join(f"[{running(next(numbers), self.tier)}]{part}" for part in rest)
