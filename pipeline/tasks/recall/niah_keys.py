"""The keys of a prompt with needles: those that are asked about, and others that only the question tells from them.

Each asked key shares its adjective with some other keys, and its noun with as many, and other things are filed under
it. If that were so of the asked keys alone, the needles would tell what is asked about before the question does. So
the keys form a grid, in which every key has as many near ones, and what is filed under one is filed under each.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from pipeline.worlds import needles

STEM = 8
"""Hexadecimal digits that near UUIDs share."""
RIVALS = 2
"""Words of a grid beyond those of the asked keys."""
STEMS = 2
"""Groups of UUIDs that share their first digits."""
FULL = 4
"""How many keys have as many values as the asked one; the others have half as many."""


@dataclass(frozen=True, slots=True)
class Keys:
    """The keys of a prompt: those that are `asked` about, those `like` them, and those that share nothing with any."""

    asked: Sequence[str]
    like: Sequence[str]
    unlike: Sequence[str] = ()

    @property
    def all(self) -> list[str]:
        """Every key, the asked ones first."""
        return [*self.asked, *self.like, *self.unlike]


def draw(rng: Random, asked: int, near: int, unlike: int) -> Keys:
    """Draw keys of words; each of a grid has as many near keys as the others.

    Args:
        rng: what is drawn from.
        asked: how many keys are asked about; no two share a word.
        near: how many keys share a word with each; if none do, there is no grid.
        unlike: how many more keys there are that share no word with any.
    """
    size, degree = grid_size(asked, near), near // 2 + 1
    grid, others = needles.draw_grid(rng, size, degree, unlike)
    rng.shuffle(grid)
    rows = rng.sample(range(size), asked)
    found = [grid[0][row] for row in rows]
    like = [key for step in grid for key in step if key not in found]
    rng.shuffle(like)
    return Keys([*map(str, found)], [*map(str, like)], [*map(str, others)])


def draw_uuids(rng: Random, near: int) -> Keys:
    """Draw UUIDs; if some are to be near the asked one, as many share other first digits."""
    groups = STEMS if near else 1
    stems = [needles.stem_of(needles.draw_uuid(rng), STEM) for _ in range(groups)]
    asked, *like = [needles.draw_uuid(rng, stem) for stem in stems for _ in range(near + 1)]
    return Keys([asked], like)


def grid_size(asked: int, near: int) -> int:
    """Return how many adjectives a grid has, and nouns."""
    return max(near // 2 + 1, asked + RIVALS) if near else asked


def counts(keys: Keys, values: int) -> list[int]:
    """Return how many values each key has, in the order of `Keys.all`, where one key is asked about.

    It has no more than some others do, and half of that is more common.
    """
    found = [values] * FULL + [max(1, values // 2)] * len(keys.like)
    return found[: len(keys.all)]


def alike(asked: int, near: int, unlike: int, *, uuids: bool, several: bool) -> int:
    """Return how many keys have the form of an asked one: as many near keys and values, and the same other things.

    Args:
        asked: how many keys are asked about.
        near: how many keys are near to each.
        unlike: how many keys are near to none.
        uuids: whether keys are UUIDs.
        several: whether the asked key has several values.
    """
    if not near:
        return asked + unlike
    if uuids:
        return STEMS * (near + 1)
    return FULL if several else grid_size(asked, near) * (near // 2 + 1)
