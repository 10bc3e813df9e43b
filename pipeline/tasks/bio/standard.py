"""bio.standard, paraphrase and pronoun: retrieve one attribute of one person (LongBioBench, section 3, appendix D).

The haystack is other people of the same world. The asked person is drawn like any other, so neither name, length nor
rarity of a value tells the needle from the filler. ``paraphrase`` words every sentence in one of many ways, ``pronoun``
speaks in the first person and gives the name in the opening sentence alone. On purpose unlike the paper: prompts are
exact, people are distinct also at 1M tokens, the six attributes are asked equally often, wordings are chosen for each
person and attribute independently, and demonstrations are off unless `shots` asks for them.
"""

from __future__ import annotations

from dataclasses import dataclass

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams, deal
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Task, Turns, unit
from pipeline.tasks.bio import proof
from pipeline.tasks.bio.haystack import KNOBS, depths, others
from pipeline.tasks.bio.reader import read_questions
from pipeline.tasks.bio.styles import STYLES, Style
from pipeline.tasks.bio.text import EXAMPLES, INSTRUCTION, accepted, question
from pipeline.worlds.people import ATTRIBUTES, choices_of, people


@dataclass(frozen=True, slots=True)
class Standard(Task):
    """One way of writing the biographies. `complexity` is the number of biographies that the answer needs: one."""

    family = "bio"
    subtask: str = "standard"
    title: str = "one attribute of one person"
    most_shots: int = 9
    shortest: int = 2048
    scorer = "exact"
    knobs = KNOBS

    @property
    def style(self) -> Style:
        """How the biographies are written."""
        return STYLES[self.subtask]

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of biographies."""
        return (self.style.spec(stratum),)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw whom and what is asked: no person twice in a stratum, attributes in equal shares."""
        everybody = people(own, stratum.tier)
        shots = self.shots if stratum.shots is None else stratum.shots
        asked = int(Shuffled(shared.of("asked"), len(everybody)).take(index + 1)[index % len(everybody)])
        attribute = ATTRIBUTES[deal(shared.of("attribute"), stratum.rows, index, len(ATTRIBUTES))]
        shown = Shuffled(own.of("shown"), len(everybody), frozenset({asked})).take(shots).tolist()
        person = everybody[asked]
        forms = accepted(person.value(attribute), attribute)
        latent = {"person": asked, "asked": attribute, "shown": shown}
        said = (self.style.told(own, stratum.tier, asked),)
        return Sample("", stratum, index, latent, said, question(person, attribute), Key(forms[0], forms))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the asked person at the wanted depth among the others, and people of demonstrations anywhere."""
        stratum, latent = sample.stratum, sample.latent
        (depth,) = depths(stratum, sample.index, shared, 1)
        places = own.of("shown depth")
        placed = [Placed(unit(sample.relevant[0], "relevant"), depth)]
        placed += [
            Placed(unit(self.style.told(own, stratum.tier, one), "demo"), places.random()) for one in latent["shown"]
        ]
        taken, number = (latent["person"], *latent["shown"]), ATTRIBUTES.index(latent["asked"])
        return Layout(
            head=(Piece(self.style.introduction, "instruction"),),
            placed=tuple(placed),
            filler=others(own, stratum, self.style.pool, len(people(own, stratum.tier)), taken, number),
            tail=(Piece(self._tail(sample, own), "question"),),
        )

    def _tail(self, sample: Sample, own: Streams) -> str:
        everybody = people(own, sample.stratum.tier)
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


TASKS = (
    Standard(),
    Standard("paraphrase", "one attribute of one person, the biographies in 14 wordings", 2, 4096),
    Standard("pronoun", "one attribute of one person, the biographies in the first person", 2, 4096),
)
