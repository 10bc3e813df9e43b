"""The solution of a prompt with a program, and the proof of a row, from its text alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.haystacks.solve import strangers
from pipeline.tasks.recall.vt_text import SHOWN, Step, body, holders, parse_question, read_program, read_steps
from pipeline.tasks.solving import PROMPT, whole_lines


def solve(text: str) -> str:
    """Return the variables that hold the asked number at the end, in the order in which they were set.

    Raises:
        ValueError: if the program or the question cannot be read, or no variable holds the number.
    """
    found = _answer(text)
    if not found:
        raise ValueError(f"no variable holds {parse_question(text)}")
    return ", ".join(found)


@PROMPT.of
def _answer(text: str) -> list[str]:
    return holders(read_program(text).steps, parse_question(text))


def faults(row: Published, *, twins: int, noise: bool) -> Iterator[str]:
    """Yield what is wrong with a row, judged by its text and its marks alone.

    A line that shares no variable with the asked chain, also through others, cannot change the answer; of those that
    do, each is left out in turn.
    """
    program, number, answer = read_program(row.text), parse_question(row.text), _answer(row.text)
    steps = program.steps
    if len(answer) != row.stratum.complexity:
        yield f"{len(answer)} variables hold the number, but {row.stratum.complexity} are promised"
    chain = _component(steps, answer)
    needed = {program.span(place) for place in chain if _matters([steps[one] for one in chain], steps[place], number)}
    if needed != {(n.char_start, n.char_end) for n in row.needles if n.role == "relevant"}:
        yield "the marked lines are not those that the answer needs"
    decoys = {(n.char_start, n.char_end) for n in row.needles if n.role == "decoy"}
    if decoys & needed or not {*map(program.lines.at, decoys)}.issubset(program.numbers):
        yield "a marked decoy is no line of the program"
    starts = (step for step in steps if step.number == number and not step.source)
    if sum(step.name not in answer for step in starts) != twins:
        yield f"not just {twins} other chains start with the number"
    hay = {*strangers(row.text, *body(row.text), "noise")} if noise else {*range(len(program.lines.texts))}
    if hay != ({*map(program.span, range(len(steps)))} if noise else {*program.numbers}):
        yield "a line is neither of the program nor of the haystack"
    for lines, asked, said in (found.groups() for found in whole_lines(SHOWN, "Example:", row.text)):
        if said.split(", ") != holders(read_steps(lines), int(asked)):
            yield "the answer of an example is wrong"


def _component(steps: Sequence[Step], answer: Sequence[str]) -> list[int]:
    """Return the places of lines that share a variable with an answer, also through others."""
    wanted, known = {*answer}, -1
    while known < len(wanted):
        known = len(wanted)
        for order in (reversed(steps), steps):
            for name, source, _ in order:
                if source and (name in wanted) != (source in wanted):
                    wanted |= {name, source}
    return [place for place, step in enumerate(steps) if step[0] in wanted]


def _matters(chain: Sequence[Step], step: Step, number: int) -> bool:
    """Tell whether the answer changes without a line, and without those that can then not be run."""
    known, without = set[str](), list[Step]()
    for one in chain:
        if one is not step and (not one.source or one.source in known):
            without.append(one)
            known.add(one.name)
    return {*holders(without, number)} != {*holders(chain, number)}
