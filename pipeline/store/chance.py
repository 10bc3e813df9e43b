"""Chance and baselines as manifests state them, and their means."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from typing import TYPE_CHECKING, Annotated, NamedTuple

from msgspec import Meta

from pipeline.typed import Identifier, Line, Subtask, Whole

if TYPE_CHECKING:
    from pipeline.store.manifest import Manifest


@dataclass(frozen=True, slots=True)
class Chance:
    """Chance and baselines on rows of one kind; `asked` names the kind of question, which a guesser would know."""

    family: Identifier
    subtask: Subtask
    complexity: Whole
    asked: Line
    rows: Annotated[int, Meta(ge=1, le=1 << 30)]
    best_constant: int | float
    constant: str
    baselines: Mapping[Identifier, int | float]


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


def chances_in(manifest: Manifest) -> list[Chance]:
    """Return the chance of all tiers of a manifest; none where keys are withheld."""
    return [each for made in manifest.tiers.values() for each in one_constant(made.chance or ())]


def one_constant(chances: Sequence[Chance]) -> list[Chance]:
    """Return chances in which rows of complexity 0 have the best constant of those whose text tells the answer.

    A manifest states the best reply for each complexity. Where 0 stands for rows that are to be refused, a guesser does
    not know which class a row is of: one reply serves both, scores in its own class, and nothing in the other.
    """
    groups: dict[tuple[str, str, str], list[Chance]] = defaultdict(list)
    for each in chances:
        groups[each.family, each.subtask, each.asked].append(each)
    chosen = {
        place: _best(own) for place, own in groups.items() if len(own) > 1 and any(each.complexity == 0 for each in own)
    }
    return [_held_to(chosen.get((each.family, each.subtask, each.asked)), each) for each in chances]


def _best(own: Sequence[Chance]) -> str:
    """Return the constant reply that scores most over rows of several complexities, the first of equals."""
    totals: dict[str, float] = defaultdict(float)
    for each in own:
        totals[each.constant] += each.rows * each.best_constant
    return max(totals, key=lambda constant: totals[constant])


def _held_to(constant: str | None, chance: Chance) -> Chance:
    return (
        chance
        if constant is None or constant == chance.constant
        else replace(chance, constant=constant, best_constant=0.0)
    )
