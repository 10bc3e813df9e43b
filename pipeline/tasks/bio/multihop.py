"""bio.multihop: follow references from biography to biography (LongBioBench, sections 3 and 4.3, appendix D).

The asked biography tells the asked attribute by naming another person, whose biography names the next, until the last
one states it: `complexity` biographies in all. By default each person referred to comes later in the text, as in the
paper; the knob `order` mixes that. Other people are linked by the same words, in chains of the same length that never
meet the asked one: a biography of such a decoy chain for every 2,048 tokens of the nominal length, in short texts up to
16 as far as there is room, one chain at least, and every third chain about another attribute than the asked one. The
knob `density` is about all who are in no chain. On purpose unlike the paper: the decoys, without which the wording
alone gave the needles away; all six attributes are linked, in equal shares; demonstrations answer step by step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams, deal
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Published, Role, Sample, Turns, unit
from pipeline.tasks.bio import hops_proof
from pipeline.tasks.bio.frame import Biographies, asked_people, flat, in_sequence, tail
from pipeline.tasks.bio.haystack import KNOBS, depths, others
from pipeline.tasks.bio.hops_text import INSTRUCTION, INTRODUCTION, biographies_of, example
from pipeline.tasks.bio.reader import read_asked, read_biographies
from pipeline.tasks.bio.styles import PLAIN, STYLES
from pipeline.tasks.bio.text import accepted, question
from pipeline.worlds.people import ATTRIBUTES, Person, choices_of, people

ORDERS = ("later", "mixed")
RATE = 2048
"""One biography of a decoy chain for so many tokens of the nominal length."""
CROWD, CROWD_RATE, TAKEN = 16, 384, 1024
"""So many of them at least where there is room: one for so many tokens, but for those that all else takes."""
OTHER = 3
"""One in so many decoy chains is about another attribute than the asked one."""
APART = {"birthplace": "city", "city": "birthplace"}
"""Attributes that no person of the world has the same: a link must not make them so."""


@dataclass(frozen=True, slots=True)
class Multihop(Biographies):
    """Chains over two or five biographies."""

    subtask = "multihop"
    title = "a value told over several biographies, each of which names the next"
    version = 2
    scorer = "exact"
    shots = 2
    max_new_tokens = 512
    complexities = (2, 5)
    knobs = KNOBS | {"order": ORDERS}
    decoys: bool = True
    """Whether other people are linked too; a haystack of prose has none."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of plain biographies."""
        return (STYLES[PLAIN].spec(stratum),)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw a chain that begins with a person who is asked about in no other row, and those of demonstrations."""
        everybody = people(own, stratum.tier)
        count, shots = stratum.complexity, self.shots_of(stratum)
        (first,) = asked_people(shared, stratum, index, 1)
        attribute = ATTRIBUTES[deal(shared.of("attribute"), stratum.rows, index, len(ATTRIBUTES))]
        drawn = _others(own.of("chain"), everybody, (1 + shots) * count, frozenset({first}))
        chain = _chain(everybody, attribute, drawn, count, first)
        places = _places(stratum, own.of("order"), deal(shared.of("end"), stratum.rows, index, count))
        latent = {
            "asked": attribute,
            "chain": chain,
            "places": places,
            "shown": [_chain(everybody, attribute, drawn, count) for _ in range(shots)],
        }
        said = biographies_of([everybody[one] for one in chain], attribute)
        forms = accepted(everybody[chain[-1]].value(attribute), attribute)
        asking = question(everybody[first], attribute)
        return Sample("", stratum, index, latent, tuple(said[one] for one in places), asking, Key(forms[0], forms))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put one biography of the chain into each section of the text, and those of other chains likewise."""
        stratum, latent = sample.stratum, sample.latent
        everybody, attribute = people(own, stratum.tier), latent["asked"]
        taken = {*latent["chain"], *flat(latent["shown"])}
        decoys = _decoys(stratum, attribute, everybody, own, frozenset(taken)) if self.decoys else []
        spots = list(zip(depths(stratum, sample.index, shared, stratum.complexity), sample.relevant, strict=True))
        found: list[tuple[float, str, Role]] = [(depth, said, "relevant") for depth, said in spots]
        scatter = own.of("scatter")
        for chain in latent["shown"]:
            found += _scattered(stratum, scatter, [everybody[one] for one in chain], attribute, ("demo", "filler"))
        for about, chain in decoys:
            found += _scattered(stratum, scatter, [everybody[one] for one in chain], about, ("decoy", "decoy"))
        taken.update(one for _, chain in decoys for one in chain)
        examples = [example([everybody[one] for one in chain], attribute) for chain in latent["shown"]]
        return Layout(
            head=(Piece(INTRODUCTION, "instruction"),),
            placed=in_sequence(Placed(unit(said, role), depth) for depth, said, role in found),
            filler=others(own, stratum, STYLES[PLAIN].pool, len(everybody), taken, ATTRIBUTES.index(attribute)),
            tail=(tail(INSTRUCTION, examples, sample.question),),
        )

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read the whole table of people and follow the references.

        Raises:
            ValueError: if the text cannot be read, or the references end in no value.
        """
        text = turns[-1][1]
        ((attribute, name),) = read_asked(text)[-1].about
        table = hops_proof.table_of(read_biographies(text))
        return accepted(hops_proof.follow(table, name, attribute)[1], attribute)

    def check(self, row: Published) -> list[str]:
        """Prove the chain, its length, order and marks, that no other meets it, and the decoys' number."""
        return list(hops_proof.faults(row, decoy_chains(row.stratum) if self.decoys else 0))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess, and of the end of any chain about the asked attribute."""
        number = decoy_chains(sample.stratum) if self.decoys else 0
        return {"uniform": 1 / choices_of(sample.latent["asked"]), "any_chain": 1 / (1 + number - number // OTHER)}


def decoy_chains(stratum: Stratum) -> int:
    """Return the number of decoy chains, which follows from length and complexity alone."""
    crowd = min(CROWD, (stratum.length - TAKEN) // CROWD_RATE)
    return max(1, max(crowd, stratum.length // RATE) // stratum.complexity)


def _others(rng: Random, everybody: Sequence[Person], count: int, taken: frozenset[int]) -> Iterator[int]:
    """Return other people in random order: `count`, and some more for those that do not go together."""
    return iter(Shuffled(rng, len(everybody), taken).take(2 * count + 16).tolist())


def _chain(
    everybody: Sequence[Person], attribute: str, drawn: Iterator[int], count: int, first: int | None = None
) -> list[int]:
    """Draw a chain of people, all of whom may have the value of the last."""

    def together(one: int, last: int) -> bool:
        return attribute not in APART or everybody[one].value(APART[attribute]) != everybody[last].value(attribute)

    last = next(one for one in drawn if first is None or together(first, one))
    chain = [] if first is None else [first]
    while len(chain) < count - 1:
        chain.append(next(one for one in drawn if together(one, last)))
    return [*chain, last]


def _decoys(
    stratum: Stratum, asked: str, everybody: Sequence[Person], own: Streams, taken: frozenset[int]
) -> list[tuple[str, list[int]]]:
    """Draw the decoy chains, each with its attribute."""
    rng, number = own.of("decoy attributes"), decoy_chains(stratum)
    drawn = _others(own.of("decoys"), everybody, number * stratum.complexity, taken)
    rest = [attribute for attribute in ATTRIBUTES if attribute != asked]
    abouts = [rng.choice(rest) if place % OTHER == OTHER - 1 else asked for place in range(number)]
    return [(about, _chain(everybody, about, drawn, stratum.complexity)) for about in abouts]


def _places(stratum: Stratum, rng: Random, end: int) -> list[int]:
    """Return which biography of a chain stands first in the text, which second, ...: in order, or its last at `end`."""
    places = list(range(stratum.complexity))
    if stratum.knob("order", ORDERS[0]) == "mixed":
        *rest, last = places
        places = rng.sample(rest, len(rest))
        places.insert(end, last)
    return places


def _scattered(
    stratum: Stratum, rng: Random, chain: Sequence[Person], attribute: str, roles: tuple[Role, Role]
) -> list[tuple[float, str, Role]]:
    """Return the biographies of a chain, one for each section of the text; the first person has a role of its own."""
    said, count = biographies_of(chain, attribute), stratum.complexity
    places = _places(stratum, rng, rng.randrange(count))
    return [((section + rng.random()) / count, said[one], roles[one > 0]) for section, one in enumerate(places)]


TASKS = (Multihop(),)
