"""The tasks of `rag`: from a question to a prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import count
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams, deal, deal_in_turn, spread
from pipeline.tasks import grid
from pipeline.tasks.base import (
    CorpusKnob,
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    PublishedRow,
    Sample,
    Task,
)
from pipeline.tasks.documents.asking import unlike
from pipeline.tasks.documents.haystack import (
    ANSWERED,
    JUDGED,
    NEGATIVES,
    TITLES,
    filler,
    has_titles,
    index,
    places,
    ranking,
    spec,
)
from pipeline.tasks.documents.text import START, TAIL, accepted, document, plain
from pipeline.tasks.documents.text import example as demonstration
from pipeline.tasks.rag import solve as solver
from pipeline.tasks.rag import text
from pipeline.worlds.gazetteer import Gazetteer, Passage, forms, gazetteer
from pipeline.worlds.gazetteer.questions import Place, Question, ask, listed, near_misses, needed
from pipeline.worlds.gazetteer.questions import places as asking_places

DECOYS, ELSEWHERE = (4, 0, 16), (True, False)
KNOBS: dict[str, tuple[Any, ...]] = {
    "decoys": DECOYS,
    "negatives": NEGATIVES,
    "answer_elsewhere": ELSEWHERE,
    "titles": TITLES,
}
ALTERNATIVES = {2: (4,), 3: (2, 2), 4: (0, 0, 1)}
"""How many documents of a bridge give, of other things, what each step after the first reads, by complexity."""
SHOWN = 3
"""Documents of a demonstration; more if its answer needs more."""


class Rag(Task):
    """A question about retrieved documents. `complexity` is how many of them the answer needs."""

    __slots__ = ()

    family = "rag"
    version = 7
    scorer = "exact"
    shots = 2
    most_shots = 2
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = KNOBS
    reply = text.ONE
    shuffled = True
    """Whether documents come in random order, not in that of the search."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec(stratum),)

    def drawing(
        self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> tuple[Streams, int]:
        """Return the streams from which all but a row's depths is drawn, and the number of its question."""
        return row_streams, index

    def depths(self, stratum: Stratum, index: int, stratum_streams: Streams) -> list[float]:
        """Return the depths of the needed documents, each uniform over the rows."""
        return [spread(stratum_streams.of("depth", place), stratum.rows, index) for place in range(stratum.complexity)]

    def drawn(
        self, stratum: Stratum, number: int, row_streams: Streams, stratum_streams: Streams
    ) -> tuple[Question, int | None]:
        """Draw question `number` of a stratum, and another passage that contains its answer, if one is wanted."""
        world, known = gazetteer(row_streams, stratum.tier), asking_places(self.subtask)
        kind, turn = deal_in_turn(stratum_streams.of("asked"), stratum.rows, number, len(known))
        first = deal(stratum_streams.of("first"), stratum.rows, number, 2)

        def draw(rng: Random, complexity: int, first: int = 0) -> Question:
            while True:
                asked = ask(world, rng, self.subtask, known[kind], complexity, first)
                if asked.answer in (*asked.about, "") or _elsewhere(world, asked):
                    return asked

        _, streams = unlike(
            stratum, self.complexities, stratum_streams, (kind, turn), draw, lambda asked: asked.question
        )
        asked = draw(streams.of("draw"), stratum.complexity, first)
        wanted = stratum.knob("answer_elsewhere", ELSEWHERE[0]) and asked.answer not in (*asked.about, "")
        return asked, row_streams.of("elsewhere").choice(_elsewhere(world, asked)) if wanted else None

    def golds(self, world: Gazetteer, asked: Question, row_streams: Streams, stratum: Stratum) -> list[Passage]:
        """Write the passages that a question needs."""
        return list(needed(world, row_streams.of("golds"), asked))

    def decoys(self, stratum: Stratum) -> int:
        """Return the number of decoys, by the knob ``decoys``."""
        return int(stratum.knob("decoys", DECOYS[0]))

    def keyed(self, asked: Question, golds: Sequence[Passage]) -> Key:
        """Return the key of a question."""
        return Key(plain(asked.answer), self.forms(asked.answer))

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a question, with relations dealt over all that can be asked for."""
        row_streams, number = self.drawing(stratum, index, row_streams, stratum_streams)
        world = gazetteer(row_streams, stratum.tier)
        asked, elsewhere = self.drawn(stratum, number, row_streams, stratum_streams)
        golds = self.golds(world, asked, row_streams, stratum)
        latent = {
            "asked": asked.asks,
            "depths": self.depths(stratum, index, stratum_streams),
            "first": deal(stratum_streams.of("first"), stratum.rows, number, 2),
            "golds": list(asked.golds),
            "elsewhere": elsewhere,
            "shown": list(self.shown(world, row_streams, stratum, asked)),
            **self.search_stats(row_streams, stratum, asked, golds),
        }
        relevant = tuple(document(gold, titled=has_titles(stratum)) for gold in golds)
        ranked = ranking(row_streams, stratum, asked.question)
        return Sample("", stratum, index, latent, relevant, asked.question, self.keyed(asked, golds), ranked)

    def decoy_passages(
        self, row_streams: Streams, stratum: Stratum, asked: Question, golds: Sequence[Passage]
    ) -> list[Passage]:
        """Return the decoys of a row; with the knob ``answer_elsewhere`` off, none of them names the answer."""
        world, wanted = gazetteer(row_streams, stratum.tier), self.decoys(stratum)
        for turn in count():
            decoys = list(near_misses(world, row_streams.of("decoys", turn), asked, wanted))
            free = stratum.knob("answer_elsewhere", ELSEWHERE[0]) or asked.answer in (*asked.about, "")
            if free or not any(_names(one, asked.answer) for one in decoys):
                return decoys
        raise AssertionError

    def alternatives(self, world: Gazetteer, rng: Random, asked: Question, out: Collection[int]) -> list[int]:
        """Return passages of the world, none of them in `out`, that a prompt must have besides decoys: none."""
        return []

    def answering_passages(self, world: Gazetteer, asked: Question) -> set[int]:
        """Return the passages that answer the question, which no other document may be."""
        return {*asked.golds, *asked.sharing}

    def shown(
        self, world: Gazetteer, row_streams: Streams, stratum: Stratum, asked: Question
    ) -> Iterator[dict[str, Any]]:
        """Yield demonstrations: other questions of the same kind, with answers and documents of their own."""
        rng, gone, answer = row_streams.of("shown"), self.answering_passages(world, asked), plain(asked.answer)
        for _ in range(self.shots_of(stratum)):
            example = self.example(world, rng, stratum)
            while not gone.isdisjoint(example["documents"]) or example["answer"] == answer:
                example = self.example(world, rng, stratum)
            gone.update(example["documents"])
            yield example

    def example(self, world: Gazetteer, rng: Random, stratum: Stratum) -> dict[str, Any]:
        """Draw a demonstration."""
        asked = ask(
            world, rng, self.subtask, rng.choice(asking_places(self.subtask)), stratum.complexity, rng.randrange(2)
        )
        return self.with_documents(world, rng, asked.question, asked.answer, asked.golds)

    @staticmethod
    def with_documents(
        world: Gazetteer, rng: Random, question: str, answer: str, golds: Sequence[int], out: Sequence[int] = ()
    ) -> dict[str, Any]:
        """Return a demonstration with documents that answer it, and others."""
        others = [one for one in rng.sample(range(len(world.passages)), 3 * SHOWN) if one not in (*golds, *out)]
        numbers = [*golds, *others[: max(1, SHOWN - len(golds))]]
        rng.shuffle(numbers)
        return {"question": question, "answer": plain(answer), "documents": numbers}

    def search_stats(
        self, row_streams: Streams, stratum: Stratum, asked: Question, golds: Sequence[Passage]
    ) -> dict[str, Any]:
        """Return what a search over the world and the decoys finds.

        That is whether its first hit is a document that the answer needs, how many passages rank before each of these
        (`ranks`), and how many of the world score at least a quarter of the best (`close`).
        """
        search, question = index(row_streams, stratum.tier), asked.question
        scores = search.scores(question)
        scores[sorted(self.answering_passages(gazetteer(row_streams, stratum.tier), asked))] = -1
        decoy_scores = [
            search.score(question, f"{one.title} {one.text}")
            for one in self.decoy_passages(row_streams, stratum, asked, golds)
        ]
        needed = [search.score(question, f"{one.title} {one.text}") for one in golds]
        before = [int((scores >= one).sum()) + sum(other >= one for other in decoy_scores) for one in needed]
        best = max(*needed, *decoy_scores, int(scores.max()))
        return {"first_hit": min(before) == 0, "ranks": before, "close": int((4 * scores >= best).sum())}

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the needed documents at their depths, and decoys anywhere."""
        stratum, latent = sample.stratum, sample.latent
        row_streams, number = self.drawing(stratum, sample.index, row_streams, stratum_streams)
        world, with_title, rng = gazetteer(row_streams, stratum.tier), has_titles(stratum), row_streams.of("scatter")
        asked, elsewhere = self.drawn(stratum, number, row_streams, stratum_streams)
        decoys = self.decoy_passages(row_streams, stratum, asked, self.golds(world, asked, row_streams, stratum))
        placed = [
            Placed.line(document_text, "relevant", depth)
            for depth, document_text in zip(latent["depths"], sample.relevant, strict=True)
        ]
        placed += [Placed.line(document(one, titled=with_title), "decoy", rng.random()) for one in decoys]
        out = self.answering_passages(world, asked)
        if elsewhere is not None:
            out.add(elsewhere)
            placed.append(Placed.line(document(world.passages[elsewhere], titled=with_title), "anchor", rng.random()))
        elif asked.answer and asked.answer not in asked.about:
            out.update(place for place, one in enumerate(world.passages) if _names(one, asked.answer))
        out |= _documents(latent["shown"])
        more = self.alternatives(world, rng, asked, out)
        placed += [
            Placed.line(document(world.passages[one], titled=with_title), "filler", rng.random()) for one in more
        ]
        return Layout(
            head=tuple(_head(world, latent["shown"], titled=with_title)),
            placed=tuple(placed),
            filler=filler(row_streams, stratum, sample.ranking, out.union(more), shuffled=self.shuffled),
            tail=(Piece(TAIL.format(reply=self.reply, question=sample.question), "question"),),
        )

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return how many documents are filler, and how many of these score at least a quarter of the best."""
        if not sample.ranking:
            return {"filler": {"documents": len(units)}}
        close = places(sample.ranking)[: sample.latent["close"]]
        return {"filler": {"documents": len(units), "close": int(np.isin(units, close).sum())}}

    def answers(self, text: str) -> tuple[str, ...]:
        """Read every document into a table, and answer the question from it."""
        return self.forms(solver.solved(text)[0])

    def forms(self, answer: str) -> tuple[str, ...]:
        """Return every accepted form of an answer that the documents give."""
        return accepted(answer)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that each needed document is needed, that there is no other answer, and that decoys are decoys."""
        return solver.faults(row, self.decoys(row.stratum))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of a guess, 0: there is nothing to guess from."""
        return {"uniform": 0.0}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the relation that is asked for."""
        return {"relation": (sample.latent["asked"], len(asking_places(self.subtask)))}


def _elsewhere(world: Gazetteer, asked: Question) -> list[int]:
    """Return the passages of a world that contain the answer to a question but are not needed."""
    return [one for one in world.holding.get(asked.answer, ()) if one not in asked.golds]


def _names(passage: Passage, value: str) -> bool:
    """Return whether a value occurs anywhere in a passage."""
    return plain(value).lower() in f"{passage.title} {passage.text}".lower()


def _documents(shown: Sequence[Mapping[str, Any]]) -> set[int]:
    return {number for example in shown for number in example["documents"]}


def _head(world: Gazetteer, shown: Sequence[Mapping[str, Any]], *, titled: bool) -> Iterator[Piece]:
    yield Piece(text.INTRODUCTION, "instruction")
    for number, example in enumerate(shown, start=1):
        documents = [document(world.passages[one], titled=titled) for one in example["documents"]]
        yield Piece(demonstration(number, documents, example["question"], example["answer"]), "demo")
    yield Piece(START, "instruction")


TOGETHER = (2, 3)
"""How many things a demonstration's list may have."""


class Bridge(Rag):
    """A fact about a thing reached from a named one, with one document per step."""

    subtask = "bridge"
    version = Rag.version + 1
    title = "a fact that is reached from a named thing, through documents that each name the next thing"
    complexities = (2, 3, 4)
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({**KNOBS, "corpus": ANSWERED})

    def alternatives(self, world: Gazetteer, rng: Random, asked: Question, out: Collection[int]) -> list[int]:
        """Return passages that state of other things what a step after the first reads, each with another value.

        Without them, few documents of a short prompt may answer a step, so that those before it need not be taken.
        """
        more, gone = list[int](), set(out)
        for gold, relation, wanted in zip(asked.golds[1:], asked.read[1:], ALTERNATIVES[len(asked.golds)], strict=True):
            own = world.passages[gold]
            values = {own.facts[relation]}
            for thing in rng.sample(things := world.cast.things[own.thing.kind], len(things)):
                if len(values) > wanted:
                    break
                number = world.stating(thing.name, relation)
                if number is not None and number not in gone and thing.facts[relation] not in values:
                    values.add(thing.facts[relation])
                    gone.add(number)
                    more.append(number)
        return more


class Compare(Rag):
    """A fact about whichever of two named things has the smaller or the larger number or year."""

    subtask = "compare"
    title = "a fact about one of two named things, chosen by age or size"
    complexities = (2,)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of a guess, and of taking either of the two things."""
        return {"uniform": 0.0, "either": 0.5}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the relation that is asked for, and whether the right one is named first."""
        return {**super().dealt(sample), "first": (sample.latent["first"], 2)}


class Listed(Rag):
    """All things that share a value. Their documents are written for the row, and no other document is about one."""

    subtask = "list"
    title = "all things that have something in common"
    scorer = "members"
    complexities = (3, 5, 8)
    shortest = 8192
    max_new_tokens = 128
    reply = text.ALL
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({**KNOBS, "corpus": JUDGED})

    def decoys(self, stratum: Stratum) -> int:
        """Return the number of decoys: the knob ``decoys``, or two per thing if that is more."""
        wanted = super().decoys(stratum)
        return wanted and max(wanted, 2 * stratum.complexity)

    def golds(self, world: Gazetteer, asked: Question, row_streams: Streams, stratum: Stratum) -> list[Passage]:
        """Write the documents of the things that share the value."""
        return listed(world, row_streams.of("golds"), asked, stratum.complexity, self.decoys(stratum))[0]

    def decoy_passages(
        self, row_streams: Streams, stratum: Stratum, asked: Question, golds: Sequence[Passage]
    ) -> list[Passage]:
        """Write the decoys, which are drawn together with the things."""
        world = gazetteer(row_streams, stratum.tier)
        return listed(world, row_streams.of("golds"), asked, stratum.complexity, self.decoys(stratum))[1]

    def keyed(self, asked: Question, golds: Sequence[Passage]) -> Key:
        """Return the names of the things, in alphabetical order."""
        target = ", ".join(sorted(plain(one.thing.name) for one in golds))
        return Key(target, self.forms(target))

    def forms(self, answer: str) -> tuple[str, ...]:
        """Return the names as they are: other wordings of them are graded alike."""
        return (answer,)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a guess, and of naming the first hit of a search."""
        return {"uniform": 0.0, "first_hit": sample.latent["first_hit"] * 2 / (1 + sample.stratum.complexity)}

    def example(self, world: Gazetteer, rng: Random, stratum: Stratum) -> dict[str, Any]:
        """Draw a demonstration: what two or three things of the world have in common."""
        (form, relation), value, numbers = rng.choice(_together(world))
        question = rng.choice(forms()[form].relation(relation).lines["*"]).format(value=value)
        names = sorted(plain(world.passages[one].thing.name) for one in numbers)
        return self.with_documents(world, rng, question, ", ".join(names), numbers, numbers)


@lru_cache(maxsize=2)
def _together(world: Gazetteer) -> Sequence[tuple[Place, str, tuple[int, ...]]]:
    """Return the values that only two or three things of a world share, with their passages."""
    together: dict[tuple[Place, str], list[int]] = {}
    for number, passage in enumerate(world.passages):
        for relation, value in passage.facts.items():
            if (passage.form, relation) in asking_places("list"):
                together.setdefault(((passage.form, relation), value), []).append(number)
    return [(place, value, tuple(numbers)) for (place, value), numbers in together.items() if len(numbers) in TOGETHER]


class Single(Rag):
    """A relation of a named thing."""

    subtask = "single"
    title = "a fact about a named thing"
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType(
        {**KNOBS, **grid.DEPTH, **grid.CROSSED, "corpus": ANSWERED}
    )
    shuffled = False

    def drawing(
        self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> tuple[Streams, int]:
        """Return the streams of a row's question, which six rows share with the knob ``crossed``."""
        return grid.shared_by_six(stratum, index, row_streams, stratum_streams), grid.question(stratum, index)

    def depths(self, stratum: Stratum, index: int, stratum_streams: Streams) -> list[float]:
        """Return the depth of the needed document, by the knob ``depth``."""
        return [grid.depth(stratum, index, stratum_streams)]

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a guess, and of a reader that takes the value from the first hit of a search."""
        return {"uniform": 0.0, "first_hit": float(sample.latent["first_hit"])}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the relation asked for, unless six rows share it, and the point on the grid."""
        relation = {} if grid.is_crossed(sample.stratum) else super().dealt(sample)
        return {**relation, **grid.dealt(sample.latent["depths"][0], sample.stratum)}


class Described(Single):
    """A relation of a thing that two attributes distinguish from all others."""

    subtask = "described"
    title = "a fact about a thing that is described, not named"
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({**KNOBS, **grid.DEPTH, **grid.CROSSED})
