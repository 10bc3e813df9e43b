"""Surface features of a story, its question and its choices, which do not depend on the meaning of words.

A logistic regression on these features is evaluated on held-out rows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np

from pipeline.tasks.base import Sample
from pipeline.tasks.idk.chance import WORD, noun_positions, positions
from surface_learner import auc, regression

JOINERS = ("and", "but", "which", "who", "not", "only", "by", "for", "of", "to", "that", "former", "latter", "first")
FAR = 12
"""Distances are capped at so many words."""


def class_features(sample: Sample) -> list[float]:
    """Return the features of one row."""
    story = sample.relevant[0]
    words = WORD.findall(story.lower())
    asked = noun_positions(story, sample.latent["noun"])
    choices = [positions(story, choice) for choice in (sample.key.choices or ())[:3]]
    stated = [place for places in choices for place in places]
    counted = [float(words.count(word)) for word in JOINERS]
    marks = [float(story.count(mark)) for mark in ".,;:'-"]
    sizes = [len(story) / 100, len(words) / 10, len(asked), *(float(bool(places)) for places in choices)]
    places = [asked[0] / len(words), asked[-1] / len(words), min(stated) / len(words), max(stated) / len(words)]
    overlap = len(set(WORD.findall(sample.question.lower())) & set(words)) / 10
    return [
        *counted, *marks, *sizes, *places, overlap, len(stated),
        *_gaps(asked, stated), *_sentence(story, sample), *_choice_gaps(asked, choices),
    ]  # fmt: skip


def _gaps(asked: Sequence[int], stated: Sequence[int]) -> list[float]:
    """Mark the signed distances in words, all and the nearest, between the asked thing and stated choices."""
    gaps = {max(-FAR, min(FAR, place - noun)) for place in stated for noun in asked}
    nearest = min((place - noun for place in stated for noun in asked), key=abs)
    marked = [float(gap in gaps) for gap in range(-FAR, FAR + 1)]
    return [*marked, *(float(max(-FAR, min(FAR, nearest)) == gap) for gap in range(-FAR, FAR + 1))]


def _choice_gaps(asked: Sequence[int], choices: Sequence[Sequence[int]]) -> list[float]:
    """Return how near each choice is to the asked thing, and which is nearest."""
    gaps = [min((abs(place - noun) for place in places for noun in asked), default=99) for places in choices]
    return [*(1 / (1 + gap) for gap in gaps), *(float(gap == min(gaps)) for gap in gaps)]


def _sentence(story: str, sample: Sample) -> list[float]:
    """Return features of the sentences that mention the asked thing."""
    noun = sample.latent["noun"].removeprefix("the ")
    sentences = story.rstrip(".\n").split(". ")
    parts = [re.split(rf"\b{noun}\b", sentence, flags=re.IGNORECASE) for sentence in sentences]
    own = [number for number, around in enumerate(parts) if len(around) > 1]
    naming = [sentences[number] for number in own]
    starts = [len(parts[number][0].split()) for number in own]
    ends = [len(parts[number][-1].split()) for number in own]
    commas = [text.count(",") for text in naming]
    return [
        len(sentences), own[0], own[-1], own[-1] - own[0], min(starts), max(starts), min(ends), max(ends),
        sum(commas), max(commas), min(len(text) for text in naming) / 10, max(len(text) for text in naming) / 10,
        *(float(start == place) for place in range(8) for start in (min(starts),)),
        *(float(end == place) for place in range(8) for end in (min(ends),)),
        *(float(re.search(rf"{noun}{mark}", naming[0], re.IGNORECASE) is not None) for mark in (",", r"\b[^,]*,")),
    ]  # fmt: skip


def held_out_auc(
    unknown: Sequence[Sample], known: Sequence[Sample], features: Callable[[Sample], list[float]] = class_features
) -> float:
    """Train on the even rows of both classes, and return the AUC on the odd rows."""
    rows = np.array([features(sample) for sample in (*unknown, *known)])
    truth = np.array([0.0] * len(unknown) + [1.0] * len(known))
    held = np.array([*(place % 2 for place in range(len(unknown))), *(place % 2 for place in range(len(known)))]) == 1
    rows = rows[:, rows[~held].std(axis=0) > 0]
    learned = regression(rows[~held], truth[~held], np.array([0]), one=False, ridge=10.0)
    return auc(learned(rows[held]), truth[held])
