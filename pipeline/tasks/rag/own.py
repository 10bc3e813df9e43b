"""rag.single and rag.bridge about a user's own passages: HELMET's files and others, cut to the token at any length.

Nobody can solve such a row by a program. It is checked: the documents that are needed stand there once, at their
depths, one of them holds an accepted answer, and no other document of the prompt does (HELMET drops such documents
too). Documents that were ranked for the question come first; where they run out, others fill the prompt by the knob
``beyond``, and the metadata says how many are the question's own.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from random import Random
from typing import Any

import numpy as np

from pipeline.errors import PoolError
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Streams, deal, spread
from pipeline.tasks.base import Digest, Key, Layout, Piece, Placed, PoolSpec, Published, Sample, Task, Turns, unit
from pipeline.tasks.rag import own_haystack, own_proof, own_text, text
from pipeline.tasks.rag.own_haystack import Sought
from pipeline.tasks.recall import depths
from pipeline.worlds.corpora.records import Corpus, Question
from pipeline.worlds.corpora.store import corpus_of

CORPUS = Digest("a corpus's SHA-256", frozenset({"passages", "questions", "answers"}))
JUDGED = Digest("a corpus's SHA-256", frozenset({"passages", "questions"}))
KNOBS: Mapping[str, tuple[Any, ...] | Digest] = {
    "corpus": CORPUS,
    "beyond": own_haystack.BEYOND,
    "negatives": own_haystack.NEGATIVES,
}
NEGATIVES = (*own_haystack.NEGATIVES, "running")
"""What may surround a single passage: also the text that it stands in, as `own_running` lays it out."""
SHOWN = 3
"""Documents of a demonstration; more where its answer needs more."""
MOST_SHOWN = 1_500
"""Characters of a document of a demonstration."""


@dataclass(frozen=True, slots=True)
class OwnRag(Task):
    """A question of a user's about the user's passages. `complexity` is how many of them it needs."""

    subtask: str
    complexities: tuple[int, ...] = field()
    knobs: Mapping[str, tuple[Any, ...] | Digest] = field()
    shuffled: bool
    corpora: str = ""
    """The folder of frozen corpora."""

    family = "rag"
    title = "a question about a user's own passages"
    lacking = "the corpus has no question to ask that needs so many passages: leave it out"
    scorer = "exact"
    shots = 2
    most_shots = 2
    proof = "checked"

    def at(self, corpora: str) -> OwnRag:
        """Return the task with the folder that frozen corpora lie in."""
        return replace(self, corpora=corpora)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of passages."""
        return (own_haystack.spec(stratum, self.corpora),)

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Draw a question, dealt over all that need as many passages.

        Raises:
            PoolError: if the corpus has none.
        """
        corpus = self.corpus(stratum)
        some = self.askable(corpus, stratum.complexity)
        if not some:
            raise PoolError(f"{stratum}: {self.lacking}")
        number = some[deal(shared.of("question"), stratum.rows, index, len(some))]
        question = corpus.questions[number]
        names, key = self.needed(corpus, question, stratum, own)
        latent = {
            "number": number,
            "question_id": question.id,
            "depths": _depths(stratum, index, shared, len(names)),
            "shown": self.shown(corpus, own.of("shown"), stratum, number),
        }
        relevant = tuple(self.written(corpus, corpus.places[name]) for name in names)
        return Sample("", stratum, index, latent, relevant, question.question, key)

    def needed(self, corpus: Corpus, question: Question, stratum: Stratum, own: Streams) -> tuple[Sequence[str], Key]:
        """Return the ids of the passages that a question needs in a row, and its key."""
        return question.gold, self.keyed(corpus, question)

    def shown(self, corpus: Corpus, rng: Random, stratum: Stratum, number: int) -> list[dict[str, Any]]:
        """Draw demonstrations: other questions, each with its answer and documents of its own."""
        wanted, found = self.shots_of(stratum), list[dict[str, Any]]()
        asked, held = corpus.questions[number], own_haystack.sought(corpus, number)
        gone, some = {*asked.gold}, self.showable(corpus)
        for place in rng.sample(range(len(some)), len(some)):
            if len(found) == wanted:
                break
            free = some[place].question != asked.question and gone.isdisjoint(some[place].gold)
            names = _documents(corpus, some[place], gone, held) if free else []
            if names:
                rng.shuffle(names)
                gone.update(names)
                found.append({"question": some[place].id, "documents": names})
        if len(found) < wanted:
            raise PoolError(
                f"{stratum}: {wanted} demonstrations are needed, but {len(found)} of the corpus's questions have short "
                "documents that do not answer what is asked: give shots = 0, or more questions"
            )
        return found

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put the documents that are needed at their depths."""
        stratum, latent, corpus = sample.stratum, sample.latent, self.corpus(sample.stratum)
        needed = zip(latent["depths"], sample.relevant, strict=True)
        out = {*corpus.questions[latent["number"]].gold, *(n for one in latent["shown"] for n in one["documents"])}
        return Layout(
            head=tuple(self._head(corpus, latent["shown"])),
            placed=tuple(Placed(unit(said, "relevant"), depth) for depth, said in needed),
            filler=own_haystack.filler(
                own,
                stratum,
                corpus,
                latent["number"],
                [corpus.places[name] for name in out],
                self.pools(stratum)[0].name,
                shuffled=self.shuffled,
            ),
            tail=(Piece(self.tail(sample.question), "question"),),
        )

    def showable(self, corpus: Corpus) -> Sequence[Question]:
        """Return the questions of demonstrations."""
        return own_haystack.shown(corpus)

    def _head(self, corpus: Corpus, shown: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
        yield Piece(own_text.INTRODUCTION, "instruction")
        known = {one.id: one for one in self.showable(corpus)} if shown else {}
        for number, example in enumerate(shown, start=1):
            documents = [self.written(corpus, corpus.places[name]) for name in example["documents"]]
            question = known[example["question"]]
            told = text.example(number, documents, question.question, self.keyed(corpus, question).target)
            yield Piece(told, "demo")
        yield Piece(text.START, "instruction")

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return how many documents are filler, and how many of them were ranked for the question."""
        corpus = self.corpus(sample.stratum)
        ranked = [corpus.places[name] for name in corpus.questions[sample.latent["number"]].ranked]
        return {"filler": {"documents": len(units), "own": int(np.isin(units, ranked).sum())}}

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Refuse: no program answers any question.

        Raises:
            ValueError: always.
        """
        raise ValueError("questions about a user's own passages are checked, not solved")

    def check(self, row: Published) -> list[str]:
        """Check that the answer stands in what is needed and nowhere else, and that no document stands twice."""
        return list(own_proof.faults(row))

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the point of the grid that a single document stands at."""
        single = sample.stratum.complexity == 1
        return depths.dealt(sample.latent["depths"][0], sample.stratum) if single else {}

    def askable(self, corpus: Corpus, needed: int) -> Sequence[int]:
        """Return the places of the questions that need so many passages."""
        return own_haystack.asked(corpus, needed)

    def keyed(self, corpus: Corpus, question: Question) -> Key:
        """Return the key of a question: every form of its answers is right."""
        forms = tuple(dict.fromkeys(form for group in question.answers for form in group))
        return Key(forms[0], forms)

    def written(self, corpus: Corpus, place: int) -> str:
        """Return a passage as prompts have it."""
        return own_text.document(corpus.passages[place])

    def tail(self, question: str) -> str:
        """Return what stands behind the documents."""
        return text.TAIL.format(reply=text.ONE, question=question)

    def corpus(self, stratum: Stratum) -> Corpus:
        """Return the corpus of a stratum."""
        return corpus_of(self.corpora, str(stratum.knob("corpus", "")))


def _depths(stratum: Stratum, index: int, shared: Streams, count: int) -> list[float]:
    if stratum.complexity == 1:
        return [depths.depth(stratum, index, shared)]
    return [spread(shared.of("depth", place), stratum.rows, index) for place in range(count)]


def _documents(corpus: Corpus, question: Question, gone: Container[str], held: Sought) -> list[str]:
    """Return documents of a demonstration: those that it needs and ranked ones, which are free, short, and no answer.

    There are none if those that it needs are not.
    """

    def fit(name: str) -> bool:
        short = name not in gone and is_short(corpus, name)
        return short and not held.held(np.array([corpus.places[name]]))[0]

    others = islice(filter(fit, question.ranked), max(1, SHOWN - len(question.gold)))
    return [*question.gold, *others] if all(map(fit, question.gold)) else []


def is_short(corpus: Corpus, name: str) -> bool:
    """Tell whether a passage is short enough for a demonstration."""
    passage = corpus.passages[corpus.places[name]]
    return len(passage.title) + len(passage.text) <= MOST_SHOWN


SINGLE = OwnRag("single", (1,), {**KNOBS, "negatives": NEGATIVES, **depths.DEPTH}, shuffled=False)
BRIDGE = OwnRag("bridge", (2, 3, 4), KNOBS, shuffled=True)
