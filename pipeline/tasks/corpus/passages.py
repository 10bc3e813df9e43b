"""Tasks about a user's own passages, such as HELMET's files, at any exact length.

No program can solve such a row, so it is only checked: the needed documents occur once, at their depths, one of them
contains an accepted answer, and no other document of the prompt does (HELMET drops such documents too). Documents
ranked for the question come first. If they run out, the knob ``beyond`` decides whether others fill the prompt, and the
metadata states how many documents are the question's own.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import lru_cache
from pipeline.corpora.gathering import forms_of
from pipeline.corpora.reading import holds, plain, rarest, searched, with_words
from pipeline.corpora.records import Corpus, Question
from pipeline.errors import PoolError
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams, deal, spread, stream, words
from pipeline.tasks import grid
from pipeline.tasks.base import Filler, Key, Layout, Piece, Placed, PoolSpec, PublishedRow, Sample, Unit, unit
from pipeline.tasks.corpus import text
from pipeline.tasks.corpus.base import CorpusTask, corpus_of_pool
from pipeline.tasks.corpus.text import document
from pipeline.tasks.documents.solve import question
from pipeline.tasks.documents.text import START, example
from pipeline.tasks.solving import ReadError

BEYOND, NEGATIVES = ("others", "none"), ("hard", "random")
"""What fills a prompt after the ranked passages, and whether these come first at all."""


@lru_cache(maxsize=4)
def numbers(corpus: Corpus) -> Sequence[int]:
    """Return a random number for each passage, of at least five digits, so that most numbers stay unused."""
    digits = max(5, len(str(2 * len(corpus.passages))))
    first = 10 ** (digits - 1)
    return stream("corpora", "numbers", corpus.digest).sample(range(first, 10 * first), len(corpus.passages))


def make_numbered(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every passage of a corpus with its number."""
    corpus = corpus_of_pool(spec)
    numbered = zip(corpus.passages, numbers(corpus), strict=True)
    return (unit(document(passage, number)) for passage, number in numbered)


