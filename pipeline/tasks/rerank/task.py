"""rerank.conditions and rerank.order (HELMET, section 2.1 and appendix B.3)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal_in_turn
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
    depths,
)
from pipeline.tasks.documents import haystack
from pipeline.tasks.documents.asking import unlike
from pipeline.tasks.documents.text import numbered
from pipeline.tasks.rerank import chance, text
from pipeline.tasks.rerank import solve as solver
from pipeline.tasks.rerank.documents import DocumentWriter
from pipeline.tasks.rerank.questions import CONDITIONS, Question, ask_conditions, ask_order, asked_forms, scales
from pipeline.tasks.solving import contains_words
from pipeline.worlds.gazetteer import Gazetteer, Passage, forms, fresh, gazetteer, ids

KNOBS: Mapping[str, tuple[Any, ...]] = MappingProxyType({"decoys": (True, False), "negatives": haystack.NEGATIVES})
Graded = tuple[Passage, int]
"""A document written for a row, and what it is worth."""


class Rerank(Task):
    """A ranking of the best documents. `complexity` is how many are worth anything, all of them written for the row.

    So the key is the same at every length, and longer prompts only have more documents that are worth nothing.
    """

    __slots__ = ()

    family = "rerank"
    version = 7
    scorer = "ndcg"
    shots = 2
    most_shots = 2
    shortest = 8192
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = KNOBS
    instruction: str
    reply: str

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (haystack.numbered_spec(stratum.tier),)

    @abstractmethod
    def drawn(
        self, world: Gazetteer, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Question:
        """Draw the question."""

    @abstractmethod
    def written(self, writer: DocumentWriter, rng: Random, asked: Question, stratum: Stratum) -> list[Graded]:
        """Write the documents of a row, those worth something first."""

    @abstractmethod
    def shown(self, world: Gazetteer, rng: Random, asked: Question, taken: set[str]) -> tuple[str, list[Graded]]:
        """Draw the question of a demonstration, and write its documents."""

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a question, and write its documents, with numbers that no other document has.

        `Sample.relevant` has all texts written for the row: those worth something, all decoys, and the documents of
        demonstrations.
        """
        world, taken = gazetteer(row_streams, stratum.tier), set[str]()
        asked = self.drawn(world, stratum, index, row_streams, stratum_streams)
        rng = row_streams.of("documents")
        graded = self.written(DocumentWriter(world, rng, asked, taken), rng, asked, stratum)
        examples = [
            self.shown(world, row_streams.of("shown", number), asked, taken) for number in range(self.shots_of(stratum))
        ]
        all_documents = [*graded, *(one for _, group in examples for one in group)]
        numbers = fresh(row_streams.of("ids"), ids(row_streams, stratum.tier), len(all_documents))
        worth = dict(zip(numbers, (value for _, value in graded), strict=False))
        key = text.key_of(worth)
        shown = list(_demonstrations(examples, numbers[len(graded) :]))
        latent = {
            "asked": asked.form,
            "conditions": [list(each) for each in asked.conditions],
            "scale": f"{asked.scale} {'>' if asked.largest else '<'}" if asked.scale else "",
            "depths": depths(stratum_streams, row_streams, stratum.rows, index, stratum.complexity),
            "documents": len(graded),
            "shown": shown,
            **chance.search_hits(row_streams, stratum, asked, graded, numbers, meeting_passages(world, asked)),
        }
        texts = tuple(numbered(one, number) for (one, _), number in zip(all_documents, numbers, strict=True))
        return Sample(
            "",
            stratum,
            index,
            latent,
            texts,
            asked.question,
            key,
            haystack.ranking(row_streams, stratum, asked.question),
        )

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the documents worth something at their depths, and others anywhere."""
        stratum, latent, rng = sample.stratum, sample.latent, row_streams.of("scatter")
        world, size = gazetteer(row_streams, stratum.tier), stratum.complexity
        conditions = tuple((name, value) for name, value in latent["conditions"])
        asked = Question(sample.question, latent["asked"], conditions, (0, 0))
        written = sample.relevant[: latent["documents"]]
        placed = [
            Placed.line(document, "relevant", depth)
            for document, depth in zip(written[:size], latent["depths"], strict=True)
        ]
        placed += [Placed.line(document, "decoy", rng.random()) for document in written[size:]]
        pool = haystack.numbered_spec(stratum.tier).name
        gone = meeting_passages(world, asked)
        filler = haystack.filler(row_streams, stratum, sample.ranking, gone, shuffled=True, pool=pool)
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

    def answers(self, text: str) -> tuple[str, ...]:
        """Read every document, work out what it is worth, and rank them."""
        return solver.solve(text)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove what every document is worth, that decoys name what is asked, and that no document occurs twice."""
        return solver.faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of a random ranking, of a search, and of the right documents in random order."""
        return chance.baselines(sample, key)

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        return sample.relevant


def meeting_passages(world: Gazetteer, asked: Question) -> set[int]:
    """Return the passages of a world that meet a condition, which no filler may do."""
    return {
        number
        for name, value in asked.conditions
        for number in world.holding.get(value, ())
        if world.passages[number].form == asked.form and world.passages[number].facts.get(name) == value
    }


def _demonstrations(
    examples: Sequence[tuple[str, Sequence[Graded]]], numbers: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the questions of demonstrations with their answers and how many documents they have."""
    left = iter(numbers)
    for question, documents in examples:
        worth = {next(left): value for _, value in documents}
        yield {"question": question, "answer": text.key_of(worth).target, "documents": len(documents)}


