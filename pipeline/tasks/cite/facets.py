"""cite.facets: several facts of one thing, each from a document of its own (HELMET's ALCE ASQA)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.cite import about, text
from pipeline.tasks.cite.frame import SHOWN, Cite, Drawn, Example
from pipeline.tasks.cite.own import FACETS
from pipeline.tasks.cite.wordings import clauses
from pipeline.tasks.rag.asking import Place
from pipeline.worlds.gazetteer import Gazetteer, forms
from pipeline.worlds.gazetteer.passages import Writer, told

IN_EXAMPLES = 2
"""Facts of a demonstration."""


class Facets(Cite):
    """Some facts of one thing, each in one document or two, to be told in a sentence each."""

    subtask = "facets"
    title = "several facts about one thing, each with the id of a document that states it"
    complexities = (2, 3, 5)
    shortest = 8192
    own = FACETS
    reply = text.SENTENCES

    @property
    def places(self) -> Sequence[Place]:
        """All facts that there are clauses for."""
        return tuple(clauses())

    def keyed(self, facts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """Return a value with its ids for each sentence."""
        return text.as_sentences(facts)

    def drawn(self, world: Gazetteer, own: Streams, stratum: Stratum, place: Place) -> Drawn:
        """Ask for facts of a thing that is written for the row."""
        asked = about.ask(world, own.of("question"), place, stratum.complexity)
        writer = Writer(own.of("texts"), world.cast, settled=True)
        golds, stated = about.golds(writer, own.of("golds"), asked)
        near = about.near_misses(world, writer, own.of("decoys"), asked, self.decoys(stratum))
        rng, anchors = own.of("anchors"), list[int]()
        for value in asked.values:
            free = [one for one in about.holding(world, value) if one not in anchors]
            anchors += [rng.choice(free)] if free else []
        facts = {value: [at for at, one in enumerate(stated) if one == fact] for fact, value in enumerate(asked.values)}
        return Drawn(asked.question, facts, golds, list(near), anchors)

    def example(self, world: Gazetteer, rng: Random, numbers: Iterator[str], known: Sequence[str]) -> Example:
        """Draw a demonstration: two facts of a thing that is not of the world either."""
        asked = about.ask(world, rng, rng.choice(self.places), IN_EXAMPLES)
        writer = Writer(rng, world.cast, settled=True)
        golds = [
            writer.write(about.part(rng, asked.thing, form, [relation], asked.places), form)
            for form, relation in asked.places
        ]
        own = [(one, next(numbers)) for one in golds]
        said = [
            told(rng, asked.thing, forms()[form], relation, by_name=at == 0)
            for at, (form, relation) in enumerate(asked.places)
        ]
        answer = " ".join(
            f"{one.removesuffix('.')} {text.label(number)}." for one, (_, number) in zip(said, own, strict=True)
        )
        return self.example_of(rng, asked.question, own, self.others(world, rng, known, SHOWN - len(own)), answer)
