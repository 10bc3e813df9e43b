"""longqa.kin: who was a relative of somebody, two to four steps away, as births, marriages and deaths tell.

Two other families of the same form and partly the same surnames are told beside the one that is asked about.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread
from pipeline.tasks.base import Key, Published, Sample, Turns
from pipeline.tasks.longqa import kinship, proof, text
from pipeline.tasks.longqa.families import FATHER, MOTHER, SPOUSE, Family, family, paths
from pipeline.tasks.longqa.frame import Drawn, LongQa, rolls
from pipeline.worlds.chronicle import Chronicle
from pipeline.worlds.chronicle.population import Names

FAMILIES = 2
"""Other families that are told."""
GRAND = {(FATHER, FATHER): "paternal grandfather", (FATHER, MOTHER): "paternal grandmother",
         (MOTHER, FATHER): "maternal grandfather", (MOTHER, MOTHER): "maternal grandmother",
         (SPOUSE, FATHER): "father-in-law", (SPOUSE, MOTHER): "mother-in-law"}  # fmt: skip
"""Two steps in one word or two."""


class Kin(LongQa):
    """A relative. `complexity` is the number of steps, each told in an entry of its own."""

    __slots__ = ()

    subtask = "kin"
    version = 2
    title = "a relative of somebody, over steps that births, marriages and deaths tell"
    complexities = (2, 3, 4)

    def drawn(self, world: Chronicle, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Drawn:
        """Draw the family that is asked about, with one of its entries at the depth of the row, and two others."""
        every = paths(stratum.complexity)
        path = every[deal(shared.of("path"), stratum.rows, index, len(every))]
        woman = bool(deal(shared.of("sex"), stratum.rows, index, 2))
        depth = spread(shared.of("depth"), stratum.rows, index)
        found = _families(world, own, path, world.day_at(depth), woman=woman)
        mine, others = found[0], found[1:]
        rng = own.of("asked")
        question = rng.choice(text.RELATIVES).format(relative=phrase(rng, path, mine))
        named = {name: one.day for family in found for one in family.told for name in one.about.values()}
        ends = [name for family in found for name in (family.last, *family.others[-1:])]
        told = [*mine.told, *(one for other in others for one in other.told)]
        told += rolls(world, own.of("rolls"), {name: named[name] for name in ends if name in named})
        shown = {
            "asked": "-".join(path),
            "person": mine.first,
            "told": [one.kind for one in mine.told],
        }
        return Drawn(question, Key(mine.last, (mine.last,)), told, (), shown)

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Follow the steps from entry to entry.

        Raises:
            ValueError: if the text cannot be read, or a step is not told.
        """
        return (kinship.relative(turns[-1][1])[0],)

    def check(self, row: Published) -> list[str]:
        """Prove that each step needs its entry, and that no other entry tells it."""
        return list(proof.kin_faults(row))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of who names any end of a family that is told, or any parent told in its entries."""
        return {"uniform": 1 / (2 * (FAMILIES + 1) * sample.stratum.complexity), "any_end": 1 / (2 * (FAMILIES + 1))}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the steps that are asked for."""
        return {"path": (sample.latent["asked"], len(paths(sample.stratum.complexity)))}


def _families(world: Chronicle, own: Streams, path: Sequence[str], day: int, *, woman: bool) -> list[Family]:
    """Draw the asked family, and others whose first people have surnames of it."""
    for turn in count():
        names = Names(own.of("names", turn), set(world.population.names.taken))
        rng = own.of("families", turn)
        try:
            mine = family(rng, names, path, day, "relevant", woman=woman)
            like = [mine.first, mine.last, *mine.others]
            days = [world.day_at(rng.random()) for _ in range(FAMILIES)]
            others = [family(rng, names, path, one, "decoy", like, woman=woman) for one in days]
        except ValueError:  # a day near an end of the annals may leave no room for the others
            continue
        return [mine, *others]
    raise AssertionError


def phrase(rng: Random, path: Sequence[str], of: Family) -> str:
    """Return the relative at the end of a path in words: two steps may be one word, such as mother-in-law."""
    said, at, woman = of.first, 0, of.first_is_woman
    while at < len(path):
        two = tuple(path[at : at + 2])
        if two in GRAND and rng.random() < 0.7:
            word, at = GRAND[two], at + 2
        else:
            word = ("husband" if woman else "wife") if path[at] == SPOUSE else path[at]
            at += 1
        said = f"the {word} of {said}"
    return said
