"""Questions of which no two in a cell, a subtask at a length, are the same: each row is a question more."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import Any, TypeVar

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams

Q = TypeVar("Q")
TRIES = 60
"""Draws before a question is asked again after all: the world holds no other."""


def unlike(
    stratum: Stratum,
    complexities: Sequence[int],
    stratum_streams: Streams,
    dealt: tuple[object, int],
    draw: Callable[[Random, int], Q],
    said: Callable[[Q], Hashable],
) -> tuple[Q, Streams]:
    """Return a question that no other row of the cell asks, and the streams that it was drawn from.

    The rows that are dealt the same kind of question stand in turns, those of each complexity between those of the
    others; a question is drawn again as long as it is that of a turn before.

    Args:
        stratum: the row's, one of those of its cell, which differ in complexity.
        complexities: what these can be.
        stratum_streams: those that all rows of the stratum share.
        dealt: the kind of question, and in which round it was dealt to the row.
        draw: draws a question for a complexity.
        said: what no two questions may have in common.
    """
    kind, rounds = dealt
    cell = Streams(stratum_streams.path[:-1])
    turns, known = _asked(cell, str(kind), stratum.knobs)
    last = rounds * len(complexities) + complexities.index(stratum.complexity)
    for turn in range(len(turns), last + 1):
        for tried in range(TRIES):
            streams = Streams((*cell.path, "question", str(kind), turn, tried))
            found = draw(streams.of("draw"), complexities[turn % len(complexities)])
            if said(found) not in known:
                break
        known.add(said(found))
        turns.append((found, streams))
    found, streams = turns[last]
    return found, streams


@lru_cache(maxsize=256)
def _asked(cell: Streams, kind: str, knobs: object) -> tuple[list[tuple[Any, Streams]], set[Hashable]]:
    """Return the questions of a cell and kind so far, turn by turn: a row need not draw those before it again."""
    return [], set()
