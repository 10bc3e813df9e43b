"""The size `lite`: a part of a split's rows, to ask when all rows would cost too much.

It is chosen from row ids and the manifest's strata. So every split has it without a new build, and a published split,
even one without keys, has the same lite rows as the build. A headline is a mean over families of means over subtasks of
means over lengths. Its variance for a given number of tokens is least if the rows of a cell (family, subtask, length)
are in proportion to 1 / (families * subtasks * sqrt(length)). Lite follows this rule, with at least one row per cell.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import log2, sqrt

from pipeline.typed import TIERS

LITE = "lite"
MOST = 24
"""The most rows of a cell: as many as a cell of the shipped recipes has in the default size, so that lite is the same
in every size that is built."""
NUMBER = re.compile(r".*-(\d+)[ab]?-[^-]+")
"""A row id: its number counts the rows of a family, subtask and length; both rows of a pair have the same number."""
Cell = tuple[str, str, str, int]
"""Tier, family, subtask, and length."""


@dataclass(frozen=True, slots=True)
class Rule:
    """How many rows lite has in a tier.

    Attributes:
        rows: rows at the longest length, over all families and subtasks; a cell gets its share, and at least one.
        every: with 1, each subtask is asked at all lengths. Otherwise its index in its family plus the length's index,
            counted from the longest, must be divisible by `every` (or by the family's number of subtasks, if less).
    """

    rows: float
    every: int = 1


RULES = {"32k": Rule(48), "128k": Rule(42), "1m": Rule(10, every=4)}
"""Chosen to stay within 25M prompt tokens at 128k and 60M at 1m, where one row per subtask and length would need
131M."""


def lite_counts(tier: str, cells: Iterable[tuple[str, str, int]]) -> dict[Cell, int]:
    """Return how many rows of each cell of a tier lite has (fewer if the split has fewer); a pair counts once.

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
    """Return whether a row is in lite, which has the first rows of each cell, so that smaller sets are nested."""
    match = NUMBER.fullmatch(row_id)
    return match is not None and int(match[1]) < counts.get(cell, 0)


def lite_file(tier: str) -> str:
    """Return the file of a tier's lite rows in a published split (``lite_128k`` in `load_dataset`)."""
    return f"lite/{tier}/test-00000-of-00001.parquet"
