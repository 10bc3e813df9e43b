"""Where the matching replies stand, and which of them is asked.

Depth and ordinal of the asked reply are dealt together: among any `complexity` rows of a stratum that are neighbours in
depth each ordinal is asked once. So both are even, and neither tells anything about the other. As many of the other
matches as the ordinal says stand anywhere before the asked one, the rest anywhere behind it. They crowd where it stands
near an end: the eighth of eight near the start has the other seven before it, at the least as neighbouring turns.
"""

from __future__ import annotations

from pipeline.recipe import Stratum
from pipeline.streams import Permutation, Streams, spread


def depths(stratum: Stratum, index: int, own: Streams, shared: Streams) -> tuple[int, tuple[float, ...]]:
    """Return which match is asked (from 0), and the depths of all of them in their order."""
    count, depth = stratum.complexity, spread(shared.of("depth"), stratum.rows, index)
    group, member = divmod(int(depth * stratum.rows), count)
    asked = Permutation(shared.of("ordinal", index // stratum.rows, group), count)[member]
    rng = own.of("depths")
    before = sorted(depth * rng.random() for _ in range(asked))
    behind = sorted(depth + (1 - depth) * rng.random() for _ in range(count - 1 - asked))
    return asked, (*before, depth, *behind)
