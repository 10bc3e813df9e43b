"""summ.points: who did what for a property, and when, summed up with sources.

A key point is a person and a year. Its entries stand all over the annals; beside the property there are as many people
who do not belong in the summary: buyers whose purchase was set aside, people who did what is not asked for, or wished
to, or came later. Another property that shares a word of the name has as many entries of each sort (SummHay, Laban et
al. 2024, section 3: key points that are known beforehand, each with its sources).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams, deal, spread
from pipeline.tasks.base import (
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    Published,
    Sample,
    Task,
    Turns,
    Unit,
    unit,
)
from pipeline.tasks.longqa.frame import asked_property
from pipeline.tasks.summ import proof, reader, text
from pipeline.tasks.summ.deeds import MIXTURES, OTHERS, Told, history, named_in
from pipeline.worlds.chronicle import WORLD, Chronicle, chronicle, source_digest
from pipeline.worlds.chronicle.titles import SALE
from pipeline.worlds.ids import fresh, numbers

THEMES = tuple((one, other) for at, one in enumerate(OTHERS) for other in OTHERS[at + 1 :])
"""Kinds of deeds that are asked for beside purchases."""
EARLIEST, LATEST = 0.7, 0.92
"""The shares of the annals between which the time that is asked about ends."""
ROWS = 256
"""Rows of which what is written is kept, some 30 kB each: a shard is sampled, and then packed."""
NONE = np.empty(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is asked, and all entries that are written for it, those of the property first."""

    question: str
    props: tuple[str, str]
    theme: tuple[str, str]
    own: Sequence[Told]
    near: Sequence[Told]


def make_numbered(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Return every entry of a tier with its number, in order of date."""
    world = chronicle(streams, spec.tier, busy=True)
    for one, number in zip(world.entries, ids(streams, spec.tier), strict=True):
        yield unit(text.NUMBERED.format(number=number, entry=one.text), "filler", one.facts)


def spec(tier: str) -> PoolSpec:
    """Return the pool of numbered entries of a tier."""
    return PoolSpec(f"chronicle-ids-{tier}", 1, tier, f"{WORLD}:{source_digest()}", make_numbered)


def ids(streams: Streams, tier: str) -> Sequence[str]:
    """Return the number of every entry of a tier, in order; `streams` are any below the same seed."""
    return _ids(streams.world(WORLD, tier, "ids"), len(chronicle(streams, tier, busy=True).entries))


@lru_cache(maxsize=2)
def _ids(world: Streams, count: int) -> tuple[str, ...]:
    return numbers(world.of("numbers"), count)


class Points(Task):
    """A summary of what people did for a property. `complexity` is the number of key points."""

    __slots__ = ()

    family = "summ"
    subtask = "points"
    title = "a summary of who did what for a property and when, with the entries that tell of it"
    scorer = "key_points"
    complexities = (5, 10, 20)
    max_new_tokens = 896
    shortest = 8192

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of numbered entries."""
        return (spec(stratum.tier),)

    def drawn(self, world: Chronicle, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Drawn:
        """Draw the time and the kinds that are asked about, and what befell the property and its twin."""
        prop, twin = asked_property(world, index, own, shared)
        theme = THEMES[deal(shared.of("theme"), stratum.rows, index, len(THEMES))]
        end = EARLIEST + (LATEST - EARLIEST) * spread(shared.of("end"), stratum.rows, index)
        mixture, rng, taken = MIXTURES[stratum.complexity], own.of("told"), set[str]()
        found = history(
            world, rng, mixture, prop, theme, end, taken, lambda at: spread(shared.of("depth", at), stratum.rows, index)
        )
        near = history(world, rng, mixture, twin, theme, end, taken, lambda at: rng.random())
        kinds = rng.sample((SALE, *theme), 1 + len(theme))
        asked = text.question(rng.choice(text.QUESTIONS), prop, rng.choice(found.years), kinds)
        return Drawn(
            asked, (prop, twin), theme, found.told, [replace(one, role="decoy", point=False) for one in near.told]
        )

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw what is asked, and write the entries that its answer needs."""
        drawn, written = told(self, stratum, index, own, shared)
        points = {one.named: [number] for one, number, _ in written if one.point}
        others = named_in([one for one in drawn.own if not one.point])
        answers = text.accepted(points, others)
        relevant = tuple(said for one, _, said in written if one.role == "relevant")
        latent: dict[str, Any] = {
            "property": drawn.props[0],
            "twin": drawn.props[1],
            "theme": list(drawn.theme),
            "needed": len(relevant),
            "others": len(others),
        }
        return Sample("", stratum, index, latent, relevant, drawn.question, Key(answers[0], answers))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put every entry that was written for the row where its date falls among those of the world."""
        stratum = sample.stratum
        world = chronicle(own, stratum.tier, busy=True)
        drawn, written = told(self, stratum, sample.index, own, shared)
        out = frozenset(number for prop in drawn.props for number in world.about.get(prop, ()))
        order = Shuffled(own.of("filler"), len(world.entries), out)
        return Layout(
            head=(Piece(text.INTRODUCTION, "instruction"), Piece(text.START, "instruction")),
            placed=tuple(Placed(unit(said, one.role), world.depth_of(one.day), at=one.day) for one, _, said in written),
            filler=Filler(spec(stratum.tier).name, order, NONE, "ranked", ranks=world.days),
            tail=(Piece(text.TAIL.format(question=sample.question), "question"),),
        )

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read what befell the property, and sum up what is asked for.

        Raises:
            ValueError: if the text cannot be read.
        """
        return reader.summed_up(turns[-1][1])

    def check(self, row: Published) -> list[str]:
        """Prove that each entry needed is, that no other is, and that near misses are as many as promised."""
        return list(proof.faults(row))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of who tells of one point, of all who are named beside the property, or its twin too."""
        points, others = sample.stratum.complexity, int(sample.latent["others"])
        return {
            "uniform": 0.0,
            "one_point": 2 / (points + 1),
            "everybody": 2 * points / (2 * points + others),
            "twin_too": 2 * points / (3 * points + 2 * others),
        }

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kinds that are asked for."""
        return {"theme": (tuple(sample.latent["theme"]), len(THEMES))}

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        """Return the entries that the answer needs: they were written for the row."""
        return sample.relevant


@lru_cache(maxsize=ROWS)
def told(
    task: Points, stratum: Stratum, index: int, own: Streams, shared: Streams
) -> tuple[Drawn, Sequence[tuple[Told, str, str]]]:
    """Return what a row asks, and what is told for it with the numbers and texts of its entries."""
    world = chronicle(own, stratum.tier, busy=True)
    drawn = task.drawn(world, stratum, index, own, shared)
    every = [*drawn.own, *drawn.near]
    free = fresh(own.of("ids"), ids(own, stratum.tier), len(every))
    texts = [world.write(own.of("text", at), one.day, one.kind, one.about).text for at, one in enumerate(every)]
    return drawn, [
        (one, number, text.NUMBERED.format(number=number, entry=said))
        for one, number, said in zip(every, free, texts, strict=True)
    ]
