"""Rankings of a corpus's own passages for its questions, where the source brings none."""

from __future__ import annotations

from dataclasses import replace

from pipeline.streams import stream
from pipeline.worlds.corpora.records import Corpus
from pipeline.worlds.ranking import Index

DEEP = 1000
"""How many passages are ranked for a question."""


def ranked(corpus: Corpus) -> Corpus:
    """Return a corpus whose questions have passages ranked by BM25: those that share a word, but for the needed."""
    index = Index(f"{one.title} {one.text}" for one in corpus.passages)
    questions = []
    for one in corpus.questions:
        order, scores = index.ranking(one.question, stream("corpora", "ties", one.id))
        best, gold = order[: DEEP + len(one.gold)], set(one.gold)
        names = (corpus.passages[place].id for place in best[scores[: len(best)] > 0])
        questions.append(replace(one, ranked=tuple(name for name in names if name not in gold)[:DEEP]))
    return Corpus(corpus.passages, tuple(questions), corpus.documents, corpus.labelled)
