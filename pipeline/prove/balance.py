"""Is what was dealt dealt evenly? A proof over the rows of a set, from what tasks say that each row was dealt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

Dealt = Mapping[str, tuple[int, int]]
"""Of each thing that is dealt, the kind that a row got and the number of kinds."""
DEVIATIONS = 6.0
"""So many standard deviations from what random draws give are no chance: less than one case in a thousand million."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What one row was dealt: `cell` names its stratum, `group` the rows of which evenness is demanded together."""

    group: str
    cell: str
    dealt: Dealt


def balance_faults(rows: Iterable[Drawn]) -> list[str]:
    """Return what is dealt unevenly: within a stratum by more than one, or over a group by more than chance does.

    A stratum whose rows are fewer than kinds gives each kind once at the most; over many strata every kind is then as
    likely as any other.

    Raises:
        ValueError: if a thing has another number of kinds in two rows of a stratum.
    """
    groups: dict[tuple[str, str, int], dict[str, Counter[int]]] = {}
    for row in rows:
        for thing, (kind, kinds) in sorted(row.dealt.items()):
            if not 0 <= kind < kinds:
                raise ValueError(f"{row.cell}: kind {kind} of {thing} is not one of {kinds}")
            cells = groups.setdefault((row.group, thing, kinds), {})
            cells.setdefault(row.cell, Counter())[kind] += 1
    return [fault for (group, thing, kinds), cells in groups.items() for fault in _faults(group, thing, kinds, cells)]


def _faults(group: str, thing: str, kinds: int, cells: Mapping[str, Counter[int]]) -> Iterator[str]:
    for cell, counts in cells.items():
        times = [counts[kind] for kind in range(kinds)]
        if max(times) - min(times) > 1:
            yield f"{cell}: the kinds of {thing} are dealt {_listed(times)} times"
    total = sum(cells.values(), Counter())
    times = [total[kind] for kind in range(kinds)]
    if spread_of(times) > bound(kinds):
        yield f"{group}: the kinds of {thing} are dealt {_listed(times)} times, which no chance does"


def spread_of(times: Sequence[int]) -> float:
    """Return Pearson's chi-square of counts that should be equal."""
    mean = sum(times) / len(times)
    return sum((count - mean) ** 2 for count in times) / mean if mean else 0.0


def bound(kinds: int) -> float:
    """Return what chi-square of so many kinds stays below (Wilson and Hilferty 1931, The distribution of chi-square).

    Drawing without replacement, as dealing does, spreads less than the independent draws that it is reckoned for.
    """
    free = kinds - 1
    if not free:
        return 0.0
    scale = 2 / (9 * free)
    return free * (1 - scale + DEVIATIONS * sqrt(scale)) ** 3


def _listed(times: Sequence[int]) -> str:
    shown = ", ".join(map(str, times[:12]))
    return f"{shown}, ..." if len(times) > 12 else shown
