"""The order of a family's rows, and their ids: by length and subtask, mixed over complexities, pairs side by side."""

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
    """Row `index` of a stratum, and its id."""

    stratum: Stratum
    index: int
    id: str


class Rows(Sequence[RowPlan]):
    """The rows of a family in the order of its files, stored as two numbers each; `RowPlan`s are made on access."""

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
        """Return the number of rows."""
        return len(self._cell)

    @overload
    def __getitem__(self, place: int) -> RowPlan: ...

    @overload
    def __getitem__(self, place: slice) -> list[RowPlan]: ...

    def __getitem__(self, place: int | slice) -> RowPlan | list[RowPlan]:
        """Return the row at a place, or the rows of a slice."""
        if isinstance(place, slice):
            return [self._row(at) for at in range(len(self))[place]]
        return self._row(range(len(self))[place])

    def lengths(self) -> Iterator[int]:
        """Yield the length of each row."""
        return (self._cells[number].length for number in self._cell)

    def _row(self, place: int) -> RowPlan:
        cell, index = self._cells[self._cell[place]], self._index[place]
        number = place - self._starts[cell.length, cell.subtask]
        number_in_name = f"{index:04d}" + "ba"[cell.complexity] if task_of(cell).paired else f"{number:04d}"
        return RowPlan(cell, index, _row_id(self._recipe, cell, number_in_name))


def numbered(recipe: Recipe, cells: Sequence[Stratum]) -> Rows:
    """Return the rows of a family's strata by length and subtask, mixed over complexities.

    Rows are numbered in this order. Both rows of a pair have the pair's number and are neighbours in random order.
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
    """Check that each pair of a paired task has both rows.

    Raises:
        RecipeError: with the first stratum whose counterpart is missing or has another number of rows.
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
    """Yield block after block, each shuffled by itself, so that the ids of a block do not depend on later blocks."""
    for block in range(max(cell.blocks for cell in kind)):
        within = [cell for cell in kind if block < cell.blocks]
        ends = list(accumulate(cell.rows for cell in within))
        order = list(range(ends[-1]))
        _order_stream(recipe, kind[0], block).shuffle(order)
        for place in order:
            which = bisect_right(ends, place)
            cell = within[which]
            yield cell, block * cell.rows + place - ends[which] + cell.rows


def _paired(recipe: Recipe, kind: Sequence[Stratum]) -> Iterator[tuple[Stratum, int]]:
    rng = _order_stream(recipe, kind[0])
    for index in range(max(cell.total for cell in kind)):
        forms = sorted((cell for cell in kind if index < cell.total), key=lambda cell: cell.complexity)
        rng.shuffle(forms)
        yield from ((cell, index) for cell in forms)


PAIRED = re.compile(r"(.*-\d+)[ab](-[^-]+)")
"""An id of a pair's row: the part that both rows share, and the tag."""


def ids_by_place(ids: Iterable[str]) -> list[str]:
    """Return ids in which the first row of a pair is `a` and the second `b`, so that they do not give away the answer.

    Takes the ids of a family and tier in the order of their rows.

    >>> ids_by_place(["bio-idk-32k-4096-0000b-8b6cda", "bio-idk-32k-4096-0000a-8b6cda"])
    ['bio-idk-32k-4096-0000a-8b6cda', 'bio-idk-32k-4096-0000b-8b6cda']
    """
    seen: set[str] = set()
    names = []
    for each in ids:
        if match := PAIRED.fullmatch(each):
            pair = match[1] + match[2]
            names.append(match[1] + ("b" if pair in seen else "a") + match[2])
            seen.add(pair)
        else:
            names.append(each)
    return names


def _order_stream(recipe: Recipe, cell: Stratum, block: int = 0) -> Random:
    behind = (block,) if block else ()
    subtask = task_of(cell).twin or cell.subtask
    return stream(recipe.seed, "order", cell.family, subtask, cell.tier, cell.length, *behind)


def _row_id(recipe: Recipe, cell: Stratum, number: str) -> str:
    return f"{cell.family}-{cell.subtask}-{cell.tier}-{cell.length}-{number}-{recipe.tag}"
