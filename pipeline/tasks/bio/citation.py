"""bio.citation: answer from biographies, and cite them by label (LongBioBench, section 3, appendices C and I).

Every biography begins with a label; a reply is right if both values and labels are. The paper numbers the paragraphs of
a prompt and scores only the number. Here, deliberately, labels are opaque and fixed at sampling, so that they are the
same in every profile and reveal no place, and the value is scored too. With the knob `labels` = "running", paragraphs
are numbered as in the paper. A number then depends on how many biographies precede it, so that these keys, and no
others, differ between profiles.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, zip_longest

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, Placed, PoolSpec, PublishedRow, Sample, Unit, unit
from pipeline.tasks.bio import base
from pipeline.tasks.bio import solve as solver
from pipeline.tasks.bio.base import (
    NAMESAKE_KNOBS,
    Biographies,
    asked_people,
    dealt_kinds,
    flat,
    framed,
    kind_of,
    scattered,
    shown_people,
)
from pipeline.tasks.bio.forms import accepted
from pipeline.tasks.bio.haystack import depths, others, pool_name, units_of
from pipeline.tasks.bio.solve import END, START, parse_biographies, parse_question
from pipeline.tasks.bio.text import biography, facts, question
from pipeline.worlds.people import ATTRIBUTES, WORLD, Person, choices_of, people, source_digest

LABELS = ("opaque", "running")
SMALLEST_LABEL, LARGEST_LABEL = 10_000, 99_999
"""Opaque labels have five digits, so that none looks like a place in the text."""
DIGIT_PAIRS = {"32k": 2, "128k": 2, "1m": 3}
"""Pairs of digits in a running number: a prompt of a million tokens has more than 9,999 biographies.

With pairs, all numbers have the same number of tokens in every shipped profile. Without the dots this is true of all
but glm4, where 17,700 of the numbers 00000 to 99999 have one token less.
"""

LEADS = {
    "opaque": (
        "Every paragraph begins with a label of five digits in square brackets, which belongs to that biography alone."
    ),
    "running": (
        "Every paragraph begins with its number in square brackets. Numbers count the paragraphs in the order of the "
        "text, in pairs of digits: the first is {first}, and {last} is followed by {next}."
    ),
}
INTRODUCTION = """\
Below are short biographies of many people, one paragraph for each person. {lead} No two people have the same full \
name. Read all of them carefully. At the end you will be asked what they say, and which biography says it.

Biographies:
"""

NOUNS = {"opaque": "label", "running": "number"}
INSTRUCTIONS = {
    1: """\
This is the end of the biographies. Use them to answer the question below. Reply with the answer alone, worded as in \
the biography, followed by the {noun} of the biography that states it, in square brackets, in this form: answer [{noun}]
""",
    2: """\
