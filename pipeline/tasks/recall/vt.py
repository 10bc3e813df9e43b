"""vt: which variables hold a number after a long program (RULER, section 3.2; Zhou et al. 2025, GSM-Infinite)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams, spread, words
from pipeline.tasks.base import Filler, Key, Layout, Piece, Placed, PoolSpec, PublishedRow, Sample, Task, Unit, unit
from pipeline.tasks.haystacks import SPARES, in_runs
from pipeline.tasks.haystacks.filler import noise, noise_spec
from pipeline.tasks.recall import vt_solve
from pipeline.tasks.recall import vt_text as text
from pipeline.worlds.chains import (
    NUMBERS,
    OPERATIONS,
    SINGLES,
    STEPS,
    WORLD,
    Line,
    Outline,
    copied,
    draw_chain,
    names,
    outline,
    pooled,
    restarted,
    start,
)

MEAN = 7
"""Lines of a chain, on average."""
WORD = 32
"""Bits of a rank."""
OTHERS = 3
"""Chains with other numbers besides the asked one."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a row writes: the asked number, all chains line by line, the lines needed, and the variables to name."""

    number: int
    chains: list[list[Line]]
    needed: list[int]
    holders: list[str]


def draw(row_streams: Streams, complexity: int, operations: str, twins: int) -> Drawn:
    """Draw the asked chain, in which `complexity` variables hold the asked number, `twins` and other chains."""
    rng = row_streams.of("chains")
    number = rng.choice(NUMBERS)
    size = complexity if operations == "none" else 2 * complexity
    fresh = iter(names(row_streams, row_streams.of("names"), size * (1 + twins + OTHERS)))
    take = [[next(fresh) for _ in range(size)] for _ in range(1 + twins + OTHERS)]
    asked = _asked(rng, take[0], complexity, operations, number)
    holders = [line.name for line in asked if line.value == number]
    needed = _needed(asked, number)
    if rng.random() < 1 / 2:
        asked, needed = restarted(rng, asked, _other_number(rng, number)), [place + 1 for place in needed]
    broken = [_twin(rng, variables, operations, number) for variables in take[1 : 1 + twins]]
    others = [_apart(rng, variables, operations, number) for variables in take[1 + twins :]]
    return Drawn(number, [asked, *broken, *others], needed, holders)


def _asked(rng: Random, variables: Sequence[str], complexity: int, operations: str, number: int) -> list[Line]:
    """Draw a chain in which `complexity` variables hold a number; with operations the number is never written."""
    if operations == "none":
        return draw_chain(rng, variables, operations, number)
    hits = {*rng.sample(range(1, len(variables)), complexity)}
    lines = [start(variables[0], number - rng.choice(STEPS))]
    for place, name in enumerate(variables[1:], 1):
        lines.append(_step(rng, name, lines, number, operations, hit=place in hits))
    return lines


def _step(rng: Random, name: str, lines: Sequence[Line], number: int, operations: str, *, hit: bool) -> Line:
    """Draw a line after which a variable holds the number, or does not."""
    if hit:
        source = rng.choice([line for line in lines if line.value == number or abs(number - line.value) in STEPS])
        return copied(name, source, number - source.value)
    least, most = (number - STEPS[-1], number - 1) if operations == "add" else (number - STEPS[-1], number + STEPS[-1])
    source = rng.choice([line for line in lines if line.value != number])
    reach = range(max(least, source.value if operations == "add" else least), most + 1)
    value = rng.choice([each for each in reach if each != number and abs(each - source.value) <= STEPS[-1]])
    return copied(name, source, value - source.value)


def _needed(chain: Sequence[Line], number: int) -> list[int]:
    """Return the places of lines that set variables with the number, and of those they take their values from."""
    wanted, needed = set[str](), list[int]()
    for place in range(len(chain) - 1, -1, -1):
        if chain[place].value == number or chain[place].name in wanted:
            needed.append(place)
            wanted.add(chain[place].expression.removeprefix("VAR ").split(" ")[0])
    return needed[::-1]


def _twin(rng: Random, variables: Sequence[str], operations: str, number: int) -> list[Line]:
    """Draw a chain that starts with the asked number, and restarts with another before anything is copied."""
    return restarted(rng, _apart(rng, variables, operations, number), number)


