"""The five tasks of the family, one for each view."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any

import numpy as np

from pipeline.caches import lru_cache
from pipeline.languages import digest, joined, language, only
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams, Wheel, deal, spread
from pipeline.tasks.base import (
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    PublishedRow,
    Role,
    Sample,
    Task,
    Unit,
    unit,
)
from pipeline.tasks.latent_list import chance
from pipeline.tasks.latent_list import solve as solver
from pipeline.tasks.latent_list import text as prompt
from pipeline.tasks.latent_list.effective import effective
from pipeline.tasks.latent_list.sample import WIDEST_SLICE, ProgramPlan, draw, lengths
from pipeline.tasks.latent_list.text import spaced, surroundings
from pipeline.worlds.programs import START, Block, cancels, draw_block

SHAPES = ("rart", "rarartrt", "rraratrt", "raratrrt", "rrarartt", "ararrtrt", "raaattrt")
"""The steps of units: `a` adds a number, `t` takes one out, `r` reverses. Like relevant operations, most are between
two reverses. The last shape adds three numbers in a row, so that indices can be far from the ends."""
UNITS_PER_SHAPE = (592, 800, 600, 600, 600, 600, 600)
"""The number of units of each shape."""
WHEEL_COPIES = (1, 5, 4, 4, 2, 2, 1)
"""How often a unit of each shape is on the wheel, so that a third of all lines does nothing, a third reverses the list,
and a third adds or takes out numbers."""
BLOCKS = sum(UNITS_PER_SHAPE)
SMALL_POOL = UNITS_PER_SHAPE[0]
LONGEST_UNIT = 265
"""The most characters of a unit: the shortest windows have room for little more than five such units."""
MIXED_SPARES, SMALL_SPARES = 40, 64
"""Spares: units drawn from the wheel, then units of the smallest shape, for a variety of token counts."""


def specs(tier: str) -> tuple[PoolSpec, ...]:
    """Return the one pool of a tier."""
    return (PoolSpec(name=f"blocks-{tier}", version=2, tier=tier, source="", make=make),)


def make(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Make the units of a pool, all different and proven to cancel.

    Raises:
        ValueError: for a block that does not cancel at every state.
    """
    rng, seen = streams.of("blocks", spec.tier), set[Block]()
    for shape, quota in zip(SHAPES, UNITS_PER_SHAPE, strict=True):
        for _ in range(quota):
            yield _fresh(seen, partial(draw_block, rng, shape), rng)


def _fresh(seen: set[Block], draw: Callable[[], Block], rng: Random) -> Unit:
    """Return a new block, short enough to leave even the shortest windows a choice of units."""
    while True:
        block = draw()
        made = block_unit(block, rng)
        if block not in seen and len(made.pieces[0].text) <= LONGEST_UNIT:
            seen.add(block)
            return made


def block_unit(block: Block, rng: Random) -> Unit:
    """Return a block as a unit.

    Raises:
        ValueError: for a block that does not cancel at every state.
    """
    if not cancels(block):
        raise ValueError(f"a block does not cancel at every state: {[operation.text for operation in block]}")
    return unit(spaced(block, rng))


@lru_cache(maxsize=1)
def wheel() -> Indices:
    """Return the wheel of unit indices."""
    return np.arange(BLOCKS, dtype=np.int64).repeat(np.repeat(WHEEL_COPIES, UNITS_PER_SHAPE))


def filler(tier: str, row_streams: Streams) -> Filler:
    """Return a row's filler: an order drawn from the wheel, and spares of all shapes and of the smallest."""
    mixed = Wheel(row_streams.of("spares", "mixed"), wheel()).take(MIXED_SPARES)
    more = np.array(row_streams.of("spares", "more").sample(range(SMALL_POOL), SMALL_SPARES), dtype=np.int64)
    return Filler(f"blocks-{tier}", Wheel(row_streams.of("filler"), wheel()), np.concatenate([np.unique(mixed), more]))


VALUE_BITS = {"sum": range(1, 15), "min": range(7, 13), "max": range(7, 13)}
"""Bits of the wished values. Minima and maxima are often small anyway."""
VALUE_BITS_OF_ONE = {**VALUE_BITS, "max": range(1, 13)}
"""The same for a single operation, so that it does not always add a large number."""
SIGNS = {"sum": (-1, 1), "min": (-1, -1, 1, 1, 1), "max": (1, 1, -1, -1, -1)}
"""Signs in proportion: three fifths of minima and maxima are beyond the list's initial numbers."""
INITIAL_MINIMUM_SHARE = {1: 1.0, 5: 0.5}
"""By complexity, how often a positive minimum is to be an initial number, as few operations allow little else."""


