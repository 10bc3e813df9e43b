"""bio.standard, paraphrase and pronoun: retrieve one attribute of one person (LongBioBench, section 3, appendix D).

The haystack is other people of the same world. The asked person is drawn like any other, so neither name, length nor
rarity of a value tells the needle from the filler. ``paraphrase`` words every sentence in one of many ways, ``pronoun``
speaks in the first person and gives the name in the opening sentence alone. On purpose unlike the paper: prompts are
exact, people are distinct also at 1M tokens, the six attributes are asked equally often, wordings are chosen for each
person and attribute independently, and demonstrations are off unless `shots` asks for them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams, deal
from pipeline.tasks.base import Digest, Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Sampled, Turns, unit
from pipeline.tasks.bio import proof
from pipeline.tasks.bio.haystack import KNOBS, depths, others
from pipeline.tasks.bio.reader import read_questions
from pipeline.tasks.bio.styles import STYLES, Style
from pipeline.tasks.bio.text import EXAMPLES, INSTRUCTION, accepted, question
from pipeline.worlds.people import ATTRIBUTES, choices_of, people


@dataclass(frozen=True, slots=True)
class Standard(Sampled):
    """One way of writing the biographies. `complexity` is the number of biographies that the answer needs: one."""

    subtask: str = "standard"
    most_shots: int = 9
    family: str = "bio"
    version: int = 1
    scorer: str = "exact"
    shots: int = 0
    max_new_tokens: int = 64
    complexities: tuple[int, ...] = (1,)
    keyed_by_packing: bool = False
    paired: bool = False

    @property
    def knobs(self) -> Mapping[str, tuple[Any, ...] | Digest]:
        """Policy of depths, and the share of other people whose biography states the asked attribute."""
        return KNOBS

    @property
    def style(self) -> Style:
        """How the biographies are written."""
        return STYLES[self.subtask]

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of biographies."""
        return (self.style.spec(stratum),)

    def sample(self, stratum: Stratum, index: int, row: Streams, cell: Streams) -> Sample:
        """Draw whom and what is asked: no person twice in a stratum, attributes in equal shares."""
        everybody = people(row, stratum.tier)
        shots = self.shots if stratum.shots is None else stratum.shots
        asked = int(Shuffled(cell.of("asked"), len(everybody)).take(index + 1)[index % len(everybody)])
        attribute = ATTRIBUTES[deal(cell.of("attribute"), stratum.rows, index, len(ATTRIBUTES))]
        shown = Shuffled(row.of("shown"), len(everybody), frozenset({asked})).take(shots).tolist()
        person = everybody[asked]
        forms = accepted(person.value(attribute), attribute)
        latent = {"person": asked, "asked": attribute, "shown": shown}
        said = (self.style.told(row, stratum.tier, asked),)
        return Sample("", stratum, index, latent, said, question(person, attribute), Key(forms[0], forms))

    def layout(self, sample: Sample, row: Streams, cell: Streams) -> Layout:
        """Put the asked person at the wanted depth among the others, and people of demonstrations anywhere."""
        stratum, latent = sample.stratum, sample.latent
        (depth,) = depths(stratum, sample.index, cell, 1)
        places = row.of("shown depth")
        placed = [Placed(unit(sample.relevant[0], "relevant"), depth)]
        placed += [
            Placed(unit(self.style.told(row, stratum.tier, one), "demo"), places.random()) for one in latent["shown"]
        ]
        taken, number = (latent["person"], *latent["shown"]), ATTRIBUTES.index(latent["asked"])
        return Layout(
            head=(Piece(self.style.introduction, "instruction"),),
            placed=tuple(placed),
            filler=others(row, stratum, self.style.pool, len(people(row, stratum.tier)), taken, number),
            tail=(Piece(self._tail(sample, row), "question"),),
        )

    def _tail(self, sample: Sample, row: Streams) -> str:
        everybody = people(row, sample.stratum.tier)
        attribute = sample.latent["asked"]
        shown = [everybody[one] for one in sample.latent["shown"]]
        examples = [f"\nQuestion: {question(one, attribute)}\nAnswer: {one.value(attribute)}\n" for one in shown]
        lead = "\n" + EXAMPLES if shown else ""
        return f"{INSTRUCTION}{lead}{''.join(examples)}\nQuestion: {sample.question}\nAnswer:"

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read the whole table of people and look the answer up.

        Raises:
            ValueError: if the text cannot be read, or the person is not there just once, or does not state it.
        """
        text = turns[-1][1]
        attribute, name, _ = read_questions(text)[-1]
        return accepted(proof.looked_up(self.style.read(text), name, attribute), attribute)

    def check(self, row: Published) -> list[str]:
        """Prove that the answer is stated once, by the marked paragraph, in a haystack of distinct people.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        return list(proof.faults(row, self.style.read(row.text)))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess from the attribute's pool."""
        return {"uniform": 1 / choices_of(sample.latent["asked"])}


TASKS = (Standard(), Standard("paraphrase", most_shots=2), Standard("pronoun", most_shots=2))