def _apart(rng: Random, variables: Sequence[str], operations: str, number: int) -> list[Line]:
    """Draw a chain in which no variable holds a number."""
    while True:
        chain = draw_chain(rng, variables, operations)
        if all(line.value != number for line in chain):
            return chain


def _other_number(rng: Random, number: int) -> int:
    return rng.choice([one for one in rng.sample(NUMBERS, 2) if one != number])


def spec(tier: str, operations: str) -> PoolSpec:
    """Return the pool of further chains, line by line."""
    return PoolSpec(f"chains-{operations}-{tier}", 1, tier, WORLD, make_chains)


def make_chains(streams: Streams, spec: PoolSpec) -> list[Unit]:
    """Write the lines of a tier's chains."""
    operations = spec.name.split("-")[1]
    chains = pooled(streams, spec.tier, operations)
    return [unit(f"{line}\n", facts=(f"value({line.name}, {line.value})",)) for chain in chains for line in chain]


def filler(row_streams: Streams, tier: str, operations: str, number: int) -> Filler:
    """Return whole chains in random order, their lines interleaved, none of which ever holds a number."""
    shape = outline(row_streams.world(), tier, operations)
    whole = len(shape.starts) - SINGLES
    touched = np.unique(shape.chain[shape.values == number])
    order = Shuffled(row_streams.of("filler"), whole, frozenset(touched[touched < whole].tolist()))
    singles = np.setdiff1d(np.arange(whole, len(shape.starts)), touched)
    spares = shape.starts[singles[Shuffled(row_streams.of("spares"), len(singles)).take(SPARES)]]
    name = spec(tier, operations).name
    return Filler(name, _Chains(order, shape), spares, "ranked", ranks=_interleaved(row_streams.of("ranks"), shape))


def _interleaved(rng: Random, shape: Outline) -> Indices:
    """Return a random rank for each line, keeping the lines of each chain in order."""
    drawn = (shape.chain << WORD) + words(rng, len(shape.chain))
    drawn.sort()
    return np.asarray(drawn & (1 << WORD) - 1, dtype=np.int64)


class _Chains:
    """The lines of chains in random order."""

    def __init__(self, order: Shuffled, shape: Outline) -> None:
        self._order, self._shape = order, shape

    def take(self, count: int) -> Indices:
        """Return the first `count` lines."""
        lines, wanted = np.zeros(0, dtype=np.int64), count // MEAN + 1
        while len(lines) < count and wanted <= 2 * self._order.limit:
            chains = self._order.take(wanted)
            lines = in_runs(self._shape.starts[chains], self._shape.counts[chains])
            wanted += wanted // 4 + 1
        return lines[:count]


KNOBS: dict[str, tuple[str | int, ...]] = {
    "twins": (1, 0, 3),
    "operations": OPERATIONS,
    "haystack": ("chains", "noise"),
}
SHOWN = range(2, 5)
"""Variables per chain of an example."""


