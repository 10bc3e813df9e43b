"""bio.standard: retrieve one attribute of one person (LongBioBench, sections 3 and 4.1, appendix D, standard setting).

The haystack is other people of the same world. The asked person is drawn like any other, so neither name, length nor
rarity of a value tells the needle from the filler. On purpose unlike the paper: prompts are exact, people are distinct
also at 1M tokens, the six attributes are asked equally often, and demonstrations are off unless `shots` asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams, deal, spread
from pipeline.tasks.base import (
    Digest,
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    Published,
    Sample,
    Turns,
    Unit,
    unit,
)
from pipeline.tasks.bio.reader import read_biographies, read_questions
from pipeline.tasks.bio.text import EXAMPLES, INSTRUCTION, INTRODUCTION, accepted, biography, question
from pipeline.worlds.people import ATTRIBUTES, WORLD, choices_of, people, source_digest

SPARES = 64


def make_people(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Render the biography of every person of a tier."""
    for person in people(streams, spec.tier):
        facts = tuple(f"{attribute}({person.name}) = {person.value(attribute)}" for attribute in ATTRIBUTES)
        yield unit(biography(person), facts=facts)


@dataclass(frozen=True, slots=True)
class Standard:
    """The standard setting. `complexity` is the number of biographies that the answer needs: one."""

    family: str = "bio"
    subtask: str = "standard"
    version: int = 1
    scorer: str = "exact"
    shots: int = 0
    most_shots: int = 9
    max_new_tokens: int = 64
    complexities: tuple[int, ...] = (1,)
    keyed_by_packing: bool = False

    @property
    def knobs(self) -> Mapping[str, tuple[Any, ...] | Digest]:
        """No knobs beside `shots`."""
        return {}

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of plain biographies."""
        tier = stratum.tier
        return (PoolSpec(f"people-standard-{tier}", 1, tier, f"{WORLD}:{source_digest()}", make_people),)

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
        said = (biography(person),)
        return Sample("", stratum, index, latent, said, question(person, attribute), Key(forms[0], forms))

    def layout(self, sample: Sample, row: Streams, cell: Streams) -> Layout:
        """Put the asked person at a stratified depth among the others, and people of demonstrations anywhere."""
        stratum, latent = sample.stratum, sample.latent
        everybody = people(row, stratum.tier)
        depth = spread(cell.of("depth"), stratum.rows, sample.index)
        places = row.of("shown depth")
        placed = [Placed(unit(sample.relevant[0], "relevant"), depth)]
        placed += [Placed(unit(biography(everybody[one]), "demo"), places.random()) for one in latent["shown"]]
        others = Shuffled(row.of("filler"), len(everybody), frozenset({latent["person"], *latent["shown"]}))
        return Layout(
            head=(Piece(INTRODUCTION, "instruction"),),
            placed=tuple(placed),
            filler=Filler(f"people-standard-{stratum.tier}", _Rest(others, SPARES), others.take(SPARES)),
            tail=(Piece(self._tail(sample, row), "question"),),
        )

    def _tail(self, sample: Sample, row: Streams) -> str:
        everybody = people(row, sample.stratum.tier)
        attribute = sample.latent["asked"]
        shown = [everybody[one] for one in sample.latent["shown"]]
        examples = [f"\nQuestion: {question(one, attribute)}\nAnswer: {one.value(attribute)}\n" for one in shown]
        lead = "\n" + EXAMPLES if shown else ""
        return f"{INSTRUCTION}{lead}{''.join(examples)}\nQuestion: {sample.question}\nAnswer:"

    def key(self, sample: Sample, packed: Sequence[Unit]) -> Key:
        """Return the sample's key: it does not depend on what was packed."""
        return sample.key

    def packed_metadata(self, sample: Sample, places: Sequence[int]) -> dict[str, Any]:
        """Return nothing: the sample tells all."""
        return {}

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read the whole table of people and look the answer up.

        Raises:
            ValueError: if the text cannot be read, or the person is not there just once.
        """
        text = turns[-1][1]
        attribute, name, _ = read_questions(text)[-1]
        found = [entry.stated[attribute] for entry in read_biographies(text) if entry.name == name]
        if len(found) != 1:
            raise ValueError(f"{name} has {len(found)} biographies")
        return accepted(found[0], attribute)

    def check(self, row: Published) -> list[str]:
        """Prove that the answer is stated once, by the marked paragraph, in a haystack of distinct people."""
        entries = read_biographies(row.text)
        attribute, name, _ = read_questions(row.text)[-1]
        marked = [needle for needle in row.needles if needle.role == "relevant"]
        own = [entry for entry in entries if entry.name == name]
        faults = []
        if not row.text.endswith(f"\nQuestion: {row.question}\nAnswer:"):
            faults.append(f"the prompt does not end in the question {row.question!r}")
        if [(needle.char_start, needle.char_end) for needle in marked] != [(entry.start, entry.end) for entry in own]:
            faults.append("the needle is not the paragraph of the asked person")
        if [entry.stated[attribute] for entry in own] != [row.key.target]:
            faults.append(f"the prompt states {[entry.stated[attribute] for entry in own]}, the key {row.key.target!r}")
        if len({entry.name for entry in entries}) != len(entries):
            faults.append("two biographies have the same full name")
        first, _, last = name.split(" ")
        if sum(entry.name.startswith(first + " ") and entry.name.endswith(" " + last) for entry in entries) != 1:
            faults.append(f"first and last name of {name} stand twice")
        return faults + self._wrong_examples(row, {entry.name: entry for entry in entries})

    def _wrong_examples(self, row: Published, entries: Mapping[str, Any]) -> list[str]:
        shown = read_questions(row.text)[:-1]
        wrong = [name for attribute, name, reply in shown if entries[name].stated[attribute] != reply]
        return [f"the demonstration about {name} is wrong" for name in wrong]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a uniform guess from the attribute's pool."""
        return {"uniform": 1 / choices_of(sample.latent["asked"])}


class _Rest:
    """An order behind its first `skip` indices, which are spares."""

    def __init__(self, order: Shuffled, skip: int) -> None:
        self._order, self._skip = order, skip

    def take(self, count: int) -> Any:
        """Return the first `count` indices after the spares."""
        return self._order.take(count + self._skip)[self._skip :]


TASKS = (Standard(),)
