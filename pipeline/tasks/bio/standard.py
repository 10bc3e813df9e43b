"""bio.standard, paraphrase and pronoun: retrieve one attribute of one person (LongBioBench, section 3, appendix D).

The haystack is other people of the same world. The asked person is drawn like any other, so that no name, length or
rare value tells the needle from the filler. ``paraphrase`` words every sentence in one of many ways; ``pronoun`` is in
the first person and gives the name only in the opening sentence. Deliberate differences from the paper: prompts have
exact lengths, people are distinct even at 1M tokens, the six attributes are asked equally often, wordings are chosen
independently for each person and attribute, and there are no demonstrations unless `shots` asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from math import prod

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, Placed, PoolSpec, PublishedRow, Sample, unit
from pipeline.tasks.bio import base
from pipeline.tasks.bio import solve as solver
from pipeline.tasks.bio.base import (
    NAMESAKE_KNOBS,
    Biographies,
    asked_people,
    dealt_kinds,
    flat,
    framed,
    in_sequence,
    kind_of,
    scattered,
    shown_people,
)
from pipeline.tasks.bio.forms import accepted
from pipeline.tasks.bio.haystack import density, depths, others
from pipeline.tasks.bio.solve import parse_biographies, parse_question
from pipeline.tasks.bio.styles import PLAIN, STYLES, Style
from pipeline.tasks.bio.text import INSTRUCTION, INTRODUCTION_TO_SEVERAL, SEVERAL, question
from pipeline.worlds.people import ATTRIBUTES, choices_of, people


@dataclass(frozen=True, slots=True)
class Standard(Biographies):
    """One way of writing the biographies."""

    subtask: str = "standard"
    title: str = "one attribute of one person"
    most_shots: int = 9
    shortest: int = 2048
    scorer = "exact"

    @property
    def style(self) -> Style:
        """The style of the biographies."""
        return STYLES[self.subtask]

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (self.style.spec(stratum),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a person, nobody twice in a stratum, and deal an attribute."""
        everybody = people(row_streams, stratum.tier)
        (asked,) = asked_people(stratum_streams, stratum, index, 1)
        shown = shown_people(row_streams, stratum.tier, [asked], self.shots_of(stratum))
        attribute = dealt_kinds(stratum_streams, index, ATTRIBUTES, "attribute")
        person = everybody[asked]
        forms = accepted(person.value(attribute), attribute)
        latent = {
            "person": asked,
            "asked": attribute,
            "shown": shown,
            "namesakes": base.drawn(row_streams, [asked], self.namesakes_of(stratum))[0],
        }
        lines = (self.style.biography(row_streams, stratum.tier, asked),)
        return Sample("", stratum, index, latent, lines, question(person, attribute), Key.accepting(*forms))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the asked person at the wanted depth among the others, and people of demonstrations at random."""
        stratum, latent, everybody = sample.stratum, sample.latent, people(row_streams, sample.stratum.tier)
        (depth,) = depths(stratum, sample.index, stratum_streams, 1)
        places, asked = row_streams.of("shown depth"), latent["asked"]
        placed = [Placed.line(sample.relevant[0], "relevant", depth)]
        placed += [
            Placed.line(self.style.biography(row_streams, stratum.tier, one), "demo", places.random())
            for one in latent["shown"]
        ]
        placed += scattered(
            row_streams, (self.style.biography(row_streams, stratum.tier, one) for one in latent["namesakes"])
        )
        taken = {latent["person"], *latent["shown"], *base.near([latent["person"]])}
        shown = [everybody[one] for one in latent["shown"]]
        examples = [(question(one, asked), one.value(asked)) for one in shown]
        filler = others(row_streams, stratum, self.style.pool, len(everybody), taken, ATTRIBUTES.index(asked))
        return framed(self.style.introduction, placed, filler, INSTRUCTION, examples, sample.question)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        return {"attribute": kind_of(sample.latent["asked"], ATTRIBUTES)}

    def answers(self, text: str) -> tuple[str, ...]:
        return solver.looked_up(parse_question(text)[-1], solver.read_in(self.subtask, text))

    def check(self, row: PublishedRow) -> list[str]:
        entries = solver.read_in(self.subtask, row.text)
        about = {name: kind for kind, name in parse_question(row.text)[-1].about}
        found = base.faults(row, entries, about, self.namesakes_of(row.stratum))
        return [*solver.faults(row, entries), *solver.stated_faults(row, entries), *found]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess from the attribute's pool."""
        return {"uniform": 1 / choices_of(sample.latent["asked"])}


TASKS = (
    Standard(),
    Standard("paraphrase", "one attribute of one person, the biographies in 14 wordings", 2, 4096),
    Standard("pronoun", "one attribute of one person, the biographies in the first person", 2, 4096),
)


KINDS = ("mixed", "same")
PART = "; "
"""The separator of the parts of an answer."""
Wanted = Sequence[tuple[int, str]]
"""People by number, each with the asked attribute."""


