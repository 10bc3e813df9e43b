"""The two kinds of filler: lines of random capital letters, and other people's stories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pipeline.recipe import TIERS
from pipeline.streams import Indices, Shuffled, Streams
from pipeline.tasks.base import Filler, Plain, PoolSpec, Unit, unit
from pipeline.worlds.plots import plots, source_digest
from pipeline.worlds.stories import WORLD, Story, draw_story, names

ALPHABET = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FAIR = len(ALPHABET) * (256 // len(ALPHABET))
"""Bytes from here on are dropped, so that every letter is equally likely."""
TABLE = bytes(ALPHABET[byte % len(ALPHABET)] for byte in range(256))
SHORTEST, LONGEST = 8, 64
"""Letters of a line. The mean is 36, and a letter is about a token."""
LETTERS_PER_TOKEN = 1.5
SPARES = 64


def specs(subtask: str, tier: str) -> tuple[PoolSpec, ...]:
    """Return the one pool of a subtask and tier."""
    if subtask == "letters":
        return (PoolSpec(f"letters-{tier}", 1, tier, "", make_letters),)
    return (PoolSpec(f"stories-{tier}", 2, tier, f"{WORLD}:{source_digest()}", make_stories),)


def lines_of(tier: str) -> int:
    """Return how many lines of letters a tier has."""
    return int(TIERS[tier] * LETTERS_PER_TOKEN) // ((SHORTEST + LONGEST) // 2)


def make_letters(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Make lines of random letters, no two equal."""
    return Plain(_letters(streams, spec))


def _letters(streams: Streams, spec: PoolSpec) -> Iterator[str]:
    rng = streams.of("letters")
    seen: set[bytes] = set()
    while len(seen) < lines_of(spec.tier):
        drawn = rng.randbytes(2 * LONGEST).translate(TABLE, bytes(range(FAIR, 256)))
        line = drawn[: rng.randint(SHORTEST, LONGEST)]
        if line not in seen:
            seen.add(line)
            yield " ".join(line.decode("ascii")) + "\n"


def make_stories(streams: Streams, spec: PoolSpec) -> Iterator[Unit]:
    """Make a story for every name of a tier, with any plot."""
    rng = streams.of("stories")
    for name in names(streams, spec.tier):
        story = draw_story(rng, name, rng.choice(plots()))
        yield unit(story.text, facts=facts(story))


def facts(story: Story) -> tuple[str, ...]:
    """Return the details that a story states."""
    return tuple(f"{story.plot.kind}({noun}, {story.name}) = {value}" for noun, value in story.stated.items())


def filler(subtask: str, tier: str, own: Streams, taken: frozenset[int]) -> Filler:
    """Return a row's filler. People who are `taken` are in the row already, so their stories in the pool stay out."""
    size, without = (lines_of(tier), frozenset[int]()) if subtask == "letters" else (len(names(own, tier)), taken)
    order = Shuffled(own.of("filler"), size, without)
    return Filler(f"{subtask}-{tier}", _Rest(order, SPARES), order.take(SPARES))


class _Rest:
    """An order behind its first `skip` indices, which are spares."""

    def __init__(self, order: Shuffled, skip: int) -> None:
        self._order, self._skip = order, skip

    def take(self, count: int) -> Indices:
        """Return the first `count` indices after the spares."""
        return self._order.take(count + self._skip)[self._skip :]
