"""Biographies: a passage is the paragraph of a person or, in icl, an example."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.baselines.base import LAST, QUESTIONS, End, Passage, PromptView, half_name, names_in

HEADING = re.compile(r"\n(?:Examples|(?:[A-Z][a-z]+ and b|B)iographies):\n")
END = "\nThis is the end of "
EXAMPLE = re.compile(r"^Biographies:\n", re.MULTILINE)
LABEL = re.compile(r"^Answer: (.+)$", re.MULTILINE)
LINK = re.compile(r"the same (?:[a-z]+ as|as that of) ([A-Z][A-Za-z]+ [A-Z][A-Za-z]+ [A-Z][A-Za-z]+)")
"""What a paragraph says if it names another person in place of a fact."""
NUMBERED = re.compile(r"^\d+\. ", re.MULTILINE)

GUESSES = {
    "On what date": "1 January 1980",
    "birthplace": "London",
    "hobby": "reading",
    "Which university": "the University of London",
    "major": "economics",
    "In which city": "London",
    "Which category": "Category 1",
    "What is the difference": "1",
    "Name two people": "John Paul Smith and Mary Anne Smith",
    "Who ": "John Paul Smith",
}
"""Replies to questions without reading, by their words."""


class Biographies(PromptView):
    """People asked about by their full names."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span between the heading and the last sentence about biographies."""
        heading, end = HEADING.search(self.text), self.text.rfind(END) + 1
        return (heading.end(), max(heading.end(), end)) if heading else (0, 0)

    def units(self) -> Sequence[str]:
        """Return paragraphs, or examples."""
        if self.subtask != "icl":
            return super().units()
        start, end = self.body
        marks = [match.start() for match in EXAMPLE.finditer(self.text, start, end)]
        return [self.text[one:other] for one, other in zip(marks, [*marks[1:], end], strict=True)]

    def questions(self) -> Sequence[str]:
        """Return the questions; in icl the case to be sorted, which names the university."""
        if self.subtask == "icl":
            return [self.text[self.text.rfind("\nBiographies:\n") :]]
        return [asked for part in NUMBERED.split(self.question) if part for asked in QUESTIONS.split(part.strip())]

    def missed(self, seen: Sequence[Passage]) -> str:
        """Return the label of the last example seen, or a guess."""
        if self.subtask == "icl" and seen:
            return str(LABEL.findall(seen[-1].text)[-1])
        return self.guess()

    def guess(self) -> str:
        """Return a common value for each question, or people in the order of the question."""
        if self.subtask == "idk":
            return "Not stated"
        if self.question.startswith("Rank"):
            return "; ".join(names_in(self.question, 3))
        guesses = (next((value for key, value in GUESSES.items() if key in asked), "") for asked in self.questions())
        source = " [1]" if self.subtask == "citation" else ""
        return "; ".join(f"{guess}{source}" for guess in guesses)

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return the first or last paragraphs of people who share two of the three names, also along links."""
        wanted = deque(names_in(self.question, 3))
        if self.subtask == "icl" or not wanted:
            return None
        by_name: dict[str, Passage] = {}
        while wanted:
            name = wanted.popleft()
            passage = None if name in by_name else self._taken_for(name, end)
            if passage:
                by_name[name] = passage
                wanted.extend(LINK.findall(passage.text))
        return sorted(by_name.values(), key=lambda one: one.start)

    def _taken_for(self, name: str, end: End) -> Passage | None:
        """Return the first or last paragraph of somebody with half of a name, as if it were about that name."""
        for passage in reversed(self.passages) if end == LAST else self.passages:
            if other_name := half_name(LINK.sub("", passage.text), name):
                return replace(passage, text=passage.text.replace(other_name, name))
        return None

    def last_match(self) -> Sequence[Passage] | None:
        """Return the last paragraphs of people who share two of the three names; in icl the last example."""
        return self.passages[-1:] if self.subtask == "icl" else self.half_known(LAST)
