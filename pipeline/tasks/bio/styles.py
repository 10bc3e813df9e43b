"""How biographies are written: in one plain wording, in many, or in the first person (LongBioBench, appendix B)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import PoolSpec, Unit, unit
from pipeline.tasks.bio import text
from pipeline.tasks.bio.haystack import pool_name, units_of
from pipeline.tasks.bio.reader import Entry, read_biographies
from pipeline.tasks.bio.styles_reader import read_styled
from pipeline.worlds import wordings
from pipeline.worlds.people import ATTRIBUTES, WORLD, Person, people, source_digest


@dataclass(frozen=True, slots=True)
class Style:
    """A way of writing biographies: its name, how prompts introduce them, and the reader that takes them apart."""

    name: str
    introduction: str
    read: Callable[[str], tuple[Entry, ...]]

    @property
    def pool(self) -> str:
        """The pool of all biographies of a tier, without its ending."""
        return f"people-{self.name}"

    def spec(self, stratum: Stratum) -> PoolSpec:
        """Return the pool that a stratum draws from."""
        source = f"{WORLD}:{source_digest()}"
        if self.name != PLAIN:
            source += f":{wordings.WORLD}:{wordings.source_digest(self.name)}"
        return PoolSpec(pool_name(stratum, self.pool), 1, stratum.tier, source, make_people)

    def told(self, streams: Streams, tier: str, number: int, without: str = "") -> str:
        """Return the biography of person `number` of a tier, a paragraph; one attribute may be left out."""
        person = people(streams, tier)[number]
        if self.name == PLAIN:
            return text.biography(person, without)
        said = wordings.chosen(streams, tier, self.name, number)
        sentences = (
            sentence.format(name=person.name, value=person.value(kind))
            for kind, sentence in said.items()
            if kind != without
        )
        return " ".join(sentences) + "\n"


PLAIN = "standard"
STYLES = {
    style.name: style
    for style in (
        Style(PLAIN, text.INTRODUCTION, read_biographies),
        Style("paraphrase", text.PARAPHRASED, read_styled("paraphrase")),
        Style("pronoun", text.FIRST_PERSON, read_styled("pronoun")),
    )
}


def make_people(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Render the biography of every person of a tier, in the style that the pool is named after."""
    style = STYLES[spec.name.split("-")[1]]
    numbers = {person: number for number, person in enumerate(people(streams, spec.tier))}

    def render(person: Person, without: str) -> Unit:
        facts = tuple(f"{key}({person.name}) = {person.value(key)}" for key in ATTRIBUTES if key != without)
        return unit(style.told(streams, spec.tier, numbers[person], without), facts=facts)

    return units_of(spec, numbers, ATTRIBUTES, render)