This is the end of the biographies. Use them to answer both questions below. Reply with the two answers alone, in the \
order of the questions, worded as in the biographies, each followed by the {noun} of the biography that states it, \
in square brackets, in this form: answer [{noun}]; answer [{noun}]
""",
}


@lru_cache(maxsize=4)
def labels_of(world: Streams, size: int) -> tuple[str, ...]:
    """Return a different opaque label for each of `size` people."""
    return tuple(map(str, world.of("labels").sample(range(SMALLEST_LABEL, LARGEST_LABEL + 1), size)))


def running(number: int, tier: str) -> str:
    """Return a running number as written in prompts of a tier; 0 is the mark that a number will replace.

    >>> running(1249, "128k")
    '12.49'
    """
    digits = f"{number:0{2 * DIGIT_PAIRS[tier]}}"
    return ".".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def introduction(labels: str, tier: str) -> str:
    """Return the text before the biographies."""
    return INTRODUCTION.format(
        lead=LEADS[labels].format(first=running(1, tier), last=running(99, tier), next=running(100, tier))
    )


def cited(person: Person, label: str, without: str = "") -> str:
    """Return the paragraph of a person after its label."""
    return f"[{label}] {biography(person, without)}"


def asks(people: Sequence[Person], attribute: str) -> str:
    """Return the questions about one attribute of one or more people, in one line."""
    return " ".join(question(person, attribute) for person in people)


def replies(values: Sequence[str], labels: Sequence[str], attribute: str) -> tuple[str, ...]:
    """Return the accepted replies, first the one worded as in the biographies.

    >>> replies(["Oslo", "Lima"], ["48213", "70554"], "city")
    ('Oslo [48213]; Lima [70554]', 'Oslo, Norway [48213]; Lima, Peru [70554]')
    """
    forms = [accepted(value, attribute) for value in values]
    rows = zip_longest(*forms)
    filled = [[value or forms[place][0] for place, value in enumerate(row)] for row in rows]
    return tuple("; ".join(f"{value} [{label}]" for value, label in zip(row, labels, strict=True)) for row in filled)


@dataclass(frozen=True, slots=True)
class Running:
    """Numbers the biographies of a prompt, and cites some of them.

    `shown` and `asked` are the places, among the placed units, of the people cited in demonstrations and in the key, in
    the order of their marks there.
    """

    tier: str
    shown: tuple[int, ...]
    asked: tuple[int, ...]

    def prompt(self, text: str, places: Sequence[int]) -> str:
        """Return a prompt with numbered biographies, whose demonstrations cite these numbers."""
        start, end = text.index(START) + len(START), text.rindex("\n" + END) + 1
        body = self._filled(text[start:end], count(1))
        return text[:start] + body + self._filled(text[end:], iter(self._numbers(self.shown, places)))

    def key(self, key: Key, places: Sequence[int]) -> Key:
        """Return a key that cites the numbers of the asked people."""
        numbers = self._numbers(self.asked, places)
        answers = tuple(self._filled(answer, iter(numbers)) for answer in key.answers)
        return replace(key, target=answers[0], answers=answers)

    def _numbers(self, cited: Sequence[int], places: Sequence[int]) -> list[int]:
        return [places[one] + 1 for one in cited]

    def _filled(self, text: str, numbers: Iterator[int]) -> str:
        """Return a text with its marks replaced by numbers."""
        first, *rest = text.split(f"[{running(0, self.tier)}]")
        return first + "".join(f"[{running(next(numbers), self.tier)}]{part}" for part in rest)


LABELLED = "labels@1"
TOKENS_PER_ENTRY = 85
"""About the number of tokens in a biography with its label."""
ORDERS = {1: ((0,),), 2: ((0, 1), (1, 0))}
POOLS = {"opaque": "people-cited", "running": "people-numbered"}


def make_cited(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Render the labelled biography of every person of a tier."""
    everybody, kind = people(streams, spec.tier), LABELS[spec.name.startswith(POOLS["running"])]
    labels = _labels(streams, spec.tier, kind)

    def render(number: int, without: str) -> Unit:
        person, label = everybody[number], labels[number]
        stated = (f"label({person.name}) = {label}", *facts(person, without))
        return unit(cited(person, label, without), facts=stated)

    return units_of(spec, len(everybody), ATTRIBUTES, render)


def _labels(streams: Streams, tier: str, kind: str) -> Sequence[str]:
    """Return everybody's label in a tier, or the marks that running numbers will replace."""
    size = len(people(streams, tier))
    return [running(0, tier)] * size if kind == "running" else labels_of(streams.world(LABELLED, tier), size)


def _kind(stratum: Stratum) -> str:
    return str(stratum.knob("labels", LABELS[0]))


