"""Numbered annals to be summed up: a passage is an entry, and what those that are seen say of a property is told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

from pipeline.readers.base import LAST, End, Passage, Reading
from pipeline.tasks.longqa.owners import ESTATE, standing
from pipeline.tasks.longqa.reader import BODY, END, Event
from pipeline.tasks.summ.reader import Asked, asked, named, points, read, told_of
from pipeline.tasks.summ.text import accepted


class Summaries(Reading):
    """A property that is asked about by name, among numbered entries."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The characters of the entries."""
        return self.text.find(BODY) + len(BODY), self.text.rfind(END) + 1

    @cached_property
    def asked(self) -> Asked:
        """What is asked for."""
        return asked(self.question)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return all that the entries seen say of what is asked, as if those not seen did not matter."""
        start, end = self.body
        if not seen:
            return self.guess()
        annals = read("".join([self.text[:start], *(one.text for one in seen), self.text[end:]]))
        right = points(list(_possible(told_of(annals.found, self.asked.prop))), self.asked)
        told = {one: [annals.numbers[event.line.start]] for event in right if (one := named(event))}
        return accepted(told, [])[0] if told else self.guess()

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last entry about the property."""
        found = [one for one in self.passages if self.asked.prop.removeprefix("the ") in one.text]
        return found[-1:] if end == LAST else found[:1]


def _possible(told: Sequence[Event]) -> Iterator[Event]:
    """Yield events without those that set aside or restore sales that were not seen."""
    sales = list[Event]()
    for event in told:
        try:
            standing([*sales, *([event] if event.kind in ESTATE else [])])
        except ValueError:
            continue
        if event.kind in ESTATE:
            sales.append(event)
        yield event
