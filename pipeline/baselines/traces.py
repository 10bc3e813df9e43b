"""Traces of an agent: a passage is a call with its result, and what the user says before it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from pipeline.baselines.base import LAST, End, Passage, PromptView
from pipeline.rows import Row
from pipeline.tasks.trace.log import Call, Log, body_of, read
from pipeline.tasks.trace.replay import CLAIM, Asked, asked_of
from pipeline.tasks.trace.tools import AsTools, FlatTrace

NAME = re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b")


class Traces(PromptView):
    """Things, settings, plans, queries or rules asked about by name, among tool calls.

    A conversation of real calls is read as the text of the subtask without them.
    """

    def __init__(self, row: Row) -> None:
        super().__init__(row)
        if isinstance(self.task, AsTools):
            self.turns, self.task = (("user", FlatTrace.of(self.turns).text),), self.task.plain
            self.subtask = self.task.subtask

    @cached_property
    def log(self) -> Log:
        """The trace as read."""
        return read(self.text)

    @cached_property
    def asked(self) -> Asked:
        """The question."""
        return asked_of(self.question, self.log.report)

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the trace."""
        return body_of(self.text)

    def units(self) -> Sequence[str]:
        """Return each call with its result."""
        return [f"{call.raw}\n" for call in self.log.calls]

    def missed(self, seen: Sequence[Passage]) -> str:
        """Return a value from the last call seen about what is asked: a person, a number, or the call's own code."""
        calls = [self.log.calls[one.number] for one in seen if self._names(one)]
        return self._value(calls[-1]) if calls else self.guess()

    def guess(self) -> str:
        """Return all claims if there is a report, else that it is not known."""
        claims = [match[1] for line in self.log.report if (match := CLAIM.fullmatch(line))]
        return ", ".join(claims) or super().guess()

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last call that names what is asked, whatever its outcome; with a report, nothing."""
        naming = [one for one in self.passages if self._names(one)]
        return naming[-1:] if end == LAST else naming[:1]

    def _names(self, passage: Passage) -> bool:
        return any(name in passage.text for name in self.asked.names)

    def _value(self, call: Call) -> str:
        if self.subtask == "which_call":
            return call.ref
        if self.subtask == "constraint":
            names = [name for name in NAME.findall(call.before or call.result) if name not in self.question]
            return names[-1] if names else self.guess()
        return str(call.args.get("to") or call.args.get("qty") or call.args.get("host") or self.guess())
