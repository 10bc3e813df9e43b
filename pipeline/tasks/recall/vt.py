"""vt: which variables hold a number after a long program (RULER, section 3.2; Zhou et al. 2025, GSM-Infinite)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams, spread
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Task, Turns, unit
from pipeline.tasks.haystacks.noise import noise, noise_spec
from pipeline.tasks.recall import vt_chains, vt_proof
from pipeline.tasks.recall import vt_text as text
from pipeline.worlds.chains import OPERATIONS, draw_chain, names

KNOBS: dict[str, tuple[str | int, ...]] = {
    "twins": (1, 0, 3),
    "operations": OPERATIONS,
    "haystack": ("chains", "noise"),
}
SHOWN = range(2, 5)
"""Variables of each chain of an example."""


class VariableTracking(Task):
    """The variables of a chain are asked for by the number that they hold. `complexity` is how many do.

    Without operations the chain has no other variables, with them as many again, and the number is written nowhere.
    """

    family = "recall"
    subtask = "vt"
    title = "the variables that hold a number after a long program"
    scorer = "members"
    max_new_tokens = 128
    complexities = (2, 5, 10)
    shots = 1
    most_shots = 4
    knobs = KNOBS
    shortest = 2048

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of further chains, or of noise."""
        if _knob(stratum, "haystack") == "noise":
            return (noise_spec(stratum),)
        return (vt_chains.spec(stratum.tier, str(_knob(stratum, "operations"))),)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw the asked chain, its twins, and chains with other numbers."""
        operations = str(_knob(stratum, "operations"))
        drawn = vt_chains.draw(own, stratum.complexity, operations, int(_knob(stratum, "twins")))
        chains = [[f"{line}\n" for line in chain] for chain in drawn.chains]
        latent = {"number": drawn.number, "chains": chains, "needed": drawn.needed}
        relevant = tuple(chains[0][place] for place in drawn.needed)
        answer = ", ".join(drawn.holders)
        question = text.QUESTION.format(number=drawn.number)
        return Sample("", stratum, index, latent, relevant, question, Key(answer, (answer,)))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Spread the lines that the answer needs over the body, in order, and the other chains anywhere."""
        stratum, latent = sample.stratum, sample.latent
        needed, count = latent["needed"], len(latent["needed"])
        wanted = [
            (number + spread(shared.of("depth", number), stratum.rows, sample.index)) / count for number in range(count)
        ]
        asked, *others = latent["chains"]
        rng = own.of("depths")
        placed = [*_placed(asked, _between(rng, len(asked), needed, wanted), needed)]
        for chain in others:
            placed += _placed(chain, sorted(rng.random() for _ in chain), ())
        is_noise = _knob(stratum, "haystack") == "noise"
        more = (own, stratum.tier, str(_knob(stratum, "operations")), latent["number"])
        return Layout(
            head=tuple(_head(self.shots_of(stratum), stratum, own)),
            placed=tuple(placed),
            filler=noise(own, stratum) if is_noise else vt_chains.filler(*more),
            tail=(Piece(text.TAIL.format(question=sample.question), "question"),),
        )

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Run the program.

        Raises:
            ValueError: if it cannot be read, or no variable holds the number.
        """
        return (vt_proof.solve(turns[-1][1]),)

    def check(self, row: Published) -> list[str]:
        """Prove which lines the answer needs, that no other changes it, and that examples are right.

        Raises:
            ValueError: if the program cannot be read.
        """
        noise = _knob(row.stratum, "haystack") == "noise"
        return list(vt_proof.faults(row, twins=int(_knob(row.stratum, "twins")), noise=noise))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, and what naming the variables of all marked lines scores.

        Without operations also what it scores to forget that a variable can lose a number: to name all of the twins'.
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
    """Return depths of all lines of the asked chain, in order: those needed as wanted, the rest between them."""
    edges = [0.0, *wanted, 1.0]
    found: list[float] = []
    for number, (stop, start) in enumerate(zip([*needed, size], [-1, *needed], strict=True)):
        low, high = edges[number], edges[number + 1]
        found += sorted(rng.uniform(low, high) for _ in range(stop - start - 1))
        found += wanted[number : number + 1]
    return found


def _placed(chain: Sequence[str], depths: Sequence[float], needed: Sequence[int]) -> Iterator[Placed]:
    """Yield the lines of a chain at their depths; one rank for all, so that depths alone order them."""
    for place, (line, depth) in enumerate(zip(chain, depths, strict=True)):
        yield Placed(unit(line, "relevant" if place in needed else "decoy"), depth, rank=0)


def _head(shots: int, stratum: Stratum, own: Streams) -> Iterator[Piece]:
    operations = str(_knob(stratum, "operations"))
    what = text.WHAT[str(_knob(stratum, "haystack"))]
    yield Piece(text.INTRODUCTION.format(what=what, meaning=text.MEANING[operations]), "instruction")
    for shot in range(shots):
        yield Piece(_example(own, shot, operations), "demo")
    yield Piece(text.START, "instruction")


def _example(own: Streams, shot: int, operations: str) -> str:
    """Return two short chains, interleaved, with what is asked of one of them and the answer."""
    rng = own.of("example", shot)
    sizes = [rng.choice(SHOWN), rng.choice(SHOWN)]
    variables = names(own, own.of("example names", shot), sum(sizes))
    one = draw_chain(rng, variables[: sizes[0]], operations)
    other = draw_chain(rng, variables[sizes[0] :], operations)
    number = rng.choice(one).value
    order = sorted(rng.sample(range(sum(sizes)), sizes[0]))
    lines = list(map(iter, (one, other)))
    text_lines = [f"{next(lines[place not in order])}\n" for place in range(sum(sizes))]
    answer = ", ".join(text.holders(text.read_steps("".join(text_lines)), number))
    return text.EXAMPLE.format(lines="".join(text_lines), question=text.QUESTION.format(number=number), answer=answer)
