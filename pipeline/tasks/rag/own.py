"""rag.single and rag.bridge about a user's own passages: HELMET's files and others, cut to the token at any length.

Nobody can solve such a row by a program. It is checked: the documents that are needed stand there once, at their
depths, one of them holds an accepted answer, and no other document of the prompt does (HELMET drops such documents
too). Documents that were ranked for the question come first; where they run out, others fill the prompt by the knob
``beyond``, and the metadata says how many are the question's own.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, islice
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.corpora.gathering import forms_of
from pipeline.corpora.reading import holds, searched
from pipeline.corpora.records import Corpus, Question, corpus_of
from pipeline.errors import PoolError
from pipeline.metrics import MEMBERS
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams, deal, spread, stream, words
from pipeline.tasks import grid
from pipeline.tasks.base import (
    CorpusKnob,
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    Published,
    Sample,
    Task,
    Turns,
    Unit,
    unit,
)
from pipeline.tasks.documents import text
from pipeline.tasks.documents.solve import question
from pipeline.tasks.haystacks import in_runs
from pipeline.tasks.rag import own_text
from pipeline.tasks.rag import own_text as own_proof
from pipeline.tasks.rag.own_text import document
from pipeline.tasks.rag.text import ONE

BEYOND, NEGATIVE_UNITS = ("others", "none"), ("hard", "random")
"""What fills a prompt behind the ranked passages, and whether these come first at all."""
NONE = np.empty(0, dtype=np.int64)


@lru_cache(maxsize=4)
def numbers(corpus: Corpus) -> Sequence[int]:
    """Return a number for each passage: of five digits, or of as many as leave most of them free, and in no order."""
    digits = max(5, len(str(2 * len(corpus.passages))))
    first = 10 ** (digits - 1)
    return stream("corpora", "numbers", corpus.digest).sample(range(first, 10 * first), len(corpus.passages))


def make_numbered(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every passage of a corpus under its number."""
    corpus = corpus_of(spec.corpora, spec.source.rsplit(" ", 1)[1])
    told = zip(corpus.passages, numbers(corpus), strict=True)
    return (unit(document(passage, number)) for passage, number in told)


