"""Styles of biographies: one plain wording, many wordings, or the first person (LongBioBench, appendix B)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pipeline.caches import cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import PoolSpec, Unit, unit
from pipeline.tasks.bio import text
from pipeline.tasks.bio.haystack import pool_name, units_of
from pipeline.worlds import people as wordings
from pipeline.worlds.people import ATTRIBUTES, WORLD, people, source_digest


@dataclass(frozen=True, slots=True)
class Style:
    """A way of writing biographies: its name, and how prompts introduce them."""

    name: str
    introduction: str

    @property
    def pool(self) -> str:
        """The start of the name of the pools in this style."""
        return f"people-{self.name}"

    def spec(self, stratum: Stratum) -> PoolSpec:
        """Return the pool that a stratum draws from."""
        source = f"{WORLD}:{source_digest()}"
        if self.name != PLAIN:
            source += f":{wordings.WORDING_WORLD}:{wordings.wording_digest(self.name)}"
        return PoolSpec(pool_name(stratum, self.pool), 1, stratum.tier, source, make_people)

    def biography(self, streams: Streams, tier: str, number: int, without: str = "") -> str:
        """Return the biography, a paragraph, of person `number` of a tier; one attribute may be left out."""
        return self.teller(streams, tier)(number, without)

    def teller(self, streams: Streams, tier: str) -> Callable[[int, str], str]:
        """Return a faster `biography` for many people: it takes a number and the attribute left out, or ""."""
        everybody = people(streams, tier)
        if self.name == PLAIN:
            return lambda number, without: text.biography(everybody[number], without)
        chosen = wordings.chooser(streams, tier, self.name)

        def write(number: int, without: str) -> str:
            person, sentences = everybody[number], chosen(number)
            sentences.pop(without, None)
            return " ".join(map(_fillable, sentences, sentences.values())).format(person, name=person.name) + "\n"

        return write


PLAIN = "standard"
STYLES = {
    style.name: style
    for style in (
        Style(PLAIN, text.INTRODUCTION),
        Style("paraphrase", text.PARAPHRASED),
        Style("pronoun", text.FIRST_PERSON),
    )
}


def make_people(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Render the biography of every person of a tier, in the style that the pool is named after."""
    style = STYLES[spec.name.split("-")[1]]
    everybody, biography = people(streams, spec.tier), style.teller(streams, spec.tier)

    def render(number: int, without: str) -> Unit:
        return unit(biography(number, without), facts=text.facts(everybody[number], without))

    return units_of(spec, len(everybody), ATTRIBUTES, render)


_fillable = cache(text.fillable)
"""Cached, as the same sentences recur again and again."""
