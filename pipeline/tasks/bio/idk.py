"""bio.idk: answer what is stated, and say so if it is not (LongBioBench, section 3, appendices C and I).

Rows come in pairs: row a (complexity 1) is a question of the standard setting; row b (complexity 0) is the same
without the sentence that answers it, filled up again. To pass, a model must answer a and refuse b. Deliberate
differences from the paper: like half of the asked people, half of the others have a gap too, so that neither a short
biography nor a missing sentence is a tell; and any plain wording of a refusal is accepted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log

import numpy as np

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams, words
from pipeline.tasks.base import Filler, Key, Layout, Placed, PoolSpec, PublishedRow, Sample, Unit, unit
from pipeline.tasks.bio import base
from pipeline.tasks.bio import solve as solver
from pipeline.tasks.bio.base import Biographies, asked_people, dealt_kinds, framed, kind_of, scattered, shown_people
from pipeline.tasks.bio.forms import accepted
from pipeline.tasks.bio.haystack import density, depths, others, pool_name, units_of
from pipeline.tasks.bio.solve import ATTRIBUTES as READER_ATTRIBUTES
from pipeline.tasks.bio.solve import Entry, Question, parse_biographies, parse_question
from pipeline.tasks.bio.text import biography, facts, question
from pipeline.worlds.people import ATTRIBUTES, WORLD, choices_of, people, source_digest

SHARE_WITH_GAP = 0.5
"""Share of people with a gap, equal to the share of rows whose asked person has one."""
BY_CHANCE = 1e9
"""A share counts as wrong if chance would produce it in fewer than one of this many prompts."""
REFUSALS = (
    "Not stated",
    "The biography does not state it",
    "It is not mentioned",
    "Not specified",
    "Unknown",
    "I don't know",
)
"""Accepted wordings of a refusal, first the one that the prompt asks for."""


def answers(asked: Question, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return every accepted answer to a question, or the accepted refusals.

    Raises:
        ValueError: unless the person has exactly one biography.
    """
    ((attribute, name),) = asked.about
    stated = solver.only(entries, name).stated.get(attribute)
    return REFUSALS if stated is None else accepted(stated, attribute)


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    entries, questions = parse_biographies(row.text), parse_question(row.text)
    yield from solver.faults(row, entries, answers)
    ((asked, name),) = questions[-1].about
    gap = set() if row.stratum.complexity else {asked}
    if set(READER_ATTRIBUTES) - solver.only(entries, name).stated.keys() != gap:
        yield f"the biography of {name} does not lack just {sorted(gap)}"
    reserved, apart = {name for each in questions for name in each.names}, set(row.spans("decoy"))
    others = [entry for entry in entries if entry.name not in reserved and (entry.start, entry.end) not in apart]
    yield from _gap_faults(row, asked, others)


def _gap_faults(row: PublishedRow, asked: str, others: Sequence[Entry]) -> Iterator[str]:
    """Check the shares of other people without a gap, and of those who state what is asked."""
    if any(len(entry.stated) < len(READER_ATTRIBUTES) - 1 for entry in others):
        yield "a biography lacks more than one sentence"
    share = density(row.stratum)
    lacking = Counter(name for entry in others for name in READER_ATTRIBUTES if name not in entry.stated)
    full = share * (1 - SHARE_WITH_GAP)
    stating = share * (1 - SHARE_WITH_GAP / len(READER_ATTRIBUTES))
    yield from _off(len(others) - lacking.total(), len(others), full, "are without a gap")
    yield from _off(len(others) - lacking[asked], len(others), stating, "state what is asked")


def _off(found: int, count: int, share: float, what: str) -> Iterator[str]:
    """Check a share of independent draws, with a bound so wide that no seed fails by chance."""
    if count * _divergence(found / max(count, 1), share) > log(BY_CHANCE):
        yield f"{found} of {count} other people {what}: a share of {share:.3f} was promised"


def _divergence(found: float, share: float) -> float:
    """Return the divergence of two shares in nats; `count` times it bounds -log of the chance to find such a share."""
    pairs = ((found, share), (1 - found, 1 - share))
    return sum(mine * log(mine / theirs) if theirs else inf for mine, theirs in pairs if mine)


GAPS = "gaps@1"
INTRODUCTION = """\
Below are short biographies of many people, one paragraph for each person. Every biography is written in the same way, \
but some leave a fact out. No two people have the same full name. Read all of them carefully. At the end you will be \
asked about one person.

Biographies:
"""

INSTRUCTION = """\
This is the end of the biographies. Use them to answer the question below. Reply with the answer alone, worded as in \
the biography, and not as a full sentence. If the biography of that person leaves it out, reply with these two words \
alone: Not stated
"""


@lru_cache(maxsize=4)
def gaps_of(world: Streams, count: int) -> tuple[str, ...]:
    """Return what each of `count` biographies leaves out: half nothing, the rest each attribute equally often."""
    cycle = (*[""] * len(ATTRIBUTES), *ATTRIBUTES)
    dealt = [cycle[place % len(cycle)] for place in range(count)]
    world.of("gaps").shuffle(dealt)
    return tuple(dealt)


