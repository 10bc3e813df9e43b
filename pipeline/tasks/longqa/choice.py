"""longqa.choice: who owned a property on a day, from four options.

All options bought the property, and no few steps around a sale tell the owner's from the others. Only sales are offered
whose next three steps can also follow the owner's (`LOOKS`), and these are dealt to the owner's sale about as often as
they follow the others. So that sales before the owner's purchase can be restored at once too, any possible steps come
before it: unlike in `state`, a later one of them may be impossible without an earlier one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal
from pipeline.tasks.annals import solve as annals_solver
from pipeline.tasks.base import Key, Sample, Turns
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.state import State, steps_of
from pipeline.tasks.longqa.steps import by_next_steps, open_history, sold
from pipeline.tasks.longqa.titles import MOST_STEPS_AFTER, Past, Sizes, on_days
from pipeline.worlds.chronicle import Chronicle
from pipeline.worlds.chronicle.world import REDO, SALE, UNDO, Step

OPTIONS = 4
"""The number of options."""
LOOKS = {
    (SALE, SALE, SALE): (3, 4, 5),
    (SALE, SALE, UNDO): (4, 4, 5),
    (SALE, UNDO, SALE): (2, 2, 2),
    (SALE, UNDO, UNDO): (3, 3, 0),
    (SALE, UNDO, REDO): (2, 2, 2),
    (UNDO, REDO, SALE): (2, 2, 0),
    (UNDO, REDO, UNDO): (3, 3, 0),
}
"""Steps after the owner's sale, each with how often it is dealt if 0, 1, and more options bought between that sale
and the day. Over all rows each is about as frequent after the owner's sale as after those of other options."""
NEEDED = {5: (*(5,) * 8, *(6,) * 6, *(7,) * 3, *(8,) * 2, 9), 20: tuple(range(17, 24))}
LATER_SALES = {5: (0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4), 20: (-1,)}
"""Numbers of needed steps, and of sales among them after the owner's (-1 for any), to try. If fewer than five were
needed, those after the sale would tell nearly all. Many steps have more room for options, so low numbers are taken less
often than tried. No number of later sales is taken in most rows."""
SIZES = {
    complexity: Sizes(
        tuple((steps, sales) for sales in LATER_SALES[complexity] for steps in needed),
        ahead=(),
        after=range(1, MOST_STEPS_AFTER + 1),
        before=range(3, 10),
    )
    for complexity, needed in NEEDED.items()
}
FEW = 5
"""The complexity with few needed steps."""
NOT_OFFERED = 2
"""The number of steps at the beginning that are no option's sale, as the owner's sale always has more before it."""


class Choice(State):
    """The same with four options, all of whom bought the property at some time."""

    __slots__ = ()

    subtask = "choice"
    version = 8
    drawn_as = "choice@6"
    title = "who owned a property on a day, given four choices"
    scorer = "choice"
    complexities = (5, 20)
    reply = text.LETTER

    def past(
        self, world: Chronicle, stratum: Stratum, index: int, rng: Random, stratum_streams: Streams
    ) -> tuple[Past, Mapping[str, object]]:
        """Draw a history with enough buyers for the options."""
        found = drawn(rng, stratum.complexity, self.later(stratum_streams, stratum, index))
        return on_days(world, rng, *found, SIZES[stratum.complexity]), {}

    def like(self, world: Chronicle, rng: Random, found: Past, complexity: int) -> Past:
        """Draw a history with as many steps before, in and after the needed range."""
        other = open_history(rng, found.needed.start, len(found.needed), -1, len(found.steps) - found.needed.stop)
        assert other
        return on_days(world, rng, *other, SIZES[complexity], found.buyers)

    def keyed(self, found: Past, row_streams: Streams, stratum_streams: Streams, stratum: Stratum, index: int) -> Key:
        """Return the key: a dealt letter."""
        rng, letter = row_streams.of("options"), self.letter(stratum_streams, stratum, index)
        places = others(found.steps, found.needed, self.later(stratum_streams, stratum, index))
        names = [found.steps[at][1] for at in rng.sample(places, len(places))]
        names.insert(letter, found.owner)
        forms = text.accepted(text.LETTERS[letter], found.owner)
        return Key(forms[0], forms, tuple(names))

    @staticmethod
    def letter(stratum_streams: Streams, stratum: Stratum, index: int) -> int:
        """Return which letter is right."""
        return deal(stratum_streams.of("letter"), stratum.rows, index, len(text.LETTERS))

    @staticmethod
    def later(stratum_streams: Streams, stratum: Stratum, index: int) -> tuple[int, int]:
        """Return how many options bought the property between the owner and the day, and after the day.

        Their sum is dealt. About five needed steps have no room for three, so one of three is after the day, and one of
        two in half of the rows: then no place among the options before the day is right in most rows.
        """
        later = deal(stratum_streams.of("later"), stratum.rows, index, OPTIONS)
        if stratum.complexity > FEW:
            return later, 0
        after = stratum_streams.of("after", index).randrange(2) if later == 2 else later // 3
        return later - after, after

    def asking(self, sample: Sample) -> str:
        """Return the question with its options."""
        return sample.question + text.options(sample.key.choices or ())

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Find the owner, and return the letter of that option."""
        return text.accepted(*annals_solver.lettered(turns[-1][1]))

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


def drawn(rng: Random, complexity: int, later: tuple[int, int]) -> tuple[list[Step], range]:
    """Draw a history with enough buyers for the options; for `later` see `others`."""
    some = SIZES[complexity]
    (look,) = rng.choices([*LOOKS], [often[min(later[0], 2)] for often in LOOKS.values()])
    while True:
        found = open_history(rng, rng.choice(some.before), *rng.choice(some.shapes), rng.choice(some.after), look)
        if found and others(*found, later):
            return found


def others(steps: Sequence[Step], needed: range, later: tuple[int, int]) -> list[int]:
    """Return the sales of the other options, `later` of them after the owner's until the day, and after the day.

    They are the nearest to the owner's, so that distances from the day tell less. Those before the day look like the
    owner's. Returns nothing if there are too few.
    """
    kinds = [kind for kind, _ in steps[: needed.stop]]
    alike = [
        at for at in range(NOT_OFFERED, needed.stop) if kinds[at] == SALE and tuple(kinds[at + 1 : at + 4]) in LOOKS
    ]
    groups = (
        ([at for at in reversed(alike) if at < needed.start], OPTIONS - 1 - sum(later)),
        ([at for at in alike if at > needed.start], later[0]),
        ([at for at in range(needed.stop, len(steps)) if steps[at][0] == SALE], later[1]),
    )
    if any(len(sales) < many for sales, many in groups):
        return []
    return [at for sales, many in groups for at in sales[:many]]
