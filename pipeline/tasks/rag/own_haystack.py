"""The haystack of a user's own passages: those ranked for the question first, then those of other questions.

No passage that holds an accepted answer is filler. Whether one does is looked up when it is about to be taken, and
remembered for the other lengths and profiles of the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams, stream, words
from pipeline.tasks.base import Filler, PoolSpec, Unit, unit
from pipeline.tasks.rag.own_text import document
from pipeline.worlds.corpora.records import Corpus, Question
from pipeline.worlds.corpora.rules import holds
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
    """Which passages hold an answer to a question."""

    def __init__(self, corpus: Corpus, question: Question) -> None:
        self._corpus, self._forms = corpus, forms_of(question.answers)
        self._known = bytearray(len(corpus.passages))

    def held(self, place: int) -> bool:
        """Tell whether a passage holds an accepted answer."""
        if not self._known[place]:
            self._known[place] = 2 if holds(self._corpus.searched(place), self._forms) else 1
        return self._known[place] == 2


@lru_cache(maxsize=64)
def sought(corpus: Corpus, number: int) -> Sought:
    """Return what is known of a question's answers."""
    return Sought(corpus, corpus.questions[number])


class Ranked:
    """The passages ranked for a question and then others, without those that are out or hold an answer."""

    def __init__(self, first: Sequence[int], others: Shuffled | None, held: Sought, out: Iterable[int]) -> None:
        gone = frozenset(out)
        self._held, self._others, self._drawn = held, others, 0
        kept = [place for place in first if place not in gone and not held.held(place)]
        self._gone = gone.union(kept)
        self._found = np.array(kept, dtype=np.int64)

    def take(self, count: int) -> Indices:
        """Return the first `count` passages, or all there are."""
        while len(self._found) < count and self._others and self._drawn < self._others.limit:
            stop = min(self._others.limit, self._drawn + count - len(self._found) + 16)
            fresh = self._others.take(stop)[self._drawn :].tolist()
            self._drawn = stop
            kept = [place for place in fresh if place not in self._gone and not self._held.held(place)]
            self._found = np.concatenate([self._found, np.array(kept, dtype=np.int64)])
        return self._found[:count]


def filler(
    own: Streams, stratum: Stratum, corpus: Corpus, number: int, out: Iterable[int], pool: str, *, shuffled: bool
) -> Filler:
    """Return a row's filler without the passages that are `out`, by the knobs ``negatives`` and ``beyond``.

    Hard ones stand in the text as they are ranked, the best first and others behind them, or `shuffled`.
    """
    question, size = corpus.questions[number], len(corpus.passages)
    hard = stratum.knob("negatives", NEGATIVES[0]) == "hard"
    first = [corpus.places[name] for name in question.ranked] if hard else []
    others = Shuffled(own.of("filler"), size) if not hard or stratum.knob("beyond", BEYOND[0]) == "others" else None
    ranks = words(own.of("places"), size).astype(np.int64)
    if hard and not shuffled:
        ranks += len(first)
        ranks[first] = np.arange(len(first))
    order = Ranked(first, others, sought(corpus, number), corpus.doubles.union(out))
    return Filler(pool, order, NONE, "ranked", ranks=ranks)