class VariableTracking(Task):
    """The variables that hold a number are asked for. `complexity` is how many do.

    Without operations the chain has no other variables; with them, as many again, and the number is never written.
    """

    family = "recall"
    subtask = "vt"
    title = "the variables that hold a number after a long program"
    scorer = "members"
    version = 2
    max_new_tokens = 128
    complexities = (2, 5, 10)
    shots = 1
    most_shots = 4
    knobs = KNOBS
    shortest = 2048

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        if _knob(stratum, "haystack") == "noise":
            return (noise_spec(stratum),)
        return (spec(stratum.tier, str(_knob(stratum, "operations"))),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw the asked chain, its twins, and chains with other numbers."""
        operations = str(_knob(stratum, "operations"))
        drawn = draw(row_streams, stratum.complexity, operations, int(_knob(stratum, "twins")))
        chains = [[f"{line}\n" for line in chain] for chain in drawn.chains]
        latent = {"number": drawn.number, "chains": chains, "needed": drawn.needed}
        relevant = tuple(chains[0][place] for place in drawn.needed)
        answer = ", ".join(drawn.holders)
        question = text.QUESTION.format(number=drawn.number)
        return Sample("", stratum, index, latent, relevant, question, Key.accepting(answer))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Spread the lines that the answer needs over the body, in order, and the other chains anywhere."""
        stratum, latent = sample.stratum, sample.latent
        needed, count = latent["needed"], len(latent["needed"])
        wanted = [
            (number + spread(stratum_streams.of("depth", number), stratum.rows, sample.index)) / count
            for number in range(count)
        ]
        asked, *others = latent["chains"]
        rng = row_streams.of("depths")
        placed = [*_placed(asked, _between(rng, len(asked), needed, wanted), needed)]
        for chain in others:
            placed += _placed(chain, sorted(rng.random() for _ in chain), ())
        is_noise = _knob(stratum, "haystack") == "noise"
        more = (row_streams, stratum.tier, str(_knob(stratum, "operations")), latent["number"])
        return Layout(
            head=tuple(_head(self.shots_of(stratum), stratum, row_streams)),
            placed=tuple(placed),
            filler=noise(row_streams, stratum) if is_noise else filler(*more),
            tail=(Piece(text.TAIL.format(question=sample.question), "question"),),
        )

    def answers(self, text: str) -> tuple[str, ...]:
        return (vt_solve.solve(text),)

    def check(self, row: PublishedRow) -> list[str]:
        noise = _knob(row.stratum, "haystack") == "noise"
        return list(vt_solve.faults(row, twins=int(_knob(row.stratum, "twins")), noise=noise))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, and the score of naming the variables of all marked lines.

        Without operations, also that of forgetting that a variable can lose a number: naming the twins' too.
        """
        named = {line.split()[1] for chain in sample.latent["chains"] for line in chain}
        count, twins = sample.stratum.complexity, int(_knob(sample.stratum, "twins"))
        plain = _knob(sample.stratum, "operations") == "none"
        return {
            "uniform": 0.0,
            "all_marked": 2 * count / (count + len(named)),
            **({"ever_held": 2 / (2 + twins)} if plain else {}),
        }


def _knob(stratum: Stratum, name: str) -> str | int:
    value = stratum.knob(name, KNOBS[name][0])
    return value if isinstance(value, int) else str(value)


def _between(rng: Random, size: int, needed: Sequence[int], wanted: Sequence[float]) -> list[float]:
    """Return depths of all lines of the asked chain, in order: as wanted for those needed, in between for the rest."""
    edges = [0.0, *wanted, 1.0]
    line_depths: list[float] = []
    for number, (stop, begin) in enumerate(zip([*needed, size], [-1, *needed], strict=True)):
        low, high = edges[number], edges[number + 1]
        line_depths += sorted(rng.uniform(low, high) for _ in range(stop - begin - 1))
        line_depths += wanted[number : number + 1]
    return line_depths


def _placed(chain: Sequence[str], depths: Sequence[float], needed: Sequence[int]) -> Iterator[Placed]:
    """Yield the lines of a chain at their depths, all of one rank, so that depths alone order them."""
    for place, (line, depth) in enumerate(zip(chain, depths, strict=True)):
        yield Placed(unit(line, "relevant" if place in needed else "decoy"), depth, rank=0)


def _head(shots: int, stratum: Stratum, row_streams: Streams) -> Iterator[Piece]:
    operations = str(_knob(stratum, "operations"))
    what = text.WHAT[str(_knob(stratum, "haystack"))]
    yield Piece(text.INTRODUCTION.format(what=what, meaning=text.MEANING[operations]), "instruction")
    for shot in range(shots):
        yield Piece(_example(row_streams, shot, operations), "demo")
    yield Piece(text.START, "instruction")


def _example(row_streams: Streams, shot: int, operations: str) -> str:
    """Return two short chains, interleaved, with a question about one of them and its answer."""
    rng = row_streams.of("example", shot)
    sizes = [rng.choice(SHOWN), rng.choice(SHOWN)]
    variables = names(row_streams, row_streams.of("example names", shot), sum(sizes))
    first = draw_chain(rng, variables[: sizes[0]], operations)
    second = draw_chain(rng, variables[sizes[0] :], operations)
    number = rng.choice(first).value
    order = sorted(rng.sample(range(sum(sizes)), sizes[0]))
    lines = list(map(iter, (first, second)))
    text_lines = [f"{next(lines[place not in order])}\n" for place in range(sum(sizes))]
    answer = ", ".join(vt_solve.holders(vt_solve.read_steps("".join(text_lines)), number))
    return text.EXAMPLE.format(lines="".join(text_lines), question=text.QUESTION.format(number=number), answer=answer)
