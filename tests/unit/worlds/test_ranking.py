"""The ranking in integers is BM25, and the same on every machine."""

from __future__ import annotations

import decimal
import hashlib
import re
from collections import Counter
from functools import cache
from math import log

import bm25s
import numpy as np
import pytest

from pipeline.streams import Streams, stream
from pipeline.worlds.gazetteer import gazetteer
from pipeline.worlds.ranking import IDF, TF, Index, idf, terms

TOP = 100
QUERIES = 60


@cache
def texts() -> tuple[str, ...]:
    return tuple(f"{one.title} {one.text}" for one in gazetteer(Streams((3,)), "32k").passages)


@cache
def index() -> Index:
    return Index(texts())


def queries() -> list[str]:
    rng = stream("queries")
    drawn = (" ".join(rng.sample(rng.choice(texts()).split(), 6)) for _ in range(2 * QUERIES))
    return [query for query in drawn if terms(query)][:QUERIES]


def bm25(query: str) -> list[float]:
    """Return BM25 by floating-point arithmetic, as its definition reads."""
    bags = [Counter(terms(text)) for text in texts()]
    mean = sum(bag.total() for bag in bags) / len(bags)
    found = [0.0] * len(bags)
    for term, times in Counter(terms(query)).items():
        holding = sum(term in bag for bag in bags)
        weight = log(1 + (len(bags) - holding + 0.5) / (holding + 0.5))
        for place, bag in enumerate(bags):
            share = bag[term] * 1.9 / (bag[term] + 0.9 * (0.6 + 0.4 * bag.total() / mean))
            found[place] += times * weight * share
    return found


def test_scores_are_those_of_the_definition() -> None:
    for query in queries()[:6]:
        scores = index().scores(query) / (IDF * TF)
        assert scores == pytest.approx(bm25(query), abs=0.02)


def test_the_best_are_those_of_another_implementation() -> None:
    peer = bm25s.BM25(k1=0.9, b=0.4, method="lucene")
    peer.index([terms(text) for text in texts()], show_progress=False)
    for query in queries():
        theirs = peer.get_scores(terms(query)) * 1.9
        own, _ = index().ranking(query, stream("ties"))
        rim = np.sort(theirs)[-TOP] - 0.02
        assert (theirs[own[:TOP]] >= rim).mean() >= 0.98


def test_a_text_of_the_index_has_the_score_it_has_alone() -> None:
    for query in queries()[:10]:
        scores = index().scores(query)
        assert [index().score(query, text) for text in texts()[:50]] == scores[:50].tolist()
    assert index().score("zyx", texts()[0]) == 0


def test_the_ranking_is_the_same_everywhere() -> None:
    """The digest was made once: other bytes on another machine would be another benchmark."""
    small = Index(("a red bridge", "the bridge of the red miller", "a mill", "red red red", "bridge bridge mill"))
    total = hashlib.sha256()
    for query in ("red bridge", "mill", "the red red bridge"):
        total.update(small.scores(query).astype("<i8").tobytes())
    assert total.hexdigest() == "048aa95f74b9cc4a9a800c67ba6138275e7ec8178423d737df6dfce57ae7329c"


def test_the_weights_do_not_depend_on_what_a_program_has_set() -> None:
    usual = idf(24_385, 17)
    idf.cache_clear()
    with decimal.localcontext() as context:
        context.prec, context.rounding = 3, decimal.ROUND_UP
        assert idf(24_385, 17) == usual == round(log(1 + (24_385 - 16.5) / 17.5) * IDF)


def test_all_are_ranked_and_ties_are_broken_by_the_seed() -> None:
    order, scores = index().ranking("xylophone", stream("one"))
    assert sorted(order.tolist()) == list(range(len(texts())))
    assert not scores.any()
    again, _ = index().ranking("xylophone", stream("one"))
    other, _ = index().ranking("xylophone", stream("two"))
    assert (order == again).all()
    assert (order != other).any()
    order, scores = index().ranking("the river of the miller", stream("one"))
    assert (np.diff(scores) <= 0).all()
    assert (index().scores("the river of the miller")[order] == scores).all()


def test_a_longer_text_is_worth_less_and_a_rarer_word_more() -> None:
    small = Index(("red mill", "red mill by a quiet green wood", "blue mill", "red door"))
    scores = small.scores("red")
    assert scores[0] > scores[1] > scores[2] == 0
    assert small.scores("blue")[2] > small.scores("mill")[2]


def test_terms_are_small_letters_and_digits() -> None:
    assert terms("Who founded Walton & Sweeney's mill in 1843?") == ["founded", "walton", "sweeney", "mill", "1843"]
    assert not re.search("[A-Z]", " ".join(terms(texts()[0])))