@dataclass(frozen=True, slots=True)
class LatentList(Task):
    """A short list that many operations change, most without lasting effect; the last line views it.

    Every relevant operation is proven, and every unit of filler cancels at any state. Relevant operations have the
    forms, indices and values of filler, except for ``sort``, which nothing can undo.
    """

    family = "latent_list"
    subtask: str
    title: str
    version = 3
    scorer = "latent_list"
    shots = 2
    most_shots = 9
    max_new_tokens = 256
    complexities = (1, 5, 20)
    shortest = 2048

    @property
    def view(self) -> str:
        """The name of the view: the subtask without its language."""
        return self.subtask.partition("-")[0]

    def instruction(self, shots: int) -> str:
        """Return the text before all programs."""
        return prompt.instruction(shots)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return specs(stratum.tier)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a program near the wish that balances its stratum's answers."""
        program = draw(
            self.view,
            stratum.complexity,
            self._wish(stratum, index, row_streams, stratum_streams),
            row_streams.of("program"),
        )
        lines = tuple(operation.text for operation in program.operations)
        latent = {
            "operations": list(lines),
            "slice": list(program.view.span) if program.view.span else None,
            "final": list(program.final),
            "effective_complexity": effective(program.operations, program.view),
            "proven_by_failure": round(program.by_failure / len(lines), 4),
        }
        key = Key(program.output, (program.output,))
        return Sample("", stratum, index, latent, lines, program.view.text, key)

    def _wish(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> ProgramPlan:
        """Deal lengths, or signs and sizes, evenly over the rows of a stratum; printed widths are random."""
        rng = row_streams.of("wish")
        if self.view == "len":
            return ProgramPlan(size=_dealt(stratum_streams, "length", stratum.rows, index, lengths(stratum.complexity)))
        if self.view == "print":
            return ProgramPlan(width=rng.randint(1, min(WIDEST_SLICE, 6 + stratum.complexity)))
        bits_of = VALUE_BITS_OF_ONE if stratum.complexity == 1 else VALUE_BITS
        sizes = [(sign, bits) for sign in SIGNS[self.view] for bits in bits_of[self.view]]
        sign, bits = _dealt(stratum_streams, "size", stratum.rows, index, sizes)
        wide = self.view != "sum" and _dealt(stratum_streams, "width", stratum.rows, index, range(4)) > 0
        size = rng.randrange(1 << (bits - 1), 1 << bits)
        if self.view == "min" and sign > 0 and rng.random() < INITIAL_MINIMUM_SHARE.get(stratum.complexity, 0.0):
            size = rng.choice(START)
        return ProgramPlan(sign, size, wide=wide)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Spread the operations over the body, operation j of c at random in the j-th of c equal parts."""
        stratum = sample.stratum
        shots = self.shots_of(stratum)
        placed = []
        for number, line in enumerate(sample.relevant):
            depth = (
                number + spread(stratum_streams.of("depth", number), stratum.rows, sample.index)
            ) / stratum.complexity
            around = surroundings(row_streams.of("around", number), method(line))
            placed.append(Placed(_relevant(line, *around), depth, number))
        return Layout(
            head=prompt.head(self.view, stratum.complexity, shots, sample.key.target, row_streams, self.instruction),
            placed=tuple(placed),
            filler=filler(stratum.tier, row_streams),
            tail=prompt.tail(sample.question),
        )

    def answers(self, text: str) -> tuple[str, ...]:
        return solver.solve(text)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return solver.faults(row, self.view, self.shots_of(row.stratum))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return what guessers score without following the program."""
        return chance.baselines(self.view, sample)


@dataclass(frozen=True, slots=True)
class Instructed(LatentList):
    """The same with the instruction in another language; the program has none."""

    version: int = LatentList.version
    twin: str = ""
    drawn_as: str = ""
    languages: tuple[str, ...] = ()
    wording: str = ""

    def instruction(self, shots: int) -> str:
        known = language(self.languages[1])
        named = ("program", *(["program_examples"] if shots else []), "program_reply")
        return joined(*map(known.sentence, named)) + "\n"


def in_language(plain: LatentList) -> Callable[[str, str], Instructed]:
    """Return a function that makes the task in a language; it raises `RecipeError` for two different ones."""

    def form(one: str, other: str) -> Instructed:
        asked = only(plain.subtask, one, other)
        version = plain.version + language(asked).version - 1
        drawn_as, languages = f"{plain.subtask}@{plain.version}", (asked, asked)
        subtask = f"{plain.subtask}-{asked}"
        return Instructed(subtask, plain.title, version, plain.subtask, drawn_as, languages, digest(asked))

    return form


def method(line: str) -> str:
    """Return the name of the method that a line calls."""
    return line[line.index(".") + 1 : line.index("(")]


def _relevant(line: str, before: str, after: str) -> Unit:
    """Return a relevant line with the filler around it."""
    texts: tuple[tuple[str, Role], ...] = ((before, "filler"), (f"{line}\n", "relevant"), (after, "filler"))
    return Unit(tuple(Piece(text, role) for text, role in texts if text))


def _dealt(stratum_streams: Streams, name: str, rows: int, index: int, kinds: Sequence[Any]) -> Any:
    """Deal kinds evenly over the rows of a stratum."""
    return kinds[deal(stratum_streams.of(name), rows, index, len(kinds))]
