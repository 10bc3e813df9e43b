"""rag.single, rag.bridge and rag.list about a user's own passages (HELMET, section 2.1 and appendix B.1)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import islice
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import lru_cache
from pipeline.corpora.gathering import forms_of
from pipeline.corpora.reading import holds, searched
from pipeline.corpora.records import Corpus, Question
from pipeline.errors import PoolError
from pipeline.metrics import MEMBERS
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams
from pipeline.tasks import grid
from pipeline.tasks.base import (
    CorpusKnob,
    Filler,
    Key,
    Layout,
    Piece,
    Placed,
    PoolSpec,
    PublishedRow,
    Sample,
    Task,
    Unit,
    unit,
)
from pipeline.tasks.corpus import text
from pipeline.tasks.corpus.base import corpus_of_pool
from pipeline.tasks.corpus.passages import (
    BEYOND,
    NEGATIVES,
    PassageTask,
    answering,
    for_demonstrations,
    needing,
    numbered_faults,
    numbers,
    showing,
)
from pipeline.tasks.documents.haystack import ANSWERED, JUDGED
from pipeline.tasks.documents.solve import question
from pipeline.tasks.documents.text import TAIL
from pipeline.tasks.haystacks import in_runs
from pipeline.tasks.rag.text import ONE

KNOBS: Mapping[str, tuple[Any, ...] | CorpusKnob] = {"corpus": ANSWERED, "beyond": BEYOND, "negatives": NEGATIVES}
DOCUMENTS_SHOWN = 3
"""Documents in a demonstration, unless its answer needs as many or more."""
MOST_RELEVANT_SHOWN = 3
"""The most relevant passages in a demonstration."""


@dataclass(frozen=True, slots=True)
class Asked(PassageTask):
    """A user's own question about the user's passages. `complexity` is the number of passages that it needs."""

    family = "rag"
    title = "a question about a user's own passages"
    scorer = "exact"
    few_shown = (
        "of the corpus's questions have short documents that do not answer what is asked: give shots = 0, or more "
        "questions"
    )

    def askable(self, corpus: Corpus, needed: int) -> Sequence[int]:
        return needing(corpus, needed)

    def showable(self, corpus: Corpus) -> Sequence[Question]:
        return _with_answers(corpus)

    def needed(
        self, corpus: Corpus, question: Question, stratum: Stratum, row_streams: Streams
    ) -> tuple[Sequence[str], Key]:
        return question.gold, self.keyed(corpus, question)

    def documents_shown(
        self, corpus: Corpus, rng: Random, asked: int, question: Question, gone: Set[str]
    ) -> Sequence[str]:
        """Return the documents that a demonstration needs, and ranked ones."""
        fit = showing(corpus, asked, gone)
        if question.question == corpus.questions[asked].question or not all(map(fit, question.gold)):
            return ()
        return [*question.gold, *islice(filter(fit, question.ranked), max(1, DOCUMENTS_SHOWN - len(question.gold)))]

    def answer_shown(self, corpus: Corpus, question: Question, documents: Sequence[str]) -> str:
        return self.keyed(corpus, question).target

    def keyed(self, corpus: Corpus, question: Question) -> Key:
        """Return the key of a question, which accepts every form of its answers."""
        return Key.accepting(*dict.fromkeys(form for group in question.answers for form in group))

    def tail(self, question: str) -> str:
        return TAIL.format(reply=ONE, question=question)


@lru_cache(maxsize=4)
def _with_answers(corpus: Corpus) -> Sequence[Question]:
    return for_demonstrations(one for one in corpus.questions if one.answers)


@dataclass(frozen=True, slots=True)
class Single(Asked):
    """A question that one passage answers."""

    subtask = "single"
    complexities = (1,)
    knobs = MappingProxyType({**KNOBS, "negatives": (*NEGATIVES, "running"), **grid.DEPTH})
    shuffled = False

    def for_stratum(self, stratum: Stratum) -> Task:
        """Return the task for what surrounds the needed passage."""
        return Running() if stratum.knob("negatives", NEGATIVES[0]) == "running" else self


@dataclass(frozen=True, slots=True)
class Bridge(Asked):
    """A question that needs several passages."""

    subtask = "bridge"
    complexities = (2, 3, 4)
    knobs = KNOBS


@dataclass(frozen=True, slots=True)
class Listed(Asked):
    """The documents judged relevant to a question. `complexity` is their number."""

    subtask = "list"
    complexities = (1, 2, 3, 4, 5, 6, 7, 8)
    knobs = MappingProxyType({**KNOBS, "corpus": JUDGED})
    numbered = True
    scorer = "members"
    max_new_tokens = 128

    def askable(self, corpus: Corpus, needed: int) -> Sequence[int]:
        return _judged(corpus, needed)

    def showable(self, corpus: Corpus) -> Sequence[Question]:
        return _few_judged(corpus)

    def keyed(self, corpus: Corpus, question: Question) -> Key:
        """Return the key: the numbers of the relevant passages."""
        at = numbers(corpus)
        return Key.accepting(MEMBERS.join(str(at[corpus.places[name]]) for name in question.gold))

    def tail(self, question: str) -> str:
        return text.RELEVANT.format(question=question)

    def faults(self, row: PublishedRow) -> Iterator[str]:
        return numbered_faults(row, {*row.key.target.split(MEMBERS)}, row.stratum.complexity)


@lru_cache(maxsize=16)
def _judged(corpus: Corpus, needed: int) -> Sequence[int]:
    return [n for n, one in enumerate(corpus.questions) if not one.shown and len(one.gold) == needed]


@lru_cache(maxsize=4)
def _few_judged(corpus: Corpus) -> Sequence[Question]:
    return for_demonstrations(one for one in corpus.questions if 0 < len(one.gold) <= MOST_RELEVANT_SHOWN)


def make_running(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every paragraph of a corpus as it is, without its title."""
    corpus = corpus_of_pool(spec)
    return (unit(passage.text + "\n") for passage in corpus.passages)


