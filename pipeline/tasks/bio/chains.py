"""Chains of people for `multihop`: who is in them, and where they stand."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import Role, Sample
from pipeline.tasks.bio.frame import flat
from pipeline.tasks.bio.hops_text import biographies_of
from pipeline.worlds.people import ATTRIBUTES, CLAN, Person

ORDERS = ("later", "mixed")
RATE = 2048
"""One biography of a decoy chain for so many tokens of the nominal length."""
CROWD, CROWD_RATE, TAKEN = 16, 384, 1024
"""So many of them at least where there is room: one for so many tokens, but for those that all else takes."""
OTHER = 3
"""One in so many decoy chains is about another attribute than the asked one."""
APART = {"birthplace": "city", "city": "birthplace"}
"""Attributes that no person of the world has the same: a link must not make them so."""


def decoy_chains(stratum: Stratum) -> int:
    """Return the number of decoy chains among other people, which follows from length and complexity alone."""
    crowd = min(CROWD, (stratum.length - TAKEN) // CROWD_RATE)
    return max(1, max(crowd, stratum.length // RATE) // stratum.complexity)


def strangers(rng: Random, everybody: Sequence[Person], count: int, known: Iterable[int]) -> Iterator[int]:
    """Yield people in random order who are of no clan of those `known`: `count`, and some more who will not go."""
    clans = {one // CLAN for one in known}
    drawn = Shuffled(rng, len(everybody)).take(4 * count + 4 * CLAN).tolist()
    return (one for one in drawn if one // CLAN not in clans)


def chain_of(
    everybody: Sequence[Person], attribute: str, drawn: Iterator[int], count: int, first: int | None = None
) -> list[int]:
    """Draw a chain of people of different clans, all of whom may have the value of the last."""
    chain = [next(drawn) if first is None else first]
    last = next(one for one in drawn if _together(everybody, attribute, one, chain))
    while len(chain) < count - 1:
        chain.append(next(one for one in drawn if _together(everybody, attribute, one, [last], chain)))
    return [*chain, last]


def _together(
    everybody: Sequence[Person], attribute: str, one: int, others: Sequence[int], rest: Sequence[int] = ()
) -> bool:
    """Tell whether a person may be in a chain with others, one of whom, or who alone, may be the last."""
    if one // CLAN in {other // CLAN for other in (*others, *rest)}:
        return False
    if attribute not in APART:
        return True
    pairs = [(everybody[one], everybody[other]) for other in others]
    return all(
        a.value(APART[attribute]) != b.value(attribute) and b.value(APART[attribute]) != a.value(attribute)
        for a, b in pairs
    )


def decoys_of(
    sample: Sample, own: Streams, everybody: Sequence[Person], number: int
) -> list[tuple[str, Sequence[int]]]:
    """Return the decoy chains, each with its attribute: those of namesakes first, and then others."""
    latent, count, asked = sample.latent, sample.stratum.complexity, sample.latent["asked"]
    chains: list[Sequence[int]] = list(zip(*latent["namesakes"], strict=True))
    drawn = strangers(own.of("decoys"), everybody, number * count, latent["chain"])
    shown = set(flat(latent["shown"]))
    drawn = (one for one in drawn if one not in shown)
    rng, rest = own.of("decoy attributes"), [attribute for attribute in ATTRIBUTES if attribute != asked]
    abouts = [rng.choice(rest) if place % OTHER == OTHER - 1 else asked for place in range(number)]
    for place, chain in enumerate(chains):
        if everybody[chain[0]].value(asked) == sample.key.target:
            abouts[place] = asked
    chains += [chain_of(everybody, about, drawn, count) for about in abouts[len(chains) :]]
    return list(zip(abouts, chains, strict=True))


def places_of(stratum: Stratum, rng: Random, end: int) -> list[int]:
    """Return which biography of a chain stands first in the text, which second, ...: in order, or its last at `end`."""
    places = list(range(stratum.complexity))
    if stratum.knob("order", ORDERS[0]) == "mixed":
        *rest, last = places
        places = rng.sample(rest, len(rest))
        places.insert(end, last)
    return places


def scattered(
    stratum: Stratum, rng: Random, chain: Sequence[Person], attribute: str, roles: tuple[Role, Role]
) -> list[tuple[float, str, Role]]:
    """Return the biographies of a chain, one for each section of the text; the first person has a role of its own."""
    said, count = biographies_of(chain, attribute), stratum.complexity
    places = places_of(stratum, rng, rng.randrange(count))
    return [((section + rng.random()) / count, said[one], roles[one > 0]) for section, one in enumerate(places)]