@dataclass(frozen=True, slots=True)
class Multi(Biographies):
    """Several questions at once. `complexity` is the number of questions, each about another biography."""

    subtask = "multi_standard"
    title = "attributes of several people, in the order asked"
    scorer = "all_in_order"
    max_new_tokens = 384
    complexities = (2, 5, 10)
    knobs = NAMESAKE_KNOBS | {"attributes": KINDS}

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (STYLES[PLAIN].spec(stratum),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw people, nobody twice in a stratum while there are others, and deal an attribute to each."""
        everybody, count, shots = people(row_streams, stratum.tier), stratum.complexity, self.shots_of(stratum)
        asked, attributes = (
            asked_people(stratum_streams, stratum, index, count),
            _attributes(stratum, index, stratum_streams),
        )
        others = shown_people(row_streams, stratum.tier, asked, shots * count)
        shown = [
            list(zip(others[start : start + count], _shuffled(row_streams, start, attributes), strict=True))
            for start in range(0, shots * count, count)
        ]
        pairs = list(zip(asked, attributes, strict=True))
        latent = {
            "people": asked,
            "attributes": attributes,
            "asked": attributes[0] if _same(stratum) else "mixed",
            "shown": [[list(pair) for pair in example] for example in shown],
            "namesakes": flat(base.drawn(row_streams, asked, self.namesakes_of(stratum))),
        }
        lines = tuple(STYLES[PLAIN].biography(row_streams, stratum.tier, one) for one in asked)
        forms = joined([accepted(everybody[one].value(attribute), attribute) for one, attribute in pairs])
        return Sample("", stratum, index, latent, lines, _questions(row_streams, stratum, pairs), Key.accepting(*forms))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the asked people into sections of the text in random order, and people of demonstrations at random."""
        stratum, latent, everybody = sample.stratum, sample.latent, people(row_streams, sample.stratum.tier)
        order = list(sample.relevant)
        row_streams.of("order").shuffle(order)
        wanted = depths(stratum, sample.index, stratum_streams, stratum.complexity)
        placed = [Placed.line(line, "relevant", depth) for line, depth in zip(order, wanted, strict=True)]
        places = row_streams.of("shown depth")
        for example in latent["shown"]:
            for place, (one, _) in enumerate(example):
                line = STYLES[PLAIN].biography(row_streams, stratum.tier, one)
                placed.append(Placed(unit(line, "filler" if place else "demo"), places.random()))
        placed += scattered(
            row_streams, (STYLES[PLAIN].biography(row_streams, stratum.tier, one) for one in latent["namesakes"])
        )
        taken = {*latent["people"], *(one for example in latent["shown"] for one, _ in example)}
        taken |= base.near(latent["people"])
        number = ATTRIBUTES.index(latent["attributes"][0])
        examples = [
            (_questions(row_streams, stratum, shown), PART.join(everybody[one].value(kind) for one, kind in shown))
            for shown in latent["shown"]
        ]
        filler, ranked = (
            others(row_streams, stratum, STYLES[PLAIN].pool, len(everybody), taken, number),
            in_sequence(placed),
        )
        return framed(INTRODUCTION_TO_SEVERAL, ranked, filler, SEVERAL, examples, sample.question, "Questions:\n")

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        asked = sample.latent["attributes"]
        return {f"attribute {place}": kind_of(kind, ATTRIBUTES) for place, kind in enumerate(asked, start=1)}

    def answers(self, text: str) -> tuple[str, ...]:
        return solver.looked_up(parse_question(text)[-1], parse_biographies(text))

    def check(self, row: PublishedRow) -> list[str]:
        entries = parse_biographies(row.text)
        found = solver.faults(row, entries, count=row.stratum.complexity)
        about = {name: kind for kind, name in parse_question(row.text)[-1].about}
        alike = base.faults(row, entries, about, self.namesakes_of(row.stratum))
        return [*found, *solver.stated_faults(row, entries), *alike]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance that uniform guesses from the attributes' pools are all right."""
        return {"uniform": prod(1 / choices_of(attribute) for attribute in sample.latent["attributes"])}


def joined(parts: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """Return answers of several parts: the n-th joins the n-th accepted form of each part, or its first.

    >>> joined([("the Sorbonne", "Sorbonne"), ("chess",)])
    ('the Sorbonne; chess', 'Sorbonne; chess')
    """
    firsts = [forms[0] for forms in parts]
    rows = zip_longest(*parts)
    return tuple(PART.join(form or first for form, first in zip(row, firsts, strict=True)) for row in rows)


def _same(stratum: Stratum) -> bool:
    """Return whether a row asks for the same attribute of all people."""
    return stratum.knob("attributes", KINDS[0]) == "same" or density(stratum) < 1


def _attributes(stratum: Stratum, index: int, stratum_streams: Streams) -> list[str]:
    places = [0 if _same(stratum) else place for place in range(stratum.complexity)]
    return [dealt_kinds(stratum_streams, index, ATTRIBUTES, "attribute", place) for place in places]


def _shuffled(row_streams: Streams, number: int, attributes: Sequence[str]) -> list[str]:
    return row_streams.of("shown attributes", number).sample(attributes, len(attributes))


def _questions(row_streams: Streams, stratum: Stratum, pairs: Wanted) -> str:
    everybody = people(row_streams, stratum.tier)
    return "\n".join(f"{at}. {question(everybody[one], kind)}" for at, (one, kind) in enumerate(pairs, start=1))


MULTI_TASKS = (Multi(),)
