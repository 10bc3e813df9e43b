"""Haystacks that several families share, each with a reader that removes it again."""

from __future__ import annotations

import numpy as np

from pipeline.streams import Indices

SPARES = 64
"""Spare units of a haystack that close the last gap of a prompt."""


def in_runs(starts: Indices, counts: Indices) -> Indices:
    """Return the indices of consecutive runs: `counts` of them from each of `starts` on.

    >>> in_runs(np.array([7, 2]), np.array([3, 2])).tolist()
    [7, 8, 9, 2, 3]
    """
    before = np.cumsum(counts) - counts
    return np.asarray(np.repeat(starts - before, counts) + np.arange(counts.sum()), dtype=np.int64)