DECOYS = {10: (10, 8), 30: (18, 18)}
"""Decoys of the kind asked about, and of others, by complexity: they name all that is asked. With graded documents each
value then nearly always occurs in other roles twice as often as where it meets its condition. Where a document of the
kind has no place for one, more documents of other kinds are written."""
SHOWN = (3, 2, 2, 1)
"""Grades of the documents of a demonstration, which also has two decoys."""
FIRST, BELOW, SHOWN_IN_ORDER = 10, 4, 4
"""Things that an order asks for, others that meet its condition, and things that a demonstration puts in order."""
DECOYS_IN_ORDER = (8, 6)
"""Decoys of an order, of its kind and of others."""
GOOD = 4
"""Decoys of the kind have a number as good as that of the thing in this place, or better."""


class Conditions(Rerank):
    """Documents ranked by how many of three conditions they meet; decoys name what is asked in other roles."""

    subtask = "conditions"
    title = "the ten documents that meet the most of three conditions, best first"
    complexities = (10, 30)
    fits = MappingProxyType({30: 16_384})
    max_new_tokens = 256
    instruction = text.GRADES
    reply = text.BEST
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({**KNOBS, "corpus": haystack.GRADED})

    def drawn(
        self, world: Gazetteer, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Question:
        """Draw three conditions on things of a form, which is dealt."""
        known = asked_forms()
        kind, turn = deal_in_turn(stratum_streams.of("form"), stratum.rows, index, len(known))
        asked, _ = unlike(
            stratum,
            self.complexities,
            stratum_streams,
            (kind, turn),
            lambda rng, _: ask_conditions(world, rng, known[kind]),
            lambda asked: frozenset(asked.conditions),
        )
        return asked

    def written(self, writer: DocumentWriter, rng: Random, asked: Question, stratum: Stratum) -> list[Graded]:
        """Write equally many documents of each grade, with conditions missed in turn, and decoys."""
        wanted, decoys = stratum.complexity, bool(stratum.knob("decoys", True))
        names, graded = [name for name, _ in asked.conditions], list[Graded]()
        for number in range(wanted):
            grade, turn = CONDITIONS - number % CONDITIONS, number // CONDITIONS
            first = turn if grade > 1 else turn + 2
            met = [names[(first + place) % CONDITIONS] for place in range(grade)]
            graded.append((writer.same_kind(met, named=decoys), grade))
        alike, others = DECOYS[wanted] if decoys else (0, 0)
        graded += [(writer.same_kind([]), 0) for _ in range(alike)]
        graded += [(writer.other_kind(), 0) for _ in range(others)]
        while decoys and not _named_otherwise(asked, graded):
            graded.append((writer.other_kind(), 0))
        return graded

    def shown(self, world: Gazetteer, rng: Random, asked: Question, taken: set[str]) -> tuple[str, list[Graded]]:
        """Draw three conditions on things of another form, and write six documents."""
        form = rng.choice([one for one in asked_forms() if forms()[one].kind != forms()[asked.form].kind])
        other = ask_conditions(world, rng, form)
        writer, names = DocumentWriter(world, rng, other, taken), [name for name, _ in other.conditions]
        graded = [(writer.same_kind(rng.sample(names, grade)), grade) for grade in SHOWN]
        graded += [(writer.same_kind([]), 0), (writer.other_kind(), 0)]
        rng.shuffle(graded)
        return other.question, graded

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the form of the documents asked for."""
        return {"form": (sample.latent["asked"], len(asked_forms()))}


def _named_otherwise(asked: Question, graded: Sequence[Graded]) -> bool:
    """Return whether each value occurs in other roles in twice as many documents as where it meets its condition."""
    for name, value in asked.conditions:
        holding = [one for one, _ in graded if contains_words(value, one.text)]
        meeting = sum(one.form == asked.form and one.facts.get(name) == value for one in holding)
        if len(holding) < 3 * meeting:
            return False
    return True


class Order(Rerank):
    """Documents about things that meet a condition, ranked by a number or year that they state."""

    subtask = "order"
    title = "the ten things that meet a condition and are the longest, oldest or the like, in order"
    complexities = (FIRST,)
    max_new_tokens = 200
    instruction = text.ORDERS
    reply = text.IN_ORDER

    def drawn(
        self, world: Gazetteer, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Question:
        """Draw a condition on things to be put in an order, which is dealt."""
        known = list(scales())
        kind, turn = deal_in_turn(stratum_streams.of("scale"), stratum.rows, index, len(known))
        asked, _ = unlike(
            stratum,
            self.complexities,
            stratum_streams,
            (kind, turn),
            lambda rng, _: ask_order(world, rng, known[kind], FIRST),
            lambda asked: frozenset(asked.conditions),
        )
        return asked

    def written(self, writer: DocumentWriter, rng: Random, asked: Question, stratum: Stratum) -> list[Graded]:
        """Write the first ten, others that meet the condition, and decoys with numbers better than most."""
        numbers = _numbers(rng, asked, FIRST + BELOW)
        ((name, _),) = asked.conditions
        graded = [(writer.same_kind([name], number=number), max(0, FIRST - at)) for at, number in enumerate(numbers)]
        if not stratum.knob("decoys", True):
            return graded
        good = sorted((numbers[GOOD - 1], _span(asked)[asked.largest]))
        graded += [(writer.same_kind([], number=rng.randint(*good)), 0) for _ in range(DECOYS_IN_ORDER[0])]
        return graded + [(writer.other_kind(), 0) for _ in range(DECOYS_IN_ORDER[1])]

    def shown(self, world: Gazetteer, rng: Random, asked: Question, taken: set[str]) -> tuple[str, list[Graded]]:
        """Draw an order of things of another form, and write six documents."""
        scale = rng.choice([one for one in scales() if forms()[one[0]].kind != forms()[asked.form].kind])
        other = ask_order(world, rng, scale, SHOWN_IN_ORDER)
        writer, ((name, _),) = DocumentWriter(world, rng, other, taken), other.conditions
        numbers = _numbers(rng, other, SHOWN_IN_ORDER)
        graded = [(writer.same_kind([name], number=number), SHOWN_IN_ORDER - at) for at, number in enumerate(numbers)]
        graded += [(writer.same_kind([], number=rng.choice(numbers)), 0), (writer.other_kind(), 0)]
        rng.shuffle(graded)
        return other.question, graded

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the form of the documents asked for, and what puts them in order."""
        return {"scale": (f"{sample.latent['asked']}.{sample.latent['scale']}", len(scales()))}


def _numbers(rng: Random, asked: Question, count: int) -> list[int]:
    """Draw distinct numbers on the scale, in the order asked for."""
    first, last = _span(asked)
    return sorted(rng.sample(range(first, last + 1), count), reverse=asked.largest)


def _span(asked: Question) -> tuple[int, int]:
    """Return the smallest and the largest number that things have on the scale."""
    relation = forms()[asked.form].relation(asked.scale)
    first, last = asked.years if relation.type == "year" or not relation.span else relation.span
    if relation.later and relation.span:
        first, last = first + relation.span[0], last + relation.span[1]
    return first, last
