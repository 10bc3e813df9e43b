"""Solves a prompt with a program and proves a row, from its text alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import compress, count
from typing import Literal, NamedTuple

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.haystacks.solve import foreign_spans
from pipeline.tasks.solving import LINES, PROMPT, Lines, ReadError, Span, whole_lines

START, END = "Program:\n", "This is the end of the program."
LINE = re.compile(r"^VAR ([A-Z]+) = (?:(-?\d+)|VAR ([A-Z]+)(?: ([+-]) (\d+))?)\n", re.MULTILINE)
ASKED = re.compile(r"^Question: Which variables hold the number (-?\d+) at the end\?\nAnswer:$", re.MULTILINE)
SHOWN = re.compile(
    r"^Example:\n((?:VAR .+\n)+)Question: Which .* number (-?\d+) at the end\?\nAnswer: (.+)\n", re.MULTILINE
)


class Step(NamedTuple):
    """A line of a program: the variable that it sets, the one that it reads, if any, and the number set or added."""

    name: str
    source: str
    number: int


def body(text: str) -> tuple[int, int]:
    """Return the span of a prompt's program."""
    start, end = text.rfind(f"\n{START}") + 1 + len(START), text.rfind(f"\n{END}") + 1
    if start < len(START) + 1 or end < start:
        raise ReadError("the prompt holds no program")
    return start, end


@dataclass(frozen=True, slots=True)
class Program:
    """The lines of a body, its steps in order, and the line number of each step."""

    lines: Lines
    numbers: Sequence[int]
    steps: Sequence[Step]

    def span(self, place: int) -> Span:
        """Return the span of a step."""
        return self.lines.span(self.numbers[place])


@PROMPT.cached
def read_program(text: str) -> Program:
    """Return the program of a prompt."""
    lines = Lines(text, *body(text))
    steps = _steps(lines.texts)
    return Program(lines, list(compress(count(), steps)), [step for step in steps if step])


def read_steps(text: str) -> list[Step]:
    """Return the lines of a short program, in order."""
    return [step for step in _steps(text.split("\n")[:-1]) if step]


@LINES.cached_map
def _steps(line: str) -> Step | Literal[False]:
    """Return the step that a line states, or False."""
    match = LINE.match(f"{line}\n")
    return Step(match[1], match[3] or "", int(match[2] or f"{match[4] or ''}{match[5] or 0}")) if match else False


def run(steps: Iterable[Step]) -> dict[str, int]:
    """Return what every variable holds at the end, in the order in which they were last set."""
    held: dict[str, int] = {}
    for name, source, number in steps:
        if source:
            if source not in held:
                raise ReadError(f"{source} is read before it holds anything")
            number += held[source]
        held.pop(name, None)
        held[name] = number
    return held


def holders(steps: Iterable[Step], number: int) -> list[str]:
    """Return the variables that hold a number at the end."""
    return [name for name, value in run(steps).items() if value == number]


def parse_question(text: str) -> int:
    """Return the number that is asked for."""
    asked = [match[1] for match in whole_lines(ASKED, "Question: ", text)]
    if len(asked) != 1:
        raise ReadError(f"{len(asked)} questions are asked")
    return int(asked[0])


def solve(text: str) -> str:
    """Return the variables that hold the asked number at the end, in the order in which they were last set."""
    names = _answer(text)
    if not names:
        raise ReadError(f"no variable holds {parse_question(text)}")
    return ", ".join(names)


@PROMPT.cached
def _answer(text: str) -> list[str]:
    return holders(read_program(text).steps, parse_question(text))


def faults(row: PublishedRow, *, twins: int, noise: bool) -> Iterator[str]:
    """Yield what is wrong with a row, judged by its text and its marks alone.

    A line that shares no variable with the asked chain, even through others, cannot change the answer. Each of the
    others is left out in turn.
    """
    program, number, answer = read_program(row.text), parse_question(row.text), _answer(row.text)
    steps = program.steps
    if len(answer) != row.stratum.complexity:
        yield f"{len(answer)} variables hold the number, but {row.stratum.complexity} are promised"
    chain = _component(steps, answer)
    needed = {program.span(place) for place in chain if _matters([steps[one] for one in chain], steps[place], number)}
    if needed != {*row.spans("relevant")}:
        yield "the marked lines are not those that the answer needs"
    decoys = {*row.spans("decoy")}
    if decoys & needed or not {*map(program.lines.number_of, decoys)}.issubset(program.numbers):
        yield "a marked decoy is not a line of the program"
    starts = (step for step in steps if step.number == number and not step.source)
    if sum(step.name not in answer for step in starts) != twins:
        yield f"not just {twins} other chains start with the number"
    hay = {*foreign_spans(row.text, *body(row.text), "noise")} if noise else {*range(len(program.lines.texts))}
    if hay != ({*map(program.span, range(len(steps)))} if noise else {*program.numbers}):
        yield "a line is neither of the program nor of the haystack"
    for lines, asked, stated in (match.groups() for match in whole_lines(SHOWN, "Example:", row.text)):
        if stated.split(", ") != holders(read_steps(lines), int(asked)):
            yield "the answer of an example is wrong"


def _component(steps: Sequence[Step], answer: Sequence[str]) -> list[int]:
    """Return the places of lines that share a variable with an answer, even through others."""
    wanted, known = {*answer}, -1
    while known < len(wanted):
        known = len(wanted)
        for order in (reversed(steps), steps):
            for name, source, _ in order:
                if source and (name in wanted) != (source in wanted):
                    wanted |= {name, source}
    return [place for place, step in enumerate(steps) if step[0] in wanted]


def _matters(chain: Sequence[Step], step: Step, number: int) -> bool:
    """Return whether the answer changes without a line, and without those that can then not run."""
    known, without = set[str](), list[Step]()
    for each in chain:
        if each is not step and (not each.source or each.source in known):
            without.append(each)
            known.add(each.name)
    return {*holders(without, number)} != {*holders(chain, number)}
