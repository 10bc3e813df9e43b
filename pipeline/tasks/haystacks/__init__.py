"""Haystacks that several families may hide their texts in, each with a reader that takes it out again."""

from __future__ import annotations

import numpy as np

from pipeline.streams import Indices

SPARES = 64
"""Spare units of a haystack that close the last gap of a prompt."""


def in_runs(starts: Indices, counts: Indices) -> Indices:
    """Return the indices of runs one after another: `counts` of them from each of `starts` on.

    >>> in_runs(np.array([7, 2]), np.array([3, 2])).tolist()
    [7, 8, 9, 2, 3]
    """
    before = np.cumsum(counts) - counts
    return np.asarray(np.repeat(starts - before, counts) + np.arange(counts.sum()), dtype=np.int64)
