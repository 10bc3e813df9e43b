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

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Turns, unit
from pipeline.tasks.bio import namesakes, proof
from pipeline.tasks.bio.frame import Biographies, asked_people, dealt, kind_of, scattered, shown_people, tail
from pipeline.tasks.bio.haystack import depths, others
from pipeline.tasks.bio.reader import read_asked
from pipeline.tasks.bio.styles import STYLES, Style
from pipeline.tasks.bio.text import INSTRUCTION, accepted, question
from pipeline.worlds.people import ATTRIBUTES, choices_of, people


@dataclass(frozen=True, slots=True)
class Standard(Biographies):
    """One way of writing the biographies."""

    subtask: str = "standard"
    title: str = "one attribute of one person"
    most_shots: int = 9
    shortest: int = 2048
    scorer = "exact"

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
        (asked,) = asked_people(shared, stratum, index, 1)
        shown = shown_people(own, stratum.tier, [asked], self.shots_of(stratum))
        attribute = dealt(shared, index, ATTRIBUTES, "attribute")
        person = everybody[asked]
        forms = accepted(person.value(attribute), attribute)
        latent = {
            "person": asked,
            "asked": attribute,
            "shown": shown,
            "namesakes": namesakes.drawn(own, [asked], self.namesakes_of(stratum))[0],
        }
        said = (self.style.told(own, stratum.tier, asked),)
        return Sample("", stratum, index, latent, said, question(person, attribute), Key(forms[0], forms))

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the asked person at the wanted depth among the others, and people of demonstrations anywhere."""
        stratum, latent, everybody = sample.stratum, sample.latent, people(own, sample.stratum.tier)
        (depth,) = depths(stratum, sample.index, shared, 1)
        places, asked = own.of("shown depth"), latent["asked"]
        placed = [Placed(unit(sample.relevant[0], "relevant"), depth)]
        placed += [
            Placed(unit(self.style.told(own, stratum.tier, one), "demo"), places.random()) for one in latent["shown"]
        ]
        placed += scattered(own, (self.style.told(own, stratum.tier, one) for one in latent["namesakes"]))
        taken = {latent["person"], *latent["shown"], *namesakes.near([latent["person"]])}
        shown = [everybody[one] for one in latent["shown"]]
        examples = [(question(one, asked), one.value(asked)) for one in shown]
        return Layout(
            head=(Piece(self.style.introduction, "instruction"),),
            placed=tuple(placed),
            filler=others(own, stratum, self.style.pool, len(everybody), taken, ATTRIBUTES.index(asked)),
            tail=(tail(INSTRUCTION, examples, sample.question),),
        )

    def dealt(self, sample: Sample) -> Mapping[str, tuple[int, int]]:
        """Return which attribute is asked."""
        return {"attribute": kind_of(sample.latent["asked"], ATTRIBUTES)}

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read the whole table of people and look the answer up.

        Raises:
            ValueError: if the text cannot be read, or the person is not there just once, or does not state it.
        """
        text = turns[-1][1]
        return proof.looked_up(read_asked(text)[-1], self.style.read(text))

    def check(self, row: Published) -> list[str]:
        """Prove that the answer is stated once, by the marked paragraph, in a haystack of distinct people.

        Raises:
            ValueError: if the prompt cannot be read.
        """
        entries = self.style.read(row.text)
        about = {name: kind for kind, name in read_asked(row.text)[-1].about}
        found = namesakes.faults(row, entries, about, self.namesakes_of(row.stratum))
        return [*proof.faults(row, entries), *proof.stated_faults(row, entries), *found]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess from the attribute's pool."""
        return {"uniform": 1 / choices_of(sample.latent["asked"])}


TASKS = (
    Standard(),
    Standard("paraphrase", "one attribute of one person, the biographies in 14 wordings", 2, 4096),
    Standard("pronoun", "one attribute of one person, the biographies in the first person", 2, 4096),
)
