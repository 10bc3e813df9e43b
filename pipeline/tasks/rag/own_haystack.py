"""The haystack of a user's own passages: those ranked for the question first, then those of other questions.

No passage that holds an accepted answer is filler. Whether one does is looked up when it is about to be taken, and
remembered for the other lengths and profiles of the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams, stream, words
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.tasks.rag.own_text import document
from pipeline.worlds.corpora.records import Corpus, Question
from pipeline.worlds.corpora.shelf import forms_of
from pipeline.worlds.corpora.store import corpus_of

BEYOND, NEGATIVES = ("others", "none"), ("hard", "random")
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
    own: Streams, stratum: Stratum, corpus: Corpus, number: int, out: Iterable[int], pool: str, *, shuffled: bool
) -> Filler:
    """Return a row's filler without the passages that are `out`, by the knobs ``negatives`` and ``beyond``.

    Hard ones stand in the text as they are ranked, the best first and others behind them, or `shuffled`.
    """
    question, size = corpus.questions[number], len(corpus.passages)
    hard = stratum.knob("negatives", NEGATIVES[0]) == "hard"
    first = np.array([corpus.places[name] for name in question.ranked] if hard else [], dtype=np.int64)
    others = Shuffled(own.of("filler"), size) if not hard or stratum.knob("beyond", BEYOND[0]) == "others" else None
    ranks = words(own.of("places"), size).astype(np.int64)
    if hard and not shuffled:
        ranks += len(first)
        ranks[first] = np.arange(len(first))
    order = Ranked(first, others, sought(corpus, number), corpus.doubles.union(out))
    return Filler(pool, order, NONE, "ranked", ranks=ranks)
