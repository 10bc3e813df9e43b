"""What guessers score, some of which look at a story's words without reading it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.caches import lru_cache
from pipeline.tasks.base import Key, Sample

WORD = re.compile(r"\d+:\d+|\w+")


def baselines(sample: Sample, key: Key) -> dict[str, float]:
    """Return the expected score of each guesser on one row.

    Those that look at words take the only choice in the story, the first, the last or the most frequent one, or
    (`lexical`) the one nearest to the asked thing.
    """
    story, choices = sample.relevant[0], (key.choices or ())[:-1]
    right = "ABC".find(key.target)
    places = [positions(story, choice) for choice in choices]
    stated = [choice for choice, found in enumerate(places) if found]
    return {
        "uniform": 0.25,
        "always_d": float(right < 0),
        "only_stated": share(right, stated if len(stated) == 1 else range(3)),
        "first_stated": share(right, sorted(stated, key=lambda choice: places[choice][0])[:1]),
        "last_stated": share(right, sorted(stated, key=lambda choice: -places[choice][-1])[:1]),
        "most_frequent": share(right, most_frequent(places)),
        "lexical": share(right, nearest(places, noun_positions(story, sample.latent["noun"]))),
    }


def share(right: int, chosen: Sequence[int]) -> float:
    """Return the expected score of one of the `chosen` choices at random, or of (D) if there are none."""
    if not chosen:
        return float(right < 0)
    return (right in chosen) / len(chosen)


def most_frequent(places: Sequence[Sequence[int]]) -> list[int]:
    """Return the choices that are most frequent in the story."""
    most = max(map(len, places))
    return [choice for choice, found in enumerate(places) if len(found) == most]


def nearest(places: Sequence[Sequence[int]], asked: Sequence[int]) -> list[int]:
    """Return the choices nearest, in words, to a mention of the asked thing."""
    gaps = {
        choice: min(abs(place - noun) for place in found for noun in asked)
        for choice, found in enumerate(places)
        if found
    }
    return [choice for choice, gap in gaps.items() if gap == min(gaps.values())]


def positions(story: str, phrase: str) -> list[int]:
    """Return the indices of the words in a story at which a phrase, without its article, begins."""
    words = _words(story)
    wanted = _words(phrase.lower().removeprefix("a ").removeprefix("an "))
    return [
        place for place, word in enumerate(words) if word == wanted[0] and words[place : place + len(wanted)] == wanted
    ]


@lru_cache(maxsize=64)
def _words(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text.lower()))


def noun_positions(story: str, noun: str) -> list[int]:
    """Return the indices of a noun's last word in a story."""
    words = noun.removeprefix("the ").split()
    return [place + len(words) - 1 for place in positions(story, " ".join(words))]
