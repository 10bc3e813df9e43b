"""Registers and JSON objects in several languages: a passage is an entry, or a pair."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.baselines.base import FIRST, LAST, End, Passage, PromptView
from pipeline.baselines.recall import PAIR
from pipeline.tasks.recall import register_solve
from pipeline.tasks.recall.json_kv import FIRST as STEM


class Register(PromptView):
    """Entries with a label and a key, some of which are asked about."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the entries, or of the pairs between the brackets."""
        return register_solve.body_of(self.text)

    @cached_property
    def keys(self) -> Sequence[str]:
        """The keys asked for."""
        return [register_solve.asked_key(self.text)] if self.subtask == "json_kv" else self._asked[1]

    @cached_property
    def _asked(self) -> tuple[str, tuple[str, ...]]:
        return register_solve.asked(self.text)

    def _stated(self, passage: Passage) -> tuple[str, str] | None:
        """Return the key and value of a passage, or None if it cannot be asked about."""
        if self.subtask == "json_kv":
            pair = PAIR.match(passage.text)
            return (pair[1], pair[2]) if pair else None
        parts = register_solve.entry(passage.text.rstrip("\n"))
        return (parts[1], parts[2]) if parts and parts[0] == self._asked[0] else None

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return the values that the passages seen give for the keys, or that they are not known."""
        stated = [pair for one in seen if (pair := self._stated(one))]
        values = [value for key in self.keys for other, value in stated if other == key]
        return ", ".join(sorted(values) if self.subtask == "niah_mv" else values) or self.guess()

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return the first or last passage whose key shares a half with each asked one, as if it were that."""
        passages = self.passages if end == FIRST else self.passages[::-1]
        taken = [next((one for each in passages if (one := self._taken_for(key, each))), None) for key in self.keys]
        return [one for one in taken if one]

    def _taken_for(self, key: str, passage: Passage) -> Passage | None:
        stated = self._stated(passage)
        if not stated:
            return None
        halves = (key.split(" "), stated[0].split(" ")) if " " in key else ([key[:STEM]], [stated[0][:STEM]])
        if not any(one == other for one, other in zip(*halves, strict=False)):
            return None
        written, wanted = (each.replace(" ", "-") for each in (stated[0], key))
        return replace(passage, text=passage.text.replace(written, wanted))

    def last_match(self) -> Sequence[Passage]:
        """Return the last passage that answers if several do, else the last that matches half."""
        if self.subtask != "niah_mv":
            return self.half_known(LAST)
        return [one for one in self.passages if (pair := self._stated(one)) and pair[0] in self.keys][-1:]
