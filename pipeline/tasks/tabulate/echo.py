"""tabulate.echo: a copy of one word repeated many times, with one that differs (Chroma, Context Rot, 2025)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from types import MappingProxyType

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import Filler, PoolSpec, PublishedRow, Sample
from pipeline.tasks.lines import Dealer, Line
from pipeline.tasks.tabulate import echo_solve, text
from pipeline.tasks.tabulate.base import DECOYS, Drawn, TabulateTask
from pipeline.tasks.tabulate.notes import SPARES, notes_spec
from pipeline.worlds.survey import survey

ROOMS = {500: 1024, 1000: 2048, 2500: 4096, 5000: 8192}
"""Tokens for the reply by the number of words; a word is one token."""
LED = 2
"""How often the line gives its usual word, at the least, before the changed one."""
STOPS_AT = 500
"""Words after which a naive reader ends the copy."""


class Echo(TabulateTask):
    """A line of one word, repeated, with another in one place, among notes; `complexity` is the number of words."""

    __slots__ = ()

    subtask = "echo"
    title = "a copy of a line that repeats one word, except for one changed word"
    version = 3
    scorer = "echo"
    complexities = tuple(ROOMS)
    knobs = MappingProxyType({})
    opening = text.SURVEY
    golden_shapes = MappingProxyType({2500: (8192, DECOYS[0]), 5000: (16384, DECOYS[0])})

    def max_new_tokens_of(self, stratum: Stratum) -> int:
        """Return the room for the copy, up to twice what it takes."""
        return ROOMS[stratum.complexity]

    def placed_of(self, stratum: Stratum) -> int:
        """Return that one line is placed."""
        return 1

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (notes_spec(stratum),)

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return notes in random order."""
        size = survey(row_streams, sample.stratum.tier).size
        spares = Shuffled(row_streams.of("spares"), size).take(SPARES)
        order = Shuffled(row_streams.of("filler"), size, frozenset(spares.tolist()))
        return Filler(notes_spec(sample.stratum).name, order, spares)

    def drawn(self, dealer: Dealer, wanted: Sequence[float]) -> Drawn:
        """Deal the two words, and which of them is repeated; the place of the other is uniform over the stratum."""
        usual, changed = dealer.deal("words", [*text.PAIRS, *(pair[::-1] for pair in text.PAIRS)])
        count = dealer.stratum.complexity
        before = LED + int(dealer.spread("place") * (count - LED))
        line = " ".join([*[usual] * before, changed, *[usual] * (count - before - 1)])
        guesses = {"uniform": 0.0, "unchanged": 0.5}
        if count > STOPS_AT:
            guesses["first_500"] = round(((before < STOPS_AT) + STOPS_AT / count) / 2, 6)
        shown = {
            "words": [usual, changed],
            "before": before,
            "dealt": {thing: list(dealt) for thing, dealt in dealer.dealt.items()},
            "guesses": guesses,
        }
        question = text.COPIED.format(word=usual)
        lines = [Line(f"{line}\n", "relevant", wanted[0])]
        return Drawn(text.ECHO_INTRODUCTION, text.ECHO_TAIL, question, (line,), lines, shown)

    def answers(self, text: str) -> tuple[str, ...]:
        return (echo_solve.line_asked(text),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return echo_solve.faults(row)
