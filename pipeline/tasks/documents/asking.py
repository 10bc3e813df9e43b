"""Questions of which no two in a stratum are the same, so that each row is a question more."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

Q = TypeVar("Q")
TRIES = 60
"""Draws before a question is asked again after all: the world holds no other."""


def unlike(turn: int, draw: Callable[[int, int], Q], said: Callable[[Q], Hashable]) -> tuple[Q, int]:
    """Return a question that is unlike those of the turns before, and how many draws were in vain.

    Args:
        turn: which question about the same kind of thing this is in its stratum, counted from 0.
        draw: draws a question for a turn, again each time; all rows of a stratum draw the same.
        said: what no two questions may have in common.
    """
    known = set[Hashable]()
    for one in range(turn + 1):
        for vain in range(TRIES):
            found = draw(one, vain)
            if said(found) not in known:
                break
        known.add(said(found))
    return found, vain
