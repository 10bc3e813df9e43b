"""Biographies with gaps, and the words of `idk`. All wording is Carrara's own."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from pipeline.streams import Streams
from pipeline.tasks.base import PoolSpec, Unit, unit
from pipeline.tasks.bio.haystack import units_of
from pipeline.tasks.bio.text import biography
from pipeline.worlds.people import ATTRIBUTES, Person, people

GAPS = "gaps@1"
SHORT = 0.5
"""Share of people with a gap: that of rows whose asked person has one."""

REFUSALS = (
    "Not stated",
    "The biography does not state it",
    "It is not mentioned",
    "Not specified",
    "Unknown",
    "I don't know",
)
"""Accepted wordings of a refusal, the one that the prompt asks for first."""

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
    """Return what the biography of each of `count` people leaves out: nothing for half, attributes in equal shares."""
    cycle = (*[""] * len(ATTRIBUTES), *ATTRIBUTES)
    dealt = [cycle[place % len(cycle)] for place in range(count)]
    world.of("gaps").shuffle(dealt)
    return tuple(dealt)


def gaps(streams: Streams, tier: str) -> tuple[str, ...]:
    """Return what the biography of everybody in a tier leaves out, as far as no row wants it otherwise."""
    return gaps_of(streams.world(GAPS, tier), len(people(streams, tier)))


def make_partial(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Render the biography of every person of a tier, half of them with a gap."""
    everybody = people(streams, spec.tier)
    own = dict(zip((person.name for person in everybody), gaps(streams, spec.tier), strict=True))

    def render(person: Person, without: str) -> Unit:
        gap = without or own[person.name]
        facts = tuple(f"{key}({person.name}) = {person.value(key)}" for key in ATTRIBUTES if key != gap)
        return unit(biography(person, gap), facts=facts)

    return units_of(spec, everybody, ATTRIBUTES, render)
