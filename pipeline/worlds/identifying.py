"""Lists of words that identify, such as surnames: those of the files for evaluation, others for training.

A list for training has as many words as that for evaluation. They combine the beginnings and ends of its words, and
none of them is in any pool file.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable

from pipeline.caches import cache, lru_cache
from pipeline.streams import Permutation, Streams, stream

PARTED = re.compile("([A-Za-z][a-z]*?[aeiouy])([b-df-hj-np-tv-xz][a-z]+)")
"""How a word is split: after its first vowel that precedes a consonant."""
UNFIT = re.compile("anus|arse|cock|cunt|dick|fag|fuck|nig|rape|shit|slut|spic|turd", re.IGNORECASE)
"""Parts that would be read as coarse in a made-up word."""


def identifying(known: Sequence[str], streams: Streams) -> Sequence[str]:
    """Return a list of words that identify: the one given, or for training another.

    Args:
        known: the list of evaluation.
        streams: any below the root.
    """
    return for_training(tuple(known)) if streams.training else known


@lru_cache(maxsize=16)
def for_training(known: tuple[str, ...]) -> tuple[str, ...]:
    """Return as many new words as a list has, none of which begins another one.

    >>> for_training(("Archer", "Barlow", "Corbett", "Harrow"))
    ('Harbett', 'Barbett', 'Corrow', 'Harlow')

    Raises:
        ValueError: if the list is too short to make as many words.
    """
    parted = [match.groups() for word in known if (match := PARTED.fullmatch(word))]
    heads, tails = (sorted({*parts}) for parts in zip(*parted, strict=True))
    order = Permutation(stream("train/words", *known), len(heads) * len(tails))
    longest, made, begun = max(map(len, known)), dict[str, None](), set[str]()
    for place in range(len(heads) * len(tails)):
        head, tail = divmod(order[place], len(tails))
        word = heads[head] + tails[tail]
        starts = {word[:end] for end in range(1, len(word) + 1)}
        apart = word not in begun and starts.isdisjoint(made) and word.lower() not in every_word()
        if apart and len(word) <= longest and not UNFIT.search(word):
            made[word] = None
            begun |= starts
        if len(made) == len(known):
            return tuple(made)
    raise ValueError(f"a list of {len(known)} words such as {known[0]!r} is too short to make as many others of")


@cache
def every_word() -> frozenset[str]:
    """Return every word of every pool file, in lower case."""
    return frozenset(
        word
        for path in _files(resources.files("pipeline.worlds") / "pools")
        for word in re.findall("[a-z]+", path.read_text(encoding="ascii").lower())
    )


def _files(folder: Traversable) -> list[Traversable]:
    files = list[Traversable]()
    for item in folder.iterdir():
        files += _files(item) if item.is_dir() else [item] if item.name.endswith(".txt") else []
    return files
