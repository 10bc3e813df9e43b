"""Programs on a list: a passage is a line of the program."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property

from pipeline.readers.base import Passage, Reading
from pipeline.tasks.latent_list.solver import PRINTS, STEPS, Session, advanced, read

GUESSES = {"len": "6", "print": "[]"}
"""What is replied by who has seen no line; else the least number that a list starts with."""


class Program(Reading):
    """A list that lines change, and the last line views."""

    @cached_property
    def session(self) -> Session:
        """The program as it was sent."""
        return read(self.text)

    @cached_property
    def body(self) -> tuple[int, int]:
        """The characters between the line that starts the list and the one that views it."""
        return self.session.begins, self.text.rfind(self.session.ask.line)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return what the lines seen leave of the list; one that fails without the others is passed over."""
        items = list(self.session.initial)
        for passage in seen:
            with suppress(ValueError):
                items = advanced(items, [STEPS[passage.text.rstrip("\n")]])
        try:
            return self.session.ask.shows(items)
        except ValueError:
            return self.guess()

    def guess(self) -> str:
        """Return a length of six, an empty list or a one."""
        return GUESSES.get(self.subtask, "1")

    def last_match(self) -> Sequence[Passage]:
        """Return the last line that changes the list."""
        return [passage for passage in self.passages if passage.text.rstrip("\n") != PRINTS][-1:]
