"""Reads a prompt's last program and runs it on a real list, by code that shares nothing with what drew it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pipeline.tasks.line_cache import PROMPT

NUMBER = r"-?(?:0|[1-9][0-9]{0,5})"
OPENING = ">> a = ["
STARTS = re.compile(rf">> a = \[({NUMBER}(?:, {NUMBER}){{0,63}})\]")
CALL = re.compile(rf">> a\.(append|insert|pop|remove|sort|reverse)\(({NUMBER}(?:, {NUMBER})?)?\)")
ARGUMENTS = {"append": (1,), "insert": (2,), "pop": (0, 1), "remove": (1,), "sort": (0,), "reverse": (0,)}
ASKED = re.compile(r">> (?:(print|sum|min|max)\(a\[([0-9]{1,4}):([0-9]{1,4})\]\)|(len)\(a\))")
PRINTS = '>> print("Do nothing.")'
MEMO = 200_000
KEPT = 64
"""After so many steps of a program the list is kept, so that it need not be run again from its first line."""
Step = tuple[Callable[..., object], tuple[int, ...]]


class Steps(dict[str, Step | None]):
    """Remembers what each distinct line does: a list method with its arguments, or nothing."""

    def __missing__(self, line: str) -> Step | None:
        """Read a line that is new.

        Raises:
            ValueError: for a line that is no operation of this task.
        """
        if len(self) > MEMO:
            self.clear()
        self[line] = step = _step(line)
        return step


def _step(line: str) -> Step | None:
    if line == PRINTS:
        return None
    found = CALL.fullmatch(line)
    args = tuple(map(int, found[2].split(", "))) if found and found[2] else ()
    if not found or len(args) not in ARGUMENTS[found[1]]:
        raise ValueError(f"line {line[:80]!r} is no operation on the list")
    return getattr(list, found[1]), args


STEPS = Steps()


@dataclass(frozen=True, slots=True)
class Ask:
    """A program's last line: what it shows of the list."""

    line: str
    name: str
    start: int = 0
    stop: int = 0

    def shows(self, items: list[Any]) -> str:
        """Return what Python shows.

        Raises:
            ValueError: for the least or greatest of nothing.
        """
        if self.name == "len":
            return repr(len(items))
        part = items[self.start : self.stop]
        if self.name == "print":
            return repr(part)
        return repr(sum(part) if self.name == "sum" else min(part) if self.name == "min" else max(part))


@dataclass(frozen=True, slots=True)
class Session:
    """A program as it was read: where its operations begin in the prompt, their lines and steps, and what is asked."""

    begins: int
    initial: tuple[int, ...]
    lines: Sequence[str]
    steps: Sequence[Step | None]
    ask: Ask
    kept: list[list[int]] = field(default_factory=list, compare=False, repr=False)
    """The list before every `KEPT`-th step, as far as the program was run."""

    def at(self, place: int) -> list[int]:
        """Return the list before a step (from 0), or behind the last. What was run once is not run again.

        Raises:
            ValueError: if a step before it fails.
        """
        if not self.kept:
            self.kept.append(list(self.initial))
        for begin in range((len(self.kept) - 1) * KEPT, place // KEPT * KEPT, KEPT):
            self.kept.append(advanced(self.kept[-1], self.steps[begin : begin + KEPT]))
        return advanced(self.kept[place // KEPT], self.steps[place // KEPT * KEPT : place])

    def runs(self) -> str:
        """Return what the program outputs at last.

        Raises:
            ValueError: if it fails.
        """
        return self.ask.shows(self.at(len(self.steps)))


def advanced(items: Iterable[int], steps: Iterable[Step | None]) -> list[int]:
    """Return what steps make of a list.

    Raises:
        ValueError: if one fails.
    """
    left = list(items)
    try:
        for method, args in filter(None, steps):
            if args:
                method(left, *args)
            else:
                method(left)
    except IndexError as fault:
        raise ValueError(f"the program fails: {fault}") from None
    return left


@PROMPT.of
def read(text: str) -> Session:
    """Read the last program of a prompt.

    Raises:
        ValueError: if it is not this task's.
    """
    opening = text.rfind(f"\n{OPENING}") + 1
    body, _, rest = text[opening:].rpartition("\nOutput:")
    if not opening or rest:
        raise ValueError("the prompt does not end in a program and 'Output:'")
    return _session(body, opening)


def demonstrations(text: str) -> list[tuple[Session, str]]:
    """Return the programs before the last one, each with the output that is shown.

    Raises:
        ValueError: if one is not this task's.
    """
    before = text[: text.rfind(f"\n{OPENING}") + 1]
    found = []
    for program in before.split(f"\n{OPENING}")[1:]:
        body, _, shown = program.partition("\nOutput: ")
        found.append((_session(OPENING + body, 0), shown.partition("\n")[0]))
    return found


def _session(body: str, begins: int) -> Session:
    first, *lines = body.split("\n")
    start = STARTS.fullmatch(first)
    if not start or not lines:
        raise ValueError(f"line {first[:80]!r} does not start a list")
    initial = tuple(map(int, start[1].split(", ")))
    asked = lines.pop()
    return Session(begins + len(first) + 1, initial, lines, list(map(STEPS.__getitem__, lines)), _ask(asked))


def _ask(line: str) -> Ask:
    found = ASKED.fullmatch(line)
    if not found:
        raise ValueError(f"line {line[:80]!r} asks nothing of the list")
    if found[4]:
        return Ask(line, "len")
    return Ask(line, found[1], int(found[2]), int(found[3]))


def solve(text: str) -> tuple[str, ...]:
    """Return the one answer of a prompt.

    Raises:
        ValueError: if it cannot be read, or its program fails.
    """
    return (read(text).runs(),)
