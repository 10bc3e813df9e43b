"""longqa.state and longqa.choice: who owned a property on a day.

The owner is the buyer in the last sale that was still valid. Sales are set aside and restored, so that 1, about 5 or
about 20 entries are all needed. Another property that shares a word of the name has its own history of as many entries.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import count
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal
from pipeline.tasks.annals import solve as reading
from pipeline.tasks.annals.haystack import asked_property
from pipeline.tasks.base import Key, Published, Sample, Turns
from pipeline.tasks.longqa import solve as proof
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import Drawn, LongQa, rolls
from pipeline.tasks.longqa.steps import by_last_step, by_next_steps, sold, without_restoring
from pipeline.tasks.longqa.titles import (
    Past,
    beside,
    buyers,
    like,
    named,
    of_shape,
    on_days,
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
    version = 5
    title = "who owned a property on a day, after sales that are set aside and restored"
    complexities: tuple[int, ...] = (1, 5, 20)
    shortest = 8192

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw a history with a day to ask about, and one of a property with a similar name."""
        prop, twin = asked_property(world, index, row_streams, stratum_streams)
        found, shape = self.past(world, stratum, index, row_streams.of("history"), stratum_streams)
        rng, near = row_streams.of("asked"), row_streams.of("near")
        question = rng.choice(text.OWNED).format(prop=prop, when=when(rng, found.asked))
        other = like(world, near, found, sizes(stratum.complexity), found.buyers)
        entries = [*found.entries(prop, found.needed), *other.entries(twin)]
        entries += beside(world, near, prop, [*found.buyers, *other.buyers])
        entries += beside(world, near, twin, named(entries))
        entries += rolls(world, row_streams.of("rolls"), buyers(entries))
        key = self.keyed(found, row_streams, stratum_streams, stratum, index)
        return Drawn(
            question, key, entries, (prop, twin), {"property": prop, "twin": twin, "shape": shape, **found.shown}
        )

    def past(
        self, world: Chronicle, stratum: Stratum, index: int, rng: Random, stratum_streams: Streams
    ) -> tuple[Past, int]:
        """Draw a history of a dealt shape, and return it with the shape's index."""
        some = sizes(stratum.complexity)
        shape = shape_of(stratum_streams, stratum.rows, index, some)
        return past(world, rng, some, some.shapes[shape]), shape

    def keyed(self, found: Past, row_streams: Streams, stratum_streams: Streams, stratum: Stratum, index: int) -> Key:
        """Return the key: the owner's name."""
        return Key(found.owner, (found.owner,))

    def answers(self, text: str) -> tuple[str, ...]:
        """Read the property's history, and return its owner."""
        return (reading.owned(text),)

    def faults(self, row: Published) -> Iterable[str]:
        """Prove that relevant entries are needed, that no others are, and that the twin is mentioned as often."""
        return proof.state_faults(row)

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


OPTIONS = 4
"""The number of options, and so the fewest buyers."""


class Choice(State):
    """The same with four options, all of whom bought the property at some time."""

    __slots__ = ()

    subtask = "choice"
    version = 6
    title = "who owned a property on a day, from four choices"
    scorer = "choice"
    complexities = (5, 20)
    reply = text.LETTER

    def past(
        self, world: Chronicle, stratum: Stratum, index: int, rng: Random, stratum_streams: Streams
    ) -> tuple[Past, int]:
        """Draw a history with enough buyers before and after the owner for the options.

        The number of options who bought later is dealt. If it is 0, nobody bought between the owner and the day; else
        an option did. So the last option to buy before the day is right in a quarter of the rows.
        """
        some, later = sizes(stratum.complexity), self.later(stratum_streams, stratum, index)
        able = [at for at, (_, sales) in enumerate(some.shapes) if sales < 0 or (sales == 0) == (later == 0)]
        for _ in count():
            shape = rng.choice(able)
            steps, needed = of_shape(rng, some, some.shapes[shape])
            before, every = len(sold(steps[: needed.start])), len(sold(steps))
            if OPTIONS - 1 - later <= before and later <= every - 1 - before:
                return on_days(world, rng, steps, needed, some), shape
        raise AssertionError

    def keyed(self, found: Past, row_streams: Streams, stratum_streams: Streams, stratum: Stratum, index: int) -> Key:
        """Return the key: a dealt letter, among four consecutive buyers."""
        rng, letter = row_streams.of("options"), self.letter(stratum_streams, stratum, index)
        place = found.buyers.index(found.owner) + self.later(stratum_streams, stratum, index)
        others = [one for one in found.buyers[place + 1 - OPTIONS : place + 1] if one != found.owner]
        rng.shuffle(others)
        names = (*others[:letter], found.owner, *others[letter:])
        forms = text.accepted(text.LETTERS[letter], found.owner)
        return Key(forms[0], forms, names)

    @staticmethod
    def letter(stratum_streams: Streams, stratum: Stratum, index: int) -> int:
        """Return which letter is right."""
        return deal(stratum_streams.of("letter"), stratum.rows, index, len(text.LETTERS))

    @staticmethod
    def later(stratum_streams: Streams, stratum: Stratum, index: int) -> int:
        """Return the number of options who bought the property later than the owner."""
        return deal(stratum_streams.of("later"), stratum.rows, index, OPTIONS)

    def asking(self, sample: Sample) -> str:
        """Return the question with its options."""
        return sample.question + text.options(sample.key.choices or ())

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Find the owner, and return the letter of that option."""
        return text.accepted(*reading.lettered(turns[-1][1]))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the baselines of the task without options, and of readers of the options.

        These take the last option to buy, at all or before the day, or one that looks best by the next two steps.
        """
        steps, choices, owner = steps_of(sample), key.choices or (), key.answers[-1]
        before = steps[: sample.latent["needed"][1]]
        last = [buyer for buyer in sold(steps) if buyer in choices][-1]
        sales = [at for at, (_, buyer) in enumerate(before) if buyer in choices]
        best = [before[at][1] for at in by_next_steps([kind for kind, _ in before], sales)]
        return {
            **super().baselines(sample, key),
            "uniform": 1 / len(text.LETTERS),
            "last_option": float(last == owner),
            "last_option_before": float(before[sales[-1]][1] == owner),
            "next_steps": (owner in best) / len(best),
        }

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the right letter, and the number of options who bought the property later."""
        bought = [one for one in sample.latent["buyers"] if one in (sample.key.choices or ())]
        return {
            "letter": (sample.key.target, len(text.LETTERS)),
            "options who bought later": (len(bought) - 1 - bought.index(sample.key.answers[-1]), OPTIONS),
        }
