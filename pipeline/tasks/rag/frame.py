"""The frame of all tasks of `rag`: from a question to a prompt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from random import Random
from typing import Any

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams, deal, spread
from pipeline.tasks.base import Digest, Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Task, Turns, unit
from pipeline.tasks.rag import haystack, proof, text
from pipeline.tasks.rag.asking import Asked, ask, places
from pipeline.tasks.rag.near import near_misses
from pipeline.worlds.gazetteer import Gazetteer, Passage, gazetteer

DECOYS, ELSEWHERE = (4, 0, 16), (True, False)
KNOBS: dict[str, tuple[Any, ...]] = {
    "decoys": DECOYS,
    "negatives": haystack.NEGATIVES,
    "answer_elsewhere": ELSEWHERE,
    "titles": haystack.TITLES,
}
SHOWN = 3
"""Documents of a demonstration; more where its answer needs more."""


class Rag(Task):
    """A question about documents that a search has put together. `complexity` is how many of them it needs."""

    __slots__ = ()

    family = "rag"
    version = 2
    scorer = "exact"
    shots = 2
    most_shots = 2
    knobs: Mapping[str, tuple[Any, ...] | Digest] = KNOBS
    reply = text.ONE
    shuffled = True
    """Whether documents stand in any order, and not in that of the search."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of passages."""
        return (haystack.spec(stratum),)

    def drawing(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> tuple[Streams, int]:
        """Return the streams that a row is drawn from but for its depth, and the number of its question."""
        return own, index

    def depths(self, stratum: Stratum, index: int, shared: Streams) -> list[float]:
        """Return the depths of the documents that are needed: each of them uniform over the rows."""
        return [spread(shared.of("depth", place), stratum.rows, index) for place in range(stratum.complexity)]

    def drawn(self, stratum: Stratum, number: int, own: Streams, shared: Streams) -> tuple[Asked, int | None]:
        """Draw question `number` of a stratum, and where its answer stands elsewhere."""
        world, known = gazetteer(own, stratum.tier), places(self.subtask)
        place = known[deal(shared.of("asked"), stratum.rows, number, len(known))]
        first = deal(shared.of("first"), stratum.rows, number, 2)
        for turn in count():
            asked = ask(world, own.of("question", turn), self.subtask, place, stratum.complexity, first)
            others = [one for one in world.holding.get(asked.answer, ()) if one not in asked.golds]
            if others or asked.answer in (*asked.about, ""):
                break
        wanted = stratum.knob("answer_elsewhere", ELSEWHERE[0]) and asked.answer not in (*asked.about, "")
        return asked, own.of("elsewhere").choice(others) if wanted else None

    def golds(self, world: Gazetteer, asked: Asked, own: Streams, stratum: Stratum) -> list[Passage]:
        """Return the passages that a question needs."""
        return [world.passages[number] for number in asked.golds]

    def keyed(self, asked: Asked, golds: Sequence[Passage]) -> Key:
        """Return the key of a question."""
        return Key(text.plain(asked.answer), self.forms(asked.answer))

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw a question whose relation is dealt over all that can be asked for."""
        own, number = self.drawing(stratum, index, own, shared)
        world = gazetteer(own, stratum.tier)
        asked, elsewhere = self.drawn(stratum, number, own, shared)
        golds = self.golds(world, asked, own, stratum)
        latent = {
            "asked": asked.asks,
            "depths": self.depths(stratum, index, shared),
            "first": deal(shared.of("first"), stratum.rows, number, 2),
            "golds": list(asked.golds),
            "elsewhere": elsewhere,
            "shown": list(self.shown(world, own, stratum, asked)),
            **self.searched(own, stratum, asked, golds),
        }
        relevant = tuple(text.document(gold, titled=haystack.titled(stratum)) for gold in golds)
        ranking = haystack.ranking(own, stratum, asked.question)
        return Sample("", stratum, index, latent, relevant, asked.question, self.keyed(asked, golds), ranking)

    def near(self, own: Streams, stratum: Stratum, asked: Asked, golds: Sequence[Passage]) -> list[Passage]:
        """Return the near misses of a row; by the knob ``answer_elsewhere`` they do not name the answer."""
        world, wanted = gazetteer(own, stratum.tier), int(stratum.knob("decoys", DECOYS[0]))
        members = [] if asked.golds else [one.thing.name for one in golds]
        for turn in count():
            found = list(near_misses(world, own.of("decoys", turn), asked, wanted, members))
            free = stratum.knob("answer_elsewhere", ELSEWHERE[0]) or asked.answer in (*asked.about, "")
            if free or not any(_names(one, asked.answer) for one in found):
                return found
        raise AssertionError

    def out(self, world: Gazetteer, asked: Asked) -> set[int]:
        """Return the passages that answer: no other document may be one of them."""
        return {*asked.golds, *asked.sharing}

    def shown(self, world: Gazetteer, own: Streams, stratum: Stratum, asked: Asked) -> Iterator[dict[str, Any]]:
        """Yield demonstrations: other questions of the kind, each with its answer and documents of its own."""
        rng, gone = own.of("shown"), self.out(world, asked)
        for _ in range(self.shots_of(stratum)):
            example = self.example(world, rng, stratum)
            while not gone.isdisjoint(example["documents"]):
                example = self.example(world, rng, stratum)
            gone.update(example["documents"])
            yield example

    def example(self, world: Gazetteer, rng: Random, stratum: Stratum) -> dict[str, Any]:
        """Draw a demonstration."""
        asked = ask(world, rng, self.subtask, rng.choice(places(self.subtask)), stratum.complexity, rng.randrange(2))
        return self.with_documents(world, rng, asked.question, asked.answer, asked.golds)

    @staticmethod
    def with_documents(
        world: Gazetteer, rng: Random, question: str, answer: str, golds: Sequence[int], out: Sequence[int] = ()
    ) -> dict[str, Any]:
        """Return a demonstration with documents that answer it, and others."""
        others = [one for one in rng.sample(range(len(world.passages)), 3 * SHOWN) if one not in (*golds, *out)]
        numbers = [*golds, *others[: max(1, SHOWN - len(golds))]]
        rng.shuffle(numbers)
        return {"question": question, "answer": text.plain(answer), "documents": numbers}

    def searched(self, own: Streams, stratum: Stratum, asked: Asked, golds: Sequence[Passage]) -> dict[str, Any]:
        """Return what a search over the world and the near misses finds.

        That is whether its first hit is a document that the answer needs, how many passages stand before each of these
        (`ranks`), and how many of the world score at least a quarter of the best (`close`).
        """
        found, question = haystack.index(own, stratum.tier), asked.question
        scores = found.scores(question)
        scores[sorted(self.out(gazetteer(own, stratum.tier), asked))] = -1
        near = [found.score(question, f"{one.title} {one.text}") for one in self.near(own, stratum, asked, golds)]
        needed = [found.score(question, f"{one.title} {one.text}") for one in golds]
        before = [int((scores >= one).sum()) + sum(other >= one for other in near) for one in needed]
        best = max(*needed, *near, int(scores.max()))
        return {"first_hit": min(before) == 0, "ranks": before, "close": int((4 * scores >= best).sum())}

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the documents that are needed at their depths, and near misses anywhere."""
        stratum, latent = sample.stratum, sample.latent
        own, number = self.drawing(stratum, sample.index, own, shared)
        world, titled, rng = gazetteer(own, stratum.tier), haystack.titled(stratum), own.of("scatter")
        asked, elsewhere = self.drawn(stratum, number, own, shared)
        near = self.near(own, stratum, asked, self.golds(world, asked, own, stratum))
        placed = [
            Placed(unit(said, "relevant"), depth) for depth, said in zip(latent["depths"], sample.relevant, strict=True)
        ]
        placed += [Placed(unit(text.document(one, titled=titled), "decoy"), rng.random()) for one in near]
        out = self.out(world, asked)
        if elsewhere is not None:
            out.add(elsewhere)
            placed.append(Placed(unit(text.document(world.passages[elsewhere], titled=titled), "anchor"), rng.random()))
        elif asked.answer and asked.answer not in asked.about:
            out.update(place for place, one in enumerate(world.passages) if _names(one, asked.answer))
        return Layout(
            head=tuple(_head(world, latent["shown"], titled=titled)),
            placed=tuple(placed),
            filler=haystack.filler(
                own, stratum, sample.ranking, out | _documents(latent["shown"]), shuffled=self.shuffled
            ),
            tail=(Piece(text.TAIL.format(reply=self.reply, question=sample.question), "question"),),
        )

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return how many documents are filler, and how many of them score at least a quarter of the best."""
        if not sample.ranking:
            return {"filler": {"documents": len(units)}}
        close = haystack.places(sample.ranking)[: sample.latent["close"]]
        return {"filler": {"documents": len(units), "close": int(np.isin(units, close).sum())}}

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read every document into a table, and answer the question from it.

        Raises:
            ValueError: if the text cannot be read, or has no answer or two.
        """
        return self.forms(proof.solved(turns[-1][1])[0])

    def forms(self, answer: str) -> tuple[str, ...]:
        """Return every accepted form of an answer that the documents give."""
        return text.accepted(answer)

    def check(self, row: Published) -> list[str]:
        """Prove that each document needed is, that there is no other answer, and near misses are what they say."""
        return list(proof.faults(row, int(row.stratum.knob("decoys", DECOYS[0]))))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of a guess: there is nothing to guess from."""
        return {"uniform": 0.0}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the relation that is asked for."""
        return {"relation": (sample.latent["asked"], len(places(self.subtask)))}


def _names(passage: Passage, value: str) -> bool:
    """Tell whether a value stands anywhere in a passage."""
    return text.plain(value).lower() in f"{passage.title} {passage.text}".lower()


def _documents(shown: Sequence[Mapping[str, Any]]) -> set[int]:
    return {number for example in shown for number in example["documents"]}


def _head(world: Gazetteer, shown: Sequence[Mapping[str, Any]], *, titled: bool) -> Iterator[Piece]:
    yield Piece(text.INTRODUCTION, "instruction")
    for number, example in enumerate(shown, start=1):
        documents = [text.document(world.passages[one], titled=titled) for one in example["documents"]]
        yield Piece(text.example(number, documents, example["question"], example["answer"]), "demo")
    yield Piece(text.START, "instruction")