@dataclass(frozen=True, slots=True)
class Running(Single):
    """A question about a paragraph of a user's documents, in its original context."""

    shots = 0
    most_shots = 0

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        digest = str(stratum.knob("corpus", ""))
        name = f"running-{digest[:12]}-{stratum.tier}"
        return (PoolSpec(name, 1, stratum.tier, f"corpus {digest}", make_running, self.corpora),)

    def tail(self, question: str) -> str:
        return text.RUNNING_TAIL.format(question=question)

    def written(self, corpus: Corpus, place: int) -> str:
        """Return a paragraph as a line of a prompt."""
        return corpus.passages[place].text + "\n"

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put the paragraph at its depth, with as much of its context and other documents as fits."""
        corpus, (depth,) = self.corpus(sample.stratum), sample.latent["depths"]
        if not corpus.documents:
            raise PoolError(f"{sample.stratum}: negatives = 'running' needs a corpus of documents: give 'hard'")
        gold = corpus.places[corpus.questions[sample.latent["number"]].gold[0]]
        order, ranks = _around(corpus, gold, depth, row_streams)
        (spec,) = self.pools(sample.stratum)
        return Layout(
            head=(Piece(text.RUNNING, "instruction"), Piece(text.START_OF_TEXT, "instruction")),
            placed=(Placed.line(sample.relevant[0], "relevant", depth, at=int(ranks[gold])),),
            filler=Filler(spec.name, Given(order), policy="ranked", ranks=ranks),
            tail=(Piece(self.tail(sample.question), "question"),),
        )

    def filled(self, sample: Sample, units: Indices) -> dict[str, Any]:
        """Return the number of paragraphs of filler, and how many are of the same document or contain an answer."""
        corpus, number = self.corpus(sample.stratum), sample.latent["number"]
        home = corpus.passages[corpus.places[corpus.questions[number].gold[0]]].title
        own = sum(corpus.passages[place].title == home for place in units.tolist())
        holding = int(answering(corpus, number).contain_answer(units).sum())
        return {"filler": {"paragraphs": len(units), "own": own, "holding": holding}}

    def faults(self, row: PublishedRow) -> Iterator[str]:
        if question(row.text) != row.question:
            yield f"the prompt asks {question(row.text)!r}"
        marked = row.marked("relevant")
        if len(marked) != 1 or f"\n{marked[0]}" not in row.text or marked[0].count("\n") != 1:
            yield "the marked text is not one line of the prompt"
        elif not holds(searched(marked[0]), forms_of([row.key.answers])):
            yield "the paragraph that is needed holds no accepted answer"


def _around(corpus: Corpus, gold: int, depth: float, row_streams: Streams) -> tuple[Indices, Indices]:
    """Return all paragraphs but `gold` in the order in which they enter, and every paragraph's rank in the text."""
    starts, counts, sizes, home = _outline(corpus)
    others = Shuffled(row_streams.of("filler"), len(starts), frozenset({int(home[gold])})).take(len(starts) - 1)
    lengths = np.add.reduceat(sizes, starts)[others]
    before = others[: int(np.searchsorted(np.cumsum(lengths), depth * lengths.sum()))] if len(others) else others
    after = others[len(before) :]
    mine = home[gold]
    whole = np.concatenate([before, [mine], after]).astype(np.int64)
    line = in_runs(starts[whole], counts[whole])
    ranks = np.empty(len(line), dtype=np.int64)
    ranks[line] = np.arange(len(line))
    left, right = line[: ranks[gold]][::-1], line[ranks[gold] + 1 :]
    away = np.concatenate([np.cumsum(sizes[left]) / max(depth, 1e-9), np.cumsum(sizes[right]) / max(1 - depth, 1e-9)])
    return np.concatenate([left, right])[np.argsort(away, kind="stable")], ranks


@lru_cache(maxsize=4)
def _outline(corpus: Corpus) -> tuple[Indices, Indices, Indices, NDArray[np.int64]]:
    """Return each document's first paragraph and number of paragraphs, and each paragraph's size and document."""
    titles = [passage.title for passage in corpus.passages]
    starts = [place for place, title in enumerate(titles) if place == 0 or titles[place - 1] != title]
    counts = np.diff([*starts, len(titles)])
    sizes = np.array([len(passage.text) + 1 for passage in corpus.passages], dtype=np.int64)
    return np.array(starts, dtype=np.int64), counts, sizes, np.repeat(np.arange(len(starts)), counts)
