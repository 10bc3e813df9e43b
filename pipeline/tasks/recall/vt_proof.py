"""The solution of a prompt with a program, and the proof of a row, from its text alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.haystacks.readers import strangers
from pipeline.tasks.recall.vt_text import SHOWN, Step, body, holders, read_asked, read_steps


def solve(text: str) -> str:
    """Return the variables that hold the asked number at the end, in the order in which they were set.

    Raises:
        ValueError: if the program or the question cannot be read, or no variable holds the number.
    """
    found = holders(read_steps(text, *body(text)), read_asked(text))
    if not found:
        raise ValueError(f"no variable holds {read_asked(text)}")
    return ", ".join(found)


def faults(row: Published, *, twins: int, noise: bool) -> Iterator[str]:
    """Yield what is wrong with a row, judged by its text and its marks alone.

    A line that shares no variable with the asked chain, also through others, cannot change the answer; of those that
    do, each is left out in turn.
    """
    steps, number = read_steps(row.text, *body(row.text)), read_asked(row.text)
    answer = holders(steps, number)
    if len(answer) != row.stratum.complexity:
        yield f"{len(answer)} variables hold the number, but {row.stratum.complexity} are promised"
    chain = _component(steps, answer)
    needed = {(step.start, step.end) for step in chain if _matters(chain, step, number)}
    if needed != {(n.char_start, n.char_end) for n in row.needles if n.role == "relevant"}:
        yield "the marked lines are not those that the answer needs"
    lines = {(step.start, step.end) for step in steps}
    if not {(n.char_start, n.char_end) for n in row.needles if n.role == "decoy"} <= lines - needed:
        yield "a marked decoy is no line of the program"
    if sum(step.number == number and not step.source and step.name not in answer for step in steps) != twins:
        yield f"not just {twins} other chains start with the number"
    hay = strangers(row.text, *body(row.text), "noise") if noise else [*_all_lines(row.text)]
    if {*hay} != lines:
        yield "a line is neither of the program nor of the haystack"
    for program, asked, said in SHOWN.findall(row.text):
        if said.split(", ") != holders(read_steps(program), int(asked)):
            yield "the answer of an example is wrong"


def _component(steps: Sequence[Step], answer: Sequence[str]) -> list[Step]:
    """Return the lines that share a variable with an answer, also through others."""
    root: dict[str, str] = {}

    def find(name: str) -> str:
        while (up := root.setdefault(name, name)) != name:
            root[name] = name = root[up]
        return name

    for step in steps:
        root[find(step.name)] = find(step.source or step.name)
    wanted = set(map(find, answer))
    return [step for step in steps if find(step.name) in wanted]


def _matters(chain: Sequence[Step], step: Step, number: int) -> bool:
    """Tell whether the answer changes without a line, and without those that can then not be run."""
    known, without = set[str](), list[Step]()
    for one in chain:
        if one is not step and (not one.source or one.source in known):
            without.append(one)
            known.add(one.name)
    return {*holders(without, number)} != {*holders(chain, number)}


def _all_lines(text: str) -> Iterator[tuple[int, int]]:
    start, end = body(text)
    for line in text[start:end].splitlines(keepends=True):
        yield start, start + len(line)
        start += len(line)
