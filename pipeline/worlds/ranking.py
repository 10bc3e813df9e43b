"""Lexical ranking of passages by BM25 in integers, so that every machine ranks alike (Robertson and Zaragoza 2009).

Terms are runs of lowercase letters and digits, without function words. The weight of a term in a passage is ::

    idf(term) * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))

with k1 = 0.9 and b = 0.4 (Lin et al. 2021, Pyserini), the idf as ``ln(1 + (n - df + 0.5) / (df + 0.5))``: the idf is
rounded to 1/1024 by decimal arithmetic, the fraction floored to 1/4096, and a score is a sum of their products.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from decimal import ROUND_HALF_EVEN, Context, Decimal
from random import Random
from typing import TypeVar

import numpy as np

from pipeline.caches import lru_cache
from pipeline.streams import Indices, words

Amount = TypeVar("Amount", int, Indices)
K1, B = (9, 10), (4, 10)
"""The parameters, as fractions."""
IDF, TF = 1024, 4096
"""The denominators of term weights and of frequencies."""
TERM = re.compile("[a-z0-9]+")
FUNCTION_TEXT = """
    a about after all an and any are as at be been before but by did do does for from had has have her his how if in
    into is it its more most no not of on or one other out over s she so some than that the their them there they
    this to up was we were what when where which who whom whose will with
"""
FUNCTION = frozenset(FUNCTION_TEXT.split())
"""Words that are not terms."""
CONTEXT = Context(prec=40, rounding=ROUND_HALF_EVEN)
"""Arithmetic that is the same everywhere, whatever context a program has set."""


def terms(text: str) -> list[str]:
    """Return the terms of a text, in order.

    >>> terms("Which river does the Barnes Bridge cross?")
    ['river', 'barnes', 'bridge', 'cross']
    """
    return [term for term in TERM.findall(text.lower()) if term not in FUNCTION]


@lru_cache(maxsize=1 << 16)
def idf(passages: int, holding: int) -> int:
    """Return the weight of a term that `holding` of the passages contain, in parts of `IDF`."""
    ratio = CONTEXT.divide(Decimal(2 * (passages - holding) + 1), Decimal(2 * holding + 1))
    return int(
        CONTEXT.multiply(CONTEXT.ln(CONTEXT.add(ratio, Decimal(1))), Decimal(IDF)).to_integral_value(ROUND_HALF_EVEN)
    )


class Index:
    """An index of passages, which are identified by their places.

    Args:
        texts: the passages.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._numbers: dict[str, int] = {}
        flat, lengths = list[int](), list[int]()
        for text in texts:
            text_terms = terms(text)
            lengths.append(len(text_terms))
            flat += [self._numbers.setdefault(term, len(self._numbers)) for term in text_terms]
        self._lengths = np.array(lengths, dtype=np.int64)
        self._total = int(self._lengths.sum())
        self._post(np.array(flat, dtype=np.int64))

    def _post(self, flat: Indices) -> None:
        """Store for each term, one after another, the passages that contain it, and how often."""
        size = len(self._lengths)
        pairs, times = np.unique(flat * size + np.repeat(np.arange(size), self._lengths), return_counts=True)
        self._places, self._times = (pairs % size).astype(np.int32), times.astype(np.int32)
        self._starts = np.searchsorted(pairs // size, np.arange(len(self._numbers) + 1))

    def __len__(self) -> int:
        """Return the number of passages."""
        return len(self._lengths)

    def scores(self, query: str) -> Indices:
        """Return the score of every passage; a term that occurs twice in the query counts twice."""
        scores = np.zeros(len(self), dtype=np.int64)
        for term, times in Counter(terms(query)).items():
            number = self._numbers.get(term)
            if number is not None:
                span = slice(self._starts[number], self._starts[number + 1])
                places = self._places[span]
                weight = idf(len(self), len(places)) * times
                scores[places] += weight * self._share(self._times[span].astype(np.int64), self._lengths[places])
        return scores

    def score(self, query: str, text: str) -> int:
        """Return the score of a text that is not in the index, with the weights of the index."""
        held, total = Counter(terms(text)), 0
        length = held.total()
        for term, times in Counter(terms(query)).items():
            if term in held:
                number = self._numbers.get(term)
                holding = int(self._starts[number + 1] - self._starts[number]) if number is not None else 0
                total += idf(len(self), holding) * times * self._share(held[term], length)
        return total

    def _share(self, times: Amount, lengths: Amount) -> Amount:
        """Return the share of a term's weight that a passage gets, in parts of `TF`."""
        size, (k, k_of), (b, b_of) = len(self), K1, B
        over = k_of * b_of * self._total
        below = times * over + k * ((b_of - b) * self._total + b * lengths * size)
        share: Amount = times * ((k_of + k) * b_of * self._total * TF) // (below + (below == 0))
        return share

    def ranking(self, query: str, rng: Random) -> tuple[Indices, Indices]:
        """Return all passages, the best first, and their scores in that order; ties are in random order."""
        scores = self.scores(query)
        drawn = words(rng, len(self))
        order = np.lexsort((drawn, -scores))
        return np.asarray(order, dtype=np.int64), scores[order]
