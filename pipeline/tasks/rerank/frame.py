"""The frame of the tasks that ask for a ranking: from a question to a prompt."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Digest, Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Task, Turns, unit
from pipeline.tasks.depths import depths
from pipeline.tasks.rag import haystack
from pipeline.tasks.rag.text import numbered
from pipeline.tasks.rerank import chance, proof, reader, text
from pipeline.tasks.rerank.asking import Asked
from pipeline.tasks.rerank.writing import Author
from pipeline.worlds.gazetteer import Gazetteer, Passage, fresh, gazetteer, ids

KNOBS: Mapping[str, tuple[Any, ...]] = MappingProxyType({"decoys": (True, False), "negatives": haystack.NEGATIVES})
Graded = tuple[Passage, int]
"""A document that is written for a row, and what it is worth."""


class Rerank(Task):
    """A ranking of the best documents. `complexity` is how many are worth anything, all of them written for the row.

    So the key is the same at every length, and longer prompts have more documents that are worth nothing.
    """

    __slots__ = ()

    family = "rerank"
    version = 2
    scorer = "ndcg"
    shots = 2
    most_shots = 2
    shortest = 8192
    knobs: Mapping[str, tuple[Any, ...] | Digest] = KNOBS
    instruction: str
    reply: str

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of passages with their ids."""
        return (haystack.numbered_spec(stratum.tier),)

    @abstractmethod
    def drawn(self, world: Gazetteer, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Asked:
        """Draw the question."""

    @abstractmethod
    def written(self, author: Author, rng: Random, asked: Asked, stratum: Stratum) -> list[Graded]:
        """Write the documents of a row, those first that are worth something."""

    @abstractmethod
    def shown(self, world: Gazetteer, rng: Random, asked: Asked, taken: set[str]) -> tuple[str, list[Graded]]:
        """Draw the question of a demonstration, and write its documents."""

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw a question, and write the documents that it turns on, with numbers that no other document has.

        `Sample.relevant` has all texts that are written for the row: those worth something, near misses and decoys, and
        the documents of demonstrations.
        """
        world, taken = gazetteer(own, stratum.tier), set[str]()
        asked = self.drawn(world, stratum, index, own, shared)
        rng = own.of("documents")
        graded = self.written(Author(world, rng, asked, taken), rng, asked, stratum)
        examples = [
            self.shown(world, own.of("shown", number), asked, taken) for number in range(self.shots_of(stratum))
        ]
        every = [*graded, *(one for _, some in examples for one in some)]
        numbers = fresh(own.of("ids"), ids(own, stratum.tier), len(every))
        worth = dict(zip(numbers, (value for _, value in graded), strict=False))
        key = text.key_of(worth)
        shown = list(_told(examples, numbers[len(graded) :]))
        latent = {
            "asked": asked.form,
            "conditions": [list(each) for each in asked.conditions],
            "scale": f"{asked.scale} {'>' if asked.largest else '<'}" if asked.scale else "",
            "depths": depths(shared, own, stratum.rows, index, stratum.complexity),
            "documents": len(graded),
            "shown": shown,
            **chance.searched(own, stratum, asked, graded, numbers, out(world, asked)),
        }
        texts = tuple(numbered(one, number) for (one, _), number in zip(every, numbers, strict=True))
        return Sample(
            "", stratum, index, latent, texts, asked.question, key, haystack.ranking(own, stratum, asked.question)
        )

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the documents that are worth something at their depths, and others anywhere."""
        stratum, latent, rng = sample.stratum, sample.latent, own.of("scatter")
        world, size = gazetteer(own, stratum.tier), stratum.complexity
        given = tuple((name, value) for name, value in latent["conditions"])
        asked = Asked(sample.question, latent["asked"], given, (0, 0))
        written = sample.relevant[: latent["documents"]]
        placed = [
            Placed(unit(said, "relevant"), depth) for said, depth in zip(written[:size], latent["depths"], strict=True)
        ]
        placed += [Placed(unit(said, "decoy"), rng.random()) for said in written[size:]]
        pool = haystack.numbered_spec(stratum.tier).name
        gone = out(world, asked)
        filler = haystack.filler(own, stratum, sample.ranking, gone, shuffled=True, pool=pool)
        tail = Piece(text.TAIL.format(reply=self.reply, question=sample.question), "question")
        return Layout(tuple(self._head(sample)), tuple(placed), filler, (tail,))

    def _head(self, sample: Sample) -> Iterator[Piece]:
        yield Piece(self.instruction, "instruction")
        at = sample.latent["documents"]
        for number, example in enumerate(sample.latent["shown"], start=1):
            documents = sample.relevant[at : at + example["documents"]]
            at += example["documents"]
            yield Piece(text.example(number, documents, example["question"], example["answer"]), "demo")
        yield Piece(text.START, "instruction")

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read every document, see what it is worth, and rank them.

        Raises:
            ValueError: if the text cannot be read.
        """
        return reader.solve(turns[-1][1])

    def check(self, row: Published) -> list[str]:
        """Prove what every document is worth, that decoys name what is asked, and that no document is there twice."""
        return list(proof.faults(row))

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a random ranking, of a search, and of the right documents in random order."""
        return chance.baselines(sample, key)

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        """Return the documents that are written for the row."""
        return sample.relevant


def out(world: Gazetteer, asked: Asked) -> set[int]:
    """Return the passages of a world that meet a condition: no filler does."""
    return {
        number
        for name, value in asked.conditions
        for number in world.holding.get(value, ())
        if world.passages[number].form == asked.form and world.passages[number].facts.get(name) == value
    }


def _told(examples: Sequence[tuple[str, Sequence[Graded]]], numbers: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the questions of demonstrations with their answers, and how many documents they have."""
    left = iter(numbers)
    for question, some in examples:
        worth = {next(left): value for _, value in some}
        yield {"question": question, "answer": text.key_of(worth).target, "documents": len(some)}
