"""Stories among letters or other stories: a passage is a line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.readers.base import LAST, End, Passage, Reading, half_name
from pipeline.tasks.idk.reader import read_question
from pipeline.tasks.idk.text import END, START


class Stories(Reading):
    """A story that is asked about by the full name of a person."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The characters between the lines that begin and end the text."""
        return self.text.find(f"\n{START}") + 1 + len(START), self.text.rfind(f"\n{END}") + 1

    def guess(self) -> str:
        """Return that the text does not tell."""
        return "D"

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last story of somebody with one of the two names, as if it were the asked one."""
        name = read_question(self.text).name
        for passage in reversed(self.passages) if end == LAST else self.passages:
            if found := half_name(passage.text, name):
                return [replace(passage, text=_renamed(passage.text, found, name))]
        return []


def _renamed(text: str, old: str, new: str) -> str:
    """Return a story about another person: stories go on with the first name."""
    return re.sub(rf"\b{old.split(' ')[0]}\b", new.split(" ")[0], text.replace(old, new))
