"""bio.idk: answer what is stated, and say so where it is not (LongBioBench, section 3, appendices C and I).

Rows come in pairs: form a (complexity 1) is a question of the standard setting; form b (complexity 0) is the same row
without the sentence that answers it, filled up with what closes the gap. Only who answers a and refuses b has passed.
On purpose unlike the paper: half of the other people have a gap too, as half of the asked ones, so that a short
biography or a missing sentence is no tell; refusals count in any plain wording.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams, deal, words
from pipeline.tasks.base import (
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    Published,
    Sample,
    Task,
    Turns,
    unit,
)
from pipeline.tasks.bio import idk_proof
from pipeline.tasks.bio.haystack import KNOBS, density, depths, others, pool_name
from pipeline.tasks.bio.partial import GAPS, INSTRUCTION, INTRODUCTION, REFUSALS, make_partial
from pipeline.tasks.bio.text import EXAMPLES, accepted, biography, question
from pipeline.worlds.people import ATTRIBUTES, WORLD, choices_of, people, source_digest


@dataclass(frozen=True, slots=True)
class Idk(Task):
    """Pairs of questions. `complexity` is the number of sentences that answer: 1 in form a, 0 in form b."""

    family = "bio"
    subtask = "idk"
    title = "pairs of rows, with and without the sentence that answers"
    scorer = "idk_pair"
    most_shots = 2
    complexities = (0, 1)
    paired = True
    knobs = KNOBS

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of biographies, half of them with a gap."""
        source = f"{WORLD}:{source_digest()}:{GAPS}"
        return (PoolSpec(pool_name(stratum, "people-partial"), 1, stratum.tier, source, make_partial),)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw whom and what is asked, the same in both forms of a pair."""
        everybody = people(own, stratum.tier)
        shots = self.shots if stratum.shots is None else stratum.shots
        asked = int(Shuffled(shared.of("asked"), len(everybody)).take(index + 1)[index % len(everybody)])
        attribute = ATTRIBUTES[deal(shared.of("attribute"), stratum.rows, index, len(ATTRIBUTES))]
        shown = Shuffled(own.of("shown"), len(everybody), frozenset({asked})).take(shots).tolist()
        gap = own.of("shown gap").randrange(2)
        latent = {
            "person": asked,
            "asked": attribute,
            "shown": [[one, (place + gap) % 2 == 0] for place, one in enumerate(shown)],
        }
        person, stated = everybody[asked], stratum.complexity == 1
        said = biography(person, "" if stated else attribute)
        forms = accepted(person.value(attribute), attribute) if stated else REFUSALS
        return Sample("", stratum, index, latent, (said,), question(person, attribute), Key(forms[0], forms))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the asked person at a stratified depth among the others, and people of demonstrations anywhere."""
        stratum, latent = sample.stratum, sample.latent
        everybody, attribute = people(own, stratum.tier), latent["asked"]
        (depth,) = depths(stratum, sample.index, shared, 1)
        places = own.of("shown depth")
        placed = [Placed(unit(sample.relevant[0], "relevant"), depth)]
        for one, stated in latent["shown"]:
            said = biography(everybody[one], "" if stated else attribute)
            placed.append(Placed(unit(said, "demo"), places.random()))
        taken = [latent["person"], *(one for one, _ in latent["shown"])]
        return Layout(
            head=(Piece(INTRODUCTION, "instruction"),),
            placed=tuple(placed),
            filler=_filler(own, stratum, len(everybody), taken, ATTRIBUTES.index(attribute)),
            tail=(Piece(self._tail(sample, own), "question"),),
        )

    def _tail(self, sample: Sample, own: Streams) -> str:
        everybody, attribute = people(own, sample.stratum.tier), sample.latent["asked"]
        examples = []
        for one, stated in sample.latent["shown"]:
            reply = everybody[one].value(attribute) if stated else REFUSALS[0]
            examples.append(f"\nQuestion: {question(everybody[one], attribute)}\nAnswer: {reply}\n")
        lead = "\n" + EXAMPLES if examples else ""
        return f"{INSTRUCTION}{lead}{''.join(examples)}\nQuestion: {sample.question}\nAnswer:"

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read the whole table of people and look the answer up, or find that it is not stated.

        Raises:
            ValueError: if the text cannot be read, or the person is not there just once.
        """
        return idk_proof.solve(turns[-1][1])

    def check(self, row: Published) -> list[str]:
        """Prove that the answer is stated once or nowhere, as the form wants it, in a haystack with gaps."""
        return list(idk_proof.faults(row))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess, and of refusing always; no reply scores in both forms of a pair."""
        stated = sample.stratum.complexity == 1
        return {"uniform": stated / choices_of(sample.latent["asked"]), "refusal": float(not stated)}


def _filler(own: Streams, stratum: Stratum, size: int, taken: Sequence[int], asked: int) -> Filler:
    """Return the filler of both forms of a pair: ranks keep everybody in place whom both take, spares too."""
    plain = others(own, stratum, "people-partial", size, taken, asked)
    ranks = words(own.of("places"), size).astype(np.int64)
    forms = 1 if density(stratum) == 1 else len(ATTRIBUTES) + 1
    return replace(plain, policy="ranked", ranks=np.tile(ranks, forms))


TASKS = (Idk(),)
