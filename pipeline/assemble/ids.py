"""Ids and order of rows: neither an id nor a position in a file gives away a row's answer."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random

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


def numbered(recipe: Recipe, cells: Sequence[Stratum]) -> Iterator[RowPlan]:
    """Yield the rows of a family's strata by length and subtask, mixed over complexities.

    Rows are numbered as they come. Both forms of a pair have the pair's number and stand side by side, either first.
    """
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


def _mixed(recipe: Recipe, kind: Sequence[Stratum]) -> Iterator[RowPlan]:
    """Yield block after block, each mixed by itself, so that the ids of a block do not depend on later blocks."""
    number = 0
    for block in range(max(cell.blocks for cell in kind)):
        within = [(cell, block * cell.rows + at) for cell in kind if block < cell.blocks for at in range(cell.rows)]
        _order(recipe, kind[0], block).shuffle(within)
        for cell, index in within:
            yield RowPlan(cell, index, _name(recipe, cell, f"{number:04d}"))
            number += 1


def _paired(recipe: Recipe, kind: Sequence[Stratum]) -> Iterator[RowPlan]:
    rng = _order(recipe, kind[0])
    for index in range(max(cell.total for cell in kind)):
        forms = sorted((cell for cell in kind if index < cell.total), key=lambda cell: cell.complexity)
        rng.shuffle(forms)
        for cell in forms:
            yield RowPlan(cell, index, _name(recipe, cell, f"{index:04d}" + "ba"[cell.complexity]))


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