def make_passages(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every passage of a corpus. They state no facts that a program could read."""
    corpus = corpus_of(spec.corpora, spec.source.rsplit(" ", 1)[1])
    return (unit(document(passage)) for passage in corpus.passages)


def spec(stratum: Stratum, corpora: str, *, numbered: bool = False) -> PoolSpec:
    """Return the pool of all passages of a stratum's corpus, with their numbers or without."""
    digest = str(stratum.knob("corpus", ""))
    name = f"{'numbered-' if numbered else ''}passages-{digest[:12]}-{stratum.tier}"
    make = make_numbered if numbered else make_passages
    return PoolSpec(name, 1, stratum.tier, f"corpus {digest}", make, corpora)


@lru_cache(maxsize=16)
def asked(corpus: Corpus, needed: int) -> Sequence[int]:
    """Return the places of the questions that can be asked and need so many passages."""
    every = enumerate(corpus.questions)
    return [n for n, one in every if one.answers and not one.shown and len(one.gold) == needed]


@lru_cache(maxsize=4)
def shown(corpus: Corpus) -> Sequence[Question]:
    """Return the questions of demonstrations: those kept for them, or if there are none, all."""
    every = [one for one in corpus.questions if one.answers]
    return [one for one in every if one.shown] or every


class Sought:
    """Which passages hold an answer to a question, as far as anybody asked."""

    def __init__(self, corpus: Corpus, question: Question) -> None:
        self._corpus, self._forms = corpus, forms_of(question.answers)
        self._held = np.zeros(len(corpus.passages), dtype=np.bool_)
        self._known = np.zeros(len(corpus.passages), dtype=np.bool_)

    def held(self, places: Indices) -> NDArray[np.bool_]:
        """Tell of some passages whether each holds an accepted answer."""
        fresh = places[~self._known[places]]
        if len(fresh) and self._forms:
            self._held[self._corpus.holding(fresh.tolist(), self._forms)] = True
        self._known[fresh] = True
        return np.asarray(self._held[places], dtype=np.bool_)


@lru_cache(maxsize=64)
def sought(corpus: Corpus, number: int) -> Sought:
    """Return what is known of a question's answers."""
    return Sought(corpus, corpus.questions[number])


class Ranked:
    """The passages ranked for a question and then others, without those that are out or hold an answer."""

    def __init__(self, first: Indices, others: Shuffled | None, held: Sought, out: Iterable[int]) -> None:
        self._held, self._others, self._drawn = held, others, 0
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
        return free[~self._held.held(free)]


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
    """Return a row's filler without the passages that are `out`, by the knobs ``negatives`` and ``beyond``.

    Hard ones stand in the text as they are ranked, the best first and others behind them, or `shuffled`.
    """
    question, size = corpus.questions[number], len(corpus.passages)
    hard = stratum.knob("negatives", NEGATIVE_UNITS[0]) == "hard"
    first = np.array([corpus.places[name] for name in question.ranked] if hard else [], dtype=np.int64)
    others = (
        Shuffled(row_streams.of("filler"), size) if not hard or stratum.knob("beyond", BEYOND[0]) == "others" else None
    )
    ranks = words(row_streams.of("places"), size).astype(np.int64)
    if hard and not shuffled:
        ranks += len(first)
        ranks[first] = np.arange(len(first))
    order = Ranked(first, others, sought(corpus, number), corpus.doubles.union(out))
    return Filler(pool, order, NONE, "ranked", ranks=ranks)


CORPUS = CorpusKnob("a corpus's SHA-256", frozenset({"passages", "questions", "answers"}))
JUDGED = CorpusKnob("a corpus's SHA-256", frozenset({"passages", "questions"}))
KNOBS: Mapping[str, tuple[Any, ...] | CorpusKnob] = {
    "corpus": CORPUS,
    "beyond": BEYOND,
    "negatives": NEGATIVE_UNITS,
}
NEGATIVES = (*NEGATIVE_UNITS, "running")
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
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = field()
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

    def with_corpora(self, corpora: str) -> OwnRag:
        """Return the task with the folder that frozen corpora lie in."""
        return replace(self, corpora=corpora)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of passages."""
        return (spec(stratum, self.corpora),)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw a question, dealt over all that need as many passages.

        Raises:
            PoolError: if the corpus has none.
        """
        corpus = self.corpus(stratum)
        some = self.askable(corpus, stratum.complexity)
        if not some:
            raise PoolError(f"{stratum}: {self.lacking}")
        number = some[deal(stratum_streams.of("question"), stratum.rows, index, len(some))]
        question = corpus.questions[number]
        names, key = self.needed(corpus, question, stratum, row_streams)
        latent = {
            "number": number,
            "question_id": question.id,
            "depths": _depths(stratum, index, stratum_streams, len(names)),
            "shown": self.shown(corpus, row_streams.of("shown"), stratum, number),
        }
        relevant = tuple(self.written(corpus, corpus.places[name]) for name in names)
        return Sample("", stratum, index, latent, relevant, question.question, key)

    def needed(
        self, corpus: Corpus, question: Question, stratum: Stratum, row_streams: Streams
    ) -> tuple[Sequence[str], Key]:
        """Return the ids of the passages that a question needs in a row, and its key."""
        return question.gold, self.keyed(corpus, question)

    def shown(self, corpus: Corpus, rng: Random, stratum: Stratum, number: int) -> list[dict[str, Any]]:
        """Draw demonstrations: other questions, each with its answer and documents of its own."""
        wanted, found = self.shots_of(stratum), list[dict[str, Any]]()
        asked, held = corpus.questions[number], sought(corpus, number)
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

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the documents that are needed at their depths."""
        stratum, latent, corpus = sample.stratum, sample.latent, self.corpus(sample.stratum)
        needed = zip(latent["depths"], sample.relevant, strict=True)
        out = {*corpus.questions[latent["number"]].gold, *(n for one in latent["shown"] for n in one["documents"])}
        return Layout(
            head=tuple(self._head(corpus, latent["shown"])),
            placed=tuple(Placed(unit(said, "relevant"), depth) for depth, said in needed),
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

    def showable(self, corpus: Corpus) -> Sequence[Question]:
        """Return the questions of demonstrations."""
        return shown(corpus)

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
        return grid.dealt(sample.latent["depths"][0], sample.stratum) if single else {}

    def askable(self, corpus: Corpus, needed: int) -> Sequence[int]:
        """Return the places of the questions that need so many passages."""
        return asked(corpus, needed)

    def keyed(self, corpus: Corpus, question: Question) -> Key:
        """Return the key of a question: every form of its answers is right."""
        forms = tuple(dict.fromkeys(form for group in question.answers for form in group))
        return Key(forms[0], forms)

    def written(self, corpus: Corpus, place: int) -> str:
        """Return a passage as prompts have it."""
        return own_text.document(corpus.passages[place])

    def tail(self, question: str) -> str:
        """Return what stands behind the documents."""
        return text.TAIL.format(reply=ONE, question=question)

    def corpus(self, stratum: Stratum) -> Corpus:
        """Return the corpus of a stratum."""
        return corpus_of(self.corpora, str(stratum.knob("corpus", "")))


def _depths(stratum: Stratum, index: int, stratum_streams: Streams, count: int) -> list[float]:
    if stratum.complexity == 1:
        return [grid.depth(stratum, index, stratum_streams)]
    return [spread(stratum_streams.of("depth", place), stratum.rows, index) for place in range(count)]


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


SINGLE = OwnRag("single", (1,), {**KNOBS, "negatives": NEGATIVES, **grid.DEPTH}, shuffled=False)
BRIDGE = OwnRag("bridge", (2, 3, 4), KNOBS, shuffled=True)


@dataclass(frozen=True, slots=True)
class OwnNumbered(OwnRag):
    """A question of a user's that is answered with the numbers of passages."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of passages with their numbers."""
        return (spec(stratum, self.corpora, numbered=True),)

    def written(self, corpus: Corpus, place: int) -> str:
        """Return a passage as prompts have it, under its number."""
        return own_text.document(corpus.passages[place], numbers(corpus)[place])


@dataclass(frozen=True, slots=True)
class OwnListed(OwnNumbered):
    """The documents that were judged relevant to a question. `complexity` is how many they are."""

    scorer = "members"
    max_new_tokens = 128

    def askable(self, corpus: Corpus, needed: int) -> Sequence[int]:
        """Return the places of the questions with so many relevant passages; they need no answers."""
        return _askable(corpus, needed)

    def showable(self, corpus: Corpus) -> Sequence[Question]:
        """Return the questions of demonstrations: those that have few relevant passages."""
        return _showable(corpus)

    def keyed(self, corpus: Corpus, question: Question) -> Key:
        """Return the numbers of the passages that are relevant."""
        at = numbers(corpus)
        target = MEMBERS.join(str(at[corpus.places[name]]) for name in question.gold)
        return Key(target, (target,))

    def tail(self, question: str) -> str:
        """Return what stands behind the documents."""
        return own_text.RELEVANT.format(question=question)

    def check(self, row: Published) -> list[str]:
        """Check that what is relevant is there and marked, and that no number stands twice."""
        return list(faults(row, {*row.key.target.split(MEMBERS)}, row.stratum.complexity))


FEW = 3
"""Relevant passages of a demonstration at the most."""


@lru_cache(maxsize=16)
def _askable(corpus: Corpus, needed: int) -> Sequence[int]:
    return [n for n, one in enumerate(corpus.questions) if not one.shown and len(one.gold) == needed]


@lru_cache(maxsize=4)
def _showable(corpus: Corpus) -> Sequence[Question]:
    every = [one for one in corpus.questions if 0 < len(one.gold) <= FEW]
    return [one for one in every if one.shown] or every


def faults(row: Published, wanted: Set[str], count: int) -> Iterator[str]:
    """Yield what is wrong with a row whose key names `wanted` documents, which should be so many.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    found = own_text.read(row.text)
    numbers = [one.number for one in found]
    if question(row.text) != row.question:
        yield f"the prompt asks {question(row.text)!r}"
    if "" in numbers or len(set(numbers)) != len(numbers):
        yield "a document has no number, or that of another"
    if len({one.text.partition("]")[2] for one in found}) != len(found):
        yield "a document stands twice"
    marked = {(n.char_start, n.char_end) for n in row.needles if n.role == "relevant"}
    relevant = {one.number for one in found if (one.start, one.end) in marked}
    if len(marked) != count or relevant != wanted:
        yield "the marked documents are not those of the key"
    shown = (row.text[n.char_start : n.char_end] for n in row.needles if n.role == "demo")
    told = chain.from_iterable(own_text.NUMBER.findall(one) for one in shown)
    if again := sorted(set(told) & set(numbers)):
        yield f"the document {again[0]} stands in a demonstration too"


LISTED = OwnListed("list", (1, 2, 3, 4, 5, 6, 7, 8), {**KNOBS, "corpus": JUDGED}, shuffled=True)


def make_running(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every paragraph of a corpus as it stands, without its title."""
    corpus = corpus_of(spec.corpora, spec.source.rsplit(" ", 1)[1])
    return (unit(passage.text + "\n") for passage in corpus.passages)


@dataclass(frozen=True, slots=True)
class OwnRunning(OwnRag):
    """A question about a paragraph of a user's documents, which stands in its context."""

    shots = 0
    most_shots = 0

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        """Return the pool of paragraphs."""
        digest = str(stratum.knob("corpus", ""))
        name = f"running-{digest[:12]}-{stratum.tier}"
        return (PoolSpec(name, 1, stratum.tier, f"corpus {digest}", make_running, self.corpora),)

    def written(self, corpus: Corpus, place: int) -> str:
        """Return a paragraph as prompts have it."""
        return corpus.passages[place].text + "\n"

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the paragraph at its place in the text, and around it as much as there is room for."""
        corpus, (depth,) = self.corpus(sample.stratum), sample.latent["depths"]
        if not corpus.documents:
            raise PoolError(f"{sample.stratum}: negatives = 'running' needs a corpus of documents: give 'hard'")
        gold = corpus.places[corpus.questions[sample.latent["number"]].gold[0]]
        order, ranks = _around(corpus, gold, depth, row_streams)
        (spec,) = self.pools(sample.stratum)
        return Layout(
            head=(Piece(own_text.RUNNING, "instruction"), Piece(own_text.TEXT, "instruction")),
            placed=(Placed(unit(sample.relevant[0], "relevant"), depth, at=int(ranks[gold])),),
            filler=Filler(spec.name, Given(order), NONE, "ranked", ranks=ranks),
            tail=(Piece(own_text.TAIL.format(question=sample.question), "question"),),
        )

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return how many paragraphs are filler, and how many of them are of the same document or hold an answer."""
        corpus, number = self.corpus(sample.stratum), sample.latent["number"]
        home = corpus.passages[corpus.places[corpus.questions[number].gold[0]]].title
        own = sum(corpus.passages[place].title == home for place in units.tolist())
        holding = int(sought(corpus, number).held(units).sum())
        return {"filler": {"paragraphs": len(units), "own": own, "holding": holding}}

    def check(self, row: Published) -> list[str]:
        """Check that the marked paragraph holds the answer and is a line of the text."""
        return list(_faults(row))


def of_corpus(stratum: Stratum) -> OwnRag:
    """Return the task over a corpus, by what surrounds the passage that is needed."""
    return RUNNING if stratum.knob("negatives", NEGATIVE_UNITS[0]) == "running" else SINGLE


def _around(corpus: Corpus, gold: int, depth: float, row_streams: Streams) -> tuple[Indices, Indices]:
    """Return all paragraphs but one in the order in which they enter, and the place of every one in the text."""
    starts, counts, sizes, home = _outline(corpus)
    others = Shuffled(row_streams.of("filler"), len(starts), frozenset({int(home[gold])})).take(len(starts) - 1)
    lengths = np.add.reduceat(sizes, starts)[others]
    before = others[: int(np.searchsorted(np.cumsum(lengths), depth * lengths.sum()))] if len(others) else others
    behind = others[len(before) :]
    mine = home[gold]
    whole = np.concatenate([before, [mine], behind]).astype(np.int64)
    line = in_runs(starts[whole], counts[whole])
    ranks = np.empty(len(line), dtype=np.int64)
    ranks[line] = np.arange(len(line))
    left, right = line[: ranks[gold]][::-1], line[ranks[gold] + 1 :]
    away = np.concatenate([np.cumsum(sizes[left]) / max(depth, 1e-9), np.cumsum(sizes[right]) / max(1 - depth, 1e-9)])
    return np.concatenate([left, right])[np.argsort(away, kind="stable")], ranks


@lru_cache(maxsize=4)
def _outline(corpus: Corpus) -> tuple[Indices, Indices, Indices, NDArray[np.int64]]:
    """Return first paragraph and number of paragraphs of each document, all their sizes, and whose each is."""
    titles = [passage.title for passage in corpus.passages]
    starts = [place for place, title in enumerate(titles) if place == 0 or titles[place - 1] != title]
    counts = np.diff([*starts, len(titles)])
    sizes = np.array([len(passage.text) + 1 for passage in corpus.passages], dtype=np.int64)
    return np.array(starts, dtype=np.int64), counts, sizes, np.repeat(np.arange(len(starts)), counts)


def _faults(row: Published) -> Iterator[str]:
    if question(row.text) != row.question:
        yield f"the prompt asks {question(row.text)!r}"
    marked = [row.text[n.char_start : n.char_end] for n in row.needles if n.role == "relevant"]
    if len(marked) != 1 or f"\n{marked[0]}" not in row.text or marked[0].count("\n") != 1:
        yield "the marked text is not one line of the prompt"
    elif not holds(searched(marked[0]), forms_of([row.key.answers])):
        yield "the paragraph that is needed holds no accepted answer"


RUNNING = OwnRunning("single", (1,), SINGLE.knobs, shuffled=False)
