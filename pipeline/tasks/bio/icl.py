"""bio.icl: learn from examples how universities are sorted (LongBioBench, section 4.5).

The prompt is a sequence of examples: the biographies of two people, "Which category of university did X graduate
from?", and one of ten categories, which is a matter of the university's initial. Nobody tells the rule. Last comes a
new pair and the same question, about a university that no example holds and whose initial at least one asked
university has: that example, the anchor, stands at the depth of the stratum; others of that initial may stand anywhere.
On purpose unlike the paper: categories are equally frequent among examples and keys, though two universities in five
begin with U; two mappings per tier; replies hold the category alone, reasoning is left to a recipe's reserve. At 2,048
tokens eight or nine of the categories are seen, from 4,096 on all ten. Who takes the example whose university has most
words in common is right in about two rows of ten, by the many Universities of one place or another.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pipeline.recipe import Stratum
from pipeline.streams import Permutation, Streams
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Turns, unit
from pipeline.tasks.bio import icl_reader
from pipeline.tasks.bio.frame import Biographies, dealt
from pipeline.tasks.bio.haystack import KNOBS, depths
from pipeline.tasks.bio.icl_world import (
    INSTRUCTION,
    INTRODUCTION,
    LABELS,
    SPARES_EACH,
    START,
    WORLDS,
    Example,
    World,
    accepted,
    example,
    pool_name,
    pools,
    question,
    world,
)
from pipeline.tasks.bio.text import biography


@dataclass(frozen=True, slots=True)
class Icl(Biographies):
    """Ten categories by initial. `complexity` is the number of biographies that are asked about: one."""

    subtask = "icl"
    title = "the category of a university, by a rule that only examples show"
    scorer = "label"
    most_shots = 0
    knobs = MappingProxyType({"depth": KNOBS["depth"]})

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pools of examples, one for each mapping."""
        return pools(stratum.tier)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw a case of a category that is dealt, and an example of its initial.

        No person is asked about twice in a stratum.
        """
        number = dealt(shared, index, range(LABELS), "category") + 1
        which = dealt(shared, index, range(WORLDS), "mapping")
        among = world(own, stratum.tier, which)
        keys = among.keys[number]
        nth = index // LABELS % len(keys)  # a category comes once in so many rows
        key = keys[Permutation(shared.of("asked", which, number), len(keys))[nth]]
        anchors = among.alike(key).tolist()
        asked = among.examples[key]
        latent = {
            "asked": "category",
            "world": which,
            "example": key,
            "anchor": anchors[own.of("anchor").randrange(len(anchors))],
            "initial": asked.initial,
        }
        person, forms = asked.people[asked.asked], accepted(number)
        return Sample("", stratum, index, latent, (biography(person),), question(person), Key(forms[0], forms))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the anchor at a stratified depth of the examples, and the case behind them."""
        stratum, latent = sample.stratum, sample.latent
        among, which = _world(sample, own), latent["world"]
        key, anchor = latent["example"], latent["anchor"]
        (depth,) = depths(stratum, sample.index, shared, 1)
        return Layout(
            head=(Piece(INTRODUCTION, "instruction"),),
            placed=(Placed(unit(_text(among.examples[anchor]), "anchor"), depth),),
            filler=among.filler(own, pool_name(stratum.tier, which), key, anchor),
            tail=self._tail(sample, among.examples[key]),
        )

    def _tail(self, sample: Sample, asked: Example) -> tuple[Piece, ...]:
        told = [
            Piece(biography(who), "relevant" if place == asked.asked else "filler")
            for place, who in enumerate(asked.people)
        ]
        ask = Piece(f"Question: {sample.question}\nAnswer:", "question")
        return (Piece(INSTRUCTION + START, "instruction"), *told, ask)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        """Return which category is the answer, and by which mapping."""
        return {"category": (int(sample.key.answers[-1]) - 1, LABELS), "mapping": (sample.latent["world"], WORLDS)}

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Learn the categories of initials from the examples, and apply them.

        Raises:
            ValueError: if the text cannot be read, or the examples do not tell.
        """
        number = icl_reader.solve(turns[-1][1])
        return f"Category {number}", str(number)

    def check(self, row: Published) -> list[str]:
        """Prove that examples agree, are balanced and about distinct people, and leave the asked university out."""
        return list(icl_reader.faults(row, LABELS, SLACK))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess."""
        return {"uniform": 1 / LABELS}


SLACK = SPARES_EACH + 1
"""Categories differ by one round, and by as many spares as close the gap."""


def _world(sample: Sample, own: Streams) -> World:
    return world(own, sample.stratum.tier, sample.latent["world"])


def _text(one: Example) -> str:
    return example(one.people, one.asked, one.label)


TASKS = (Icl(),)
