"""Long replies: a passage is a note on a building, a line of a log, or an entry of a register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.baselines.base import LAST, End, Passage, PromptView
from pipeline.tasks import registers
from pipeline.tasks.tabulate import echo_solve, register_solve, rewrite_asked_solve, solve, text
from pipeline.worlds.hostlog import differ


class Tables(PromptView):
    """Notes of a survey, or lines of a log, some of which are to be written as rows, or one line that is copied."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the notes or lines."""
        if self.subtask == "echo":
            lines = echo_solve.read_lines(self.text)
        else:
            lines = self._log.lines if self.subtask == "rewrite" else solve.read_notes(self.text)[0]
        return lines.span(0)[0], lines.span(len(lines.texts) - 1)[1]

    @property
    def _log(self) -> solve.AskedLog:
        return rewrite_asked_solve.asked_log(self.text) if self.named else solve.asked_of_log(self.text)

    def guess(self) -> str:
        """Return a table without rows or, for a copy, that it is not known."""
        if self.subtask == "echo":
            return super().guess()
        if self.named:
            return register_solve.head(self.text, columns=4)
        return "\t".join(self._log.form.columns if self.subtask == "rewrite" else text.HEAD)

    def missed(self, seen: Sequence[Passage]) -> str:
        """Return a line of one word as it was seen, else a guess."""
        copied = [one.text for one in seen if len({*one.text.split()}) == 1]
        return copied[0] if self.subtask == "echo" and copied else self.guess()

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return all buildings of the kind, or lines of similar hosts, as if asked for; of these the last, by `end`.

        The line that is copied is returned without its changed word.
        """
        taken = {"rewrite": self._alike, "echo": self._unchanged}.get(self.subtask, self._of_kind)()
        return taken[-1:] if end == LAST else taken

    def _unchanged(self) -> list[Passage]:
        (place,) = echo_solve.places_asked(self.text)
        one = self.passages[place]
        words = one.text.split()
        return [replace(one, text=" ".join(words[:1] * len(words)) + "\n")]

    def _of_kind(self) -> list[Passage]:
        asked = solve.asked_of_notes(self.text)
        notes = ((one, solve.read_note(one.text.rstrip("\n"))) for one in self.passages)
        return [
            replace(one, text=one.text.replace(note.region, asked.region))
            for one, note in notes
            if note.kind == asked.kind
        ]

    def _alike(self) -> list[Passage]:
        host = self._log.host
        lines = ((one, solve.read_line(one.text.rstrip("\n"))) for one in self.passages)
        return [
            replace(one, text=one.text.replace(line.host, host)) for one, line in lines if differ(line.host, host) < 2
        ]


COUNTED = ("count", "most", "users")
"""The subtasks that ask for no table; in the last two, the question names no district."""


class Entries(PromptView):
    """Entries of a register in any language, some of which are to be written as rows, or counted."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the entries."""
        return registers.register(self.text).body

    def guess(self) -> str:
        """Return a table without rows or, for another task, that it is not known."""
        return super().guess() if self.subtask in COUNTED else register_solve.head(self.text)

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return all entries of the label as if they had the district; of these the last, by `end`."""
        if self.subtask in COUNTED[1:]:
            return None
        label, district = registers.place_asked(self.text)
        entries = zip(self.passages, registers.entry([one.text.rstrip("\n") for one in self.passages]), strict=True)
        taken = [
            replace(one, text=one.text.replace(f" {entry[2]}", f" {district}", 1))
            for one, entry in entries
            if entry and entry[0] == label
        ]
        return taken[-1:] if end == LAST else taken
