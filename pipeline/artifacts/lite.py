"""The size `lite`: the rows of a split that are asked where asking all costs too much.

It is chosen from the ids of rows and the strata in the manifest, so every split has it: no build is needed, a published
split has the same rows as the build, and one without keys has them too. A headline is a mean over families, of means
over subtasks, of means over lengths. Its variance for a given number of tokens is least if the rows of a cell (family,
subtask, length) are in proportion to 1 / (families * subtasks * sqrt(length)); that is the rule, with one row at least.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2, sqrt

from pipeline.typed import TIERS

LITE = "lite"
MOST = 24
"""Rows of a cell at most: a cell of the shipped recipes has as many in the default size, so that lite is the same in
every size that is built."""
NUMBER = re.compile(r".*-(\d+)[ab]?-[^-]+")
"""An id: its number counts the rows of a family, subtask and length; both forms of a pair have the same."""
Cell = tuple[str, str, str, int]
"""Tier, family, subtask, and length."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How many rows lite has in a tier.

    Attributes:
        rows: of the longest length, over all families and subtasks; a cell gets its share, and at least one.
        every: a subtask is asked at each length whose place, counted from the longest, is its own modulo `every`, or
            modulo the number of subtasks of its family if that is less. With 1 it is asked at all lengths.
    """

    rows: float
    every: int = 1


RULES = {"32k": Rule(48), "128k": Rule(42), "1m": Rule(10, every=4)}
"""Made for the limits of 25 M prompt tokens at 128k and 60 M at 1m, where one row of each subtask at each length would
be 131 M."""


def lite_counts(tier: str, cells: Iterable[tuple[str, str, int]]) -> dict[Cell, int]:
    """Return how many rows of each cell of a tier lite has, as far as the split has so many; a pair counts once.

    Args:
        tier: the tier.
        cells: family, subtask and length of all its strata.
    """
    cells = set(cells)
    subtasks: dict[str, list[str]] = {}
    for family, subtask in sorted({cell[:2] for cell in cells}):
        subtasks.setdefault(family, []).append(subtask)
    rule, counts = RULES[tier], dict[Cell, int]()
    for family, subtask, length in sorted(cells):
        own, shorter = subtasks[family], TIERS[tier] / length
        step = min(rule.every, len(own))
        if (own.index(subtask) + round(log2(shorter))) % step == 0:
            share = rule.rows * step * sqrt(shorter) / len(subtasks) / len(own)
            counts[tier, family, subtask, length] = min(MOST, max(1, round(share)))
    return counts


def is_lite(row_id: str, cell: Cell, counts: Mapping[Cell, int]) -> bool:
    """Return whether a row of a cell is of lite: the first rows of each cell are, so that smaller sets are nested."""
    found = NUMBER.fullmatch(row_id)
    return found is not None and int(found[1]) < counts.get(cell, 0)


def lite_file(tier: str) -> str:
    """Return the file of a published split that has the rows of a tier again, as ``lite_128k`` of `load_dataset`."""
    return f"lite/{tier}/test-00000-of-00001.parquet"