def gaps(streams: Streams, tier: str) -> tuple[str, ...]:
    """Return what everybody's biography in a tier leaves out, unless a row wants it otherwise."""
    return gaps_of(streams.world(GAPS, tier), len(people(streams, tier)))


def make_with_gaps(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Render the biography of every person of a tier, half of them with a gap."""
    everybody = people(streams, spec.tier)
    own = gaps(streams, spec.tier)

    def render(number: int, without: str) -> Unit:
        person, gap = everybody[number], without or own[number]
        return unit(biography(person, gap), facts=facts(person, gap))

    return units_of(spec, len(everybody), ATTRIBUTES, render)


@dataclass(frozen=True, slots=True)
class Idk(Biographies):
    """Pairs of questions. `complexity` is the number of sentences that answer: 1 in row a, 0 in row b.

    With density 1, nobody loses the asked sentence because of the question: 11 of 12 people state it.
    """

    subtask = "idk"
    title = "one attribute of one person, in pairs of rows with and without the sentence that states it"
    scorer = "idk_pair"
    complexities = (0, 1)
    paired = True

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        source = f"{WORLD}:{source_digest()}:{GAPS}"
        return (PoolSpec(pool_name(stratum, "people-partial"), 1, stratum.tier, source, make_with_gaps),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a person and an attribute, the same in both rows of a pair."""
        everybody = people(row_streams, stratum.tier)
        (asked,) = asked_people(stratum_streams, stratum, index, 1)
        attribute = dealt_kinds(stratum_streams, index, ATTRIBUTES, "attribute")
        shown = shown_people(row_streams, stratum.tier, [asked], self.shots_of(stratum))
        gap = row_streams.of("shown gap").randrange(2)
        latent = {
            "person": asked,
            "asked": attribute,
            "shown": [[one, (place + gap) % 2 == 0] for place, one in enumerate(shown)],
            "namesakes": base.drawn(row_streams, [asked], self.namesakes_of(stratum))[0],
        }
        person, stated = everybody[asked], stratum.complexity == 1
        line = biography(person, "" if stated else attribute)
        forms = accepted(person.value(attribute), attribute) if stated else REFUSALS
        return Sample("", stratum, index, latent, (line,), question(person, attribute), Key.accepting(*forms))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the asked person at the wanted depth among the others, and people of demonstrations at random."""
        stratum, latent = sample.stratum, sample.latent
        everybody, attribute = people(row_streams, stratum.tier), latent["asked"]
        (depth,) = depths(stratum, sample.index, stratum_streams, 1)
        placed, places, examples = (
            [Placed.line(sample.relevant[0], "relevant", depth)],
            row_streams.of("shown depth"),
            [],
        )
        for one, stated in latent["shown"]:
            line = biography(everybody[one], "" if stated else attribute)
            placed.append(Placed.line(line, "demo", places.random()))
            reply = everybody[one].value(attribute) if stated else REFUSALS[0]
            examples.append((question(everybody[one], attribute), reply))
        placed += scattered(
            row_streams, _biographies_of_namesakes(row_streams, stratum.tier, latent["namesakes"], attribute)
        )
        taken = {latent["person"], *(one for one, _ in latent["shown"]), *base.near([latent["person"]])}
        filler = _filler(row_streams, stratum, len(everybody), taken, ATTRIBUTES.index(attribute))
        return framed(INTRODUCTION, placed, filler, INSTRUCTION, examples, sample.question)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        return {"attribute": kind_of(sample.latent["asked"], ATTRIBUTES)}

    def answers(self, text: str) -> tuple[str, ...]:
        return answers(parse_question(text)[-1], parse_biographies(text))

    def check(self, row: PublishedRow) -> list[str]:
        entries = parse_biographies(row.text)
        about = {name: kind for kind, name in parse_question(row.text)[-1].about}
        alike = base.faults(row, entries, about, self.namesakes_of(row.stratum))
        return [*faults(row), *alike]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a uniform guess and of a constant refusal; no constant reply passes both rows."""
        stated = sample.stratum.complexity == 1
        return {"uniform": stated / choices_of(sample.latent["asked"]), "refusal": float(not stated)}


def _biographies_of_namesakes(row_streams: Streams, tier: str, numbers: Iterable[int], asked: str) -> Iterator[str]:
    """Yield the biographies of namesakes, who have gaps but state what is asked."""
    everybody, own_gaps = people(row_streams, tier), gaps(row_streams, tier)
    for one in numbers:
        yield biography(everybody[one], own_gaps[one] if own_gaps[one] != asked else "")


def _filler(row_streams: Streams, stratum: Stratum, size: int, taken: Iterable[int], asked: int) -> Filler:
    """Return the filler of both rows of a pair; ranks keep everybody whom both take, even spares, in order."""
    plain = others(row_streams, stratum, "people-partial", size, taken, asked)
    ranks = words(row_streams.of("places"), size).astype(np.int64)
    forms = 1 if density(stratum) == 1 else len(ATTRIBUTES) + 1
    return replace(plain, policy="ranked", ranks=np.tile(ranks, forms))


TASKS = (Idk(),)
