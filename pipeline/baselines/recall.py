"""Lookups, programs and lists: a passage is a line of the body."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property

from pipeline.baselines.base import FIRST, LAST, End, Passage, PromptView
from pipeline.metrics import EMPTY_LIST, NO_MEMBERS
from pipeline.tasks.graph.solve import EDGE_CHARACTERS, Edge, Listed, gathered, read
from pipeline.tasks.recall import json_kv, lists, niah_solve, vt_solve

HEADING = re.compile(r"^(?:JSON object:\n\{|Text:|Program:|List:)\n", re.MULTILINE)
ENDS = ("\nThis is the end of the ", "\n}\n")
PAIR = re.compile(rf'^"({json_kv.UUID})": "({json_kv.UUID})",?\n', re.MULTILINE)


class Recall(PromptView):
    """Lines, some of which are asked about by a key, a number or their frequency."""

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span between the heading and the line that ends the text."""
        headings = [match.end() for match in HEADING.finditer(self.text)]
        return (headings[0], max(map(self.text.rfind, ENDS)) + 1) if headings else (0, 0)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return what the lines seen say, or that it is not known."""
        answers = self._answers("".join(passage.text for passage in seen))
        return ", ".join(answers) or self.guess()

    def _answers(self, text: str) -> list[str]:
        """Return every answer in some lines."""
        if self.subtask == "json_kv":
            side, sought = json_kv.question(self.text)
            return [pair[1 - side] for pair in PAIR.findall(text) if pair[side] == sought]
        if self.subtask == "vt":
            return _holders(text, vt_solve.parse_question(self.text))
        if self.subtask in ("cwe", "fwe"):
            count = lists.parse_question(self.text)
            return sorted(word for word, _ in Counter(text.splitlines()).most_common(count))
        codes = [one for one in niah_solve.read_needles(text) if one.thing == niah_solve.CODE]
        values = [one.value for key in self.keys for one in codes if one.key == key]
        any_order = self.subtask == "niah_mv" and not niah_solve.is_ordered(self.text)
        return sorted(values) if any_order else values

    @cached_property
    def keys(self) -> Sequence[str]:
        """The keys asked for, if any."""
        return niah_solve.parse_question(self.text) if self.subtask.startswith("niah") else []

    def half_known(self, end: End) -> Sequence[Passage] | None:
        """Return the first or last line about something like the asked key, or every line that states the number."""
        if self.subtask == "vt":
            number = vt_solve.parse_question(self.text)
            return [one for one in self.passages if one.text.endswith(f" = {number}\n")]
        if self.subtask in ("cwe", "fwe"):
            return None
        keys = self.keys or [json_kv.question(self.text)[1]]
        lines = [one for one in self.passages if niah_solve.STATED.match(one.text) or PAIR.match(one.text)]
        lines = lines[::-1] if end == LAST else lines
        return [taken for key in keys for taken in [_taken_for(key, lines)] if taken]

    def last_match(self) -> Sequence[Passage] | None:
        """Return the last line that answers if several do, else the last that matches half."""
        if self.subtask != "niah_mv":
            return self.half_known(LAST)
        (key,) = self.keys
        return [one for one in self.passages if f" {niah_solve.CODE} filed under {key} is " in one.text][-1:]


def _holders(text: str, number: int) -> list[str]:
    """Return the variables that hold a number, skipping lines that read an unknown variable."""
    known, steps = set[str](), []
    for step in vt_solve.read_steps(text):
        if not step.source or step.source in known:
            known.add(step.name)
            steps.append(step)
    return vt_solve.holders(steps, number)


def _taken_for(key: str, lines: Sequence[Passage]) -> Passage | None:
    """Return the first of some lines that has half of a key, as if it had all of it."""
    first, _, last = key.partition(" ")
    half = re.compile(rf"(?:{first} [a-z]+|[a-z]+ {last})(?= is )" if last else rf"{key[:8]}-[0-9a-f-]+")
    for line in lines:
        if match := half.search(line.text):
            return replace(line, text=line.text.replace(match[0], key))
    return None


class Edges(PromptView):
    """A question about one node of a graph."""

    @cached_property
    def listed(self) -> Listed:
        """The graph as read."""
        return read(self.text, self.subtask if self.named else "")

    @cached_property
    def body(self) -> tuple[int, int]:
        """The span of the edges."""
        return self.listed.begins, self.listed.begins + EDGE_CHARACTERS * len(self.listed.edges)

    def answer(self, seen: Sequence[Passage]) -> str:
        """Return the answer from the edges seen; a route that ends early is given as far as it goes."""
        edges = [edge_of(passage.text) for passage in seen]
        if self.subtask == "route":
            return ", ".join(self._route(edges)) or self.guess()
        try:
            answer = replace(self.listed, edges=edges).answer
            return EMPTY_LIST if self.named and answer == NO_MEMBERS else answer
        except ValueError:
            return self.guess()

    def _route(self, edges: Iterable[Edge]) -> list[str]:
        """Follow the edges from node to node, always along the first that leads to a new node."""
        children, asked = gathered(edges), self.listed.asked
        route = {asked.node: None}
        while len(route) <= asked.count:
            on = [child for child in children.get(next(reversed(route)), ()) if child not in route]
            if not on:
                break
            route[on[0]] = None
        return list(route)[1:]

    def half_known(self, end: End) -> Sequence[Passage]:
        """Return every edge in both directions, the first or the last ones first: half of it matches either node."""
        seen = self.passages if end == FIRST else self.passages[::-1]
        return [each for one in seen for each in (one, replace(one, text=_turned(one.text)))]

    def last_match(self) -> Sequence[Passage]:
        """Return the last edge out of every node, or into the asked one; for a route, what matches half."""
        if self.subtask == "route":
            return self.half_known(LAST)
        place = 1 if self.subtask == "parents" else 0
        last = {edge_of(passage.text)[place]: passage for passage in self.passages}
        return sorted(last.values(), key=lambda one: one.start)


def edge_of(line: str) -> Edge:
    """Return the two nodes of a line."""
    source, target = line.rstrip("\n").split(" -> ")
    return source, target


def _turned(line: str) -> str:
    source, target = edge_of(line)
    return f"{target} -> {source}\n"
