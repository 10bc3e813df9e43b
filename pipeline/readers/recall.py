"""Lookups, programs and lists: a passage is a line of the body."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.readers.base import LAST, End, Passage, Reading
from pipeline.tasks.recall import json_kv, lists_text, niah_text, vt_text

HEADING = re.compile(r"^(?:JSON object:\n\{|Text:|Program:|List:)\n", re.MULTILINE)
ENDS = ("\nThis is the end of the ", "\n}\n")
PAIR = re.compile(rf'^"({json_kv.UUID})": "({json_kv.UUID})",?\n', re.MULTILINE)


class Recall(Reading):
    """Lines of which some are asked about, by a key, a number, or how often they come."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The characters between the heading and the line that ends the text."""
        headings = [found.end() for found in HEADING.finditer(self.text)]
        return (headings[0], max(map(self.text.rfind, ENDS)) + 1) if headings else (0, 0)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return what the lines seen say, or that it is not known."""
        found = self._said("".join(passage.text for passage in seen))
        return ", ".join(found) or self.guess()

    def _said(self, text: str) -> list[str]:
        """Return every answer that some lines hold."""
        if self.subtask == "json_kv":
            side, one = json_kv.question(self.text)
            return [pair[1 - side] for pair in PAIR.findall(text) if pair[side] == one]
        if self.subtask == "vt":
            return _holders(text, vt_text.read_asked(self.text))
        if self.subtask in ("cwe", "fwe"):
            count = lists_text.read_asked(self.text)
            return sorted(word for word, _ in Counter(text.splitlines()).most_common(count))
        codes = [one for one in niah_text.read_needles(text) if one.thing == niah_text.CODE]
        values = [one.value for key in self.keys for one in codes if one.key == key]
        any_order = self.subtask == "niah_mv" and not niah_text.is_ordered(self.text)
        return sorted(values) if any_order else values

    @cached_property
    def keys(self) -> Sequence[str]:
        """The keys that are asked for, where there are any."""
        return niah_text.read_asked(self.text) if self.subtask.startswith("niah") else []

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return the first or last line about something like the asked key, or every line that states the number."""
        if self.subtask == "vt":
            number = vt_text.read_asked(self.text)
            return [one for one in self.passages if one.text.endswith(f" = {number}\n")]
        if self.subtask in ("cwe", "fwe"):
            return None
        keys = self.keys or [json_kv.question(self.text)[1]]
        lines = [one for one in self.passages if niah_text.STATED.match(one.text) or PAIR.match(one.text)]
        lines = lines[::-1] if end == LAST else lines
        return [found for key in keys for found in [_taken_for(key, lines)] if found]

    def last_match(self) -> Sequence[Passage] | None:
        """Return the last line that answers, where several do; where one does, the last that matches by half."""
        if self.subtask != "niah_mv":
            return self.half_known(LAST)
        (key,) = self.keys
        return [one for one in self.passages if f" {niah_text.CODE} filed under {key} is " in one.text][-1:]


def _holders(text: str, number: int) -> list[str]:
    """Return the variables that hold a number, where lines that read an unknown variable are passed over."""
    known, steps = set[str](), []
    for step in vt_text.read_steps(text):
        if not step.source or step.source in known:
            known.add(step.name)
            steps.append(step)
    return vt_text.holders(steps, number)


def _taken_for(key: str, lines: Sequence[Passage]) -> Passage | None:
    """Return the first of some lines that holds a half of a key, as if it held all of it."""
    one, _, other = key.partition(" ")
    half = re.compile(rf"(?:{one} [a-z]+|[a-z]+ {other})(?= is )" if other else rf"{key[:8]}-[0-9a-f-]+")
    for line in lines:
        if found := half.search(line.text):
            return replace(line, text=line.text.replace(found[0], key))
    return None
