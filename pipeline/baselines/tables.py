"""Tables: a passage is a note on a building, a line of a log, or an entry of a register."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.baselines.base import LAST, End, Passage, PromptView
from pipeline.tasks import registers
from pipeline.tasks.tabulate import register_solve, solve, text
from pipeline.worlds.hostlog import differ


class Tables(PromptView):
    """Notes of a survey, or lines of a log, some of which are to be written as rows."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the notes or lines."""
        lines, _ = solve.read_log(self.text) if self.subtask == "rewrite" else solve.read_notes(self.text)
        return lines.span(0)[0], lines.span(len(lines.texts) - 1)[1]

    def guess(self) -> str:
        """Return a table without rows."""
        columns = solve.form_of(self.text).columns if self.subtask == "rewrite" else text.HEAD
        return "\t".join(columns)

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return all buildings of the kind, or lines of similar hosts, as if asked for; of these the last, by `end`."""
        taken = self._of_kind() if self.subtask != "rewrite" else self._alike()
        return taken[-1:] if end == LAST else taken

    def _of_kind(self) -> list[Passage]:
        asked = solve.asked_of_notes(self.text)
        notes = ((one, solve.read_note(one.text.rstrip("\n"))) for one in self.passages)
        return [
            replace(one, text=one.text.replace(note.region, asked.region))
            for one, note in notes
            if note.kind == asked.kind
        ]

    def _alike(self) -> list[Passage]:
        host = solve.host_asked(self.text)
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
