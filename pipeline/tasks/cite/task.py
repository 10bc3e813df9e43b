"""The tasks of `cite`: several facts about one thing, or a list of things, with their documents."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal_in_turn, spread
from pipeline.tasks.base import CorpusKnob, Key, Layout, Piece, Placed, PoolSpec, PublishedRow, Sample, Task
from pipeline.tasks.cite import solve as solver
from pipeline.tasks.cite import text
from pipeline.tasks.documents import haystack
from pipeline.tasks.documents.asking import unlike
from pipeline.worlds.gazetteer import Gazetteer, Passage, forms, fresh, gazetteer, ids
from pipeline.worlds.gazetteer.documents import Writer, plainest, stating_sentence
from pipeline.worlds.gazetteer.questions import Place, Question, clauses, listed, lists

DECOYS = (4, 0, 16)
KNOBS: dict[str, tuple[Any, ...]] = {"decoys": DECOYS, "negatives": haystack.NEGATIVES}
DOCUMENTS_SHOWN = 5
"""Documents in a demonstration."""
FRESH_IDS = 64
"""Ids drawn for a row, more than its own documents ever need."""


@dataclass(frozen=True)
class Drawn:
    """A question and what is written for it.

    `facts` maps each value that is asked for to the indices of the `golds` that state it. `near` are the decoys.
    `anchors` are passages of the world that contain values, and `out` are passages that must stay out of the prompt.
    """

    question: str
    facts: Mapping[str, Sequence[int]]
    golds: Sequence[Passage]
    near: Sequence[Passage]
    anchors: Sequence[int] = ()
    out: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Example:
    """A demonstration: a question, its documents as text, and the answer.

    `numbers` are the world's passages among the documents, and `values` what is asked for.
    """

    question: str
    documents: Sequence[str]
    answer: str
    numbers: frozenset[int]
    values: frozenset[str]


class Cite(Task):
    """A question whose answer must cite documents. `complexity` is the number of facts or things asked for."""

    __slots__ = ()

    family = "cite"
    version = 7
    scorer = "cited"
    max_new_tokens = 300
    shots = 2
    most_shots = 2
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({**KNOBS, "corpus": haystack.FACTS})
    reply: str

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (haystack.numbered_spec(stratum.tier),)

    @property
    @abstractmethod
    def places(self) -> Sequence[Place]:
        """The relations that can be asked for first, or that all things can have in common."""

    @abstractmethod
    def drawn(
        self, world: Gazetteer, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw a question for the place that a row is dealt, and write its documents."""

    @abstractmethod
    def keyed(self, facts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """Return the accepted answers, from the ids of the documents that state each value."""

    @abstractmethod
    def example(self, world: Gazetteer, rng: Random, numbers: Iterator[str], known: Sequence[str]) -> Example:
        """Draw a demonstration; `numbers` are unused ids, and `known` the ids of the world's passages."""

    def decoys(self, stratum: Stratum) -> int:
        """Return the number of decoys, according to the knob ``decoys``."""
        return int(stratum.knob("decoys", DECOYS[0]))

    def place(self, stratum: Stratum, index: int, stratum_streams: Streams) -> tuple[Place, int]:
        """Return the place that a row is dealt, and how often it was dealt before."""
        kind, turn = deal_in_turn(stratum_streams.of("asked"), stratum.rows, index, len(self.places))
        return self.places[kind], turn

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a question about a dealt place."""
        place, _ = self.place(stratum, index, stratum_streams)
        drawn = self.drawn(gazetteer(row_streams, stratum.tier), stratum, index, row_streams, stratum_streams)
        numbers = self._numbers(row_streams, stratum)[: len(drawn.golds)]
        facts = {value: sorted(numbers[one] for one in some) for value, some in drawn.facts.items()}
        answers = self.keyed(facts)
        latent = {
            "kind": forms()[place[0]].kind,
            "place": ".".join(place),
            "depths": [spread(stratum_streams.of("depth", at), stratum.rows, index) for at in range(len(numbers))],
            "golds": numbers,
            "anchors": list(drawn.anchors),
            **self.search_stats(row_streams, stratum, drawn),
        }
        relevant = tuple(text.numbered(one, number) for one, number in zip(drawn.golds, numbers, strict=True))
        ranking = haystack.ranking(row_streams, stratum, drawn.question)
        return Sample("", stratum, index, latent, relevant, drawn.question, Key.accepting(*answers), ranking)

    @staticmethod
    def _numbers(row_streams: Streams, stratum: Stratum) -> list[str]:
        """Return ids for a row's own documents: relevant ones, decoys, and those of demonstrations."""
        return fresh(row_streams.of("ids"), ids(row_streams, stratum.tier), FRESH_IDS)

    def search_stats(self, row_streams: Streams, stratum: Stratum, drawn: Drawn) -> dict[str, Any]:
        """Return whether a search's first hit is relevant, and how many passages score at least a quarter as much."""
        found = haystack.index(row_streams, stratum.tier)
        scores = found.scores(drawn.question)
        scores[sorted(drawn.out)] = -1
        near, needed = (
            [found.score(drawn.question, f"{one.title} {one.text}") for one in some]
            for some in (drawn.near, drawn.golds)
        )
        best = max(*needed, *near, int(scores.max()))
        return {"first_hit": max(needed) == best, "close": int((4 * scores >= best).sum())}

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put relevant documents at their depths, and decoys and anchors at random."""
        stratum, rng = sample.stratum, row_streams.of("scatter")
        world, known = gazetteer(row_streams, stratum.tier), ids(row_streams, stratum.tier)
        drawn = self.drawn(world, stratum, sample.index, row_streams, stratum_streams)
        numbers = iter(self._numbers(row_streams, stratum)[len(sample.relevant) :])
        depths = zip(sample.latent["depths"], sample.relevant, strict=True)
        placed = [Placed.line(line, "relevant", depth) for depth, line in depths]
        placed += [
            Placed.line(text.numbered(one, number), "decoy", rng.random())
            for one, number in zip(drawn.near, numbers, strict=False)
        ]
        placed += [
            Placed.line(text.numbered(world.passages[one], known[one]), "anchor", rng.random()) for one in drawn.anchors
        ]
        shown = list(self.shown(world, row_streams, stratum, drawn, numbers))
        out = drawn.out.union(drawn.anchors, *(one.numbers for one in shown))
        pool = haystack.numbered_spec(stratum.tier).name
        return Layout(
            head=tuple(_head(shown)),
            placed=tuple(placed),
            filler=haystack.filler(row_streams, stratum, sample.ranking, out, shuffled=True, pool=pool),
            tail=(Piece(text.TAIL.format(reply=self.reply, question=sample.question), "question"),),
        )

    def shown(
        self, world: Gazetteer, row_streams: Streams, stratum: Stratum, drawn: Drawn, numbers: Iterator[str]
    ) -> Iterator[Example]:
        """Yield demonstrations: other questions of the same kind, with documents that occur nowhere else."""
        rng, known, gone = row_streams.of("shown"), ids(row_streams, stratum.tier), {*drawn.out, *drawn.anchors}
        for _ in range(self.shots_of(stratum)):
            example = self.example(world, rng, numbers, known)
            while not gone.isdisjoint(example.numbers) or not example.values.isdisjoint(drawn.facts):
                example = self.example(world, rng, numbers, known)
            gone.update(example.numbers)
            yield example

    def example_of(
        self,
        rng: Random,
        question: str,
        own: Sequence[tuple[Passage, str]],
        others: Sequence[tuple[int, Passage, str]],
        answer: str,
        values: Iterable[str],
    ) -> Example:
        """Return a demonstration from its own documents and others of the world, all with ids."""
        documents = [text.numbered(*one) for one in own]
        documents += [text.numbered(passage, number) for _, passage, number in others]
        rng.shuffle(documents)
        return Example(question, documents, answer, frozenset(number for number, _, _ in others), frozenset(values))

    @staticmethod
    def others(world: Gazetteer, rng: Random, known: Sequence[str], count: int) -> list[tuple[int, Passage, str]]:
        """Draw passages of the world, each with its number and id."""
        return [(one, world.passages[one], known[one]) for one in rng.sample(range(len(world.passages)), count)]

    def answers(self, text: str) -> tuple[str, ...]:
        """Read every document, and answer the question with ids."""
        found, question = solver.opened(text)
        return self.keyed({fact.value: sorted(fact.ids) for fact in solver.facts(found, question)})

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that all relevant documents are needed, that no others say the same, and that decoys are decoys."""
        return solver.faults(row, self.decoys(row.stratum), self.keyed)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a guess, and of one fact with its id from the first hit of a search."""
        share = 1 / min(5, sample.stratum.complexity)
        return {"uniform": 0.0, "first_hit": sample.latent["first_hit"] * (share + 2) / 3}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the dealt place."""
        return {"relation": (sample.latent["place"], len(self.places))}


def _head(shown: Sequence[Example]) -> Iterator[Piece]:
    yield Piece(text.INTRODUCTION, "instruction")
    for number, one in enumerate(shown, start=1):
        yield Piece(
            text.EXAMPLE.format(
                number=number, documents="".join(one.documents), question=one.question, answer=one.answer
            ),
            "demo",
        )
    yield Piece(text.START, "instruction")


FACTS_IN_EXAMPLES = 2
"""Facts in a demonstration."""


class Facets(Cite):
    """Several facts about one thing, each stated in one or two documents, to be answered in a sentence each."""

    subtask = "facets"
    title = "several facts about one thing, each with the id of a document that states it"
    complexities = (2, 3, 5)
    shortest = 8192
    reply = text.SENTENCES

    @property
    def places(self) -> Sequence[Place]:
        """All relations with clauses."""
        return tuple(clauses())

    def keyed(self, facts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """Return a value with its ids for each sentence."""
        return text.as_sentences(facts)

    def drawn(
        self, world: Gazetteer, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Ask about a thing that is invented for the row."""
        place, _ = self.place(stratum, index, stratum_streams)
        asked = text.ask(world, row_streams.of("question"), place, stratum.complexity)
        writer = Writer(row_streams.of("texts"), world.cast, settled=True, out=asked.thing.facts.values())
        golds, stated = text.golds(writer, row_streams.of("golds"), asked)
        near = text.near_misses(world, writer, row_streams.of("decoys"), asked, self.decoys(stratum))
        rng, anchors = row_streams.of("anchors"), list[int]()
        for value in asked.values:
            free = [one for one in text.holding(world, value) if one not in anchors]
            anchors += [rng.choice(free)] if free else []
        facts = {value: [at for at, one in enumerate(stated) if one == fact] for fact, value in enumerate(asked.values)}
        return Drawn(asked.question, facts, golds, list(near), anchors)

    def example(self, world: Gazetteer, rng: Random, numbers: Iterator[str], known: Sequence[str]) -> Example:
        """Draw a demonstration: two facts about another invented thing, in the words of its documents."""
        asked = text.ask(world, rng, rng.choice(self.places), FACTS_IN_EXAMPLES)
        writer = Writer(rng, world.cast, settled=True, out=asked.thing.facts.values())
        wordings = [
            plainest(rng, forms()[form], relation, by_name=at == 0) for at, (form, relation) in enumerate(asked.places)
        ]
        golds = [
            writer.write(text.part(rng, asked.thing, form, [relation], asked.places), form, (), {relation: wording})
            for (form, relation), wording in zip(asked.places, wordings, strict=True)
        ]
        own = [(one, next(numbers)) for one in golds]
        sentences = [
            stating_sentence(rng, asked.thing, forms()[form], relation, wording, by_name=at == 0)
            for at, ((form, relation), wording) in enumerate(zip(asked.places, wordings, strict=True))
        ]
        answer = " ".join(
            f"{one.removesuffix('.')} {text.label(number)}." for one, (_, number) in zip(sentences, own, strict=True)
        )
        others = self.others(world, rng, known, DOCUMENTS_SHOWN - len(own))
        return self.example_of(rng, asked.question, own, others, answer, asked.values)


LISTED_IN_EXAMPLES = (2, 3)
"""Numbers of things in a demonstration's list."""


class Listing(Cite):
    """All things with one value of a relation. They are invented for the row, with one document about each."""

    subtask = "listing"
    title = "all things that have something in common, each with the id of its document"
    complexities = (5, 10)
    shortest = 8192
    reply = text.ITEMS

    @property
    def places(self) -> Sequence[Place]:
        """All relations with questions for lists."""
        return tuple(lists())

    def decoys(self, stratum: Stratum) -> int:
        """Return the number of decoys: 0 if the knob says so, else at least two for each thing."""
        wanted = super().decoys(stratum)
        return wanted and max(wanted, 2 * stratum.complexity)

    def keyed(self, facts: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
        """Return the names of the things in alphabetical order, each with its id."""
        return text.as_items({name: facts[name] for name in sorted(facts, key=text.plain)})

    def drawn(
        self, world: Gazetteer, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Ask for things that are invented for the row; other documents name each of them too."""
        place, turn = self.place(stratum, index, stratum_streams)
        asked, _ = unlike(
            stratum,
            self.complexities,
            stratum_streams,
            (".".join(place), turn),
            lambda rng, _: _question(world, rng, place),
            lambda asked: asked.question,
        )
        golds, near = listed(world, row_streams.of("golds"), asked, stratum.complexity, self.decoys(stratum))
        facts = {one.thing.name: [at] for at, one in enumerate(golds)}
        return Drawn(asked.question, facts, golds, near, out=frozenset(_holders(world, asked)))

    def example(self, world: Gazetteer, rng: Random, numbers: Iterator[str], known: Sequence[str]) -> Example:
        """Draw a demonstration: two or three other invented things."""
        asked = _question(world, rng, rng.choice(self.places))
        golds, _ = listed(world, rng, asked, rng.choice(LISTED_IN_EXAMPLES), 0)
        own = [(one, next(numbers)) for one in golds]
        facts = {passage.thing.name: [number] for passage, number in own}
        ((relation, value),) = asked.conditions
        others = self.others(world, rng, known, 2 * DOCUMENTS_SHOWN)
        others = [one for one in others if one[1].facts.get(relation) != value][: DOCUMENTS_SHOWN - len(own)]
        return self.example_of(rng, asked.question, own, others, self.keyed(facts)[0], facts)


def _question(world: Gazetteer, rng: Random, place: Place) -> Question:
    """Draw a value of a relation that a thing of the world has, and a question for all things that have it."""
    form, relation = place
    holders = [one for one in world.cast.things[forms()[form].kind] if relation in one.stated[form]]
    value = rng.choice(holders).stated[form][relation]
    question = rng.choice(lists()[place]).format(value=value)
    return Question(question, "", (), form, relation, f"{form}.{relation}", (), ((relation, value),))


def _holders(world: Gazetteer, asked: Question) -> Iterator[int]:
    """Yield the world's passages that state the value of a list."""
    ((relation, value),) = asked.conditions
    for number in world.holding[value]:
        passage = world.passages[number]
        if passage.form == asked.form and passage.facts.get(relation) == value:
            yield number
