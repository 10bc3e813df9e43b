"""Draws questions so that no two rows of a cell (a subtask at a length) ask the same."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from random import Random
from typing import Any, TypeVar

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams

Q = TypeVar("Q")
TRIES = 60
"""Draws before a question is repeated after all, as the world has no other."""


def unlike(
    stratum: Stratum,
    complexities: Sequence[int],
    stratum_streams: Streams,
    dealt: tuple[object, int],
    draw: Callable[[Random, int], Q],
    identity: Callable[[Q], Hashable],
) -> tuple[Q, Streams]:
    """Return a question that no other row of the cell asks, and the streams that it was drawn from.

    The rows that are dealt one kind of question take turns, complexity by complexity in each round. A question is
    drawn again while it equals that of an earlier turn.

    Args:
        stratum: the row's stratum. The strata of a cell differ in complexity.
        complexities: the complexities of these strata.
        stratum_streams: the streams that all rows of the stratum share.
        dealt: the kind of question, and the round in which it was dealt to the row.
        draw: draws a question of a complexity.
        identity: returns what no two questions may have in common.
    """
    kind, rounds = dealt
    cell = Streams(stratum_streams.path[:-1])
    turns, known = _asked(cell, str(kind), stratum.knobs)
    last = rounds * len(complexities) + complexities.index(stratum.complexity)
    for turn in range(len(turns), last + 1):
        for tried in range(TRIES):
            streams = Streams((*cell.path, "question", str(kind), turn, tried))
            found = draw(streams.of("draw"), complexities[turn % len(complexities)])
            if identity(found) not in known:
                break
        known.add(identity(found))
        turns.append((found, streams))
    found, streams = turns[last]
    return found, streams


@lru_cache(maxsize=256)
def _asked(cell: Streams, kind: str, knobs: object) -> tuple[list[tuple[Any, Streams]], set[Hashable]]:
    """Return the questions of a cell and kind so far, turn by turn, so that no row draws earlier ones again."""
    return [], set()
