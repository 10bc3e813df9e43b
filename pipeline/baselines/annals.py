"""Annals: a passage is an entry or, in a chat, a session."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.baselines.base import LAST, End, Passage, PromptView
from pipeline.tasks.annals.solve import (
    BODY,
    DATE,
    END,
    NAME,
    OWNERSHIP_KINDS,
    PHRASE,
    SALES,
    Event,
    Line,
    day_of,
    history,
    valid_sales,
)
from pipeline.tasks.summ.solve import Question, events_of, parse_question, person_and_year, points, read
from pipeline.tasks.summ.text import accepted

ASKED = re.compile(r"the [A-Z]\w+ [A-Z]\w+")
DAY = re.compile(rf"^{DATE}", re.MULTILINE)
ON = re.compile(DATE)
LONG_AGO = "1 January 1790"
START = 2
"""Turns of a chat before its first session."""


class Annals(PromptView):
    """A property or a person asked about by name, among dated entries."""

    @property
    def chat(self) -> bool:
        """Whether the entries are in real turns."""
        return len(self.turns) > 1

    @property
    def text(self) -> str:
        """All turns as one string."""
        return "\n".join(content for _, content in self.turns)

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the entries, or of the sessions."""
        if self.chat:
            start = sum(len(content) + 1 for _, content in self.turns[:START])
            return start, len(self.text) - len(self.turns[-1][1])
        return self.text.find(BODY) + len(BODY), self.text.rfind(END) + 1

    def units(self) -> Sequence[str]:
        """Return entries, or sessions with their replies."""
        if not self.chat:
            return super().units()
        contents = [content for _, content in self.turns[START:-1]]
        return [f"{one}\n{reply}\n" for one, reply in zip(contents[::2], contents[1::2], strict=True)]

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return the answer of the task's solution from some passages."""
        if not self.chat:
            return super().answer(seen)
        turns = [turn for one in seen for turn in _turns(one.text)]
        try:
            return self.task.solve([*self.turns[:START], *turns, self.turns[-1]])[0]
        except ValueError:
            return self.missed(seen)

    def missed(self, seen: Sequence[Passage]) -> str:
        """Return the year of the last passage about what is asked, or a name in it, depending on the subtask."""
        about = [one for one in seen if self.asked in one.text]
        if self.subtask == "when" and about and (dated := DAY.match(about[-1].text)):
            return dated[3]
        names = [name for one in about for name in re.findall(NAME, one.text) if name not in self.question]
        return names[-1] if self.subtask == "kin" and names else self.guess()

    def guess(self) -> str:
        """Return the first option if there are any, else that it is not known."""
        return "A" if self.subtask == "choice" else super().guess()

    @cached_property
    def asked(self) -> str:
        """The name asked about, without an article."""
        if self.subtask == "kin" and (match := PHRASE.fullmatch(self.question)):
            return match[1].rpartition(" of ")[2]
        match = ASKED.search(self.question)
        return match[0].removeprefix("the ") if match else self.question

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last entry about what is asked; for an owner, of a sale up to the day."""
        about = [one for one in self.passages if self.asked in one.text]
        if self.subtask in ("kin", "when"):
            return about[-1:] if end == LAST else about[:1]
        sold = [one for one in about if self.sells(one) and self.counts(one)]
        return [replace(one, text=DAY.sub(LONG_AGO, one.text)) for one in (sold[-1:] if end == LAST else sold[:1])]

    def sells(self, passage: Passage) -> bool:
        """Return whether a passage has a sale of what is asked about."""
        lines = [Line(0, 0, 0, one.partition(". ")[2]) for one in passage.text.splitlines() if DAY.match(one)]
        return any(event.kind in SALES for event in history(lines, f"the {self.asked}"))

    def counts(self, passage: Passage) -> bool:
        """Return whether a passage is not later than the day asked about."""
        asked, dated = ON.search(self.question), DAY.match(passage.text)
        return not asked or not dated or day_of(*dated.groups()) <= day_of(*asked.groups())


def _turns(session: str) -> list[tuple[str, str]]:
    entries, _, reply = session.rstrip("\n").rpartition("\n")
    return [("user", entries), ("assistant", reply)]


class Summaries(PromptView):
    """A property asked about by name, among numbered entries."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the entries."""
        return self.text.find(BODY) + len(BODY), self.text.rfind(END) + 1

    @cached_property
    def asked(self) -> Question:
        """What is asked for."""
        return parse_question(self.question)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return all that the entries seen say about what is asked, as if the others did not matter."""
        start, end = self.body
        if not seen:
            return self.guess()
        annals = read("".join([self.text[:start], *(one.text for one in seen), self.text[end:]]))
        right = points(list(_possible(events_of(annals.lines, self.asked.prop))), self.asked)
        key_points = {one: [annals.numbers[event.line.start]] for event in right if (one := person_and_year(event))}
        return accepted(key_points, [])[0] if key_points else self.guess()

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last entry about the property."""
        about = [one for one in self.passages if self.asked.prop.removeprefix("the ") in one.text]
        return about[-1:] if end == LAST else about[:1]


def _possible(events: Sequence[Event]) -> Iterator[Event]:
    """Yield events without those that set aside or restore unseen sales."""
    sales = list[Event]()
    for event in events:
        try:
            valid_sales([*sales, *([event] if event.kind in OWNERSHIP_KINDS else [])])
        except ValueError:
            continue
        if event.kind in OWNERSHIP_KINDS:
            sales.append(event)
        yield event
