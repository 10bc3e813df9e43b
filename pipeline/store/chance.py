"""Chance and baselines as manifests state them, and their means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Chance:
    """Chance and baselines on rows of one kind; `asked` names the kind of question, which a guesser would know."""

    family: str
    subtask: str
    complexity: int
    asked: str
    rows: int
    best_constant: float
    constant: str
    baselines: Mapping[str, float]


class Pooled(NamedTuple):
    """Means over rows; `baselines` are all that any kind of row has, 0 on rows that have it not."""

    rows: int
    best_constant: float
    baselines: dict[str, float]


def pooled(chances: Sequence[Chance]) -> Pooled:
    """Return the means over the rows of several kinds."""
    rows = sum(chance.rows for chance in chances)

    def mean(values: Iterable[float]) -> float:
        return fsum(chance.rows * value for chance, value in zip(chances, values, strict=True)) / rows

    names = sorted({name for chance in chances for name in chance.baselines})
    means = {name: mean(chance.baselines.get(name, 0.0) for chance in chances) for name in names}
    return Pooled(rows, mean(chance.best_constant for chance in chances), means)


def chances_in(manifest: Mapping[str, Any]) -> list[Chance]:
    """Return the chance of all tiers of a manifest; none where keys are withheld."""
    return [Chance(**each) for made in manifest["tiers"].values() for each in made.get("chance", ())]
