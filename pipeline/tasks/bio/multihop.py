"""bio.multihop: follow references from biography to biography (LongBioBench, sections 3 and 4.3, appendix D).

The asked biography tells the asked attribute by naming another person, whose biography names the next, until the last
one states it: `complexity` biographies in all. By default each person referred to comes later in the text, as in the
paper; the knob `order` mixes that. Other people are linked by the same words, in chains of the same length that never
meet the asked one: a biography of such a decoy chain for every 2,048 tokens of the nominal length, in short texts up to
16 as far as there is room, one chain at least, and every third chain about another attribute than the asked one. The
first of these chains are of namesakes: one of each person of the asked chain. The knob `density` is about all who are
in no chain. On purpose unlike the paper: the decoys, without which the wording alone gave the needles away; all six
attributes are linked, in equal shares; demonstrations answer step by step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Published, Role, Sample, Turns, unit
from pipeline.tasks.bio import hops_proof, namesakes
from pipeline.tasks.bio.chains import ORDERS, OTHER, chain_of, decoy_chains, decoys_of, places_of, scattered, strangers
from pipeline.tasks.bio.frame import Biographies, asked_people, dealt, flat, in_sequence, kind_of, tail
from pipeline.tasks.bio.haystack import depths, others
from pipeline.tasks.bio.hops_text import INSTRUCTION, INTRODUCTION, biographies_of, example
from pipeline.tasks.bio.namesakes import KNOBS
from pipeline.tasks.bio.reader import read_asked
from pipeline.tasks.bio.styles import PLAIN, STYLES
from pipeline.tasks.bio.text import accepted, question
from pipeline.worlds.people import ATTRIBUTES, NAMES, choices_of, people


@dataclass(frozen=True, slots=True)
class Multihop(Biographies):
    """Chains over two or five biographies."""

    subtask = "multihop"
    title = "one attribute of one person, through several biographies that each name the next"
    version = 3
    scorer = "exact"
    shots = 2
    max_new_tokens = 512
    complexities = (2, 5)
    knobs = KNOBS | {"order": ORDERS}
    decoys: bool = True
    """Whether people who are no namesakes are linked too; a haystack of prose has none."""

    def namesakes_of(self, stratum: Stratum) -> int:
        """Return how many namesakes everybody of the asked chain has: they take the place of other decoys."""
        wanted = len(NAMES) * int(stratum.knob("namesakes", namesakes.KNOB[0]))
        people = stratum.complexity * (1 + self.shots_of(stratum))
        room = namesakes.room(stratum, people, self.max_new_tokens) // stratum.complexity
        return min(wanted, max(decoy_chains(stratum), room))

    def chains_of(self, stratum: Stratum) -> int:
        """Return the number of decoy chains."""
        return max(decoy_chains(stratum) if self.decoys else 0, self.namesakes_of(stratum))

    def decoys_of(self, stratum: Stratum) -> int:
        """Return how many biographies of decoys stand in a text."""
        return stratum.complexity * self.chains_of(stratum)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of plain biographies."""
        return (STYLES[PLAIN].spec(stratum),)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw a chain that begins with a person who is asked about in no other row, and those of demonstrations."""
        everybody = people(own, stratum.tier)
        count, shots = stratum.complexity, self.shots_of(stratum)
        (first,) = asked_people(shared, stratum, index, 1)
        attribute = dealt(shared, index, ATTRIBUTES, "attribute")
        drawn = strangers(own.of("chain"), everybody, (1 + shots) * count, {first})
        chain = chain_of(everybody, attribute, drawn, count, first)
        drawn = strangers(own.of("shown"), everybody, shots * count, chain)
        places = places_of(stratum, own.of("order"), dealt(shared, index, range(count), "end"))
        latent = {
            "asked": attribute,
            "chain": chain,
            "places": places,
            "shown": [chain_of(everybody, attribute, drawn, count) for _ in range(shots)],
            "namesakes": namesakes.drawn(own, chain, self.namesakes_of(stratum)),
        }
        said = biographies_of([everybody[one] for one in chain], attribute)
        forms = accepted(everybody[chain[-1]].value(attribute), attribute)
        asking = question(everybody[first], attribute)
        return Sample("", stratum, index, latent, tuple(said[one] for one in places), asking, Key(forms[0], forms))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put one biography of the chain into each section of the text, and those of other chains likewise."""
        stratum, latent = sample.stratum, sample.latent
        everybody, attribute = people(own, stratum.tier), latent["asked"]
        decoys = decoys_of(sample, own, everybody, self.chains_of(stratum))
        spots = list(zip(depths(stratum, sample.index, shared, stratum.complexity), sample.relevant, strict=True))
        found: list[tuple[float, str, Role]] = [(depth, said, "relevant") for depth, said in spots]
        scatter = own.of("scatter")
        for chain in latent["shown"]:
            found += scattered(stratum, scatter, [everybody[one] for one in chain], attribute, ("demo", "filler"))
        for about, chain in decoys:
            found += scattered(stratum, scatter, [everybody[one] for one in chain], about, ("decoy", "decoy"))
        taken = {*latent["chain"], *flat(latent["shown"]), *(one for _, chain in decoys for one in chain)}
        taken |= namesakes.near(latent["chain"])
        examples = [example([everybody[one] for one in chain], attribute) for chain in latent["shown"]]
        return Layout(
            head=(Piece(INTRODUCTION, "instruction"),),
            placed=in_sequence(Placed(unit(said, role), depth) for depth, said, role in found),
            filler=others(own, stratum, STYLES[PLAIN].pool, len(everybody), taken, ATTRIBUTES.index(attribute)),
            tail=(tail(INSTRUCTION, examples, sample.question),),
        )

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        """Return which attribute is asked, and where the chain's last biography stands if they stand in any order."""
        count, places = sample.stratum.complexity, sample.latent["places"]
        mixed = sample.stratum.knob("order", ORDERS[0]) != ORDERS[0]
        end = {"end": (places.index(count - 1), count)} if mixed else {}
        return {"attribute": kind_of(sample.latent["asked"], ATTRIBUTES), **end}

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read the whole table of people and follow the references.

        Raises:
            ValueError: if the text cannot be read, or the references end in no value.
        """
        text = turns[-1][1]
        ((attribute, name),) = read_asked(text)[-1].about
        table = hops_proof.table_in(text)
        return accepted(hops_proof.follow(table, name, attribute)[1], attribute)

    def check(self, row: Published) -> list[str]:
        """Prove the chain, its length, order and marks, that no other meets it, and the decoys' number."""
        return list(hops_proof.faults(row, self.chains_of(row.stratum), self.namesakes_of(row.stratum)))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess, and of the end of any chain about the asked attribute."""
        number = self.chains_of(sample.stratum)
        return {"uniform": 1 / choices_of(sample.latent["asked"]), "any_chain": 1 / (1 + number - number // OTHER)}


TASKS = (Multihop(),)
