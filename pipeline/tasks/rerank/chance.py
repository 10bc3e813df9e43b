"""Scores of guessers that do not read what documents say.

``uniform`` ranks the documents of a prompt of the length at random. ``bm25`` takes the ten best of a search for the
question, over the whole world and what was written for the row. ``unordered`` knows which documents are worth anything,
but not which are better. ``one_condition`` checks one condition of three, and takes the documents that meet it in any
order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, log2
from typing import Any

import numpy as np

from pipeline.metrics import CUT, ndcg, worth_of
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Sample
from pipeline.tasks.documents import haystack
from pipeline.tasks.rerank.questions import CONDITIONS, Question
from pipeline.worlds.gazetteer import Passage

TOKENS_PER_DOCUMENT = 135
OTHER = "0"
"""Represents any document of the world."""


def search_hits(
    row_streams: Streams,
    stratum: Stratum,
    asked: Question,
    graded: Sequence[tuple[Passage, int]],
    numbers: Sequence[str],
    out: Iterable[int],
) -> Mapping[str, Any]:
    """Return the documents that a search for the question ranks first (`hits`; those of the world are ``0``)."""
    search = haystack.index(row_streams, stratum.tier)
    scores = search.scores(asked.question)
    scores[sorted(out)] = -1
    world_scores = [(int(score), OTHER) for score in np.sort(scores)[::-1][:CUT]]
    document_scores = [
        (search.score(asked.question, f"{one.title} {one.text}"), number)
        for (one, _), number in zip(graded, numbers, strict=False)
    ]
    return {"hits": [number for _, number in sorted([*world_scores, *document_scores], reverse=True)[:CUT]]}


def baselines(sample: Sample, key: Key) -> dict[str, float]:
    """Return the scores of guessers."""
    worth, places, ideal = _gains(key)
    known = guesses(key, sample.stratum.length)
    bm25 = ndcg(_row(key), " > ".join(one.rjust(5, OTHER) for one in sample.latent["hits"])) or 0.0
    scores = {"uniform": known["uniform"], "bm25": bm25, "unordered": known["unordered"]}
    if not sample.latent["scale"]:
        meeting = sum(worth) / CONDITIONS
        mean = sum(gain * gain for gain in worth) / CONDITIONS / meeting
        full = min(CUT, round(meeting))
        scores["one_condition"] = mean * fsum(places[:full]) / ideal
    return {name: round(value, 6) for name, value in scores.items()}


def guesses(key: Key, length: int) -> dict[str, float]:
    """Return the scores of ranking at random: all documents, and only those worth anything."""
    worth, places, ideal = _gains(key)
    total, documents = sum(worth) * fsum(places) / ideal, max(len(worth), length // TOKENS_PER_DOCUMENT)
    return {"uniform": round(total / documents, 6), "unordered": round(total / len(worth), 6)}


def _gains(key: Key) -> tuple[list[int], list[float], float]:
    """Return what documents are worth, the best first, the weights of places, and the sum of the best ranking."""
    worth = sorted(worth_of(_row(key)).values(), reverse=True)
    places = [1 / log2(place + 1) for place in range(1, CUT + 1)]
    return worth, places, fsum(gain * weight for gain, weight in zip(worth, places, strict=False))


def _row(key: Key) -> dict[str, Any]:
    return {"target": key.target, "answers": list(key.answers)}
