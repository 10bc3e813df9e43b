"""bio.multi_standard: retrieve one attribute each of several people (LongBioBench, section 3, appendix D).

Every question is about another person and, by default, about an attribute of its own draw, so that lists mix kinds of
values; the knob `attributes` asks all people of a row for the same one. The people asked about stand in the text in any
order. On purpose unlike the paper: every attribute is asked equally often at every place of a list, nobody is asked
about twice in a stratum while there are people, and demonstrations are off unless `shots` asks for them. Where
`density` is below 1 a row always asks for one attribute, since a haystack cannot lack several and still be one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Turns, unit
from pipeline.tasks.bio import namesakes, proof
from pipeline.tasks.bio.frame import (
    Biographies,
    asked_people,
    dealt,
    flat,
    in_sequence,
    kind_of,
    scattered,
    shown_people,
    tail,
)
from pipeline.tasks.bio.haystack import density, depths, others
from pipeline.tasks.bio.namesakes import KNOBS
from pipeline.tasks.bio.reader import read_asked, read_biographies
from pipeline.tasks.bio.styles import PLAIN, STYLES
from pipeline.tasks.bio.text import INTRODUCTION_TO_SEVERAL, SEVERAL, accepted, question
from pipeline.worlds.people import ATTRIBUTES, choices_of, people

KINDS = ("mixed", "same")
PART = "; "
"""What stands between the parts of an answer."""
Wanted = Sequence[tuple[int, str]]
"""People by number, and the attribute that is asked of each."""


@dataclass(frozen=True, slots=True)
class Multi(Biographies):
    """Several questions at once. `complexity` is their number, and that of the biographies that answer them."""

    subtask = "multi_standard"
    title = "attributes of several people, in the order asked"
    scorer = "all_in_order"
    max_new_tokens = 384
    complexities = (2, 5, 10)
    knobs = KNOBS | {"attributes": KINDS}

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of plain biographies."""
        return (STYLES[PLAIN].spec(stratum),)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw whom and what is asked: nobody twice in a stratum while there are people, attributes in equal shares."""
        everybody, count, shots = people(own, stratum.tier), stratum.complexity, self.shots_of(stratum)
        asked, attributes = asked_people(shared, stratum, index, count), _attributes(stratum, index, shared)
        told = shown_people(own, stratum.tier, asked, shots * count)
        shown = [
            list(zip(told[start : start + count], _shuffled(own, start, attributes), strict=True))
            for start in range(0, shots * count, count)
        ]
        pairs = list(zip(asked, attributes, strict=True))
        latent = {
            "people": asked,
            "attributes": attributes,
            "asked": attributes[0] if _same(stratum) else "mixed",
            "shown": [[list(pair) for pair in example] for example in shown],
            "namesakes": flat(namesakes.drawn(own, asked, self.namesakes_of(stratum))),
        }
        said = tuple(STYLES[PLAIN].told(own, stratum.tier, one) for one in asked)
        forms = joined([accepted(everybody[one].value(attribute), attribute) for one, attribute in pairs])
        return Sample("", stratum, index, latent, said, _questions(own, stratum, pairs), Key(forms[0], forms))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the people asked about into sections of the text in any order, and people of demonstrations anywhere."""
        stratum, latent, everybody = sample.stratum, sample.latent, people(own, sample.stratum.tier)
        order = list(sample.relevant)
        own.of("order").shuffle(order)
        wanted = depths(stratum, sample.index, shared, stratum.complexity)
        placed = [Placed(unit(said, "relevant"), depth) for said, depth in zip(order, wanted, strict=True)]
        places = own.of("shown depth")
        for example in latent["shown"]:
            for place, (one, _) in enumerate(example):
                said = STYLES[PLAIN].told(own, stratum.tier, one)
                placed.append(Placed(unit(said, "filler" if place else "demo"), places.random()))
        placed += scattered(own, (STYLES[PLAIN].told(own, stratum.tier, one) for one in latent["namesakes"]))
        taken = {*latent["people"], *(one for example in latent["shown"] for one, _ in example)}
        taken |= namesakes.near(latent["people"])
        number = ATTRIBUTES.index(latent["attributes"][0])
        examples = [
            (_questions(own, stratum, shown), PART.join(everybody[one].value(kind) for one, kind in shown))
            for shown in latent["shown"]
        ]
        return Layout(
            head=(Piece(INTRODUCTION_TO_SEVERAL, "instruction"),),
            placed=in_sequence(placed),
            filler=others(own, stratum, STYLES[PLAIN].pool, len(everybody), taken, number),
            tail=(tail(SEVERAL, examples, sample.question, "Questions:\n"),),
        )

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        """Return which attribute is asked at each place of the list."""
        asked = sample.latent["attributes"]
        return {f"attribute {place}": kind_of(kind, ATTRIBUTES) for place, kind in enumerate(asked, start=1)}

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read the whole table of people and look every answer up.

        Raises:
            ValueError: if the text cannot be read, or a person is not there just once, or does not state it.
        """
        text = turns[-1][1]
        return proof.looked_up(read_asked(text)[-1], read_biographies(text))

    def check(self, row: Published) -> list[str]:
        """Prove that each answer is stated once, by a marked paragraph, in a haystack of distinct people.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        entries = read_biographies(row.text)
        found = proof.faults(row, entries, count=row.stratum.complexity)
        about = {name: kind for kind, name in read_asked(row.text)[-1].about}
        alike = namesakes.faults(row, entries, about, self.namesakes_of(row.stratum))
        return [*found, *proof.stated_faults(row, entries), *alike]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance that uniform guesses from the attributes' pools are all right."""
        return {"uniform": prod(1 / choices_of(attribute) for attribute in sample.latent["attributes"])}


def joined(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return answers of several parts, the n-th with the n-th accepted form of each part, or with its first.

    >>> joined([("the Sorbonne", "Sorbonne"), ("chess",)])
    ('the Sorbonne; chess', 'Sorbonne; chess')
    """
    firsts = [forms[0] for forms in parts]
    rows = zip_longest(*parts)
    return tuple(PART.join(form or first for form, first in zip(row, firsts, strict=True)) for row in rows)


def _same(stratum: Stratum) -> bool:
    """Tell whether all people of a row are asked for the same attribute."""
    return stratum.knob("attributes", KINDS[0]) == "same" or density(stratum) < 1


def _attributes(stratum: Stratum, index: int, shared: Streams) -> list[str]:
    places = [0 if _same(stratum) else place for place in range(stratum.complexity)]
    return [dealt(shared, index, ATTRIBUTES, "attribute", place) for place in places]


def _shuffled(own: Streams, number: int, attributes: Sequence[str]) -> list[str]:
    return own.of("shown attributes", number).sample(attributes, len(attributes))


def _questions(own: Streams, stratum: Stratum, pairs: Wanted) -> str:
    everybody = people(own, stratum.tier)
    return "\n".join(f"{at}. {question(everybody[one], kind)}" for at, (one, kind) in enumerate(pairs, start=1))


TASKS = (Multi(),)
