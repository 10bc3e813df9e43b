"""What a text says twice: words side by side, and runs of words that two texts share."""

from __future__ import annotations

import re
from itertools import accumulate
from operator import eq

DOUBLED = re.compile(r"\b([a-z]+) \1\b")
"""Where two slots meet, a word may come twice."""
WORD = re.compile(r"[a-z0-9']+")


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case, without stops."""
    return WORD.findall(text.lower())


def runs_of(words: list[str], size: int) -> set[str]:
    """Return all runs of `size` words, each with a space behind every word.

    Their order is that of lists of words, since a space comes before all letters, and one takes a quarter of the time.

    >>> sorted(runs_of(["a", "year", "ago", "it", "rained"], 4))
    ['a year ago it ', 'year ago it rained ']
    """
    spaced = [f"{word} " for word in words]
    said, edges = "".join(spaced), [*accumulate(map(len, spaced), initial=0)]
    return {said[start:stop] for start, stop in zip(edges, edges[size:], strict=False)}


def has_doubled(text: str, words: list[str]) -> bool:
    """Tell whether a word of a text stands twice, side by side.

    The pattern is searched for only where it may be found: letters within an apostrophe are no word of their own here.

    >>> [has_doubled(text, words_of(text)) for text in ("It is is so.", "It is, is it?", "I can't t ell", "so it is")]
    [True, False, True, False]
    """
    return ("'" in text or any(map(eq, words, words[1:]))) and bool(DOUBLED.search(text.lower()))
