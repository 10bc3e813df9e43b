"""longqa.state: who owned a property on a day.

The owner is the buyer in the last sale that was still valid. Sales are set aside and restored, so that 1, about 5 or
about 20 entries are all needed. Another property that shares a word of the name has its own history of as many entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.annals import solve as annals_solver
from pipeline.tasks.annals.haystack import asked_property
from pipeline.tasks.base import Key, PublishedRow, Sample
from pipeline.tasks.longqa import solve as solver
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import Drawn, LongQa, rolls
from pipeline.tasks.longqa.steps import by_last_step, sold, without_restoring
from pipeline.tasks.longqa.titles import (
    Past,
    beside,
    buyers,
    like,
    named,
    past,
    shape_of,
    sizes,
    when,
)
from pipeline.worlds.chronicle import Chronicle
from pipeline.worlds.chronicle.world import SALE


class State(LongQa):
    """Who owned a property. `complexity` is roughly the number of needed entries; the metadata has the exact one."""

    __slots__ = ()

    subtask = "state"
    version = 7
    drawn_as = "state@5"
    title = "who owned a property on a day, after sales that are set aside and restored"
    complexities: tuple[int, ...] = (1, 5, 20)
    shortest = 8192

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw a history with a day to ask about, and one of a property with a similar name."""
        prop, twin = asked_property(world, index, row_streams, stratum_streams)
        found, dealt = self.past(world, stratum, index, row_streams.of("history"), stratum_streams)
        rng, near = row_streams.of("asked"), row_streams.of("near")
        question = rng.choice(text.OWNED).format(prop=prop, when=when(rng, found.asked))
        other = self.like(world, near, found, stratum.complexity)
        entries = [*found.entries(prop, found.needed), *other.entries(twin)]
        entries += beside(world, near, prop, [*found.buyers, *other.buyers])
        entries += beside(world, near, twin, named(entries))
        entries += rolls(world, row_streams.of("rolls"), buyers(entries))
        key = self.keyed(found, row_streams, stratum_streams, stratum, index)
        return Drawn(question, key, entries, (prop, twin), {"property": prop, "twin": twin, **dealt, **found.shown})

    def past(
        self, world: Chronicle, stratum: Stratum, index: int, rng: Random, stratum_streams: Streams
    ) -> tuple[Past, Mapping[str, object]]:
        """Draw a history of a dealt shape, and return it with what was dealt: the shape's index."""
        some = sizes(stratum.complexity)
        shape = shape_of(stratum_streams, stratum.rows, index, some)
        return past(world, rng, some, some.shapes[shape]), {"shape": shape}

    def like(self, world: Chronicle, rng: Random, found: Past, complexity: int) -> Past:
        """Draw the history of the twin, with as many steps as another."""
        return like(world, rng, found, sizes(complexity), found.buyers)

    def keyed(self, found: Past, row_streams: Streams, stratum_streams: Streams, stratum: Stratum, index: int) -> Key:
        """Return the key: the owner's name."""
        return Key(found.owner, (found.owner,))

    def answers(self, text: str) -> tuple[str, ...]:
        """Read the property's history, and return its owner."""
        return (annals_solver.owned(text),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that relevant entries are needed, that no others are, and that the twin is mentioned as often."""
        return solver.state_faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of any buyer, and of the first, the last, and the last before the day.

        ``last_step`` reads only the last step before the day, as if all earlier sales were valid, and ``no_restoring``
        ignores that sales are restored.
        """
        steps, owner = steps_of(sample), key.answers[-1]
        before = steps[: sample.latent["needed"][1]]
        buyers = sold(steps)
        return {
            "uniform": 1 / len(buyers),
            "first_buyer": float(buyers[0] == owner),
            "last_buyer": float(buyers[-1] == owner),
            "last_before": float(sold(before)[-1] == owner),
            "last_step": float(by_last_step(before) == owner),
            "no_restoring": float(without_restoring([kind for kind, _ in before]) == sample.latent["needed"][0]),
        }

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the shape: the number of needed entries, and of sales among them after the owner's."""
        return {"shape": (sample.latent["shape"], len(sizes(sample.stratum.complexity).shapes))}


def steps_of(sample: Sample) -> list[tuple[str, str]]:
    """Return the steps of a row, with the names of buyers."""
    names = iter(sample.latent["buyers"])
    return [(kind, next(names) if kind == SALE else "") for kind in sample.latent["steps"]]
