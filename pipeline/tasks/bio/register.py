"""bio.standard in several languages: one field of one employee of a register.

Employees have codes instead of names, which would have to be transliterated. Three decoys have codes that differ from
the asked one in one digit, and two have its digits after other letters.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from random import Random

from pipeline.caches import lru_cache
from pipeline.languages import Language, digest, language
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Filler, Plain, PoolSpec, PublishedRow, Sample
from pipeline.tasks.bio.standard import Standard
from pipeline.tasks.ledgers import OfRegister, shuffled
from pipeline.tasks.lines import Dealer, Drawn, Line, LineTask
from pipeline.tasks.registers import CODE, COLON, FIELDS, JOINT, LABEL, body_faults, one_differs, quoted
from pipeline.tasks.solving import LINES, Lines, ReadError
from pipeline.typed import TIERS
from pipeline.worlds import needles
from pipeline.worlds.ledger import draw_codes, near_codes

WORLD = "employees@1"
TOKENS_PER_ENTRY = 40
"""Tokens of the tier per entry: fewer than an entry takes in any language."""
VALUES = {
    "born": [range(date(1965, 1, 1).toordinal(), date(1975, 1, 1).toordinal())],
    "hired": [range(date(2015, 1, 1).toordinal(), date(2035, 1, 1).toordinal())],
    "graduated": [range(1993, 2015)],
    "room": [range(100, 1000), range(1000, 10_000)],
    "department": [range(100, 1000)],
    "phone": [range(1000, 10_000), range(1_000_000, 10_000_000)],
}
"""What each field may state, in the order in which a language lists them: days, and numbers."""
DAYS = ("born", "hired")
IN_USE = 50
"""The most values of a field in a world: few, so that the same ones are stated of several employees."""
LACKING = 0.5
"""The share of employees who lack a field."""
NEAR, SAME_DIGITS = 3, 2
"""Codes that differ from the asked one in one digit, and that have its digits after other letters."""
AFTER = 3
"""Lines between the entries and the question: the end, how to reply, a blank one."""
PART = f"{FIELDS} [0-9][0-9-]*"
ENTRY = re.compile(f"({LABEL} {CODE}){COLON}({PART}(?:{JOINT}{PART})*)")
"""An entry: its label with its code, and its fields."""


@lru_cache(maxsize=2)
def in_use(world: Streams) -> Mapping[str, Sequence[str]]:
    """Return the values of each field that a world uses."""
    found = dict[str, Sequence[str]]()
    for field, some in VALUES.items():
        drawn = [one for part in some for one in world.of(field).sample(part, min(IN_USE // len(some), len(part)))]
        found[field] = [str(date.fromordinal(one) if field in DAYS else one) for one in drawn]
    return found


def draw_values(streams: Streams, rng: Random, asked: str = "") -> dict[str, str]:
    """Draw an employee's values; `streams` are any below the same seed.

    Every second employee lacks a field, but not the `asked` one: entries of about the same length could hardly fill a
    prompt exactly.
    """
    lacks = rng.choice([each for each in VALUES if each != asked]) if rng.random() < LACKING else ""
    drawn = {field: rng.choice(some) for field, some in in_use(streams.world(WORLD)).items()}
    return {field: value for field, value in drawn.items() if field != lacks}


def line(known: Language, code: str, values: Mapping[str, str]) -> str:
    """Return an entry in a language, with its newline."""
    names = dict(zip(VALUES, known.records.fields, strict=True))
    fields = (f"{names[field]} {value}" for field, value in values.items())
    return known.entry(f"{known.records.person} {code}", known.joint.join(fields))


def make_entries(streams: Streams, spec: PoolSpec) -> Plain:
    """Write a tier's register."""
    known, rng = language(spec.name.split("-")[1]), streams.world(WORLD, spec.tier).of("entries")
    codes = needles.pooled(streams, TIERS[spec.tier] // TOKENS_PER_ENTRY, coded=True)
    return Plain(line(known, code, draw_values(streams, rng)) for code, _ in codes)


class InRegister(OfRegister, LineTask):
    """A field of an employee. The question quotes the entry's label and the field's name as they are in the text."""

    family = "bio"
    title = "one field of one employee of a register"
    scorer = "plain"
    openings = ("people",)
    line = re.compile(f"^{ENTRY.pattern}\n", re.MULTILINE)
    states_alone = False

    def __init__(self, text: str, asked: str) -> None:
        """Set the languages of the register and of the question."""
        super().__init__(Standard(), text, asked)
        self.introduction = self.text_before() + self._asked.heading(self._asked.heads.register)
        self.tail = self.text_after(self._asked.sentence("reply_one"), "{question}")

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        source = f"{WORLD}:{needles.source_digest()}:{digest(self.languages[0])}"
        return (PoolSpec(f"employees-{self.languages[0]}-{stratum.tier}", 1, stratum.tier, source, make_entries),)

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return the entries of other employees, in random order."""
        size = TIERS[sample.stratum.tier] // TOKENS_PER_ENTRY
        own = needles.places(row_streams, sample.latent["codes"], coded=True)
        out = frozenset(place for place in own if place < size)
        return shuffled(self.pools(sample.stratum)[0].name, size, out, row_streams)

    def draw(self, dealer: Dealer) -> Drawn:
        """Deal a field, and draw an employee with others who resemble them."""
        rng, streams, field = dealer.rng("employees"), dealer.row_streams, dealer.deal("field", [*VALUES])
        (code, *_), *others = draw_codes(streams, rng, 1 + SAME_DIGITS)
        same = [f"{one.partition('-')[0]}-{code.partition('-')[2]}" for one, *_ in others]
        people = {each: draw_values(streams, rng, field) for each in (code, *near_codes(rng, code), *same)}
        lines = [line(self._text, each, known) for each, known in people.items()]
        records = self._text.records
        name = records.fields[[*VALUES].index(field)]
        return Drawn(
            [Line(each, "decoy" if at else "relevant") for at, each in enumerate(lines)],
            self._asked.sentence("asks_field", label=f"{records.person} {code}", field=name),
            (people[code][field],),
            {"uniform": 1 / len(in_use(streams.world(WORLD))[field]), "any_near": 1 / (1 + NEAR)},
            latent={"codes": [*people], "asked": field},
        )

    def answers(self, text: str) -> tuple[str, ...]:
        return (stated(text),)

    def faults(self, row: PublishedRow) -> Iterator[str]:
        yield from super().faults(row)
        lines, (label, _) = Lines(row.text), asked(row.text)
        codes = {at: each[0] for at, each in enumerate(read(lines.texts)) if each}
        yield from body_faults(row, lines, [*codes], [*codes.values()], AFTER)
        near = sum(one_differs(label, each) for each in codes.values())
        if near < NEAR:
            yield f"{near} codes differ from the asked one in one character, but {NEAR} are promised"


@LINES.cached_map
def read(text: str) -> tuple[str, ...]:
    """Return the label with its code, then the name and the value of each field; empty if a line is no entry."""
    found = ENTRY.fullmatch(text)
    fields = re.split(JOINT, found[2]) if found else []
    return (found[1], *(part for field in fields for part in field.rsplit(" ", 1))) if found else ()


def asked(text: str) -> tuple[str, str]:
    """Return the label with its code, and the name of the field, that the last line of a prompt asks about."""
    both = sorted(quoted(text), key=lambda each: not re.search(f" {CODE}$", each))
    if len(both) != 2:
        raise ReadError(f"the question quotes {both}, not one entry and one field")
    return both[0], both[1]


def stated(text: str) -> str:
    """Return the value that is asked for.

    Raises:
        ReadError: if not exactly one entry states it.
    """
    label, field = asked(text)
    found = [each for each in read(Lines(text).texts) if each and each[0] == label]
    if len(found) != 1 or field not in found[0][1::2]:
        raise ReadError(f"{len(found)} entries of {label!r} state {field!r}, expected one")
    return found[0][2::2][found[0][1::2].index(field)]
