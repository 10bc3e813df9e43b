"""The text of a latent list: an instruction, demonstrations with the same view, and the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from random import Random

from pipeline.caches import lru_cache
from pipeline.streams import Streams
from pipeline.tasks.base import Piece
from pipeline.tasks.latent_list.sample import Program, ProgramPlan, draw, lengths
from pipeline.worlds.programs import DO_NOTHING, REVERSE, START_LINE, Operation, draw_block

CLASS = {"append": "add", "insert": "add", "pop": "take", "remove": "take", "reverse": "reverse", "sort": "reverse"}
"""The class that decides the lines beside an operation. A sort, which filler lacks, is surrounded like a reverse."""
IDLE = f"{DO_NOTHING}\n"
AROUND: Mapping[str, Mapping[str, int]] = {
    "add": {"rr.-": 76, "artr.-": 12, ".-": 5, "-.-": 7},
    "take": {"rr-.": 56, "rr-.-": 4, "artr-.": 12, "-.": 25, "-.-": 3},
    "reverse": {".at": 20, ".-at": 29, "-.at": 30, "-.-at": 21},
}
"""What is before and after a relevant operation (the dot), and in what percentage of cases: the steps of a block, and
`-` for a line that does nothing. No other reverse may touch a relevant one, so it comes before a pair."""
IDLE_LINE_SHARE = 0.05
"""How often an optional line that does nothing is added: after a removal, or between a reverse and an addition."""


def parted(before: Operation, after: Operation, rng: Random) -> bool:
    """Return whether to put a line that does nothing between two operations of a block."""
    left, right = CLASS[before.name], CLASS[after.name]
    if left == "add" or right == "take" or left == right == "reverse":
        return True
    return rng.random() < IDLE_LINE_SHARE


def spaced(block: Iterable[Operation], rng: Random) -> str:
    """Return the lines of a block of filler."""
    text, last = "", None
    for operation in block:
        text += IDLE if last and parted(last, operation, rng) else ""
        text += f"{operation.text}\n"
        last = operation
    return text


def surroundings(rng: Random, name: str) -> tuple[str, str]:
    """Draw the lines before and after a relevant operation."""
    around = AROUND[CLASS[name]]
    before, _, after = rng.choices(list(around), list(around.values()))[0].partition(".")
    return (
        spaced(draw_block(rng, before.rstrip("-")), rng) + IDLE * before.count("-"),
        IDLE * after.count("-") + spaced(draw_block(rng, after.lstrip("-")), rng),
    )


ROLE = (
    "Act as a Python interpreter. You are given a program that starts with a list `a` and then changes it, one "
    "statement per line; every line of a program begins with `>>`. Follow the list from the first line to the last, "
    "and give the output of the last line, exactly as Python would show it. Earlier lines may print something too, but "
    "that is not part of the answer. Reply with the output of the last line alone."
)
EXAMPLES = {1: "One program with its output comes first, as an example; the one after it is yours to run."}
MANY = "{count} programs with their outputs come first, as examples; the one after them is yours to run."
COUNTS = ("Zero", "One", "Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine")
STOCKED, STOCK = "latent_list.demonstrations@2", 32
"""Demonstrations of each kind, drawn once in a process: to draw them for each row would take too long."""
BLOCKS = ("aatt", "atat", "rart")
"""The steps of the block in a demonstration."""
Chunk = tuple[Operation, ...]


def head(
    name: str, complexity: int, shots: int, target: str, row_streams: Streams, instruct: Callable[[int], str]
) -> tuple[Piece, ...]:
    """Return all that precedes the relevant operations and their filler; `instruct` returns the instruction."""
    demos = _demos(name, complexity, shots, target, row_streams)
    pieces = [Piece(instruct(shots), "instruction")]
    pieces += [Piece(f"--- Program {place} ---\n{demo}", "demo") for place, demo in enumerate(demos, 1)]
    title = f"--- Program {shots + 1} ---\n" if shots else "--- Program ---\n"
    return (*pieces, Piece(f"{title}{START_LINE}\n", "instruction"))


def tail(view: str) -> tuple[Piece, ...]:
    """Return the question: the program's last line, and a label for its output."""
    return (Piece(f"{view}\nOutput:", "question"),)


def instruction(shots: int) -> str:
    """Return the instruction in English."""
    if not shots:
        return f"{ROLE}\n"
    count = COUNTS[shots] if shots < len(COUNTS) else str(shots)
    return f"{ROLE} {EXAMPLES.get(shots, MANY.format(count=count))}\n"


def _demos(name: str, complexity: int, shots: int, target: str, row_streams: Streams) -> list[str]:
    """Choose demonstrations that do not show the key's answer; for `len` none does, as the parity differs."""
    counts = (3,) if complexity % 2 == 0 else (2, 4)
    stock = [demo for count in counts for demo in _stock(row_streams.world(STOCKED), name, count)]
    fit = [text for text, output in stock if output != target]
    return row_streams.of("demo").sample(fit, shots)


@lru_cache(maxsize=64)
def _stock(world: Streams, name: str, count: int) -> tuple[tuple[str, str], ...]:
    """Draw the demonstrations of `count` operations that all rows choose from, with their outputs."""
    rng = world.of(name, count)
    drawn = [draw(name, count, _any_wish(count, name, rng), rng) for _ in range(STOCK)]
    return tuple((_demo(program, rng), program.output) for program in drawn)


def _any_wish(complexity: int, name: str, rng: Random) -> ProgramPlan:
    size = rng.choice(lengths(complexity)) if name == "len" else 1 << rng.randrange(12)
    return ProgramPlan(rng.choice((1, -1)), size, rng.randint(1, 5), wide=rng.random() < 0.5)


def _demo(program: Program, rng: Random) -> str:
    lines = _interleave(program.operations, rng)
    return f"{START_LINE}\n{lines}{program.view.text}\nOutput: {program.output}\n"


def _interleave(operations: Sequence[Operation], rng: Random) -> str:
    """Put two pieces of filler among relevant operations, so that no reverse touches that of another piece."""
    while True:
        chunks: list[Chunk] = [(operation,) for operation in operations]
        for filler in ((REVERSE, REVERSE), draw_block(rng, rng.choice(BLOCKS))):
            chunks.insert(rng.randint(0, len(chunks)), filler)
        if not any(left[-1] == right[0] == REVERSE for left, right in pairwise(chunks)):
            return spaced((operation for chunk in chunks for operation in chunk), rng)
