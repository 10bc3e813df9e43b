"""Ids and order of rows: neither an id nor a position in a file gives away a row's answer."""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import overload

from pipeline.errors import RecipeError
from pipeline.recipe import Recipe, Stratum
from pipeline.streams import stream
from pipeline.tasks import task_of


@dataclass(frozen=True, slots=True)
class RowPlan:
    """Row `index` of a stratum, and its id in the release."""

    stratum: Stratum
    index: int
    id: str


class Rows(Sequence[RowPlan]):
    """The rows of a family in the order of its files: two numbers are kept of each, the rest is made when asked for."""

    def __init__(self, recipe: Recipe, cells: Sequence[Stratum], drawn: Iterable[tuple[Stratum, int]]) -> None:
        self._recipe, self._cells = recipe, cells
        self._cell, self._index = array("I"), array("I")
        self._starts: dict[tuple[int, str], int] = {}
        numbers = {cell: number for number, cell in enumerate(cells)}
        for place, (cell, index) in enumerate(drawn):
            self._starts.setdefault((cell.length, cell.subtask), place)
            self._cell.append(numbers[cell])
            self._index.append(index)

    def __len__(self) -> int:
        """Return how many rows there are."""
        return len(self._cell)

    @overload
    def __getitem__(self, place: int) -> RowPlan: ...

    @overload
    def __getitem__(self, place: slice) -> list[RowPlan]: ...

    def __getitem__(self, place: int | slice) -> RowPlan | list[RowPlan]:
        """Return the row at a place, or those at a range of places."""
        if isinstance(place, slice):
            return [self._row(at) for at in range(len(self))[place]]
        return self._row(range(len(self))[place])

    def lengths(self) -> Iterator[int]:
        """Yield the length of each row."""
        return (self._cells[number].length for number in self._cell)

    def _row(self, place: int) -> RowPlan:
        cell, index = self._cells[self._cell[place]], self._index[place]
        number = place - self._starts[cell.length, cell.subtask]
        told = f"{index:04d}" + "ba"[cell.complexity] if task_of(cell).paired else f"{number:04d}"
        return RowPlan(cell, index, _name(self._recipe, cell, told))


def numbered(recipe: Recipe, cells: Sequence[Stratum]) -> Rows:
    """Return the rows of a family's strata by length and subtask, mixed over complexities.

    Rows are numbered as they come. Both forms of a pair have the pair's number and stand side by side, either first.
    """
    return Rows(recipe, cells, _ordered(recipe, cells))


def _ordered(recipe: Recipe, cells: Sequence[Stratum]) -> Iterator[tuple[Stratum, int]]:
    kinds: dict[tuple[int, str], list[Stratum]] = {}
    for cell in cells:
        kinds.setdefault((cell.length, cell.subtask), []).append(cell)
    for length in sorted({cell.length for cell in cells}):
        for kind in (kind for place, kind in kinds.items() if place[0] == length):
            yield from _paired(recipe, kind) if task_of(kind[0]).paired else _mixed(recipe, kind)


def check_pairs(recipe: Recipe) -> None:
    """Check that each pair of a paired task has both its forms.

    Raises:
        RecipeError: naming the stratum whose other form is missing, or of another number.
    """
    rows = {(c.family, c.subtask, c.length, c.complexity): c.total for c in recipe.strata if task_of(c).paired}
    for (family, subtask, length, complexity), count in rows.items():
        other = rows.get((family, subtask, length, 1 - complexity), 0)
        if other != count:
            here = f"{family}.{subtask} length {length}"
            raise RecipeError(
                f"{here}: {count} rows of complexity {complexity} and {other} of complexity {1 - complexity}: "
                "rows come in pairs, so give both the same number"
            )


def _mixed(recipe: Recipe, kind: Sequence[Stratum]) -> Iterator[tuple[Stratum, int]]:
    """Yield block after block, each mixed by itself, so that the ids of a block do not depend on later blocks."""
    for block in range(max(cell.blocks for cell in kind)):
        within = [cell for cell in kind if block < cell.blocks]
        ends = list(accumulate(cell.rows for cell in within))
        order = list(range(ends[-1]))
        _order(recipe, kind[0], block).shuffle(order)
        for place in order:
            which = bisect_right(ends, place)
            cell = within[which]
            yield cell, block * cell.rows + place - ends[which] + cell.rows


def _paired(recipe: Recipe, kind: Sequence[Stratum]) -> Iterator[tuple[Stratum, int]]:
    rng = _order(recipe, kind[0])
    for index in range(max(cell.total for cell in kind)):
        forms = sorted((cell for cell in kind if index < cell.total), key=lambda cell: cell.complexity)
        rng.shuffle(forms)
        yield from ((cell, index) for cell in forms)


PAIRED = re.compile(r"(.*-\d+)[ab](-[^-]+)")
"""An id of a pair: what both forms share, and the tag."""


def placed_names(ids: Iterable[str]) -> list[str]:
    """Return ids that tell a pair's forms by their place alone, the first `a` and the second `b`; others as they are.

    Takes the ids of a family and tier in the order of their rows.

    >>> placed_names(["bio-idk-32k-4096-0000b-8b6cda", "bio-idk-32k-4096-0000a-8b6cda"])
    ['bio-idk-32k-4096-0000a-8b6cda', 'bio-idk-32k-4096-0000b-8b6cda']
    """
    seen: set[str] = set()
    names = []
    for each in ids:
        if found := PAIRED.fullmatch(each):
            pair = found[1] + found[2]
            names.append(found[1] + ("b" if pair in seen else "a") + found[2])
            seen.add(pair)
        else:
            names.append(each)
    return names


def _order(recipe: Recipe, cell: Stratum, block: int = 0) -> Random:
    behind = (block,) if block else ()
    subtask = task_of(cell).twin or cell.subtask
    return stream(recipe.seed, "order", cell.family, subtask, cell.tier, cell.length, *behind)


def _name(recipe: Recipe, cell: Stratum, number: str) -> str:
    return f"{cell.family}-{cell.subtask}-{cell.tier}-{cell.length}-{number}-{recipe.tag}"
