"""What the prompts of variable tracking say, and how programs are read again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import compress, count
from typing import Literal, NamedTuple

from pipeline.tasks.solving import LINES, PROMPT, Lines, Span, whole_lines

INTRODUCTION = """\
Below is {what}. The lines that begin with VAR form one program, which runs from top to bottom. {meaning} A variable \
that is given something again holds only what it was given last. You will be asked which variables hold a number at \
the end.
"""
WHAT = {
    "chains": "a long program that gives values to variables",
    "noise": "a text that says the same things again and again, with the lines of a program in between",
}
GIVEN = "VAR ABC = 5 gives the variable ABC the number 5"
COPIED = "VAR DEF = VAR ABC gives DEF what ABC holds at that moment"
ADDED = "VAR GHI = VAR ABC + 2 gives GHI two more than that"
TAKEN = "VAR JKL = VAR ABC - 2 gives JKL two less"
MEANING = {
    "none": f"{GIVEN}, and {COPIED}.",
    "add": f"{GIVEN}, {COPIED}, and {ADDED}.",
    "mixed": f"{GIVEN}, {COPIED}, {ADDED}, and {TAKEN}.",
}
"""What lines mean, by the operations that they may have."""
EXAMPLE = "Example:\n{lines}Question: {question}\nAnswer: {answer}\n"
QUESTION = "Which variables hold the number {number} at the end?"
START, END = "Program:\n", "This is the end of the program."
TAIL = f"{END} Reply with the names of the variables alone, separated by commas.\n\nQuestion: {{question}}\nAnswer:"

LINE = re.compile(r"^VAR ([A-Z]+) = (?:(-?\d+)|VAR ([A-Z]+)(?: ([+-]) (\d+))?)\n", re.MULTILINE)
ASKED = re.compile(r"^Question: Which variables hold the number (-?\d+) at the end\?\nAnswer:$", re.MULTILINE)
SHOWN = re.compile(
    r"^Example:\n((?:VAR .+\n)+)Question: Which .* number (-?\d+) at the end\?\nAnswer: (.+)\n", re.MULTILINE
)


class Step(NamedTuple):
    """A line of a program: what it sets, and from what or to what."""

    name: str
    source: str
    number: int


def body(text: str) -> tuple[int, int]:
    """Return where the text of a prompt starts and ends.

    Raises:
        ValueError: if it has none.
    """
    start, end = text.rfind(f"\n{START}") + 1 + len(START), text.rfind(f"\n{END}") + 1
    if start < len(START) + 1 or end < start:
        raise ValueError("the prompt holds no program")
    return start, end


@dataclass(frozen=True, slots=True)
class Program:
    """The lines of a body, the steps among them, in order, and the number of the line of each."""

    lines: Lines
    numbers: Sequence[int]
    steps: Sequence[Step]

    def span(self, place: int) -> Span:
        """Return where a step starts and ends."""
        return self.lines.span(self.numbers[place])


@PROMPT.of
def read_program(text: str) -> Program:
    """Return the program of a prompt.

    Raises:
        ValueError: if there is none.
    """
    lines = Lines(text, *body(text))
    steps = _steps(lines.texts)
    return Program(lines, list(compress(count(), steps)), [step for step in steps if step])


def read_steps(text: str) -> list[Step]:
    """Return the lines of a short program, in order."""
    return [step for step in _steps(text.split("\n")[:-1]) if step]


@LINES.of_each
def _steps(line: str) -> Step | Literal[False]:
    """Return what a line of a program says; of any other nothing."""
    one = LINE.match(f"{line}\n")
    return Step(one[1], one[3] or "", int(one[2] or f"{one[4] or ''}{one[5] or 0}")) if one else False


def run(steps: Iterable[Step]) -> dict[str, int]:
    """Return what every variable holds at the end, in the order in which each was set last.

    Raises:
        ValueError: if a variable is read that holds nothing.
    """
    held: dict[str, int] = {}
    for name, source, number in steps:
        if source:
            if source not in held:
                raise ValueError(f"{source} is read before it holds anything")
            number += held[source]
        held.pop(name, None)
        held[name] = number
    return held


def holders(steps: Iterable[Step], number: int) -> list[str]:
    """Return the variables that hold a number at the end."""
    return [name for name, value in run(steps).items() if value == number]


def parse_question(text: str) -> int:
    """Return the number that is asked for.

    Raises:
        ValueError: if not just one question is asked.
    """
    asked = [found[1] for found in whole_lines(ASKED, "Question: ", text)]
    if len(asked) != 1:
        raise ValueError(f"{len(asked)} questions are asked")
    return int(asked[0])
