"""rag.list over a user's own passages: which of the documents are relevant to a question, by their numbers.

It is for sets that judge passages and bring no answers, as most of BEIR (Thakur et al. 2021; so Lee et al. 2024, LOFT,
ask for ids of documents). All passages that were judged relevant are there. Judgements are sparse: documents that
nobody judged may be relevant too, and no program can tell.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from pipeline.metrics import MEMBERS
from pipeline.tasks.base import Key, Published
from pipeline.tasks.rag import own_haystack, own_text
from pipeline.tasks.rag.own import JUDGED, KNOBS
from pipeline.tasks.rag.own_numbered import OwnNumbered
from pipeline.tasks.rag.proof import question
from pipeline.worlds.corpora.records import Corpus, Question


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
        numbers = own_haystack.numbers(corpus)
        target = MEMBERS.join(str(numbers[corpus.places[name]]) for name in question.gold)
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