def make_passages(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every passage of a corpus, without facts, as no program can read them."""
    corpus = corpus_of_pool(spec)
    return (unit(document(passage)) for passage in corpus.passages)


def spec(stratum: Stratum, corpora: str, *, numbered: bool = False) -> PoolSpec:
    """Return the pool of all passages of a stratum's corpus, with or without numbers."""
    digest = str(stratum.knob("corpus", ""))
    name = f"{'numbered-' if numbered else ''}passages-{digest[:12]}-{stratum.tier}"
    make = make_numbered if numbered else make_passages
    return PoolSpec(name, 1, stratum.tier, f"corpus {digest}", make, corpora)


@lru_cache(maxsize=16)
def needing(corpus: Corpus, needed: int) -> Sequence[int]:
    """Return the indices of the questions that can be asked and need `needed` passages."""
    every = enumerate(corpus.questions)
    return [n for n, one in every if one.answers and not one.shown and len(one.gold) == needed]


def for_demonstrations(every: Iterable[Question]) -> Sequence[Question]:
    """Return the questions kept for demonstrations, or all if there are none."""
    some = [*every]
    return [one for one in some if one.shown] or some


class Answering:
    """A cache of which passages contain an answer to a question."""

    def __init__(self, corpus: Corpus, question: Question) -> None:
        self._corpus, self._forms = corpus, forms_of(question.answers)
        self._contain_answer = np.zeros(len(corpus.passages), dtype=np.bool_)
        self._known = np.zeros(len(corpus.passages), dtype=np.bool_)

    def contain_answer(self, places: Indices) -> NDArray[np.bool_]:
        """Return for each of some passages whether it contains an accepted answer."""
        fresh = places[~self._known[places]]
        if len(fresh) and self._forms:
            self._contain_answer[self._corpus.holding(fresh.tolist(), self._forms)] = True
        self._known[fresh] = True
        return np.asarray(self._contain_answer[places], dtype=np.bool_)


@lru_cache(maxsize=64)
def answering(corpus: Corpus, number: int) -> Answering:
    """Return the cache of a question's answers."""
    return Answering(corpus, corpus.questions[number])


class Ranked:
    """The passages ranked for a question and then others, without those that are out or contain an answer."""

    def __init__(self, first: Indices, others: Shuffled | None, answers: Answering, out: Iterable[int]) -> None:
        self._answers, self._others, self._drawn = answers, others, 0
        self._gone = np.zeros(others.limit if others else int(first.max(initial=0)) + 1, dtype=np.bool_)
        self._gone[[place for place in out if place < len(self._gone)]] = True
        self._found = self._fit(first)
        self._gone[first] = True

    def take(self, count: int) -> Indices:
        """Return the first `count` passages, or all there are."""
        while len(self._found) < count and self._others and self._drawn < self._others.limit:
            stop = min(self._others.limit, self._drawn + count - len(self._found) + 16)
            fresh = self._fit(self._others.take(stop)[self._drawn :])
            self._drawn = stop
            self._found = np.concatenate([self._found, fresh])
        return self._found[:count]

    def _fit(self, places: Indices) -> Indices:
        """Return the passages that may be filler."""
        free = places[~self._gone[places]]
        return free[~self._answers.contain_answer(free)]


def filler(
    row_streams: Streams,
    stratum: Stratum,
    corpus: Corpus,
    number: int,
    out: Iterable[int],
    pool: str,
    *,
    shuffled: bool,
) -> Filler:
    """Return a row's filler without the passages that are `out`, according to the knobs ``negatives`` and ``beyond``.

    Hard passages are in the text as ranked, best first and others after them, or `shuffled`.
    """
    question, size = corpus.questions[number], len(corpus.passages)
    hard = stratum.knob("negatives", "hard") == "hard"
    first = np.array([corpus.places[name] for name in question.ranked] if hard else [], dtype=np.int64)
    others = (
        Shuffled(row_streams.of("filler"), size) if not hard or stratum.knob("beyond", BEYOND[0]) == "others" else None
    )
    ranks = words(row_streams.of("places"), size).astype(np.int64)
    if hard and not shuffled:
        ranks += len(first)
        ranks[first] = np.arange(len(first))
    order = Ranked(first, others, answering(corpus, number), corpus.doubles.union(out))
    return Filler(pool, order, policy="ranked", ranks=ranks)


LONGEST_SHOWN = 1_500
"""The most characters of a document in a demonstration."""


def is_short(corpus: Corpus, name: str) -> bool:
    """Return whether a passage is short enough for a demonstration."""
    passage = corpus.passages[corpus.places[name]]
    return len(passage.title) + len(passage.text) <= LONGEST_SHOWN


def showing(corpus: Corpus, number: int, gone: Set[str]) -> Callable[[str], bool]:
    """Return a test of whether a demonstration may show a passage: it is unused, short, and has no answer.

    Args:
        corpus: the corpus.
        number: the index of the row's question.
        gone: the passages that are elsewhere in the prompt.
    """
    known = answering(corpus, number)
    return lambda name: (
        name not in gone and is_short(corpus, name) and not known.contain_answer(np.array([corpus.places[name]]))[0]
    )


@dataclass(frozen=True, slots=True)
class PassageTask(CorpusTask):
    """A user's own question about the user's passages. `complexity` is the number of passages that it needs."""

    introduction = text.INTRODUCTION
    lacking = "the corpus has no question to ask that needs so many passages: leave it out"
    few_shown = "other questions can be shown: give shots = 0"
    """The end of the error message if too few questions can be demonstrations."""
    numbered = False
    """Whether documents have numbers."""
    shuffled = True
    """Whether hard documents are in random order instead of ranked."""
    shots = 2
    most_shots = 2

    @abstractmethod
    def tail(self, question: str) -> str:
        """Return the text after the documents."""

    @abstractmethod
    def askable(self, corpus: Corpus, needed: int) -> Sequence[int]:
        """Return the indices of the questions for a complexity."""

    @abstractmethod
    def showable(self, corpus: Corpus) -> Sequence[Question]:
        """Return the questions for demonstrations."""

    @abstractmethod
    def needed(
        self, corpus: Corpus, question: Question, stratum: Stratum, row_streams: Streams
    ) -> tuple[Sequence[str], Key]:
        """Return the ids of the passages that a question needs in a row, and its key."""

    @abstractmethod
    def documents_shown(
        self, corpus: Corpus, rng: Random, asked: int, question: Question, gone: Set[str]
    ) -> Sequence[str]:
        """Return the ids of a demonstration's documents; empty if the question cannot be shown.

        `asked` is the index of the row's question, and `gone` are the passages that are elsewhere in the prompt.
        """

    @abstractmethod
    def answer_shown(self, corpus: Corpus, question: Question, documents: Sequence[str]) -> str:
        """Return the answer of a demonstration."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec(stratum, self.corpora, numbered=self.numbered),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a question from all that need as many passages.

        Raises:
            PoolError: if the corpus has none, or too few for demonstrations.
        """
        corpus = self.corpus(stratum)
        some = self.askable(corpus, stratum.complexity)
        if not some:
            raise PoolError(f"{stratum}: {self.lacking}")
        number = some[deal(stratum_streams.of("question"), stratum.rows, index, len(some))]
        question = corpus.questions[number]
        names, key = self.needed(corpus, question, stratum, row_streams)
        if stratum.complexity == 1:
            depths = [grid.depth(stratum, index, stratum_streams)]
        else:
            depths = [spread(stratum_streams.of("depth", at), stratum.rows, index) for at in range(len(names))]
        latent = {
            "number": number,
            "question_id": question.id,
            "depths": depths,
            "shown": self._shown(corpus, row_streams.of("shown"), stratum, number),
        }
        relevant = tuple(self.written(corpus, corpus.places[name]) for name in names)
        return Sample("", stratum, index, latent, relevant, question.question, key)

    def _shown(self, corpus: Corpus, rng: Random, stratum: Stratum, number: int) -> list[dict[str, Any]]:
        """Draw demonstrations: other questions, each with documents that occur nowhere else."""
        wanted, found, gone = self.shots_of(stratum), list[dict[str, Any]](), {*corpus.questions[number].gold}
        some = self.showable(corpus)
        for place in rng.sample(range(len(some)), len(some)):
            if len(found) == wanted:
                break
            names = [*self.documents_shown(corpus, rng, number, some[place], gone)]
            if names:
                rng.shuffle(names)
                gone.update(names)
                found.append({"question": some[place].id, "documents": names})
        if len(found) < wanted:
            raise PoolError(f"{stratum}: {wanted} demonstrations are needed, but {len(found)} {self.few_shown}")
        return found

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        stratum, latent, corpus = sample.stratum, sample.latent, self.corpus(sample.stratum)
        needed = zip(latent["depths"], sample.relevant, strict=True)
        out = {*corpus.questions[latent["number"]].gold, *(n for one in latent["shown"] for n in one["documents"])}
        return Layout(
            head=tuple(self._head(corpus, latent["shown"])),
            placed=tuple(Placed.line(line, "relevant", depth) for depth, line in needed),
            filler=filler(
                row_streams,
                stratum,
                corpus,
                latent["number"],
                [corpus.places[name] for name in out],
                self.pools(stratum)[0].name,
                shuffled=self.shuffled,
            ),
            tail=(Piece(self.tail(sample.question), "question"),),
        )

    def _head(self, corpus: Corpus, shown: Sequence[Mapping[str, Any]]) -> Iterator[Piece]:
        yield Piece(self.introduction, "instruction")
        known = {one.id: one for one in self.showable(corpus)} if shown else {}
        for number, each in enumerate(shown, start=1):
            question, names = known[each["question"]], each["documents"]
            documents = [self.written(corpus, corpus.places[name]) for name in names]
            answer = self.answer_shown(corpus, question, names)
            yield Piece(example(number, documents, question.question, answer), "demo")
        yield Piece(START, "instruction")

    def written(self, corpus: Corpus, place: int) -> str:
        """Return a passage as a prompt's document."""
        return document(corpus.passages[place], numbers(corpus)[place] if self.numbered else None)

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return the number of documents that are filler, and of those ranked for the question among them."""
        corpus = self.corpus(sample.stratum)
        ranked = [corpus.places[name] for name in corpus.questions[sample.latent["number"]].ranked]
        return {"filler": {"documents": len(units), "own": int(np.isin(units, ranked).sum())}}

    def faults(self, row: PublishedRow) -> Iterator[str]:
        return faults(row)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the point of the grid at which a single document is."""
        single = sample.stratum.complexity == 1
        return grid.dealt(sample.latent["depths"][0], sample.stratum) if single else {}


END = "This is the end of the documents."
OPENING = re.compile(r"Document(?: \[(\d+)\])?(?: \(title: |: )")
NUMBER = re.compile(r"^Document \[(\d+)\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Line:
    """A document of a prompt: the span of its line, its text without the newline, and its number, if any."""

    start: int
    end: int
    text: str
    number: str = ""


def read(text: str) -> list[Line]:
    """Return the documents of a prompt, in order, without those of demonstrations."""
    start, stop = text.find(f"\n{START}") + 1 + len(START), text.rfind(f"\n{END}") + 1
    if start <= len(START) or stop <= start:
        raise ReadError("the prompt has no documents")
    return list(_lines(text[start:stop], start))


def _lines(body: str, start: int) -> Iterator[Line]:
    for line in body.split("\n")[:-1]:
        found = OPENING.match(line)
        if not found:
            raise ReadError(f"no document: {line[:80]!r}")
        yield Line(start, start + len(line) + 1, line, found[1] or "")
        start += len(line) + 1


TITLE_OPENING = len("Document ")


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row."""
    found, forms = read(row.text), forms_of([row.key.answers])
    if question(row.text) != row.question:
        yield f"the prompt asks {question(row.text)!r}"
    twice = [line for line, times in Counter(one.text for one in found).items() if times > 1]
    if twice:
        yield f"the document {twice[0][:80]!r} stands twice"
    marked = {*row.spans("relevant")}
    needed = [one for one in found if (one.start, one.end) in marked]
    if len(needed) != len(marked) or len(needed) != row.stratum.complexity:
        yield f"{len(needed)} documents are marked as needed, expected {row.stratum.complexity}"
    texts = [one.text[TITLE_OPENING:] for one in found]
    likely = with_words(plain("\n".join(texts)).split("\n"), rarest(forms))
    answering = [found[place] for place in likely if holds(searched(texts[place]), forms)]
    if not any(one in needed for one in answering):
        yield "no document that is needed holds an accepted answer"
    if others := [one for one in answering if one not in needed]:
        yield f"the document {others[0].text[:80]!r} holds an accepted answer too"
    stated = row.metadata.get("filler")
    if stated and stated.get("documents") != len(found) - len(needed):
        yield f"{len(found) - len(needed)} documents are filler, expected {stated.get('documents')}"


def numbered_faults(row: PublishedRow, wanted: Set[str], count: int) -> Iterator[str]:
    """Yield what is wrong with a row whose key names the `wanted` documents; `count` of them should be marked."""
    found = read(row.text)
    numbers = [one.number for one in found]
    if question(row.text) != row.question:
        yield f"the prompt asks {question(row.text)!r}"
    if "" in numbers or len(set(numbers)) != len(numbers):
        yield "a document has no number, or that of another"
    if len({one.text.partition("]")[2] for one in found}) != len(found):
        yield "a document stands twice"
    marked = {*row.spans("relevant")}
    relevant = {one.number for one in found if (one.start, one.end) in marked}
    if len(marked) != count or relevant != wanted:
        yield "the marked documents are not those of the key"
    shown = chain.from_iterable(NUMBER.findall(one) for one in row.marked("demo"))
    if again := sorted(set(shown) & set(numbers)):
        yield f"the document {again[0]} stands in a demonstration too"
