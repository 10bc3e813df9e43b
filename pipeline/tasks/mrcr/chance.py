"""Scores of picking a reply of the conversation without telling the n-th from the others.

Michelangelo (appendix B.1.1) guesses any reply, or any that shares format or topic with the asked one. Added here are
any matching reply and the last matching one. Scores are those of the `mrcr` scorer with its default ``autojunk``, as if
the code preceded the reply.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from difflib import Match, SequenceMatcher
from functools import cached_property
from math import fsum

DRAWN = 2
"""How many replies are drawn to represent all of a kind: there are many rows."""
GUESSES = ("any_reply", "related_reply", "any_match", "last_match")


def guesses(
    replies: Sequence[str], place: int, sampled: int, hard: Sequence[str], easy: Sequence[str], turns: int, crowd: int
) -> dict[str, float]:
    """Return the expected score of each guess.

    The reply at `place` is asked for; the one at `sampled` represents all others that match. `hard` and `easy` are
    drawn from the other turns, of which there are about `turns`, `crowd` of them hard.
    """
    target, last = replies[place], len(replies) - 1
    matching = 1.0 + last * similarity(target, replies[sampled])
    hard_sum, easy_sum = crowd * _mean(target, hard), (turns - crowd) * _mean(target, easy)
    scores = (
        (matching + hard_sum + easy_sum) / (len(replies) + turns),
        (matching + hard_sum) / (len(replies) + crowd),
        matching / len(replies),
        1.0 if place == last else similarity(target, replies[last]),
    )
    return {name: round(value, 4) for name, value in zip(GUESSES, scores, strict=True)}


class Matcher(SequenceMatcher[str]):
    """difflib's matcher for texts without junk, several times faster: most letters are too popular to begin a match."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(None, first, second)
        self._texts = first, second

    @cached_property
    def _anchors(self) -> list[tuple[int, list[int]]]:
        """Places of the first text whose letters may begin a match, each with that letter's places in the second."""
        places: dict[str, list[int]] = self.b2j  # type: ignore[attr-defined]
        return [(at, places[letter]) for at, letter in enumerate(self._texts[0]) if letter in places]

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """Return what `SequenceMatcher` does, skipping letters that begin no match."""
        first, second = self._texts
        ahi, bhi = len(first) if ahi is None else ahi, len(second) if bhi is None else bhi
        start, match, size, last = alo, blo, 0, -2
        runs: dict[int, int] = {}
        for place, seconds in self._anchors[bisect_left(self._anchors, (alo,)) : bisect_left(self._anchors, (ahi,))]:
            known, runs = runs if place == last + 1 else {}, {}
            last = place
            for at in seconds:
                if blo <= at < bhi:
                    run = runs[at] = known.get(at - 1, 0) + 1
                    if run > size:
                        start, match, size = place - run + 1, at - run + 1, run
        while start > alo and match > blo and first[start - 1] == second[match - 1]:
            start, match, size = start - 1, match - 1, size + 1
        while start + size < ahi and match + size < bhi and first[start + size] == second[match + size]:
            size += 1
        return Match(start, match, size)


def similarity(first: str, second: str) -> float:
    """Return what the scorer's `similarity` does."""
    return Matcher(first, second).ratio()


def _mean(target: str, texts: Sequence[str]) -> float:
    return fsum(similarity(target, text) for text in texts) / max(1, len(texts))
