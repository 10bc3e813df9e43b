"""cite.listing: all things that have something in common, each with its document (HELMET's ALCE QAMPARI)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from random import Random

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.cite import text
from pipeline.tasks.cite.frame import SHOWN, Cite, Drawn, Example
from pipeline.tasks.cite.own import LISTING
from pipeline.tasks.cite.wordings import lists
from pipeline.tasks.rag.asking import Asked, Place
from pipeline.tasks.rag.near import MENTIONS, near_misses
from pipeline.worlds.gazetteer import Gazetteer, Passage, Thing, forms

IN_EXAMPLES = (2, 3)
"""Things in the list of a demonstration."""


class Listing(Cite):
    """All things with one value of a relation. They are written for the row, and no other document is of one."""

    subtask = "listing"
    title = "all things that have something in common, each with the id of its document"
    complexities = (5, 10)
    shortest = 8192
    own = LISTING
    reply = text.ITEMS

    @property
    def places(self) -> Sequence[Place]:
        """All relations that there are questions for."""
        return tuple(lists())

    def decoys(self, stratum: Stratum) -> int:
        """Return the number of near misses: that of the knob for every five things."""
        return super().decoys(stratum) * stratum.complexity // min(self.complexities)

    def keyed(self, facts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """Return the names of the things in alphabetical order, each with its id."""
        return text.as_items({name: facts[name] for name in sorted(facts, key=text.plain)})

    def drawn(self, world: Gazetteer, own: Streams, stratum: Stratum, place: Place) -> Drawn:
        """Ask for things that are written for the row; each of them is named in another document, too."""
        question, value = _question(world, own.of("question"), place)
        rng, (form, relation) = own.of("golds"), place
        things = list(_sharing(world, rng, place, value, stratum.complexity))
        names = [one.name for one in things]
        decoys = self.decoys(stratum)
        named = set(range(min(len(names), MENTIONS * decoys)))
        golds = [
            world.write(
                rng, one, form, [] if (at + 1) % len(names) in named else [("other", names[(at + 1) % len(names)])]
            )
            for at, one in enumerate(things)
        ]
        asked = Asked(question, "", (), form, relation, f"{form}.{relation}", (), ((relation, value),))
        near = list(near_misses(world, own.of("decoys"), asked, decoys, names))
        facts = {one.name: [at] for at, one in enumerate(things)}
        return Drawn(question, facts, golds, near, out=frozenset(_holders(world, place, value)))

    def example(self, world: Gazetteer, rng: Random, numbers: Iterator[str], known: Sequence[str]) -> Example:
        """Draw a demonstration: two or three things that are not of the world either."""
        place = rng.choice(self.places)
        question, value = _question(world, rng, place)
        things = _sharing(world, rng, place, value, rng.choice(IN_EXAMPLES))
        own = [(world.write(rng, one, place[0]), next(numbers)) for one in things]
        answer = self.keyed({passage.thing.name: [number] for passage, number in own})[0]
        others = self.others(world, rng, known, 2 * SHOWN)
        others = [one for one in others if one[1].facts.get(place[1]) != value][: SHOWN - len(own)]
        return self.example_of(rng, question, own, others, answer)


def _question(world: Gazetteer, rng: Random, place: Place) -> tuple[str, str]:
    """Draw a value of a relation that things of the world have, and a question for all that have it."""
    form, relation = place
    holders = [one for one in world.cast.things[forms()[form].kind] if relation in one.stated[form]]
    value = rng.choice(holders).stated[form][relation]
    return rng.choice(lists()[place]).format(value=value), value


def _sharing(world: Gazetteer, rng: Random, place: Place, value: str, wanted: int) -> Iterator[Thing]:
    """Invent things that have a value."""
    taken = list[str]()
    for _ in range(wanted):
        thing = world.invent(rng, forms()[place[0]].kind, {place[1]: value}, taken)
        taken.append(thing.name)
        yield thing


def _holders(world: Gazetteer, place: Place, value: str) -> Iterator[int]:
    """Yield the passages of the world that state a value."""
    for number in world.holding[value]:
        passage: Passage = world.passages[number]
        if passage.form == place[0] and passage.facts.get(place[1]) == value:
            yield number