@dataclass(frozen=True, slots=True)
class Citation(Biographies):
    """Answers with sources. `complexity` is the number of asked people, one or two, all for the same attribute."""

    subtask = "citation"
    title = "values, with the labels of the biographies that state them"
    scorer = "citation"
    shots = 2
    complexities = (1, 2)
    knobs = NAMESAKE_KNOBS | {"labels": LABELS}

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        tier = stratum.tier
        source = f"{WORLD}:{source_digest()}:{LABELLED}"
        return (PoolSpec(pool_name(stratum, POOLS[_kind(stratum)]), 1, tier, source, make_cited),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw people, nobody twice in a stratum, and deal an attribute and the order of the people in the text."""
        everybody, labels = people(row_streams, stratum.tier), _labels(row_streams, stratum.tier, _kind(stratum))
        count, shots = stratum.complexity, self.shots_of(stratum)
        asked = asked_people(stratum_streams, stratum, index, count)
        attribute = dealt_kinds(stratum_streams, index, ATTRIBUTES, "attribute")
        shown = shown_people(row_streams, stratum.tier, asked, shots * count)
        order = list(dealt_kinds(stratum_streams, index, ORDERS[count], "order"))
        latent = {
            "people": asked,
            "asked": attribute,
            "order": order,
            "shown": [shown[at : at + count] for at in range(0, len(shown), count)],
            "namesakes": flat(base.drawn(row_streams, asked, self.namesakes_of(stratum))),
        }
        who = [everybody[one] for one in asked]
        lines = tuple(cited(everybody[asked[place]], labels[asked[place]]) for place in order)
        answers = replies([one.value(attribute) for one in who], [labels[one] for one in asked], attribute)
        return Sample("", stratum, index, latent, lines, asks(who, attribute), Key.accepting(*answers))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put each asked person into a section of the text, and people of demonstrations at random."""
        stratum, latent = sample.stratum, sample.latent
        size = len(people(row_streams, stratum.tier))
        taken = {*latent["people"], *flat(latent["shown"]), *base.near(latent["people"])}
        units = _placed(sample, row_streams, depths(stratum, sample.index, stratum_streams, stratum.complexity))
        order = sorted(units, key=lambda one: units[one].depth)
        numbering = Running(
            stratum.tier, tuple(map(order.index, flat(latent["shown"]))), tuple(map(order.index, latent["people"]))
        )
        ranked = tuple(replace(units[one], rank=rank) for rank, one in enumerate(order))
        kind, attribute = _kind(stratum), latent["asked"]
        filler = others(row_streams, stratum, POOLS[kind], size, taken, ATTRIBUTES.index(attribute))
        everybody, labels = people(row_streams, stratum.tier), _labels(row_streams, stratum.tier, kind)
        examples = []
        for demo in latent["shown"]:
            who = [everybody[one] for one in demo]
            forms = replies([one.value(attribute) for one in who], [labels[one] for one in demo], attribute)
            examples.append((asks(who, attribute), forms[0]))
        instruction = INSTRUCTIONS[stratum.complexity].format(noun=NOUNS[kind])
        laid = framed(introduction(kind, stratum.tier), ranked, filler, instruction, examples, sample.question)
        return replace(laid, numbering=numbering) if kind == "running" else laid

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        order = kind_of(tuple(sample.latent["order"]), ORDERS[sample.stratum.complexity])
        return {"attribute": kind_of(sample.latent["asked"], ATTRIBUTES), "order": order}

    def answers(self, text: str) -> tuple[str, ...]:
        return solver.looked_up(parse_question(text)[-1], parse_biographies(text))

    def check(self, row: PublishedRow) -> list[str]:
        entries, is_running = parse_biographies(row.text), _kind(row.stratum) == "running"
        found = [*solver.faults(row, entries, count=row.stratum.complexity), *solver.stated_faults(row, entries)]
        if len({kind for kind, _ in parse_question(row.text)[-1].about}) > 1:
            found.append("the questions are about different attributes")
        about = {name: kind for kind, name in parse_question(row.text)[-1].about}
        found += base.faults(row, entries, about, self.namesakes_of(row.stratum))
        return [*found, *solver.label_faults([entry.label for entry in entries], running=is_running)]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of uniform guesses of value and label, and of the values alone."""
        stratum = sample.stratum
        labels = (
            LARGEST_LABEL - SMALLEST_LABEL + 1 if _kind(stratum) == "opaque" else stratum.length // TOKENS_PER_ENTRY
        )
        values = 1 / choices_of(sample.latent["asked"])
        return {"uniform": (values / labels) ** stratum.complexity, "values": values**stratum.complexity}


def _placed(sample: Sample, row_streams: Streams, wanted: Sequence[float]) -> dict[int, Placed]:
    """Return the placed biographies by person; in each demonstration only the first is marked as such."""
    tier, latent, places = sample.stratum.tier, sample.latent, row_streams.of("shown depth")
    everybody, labels = people(row_streams, tier), _labels(row_streams, tier, _kind(sample.stratum))
    who = [latent["people"][place] for place in latent["order"]]
    placed = {
        one: Placed.line(line, "relevant", depth) for one, line, depth in zip(who, sample.relevant, wanted, strict=True)
    }
    for demo in latent["shown"]:
        for number, one in enumerate(demo):
            line = cited(everybody[one], labels[one])
            placed[one] = Placed(unit(line, "filler" if number else "demo"), places.random())
    decoys = scattered(row_streams, (cited(everybody[one], labels[one]) for one in latent["namesakes"]))
    return placed | dict(zip(latent["namesakes"], decoys, strict=True))


TASKS = (Citation(),)
