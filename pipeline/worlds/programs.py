"""Programs on one Python list: operations, the views that end them, and their text.

An operation is a method of ``list`` with whole numbers as arguments, so that running one is calling it: what a program
prints is what Python prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

START = (1, 2, 3, 4, 5, 6)
START_LINE = f">> a = {list(START)}"
DO_NOTHING = '>> print("Do nothing.")'
LOW, HIGH = -4000, 4000
BITS = (HIGH - LOW + 1).bit_length()
"""Bits in which a value is drawn, as ``randint`` does it; what is too large is drawn again."""
INSERT_AT = tuple(range(-2, 3))
POP_AT = tuple(range(-3, 3))
"""Where operations insert and pop. Filler can reach no further safely, so relevant operations do not either."""
SLICED = ("print", "sum", "min", "max")
VIEWS = (*SLICED, "len")


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of a list method.

    >>> Operation("insert", (2, -17)).text
    '>> a.insert(2, -17)'
    """

    name: str
    args: tuple[int, ...] = ()

    @property
    def text(self) -> str:
        """The operation as a line of a program, without its newline."""
        return f">> a.{self.name}({', '.join(map(str, self.args))})"

    def run(self, items: list[Any]) -> None:
        """Change a list in place, or raise what Python raises."""
        getattr(items, self.name)(*self.args)


VALUES: dict[str, Callable[[Sequence[int]], int]] = {"sum": sum, "min": min, "max": max, "len": len}
REVERSE, SORT = Operation("reverse"), Operation("sort")


@dataclass(frozen=True, slots=True)
class View:
    """The last line of a program: a slice of the list printed, summed, its least or greatest value, or the length.

    >>> View("sum", (1, 3)).text, View("sum", (1, 3)).output([1, 2, 3, 4])
    ('>> sum(a[1:3])', '5')
    """

    name: str
    span: tuple[int, int] | None = None

    @property
    def text(self) -> str:
        """The view as a line of a program, without its newline."""
        return f">> {self.name}(a)" if self.span is None else f">> {self.name}(a[{self.span[0]}:{self.span[1]}])"

    def value(self, items: Sequence[int]) -> int:
        """Return the number that a view other than print shows.

        Raises:
            ValueError: for the least or greatest value of an empty slice.
        """
        part = items if self.span is None else items[self.span[0] : self.span[1]]
        return VALUES[self.name](part)

    def output(self, items: Sequence[int]) -> str:
        """Return what Python shows.

        Raises:
            ValueError: for the least or greatest value of an empty slice.
        """
        if self.name == "print":
            return str(list(items[slice(*(self.span or (None,)))]))
        return str(self.value(items))


def run(operations: Iterable[Operation]) -> list[int]:
    """Return the list that a program leaves.

    Raises:
        IndexError: for a pop out of range.
        ValueError: for removing what is not there.
    """
    items = list(START)
    for operation in operations:
        operation.run(items)
    return items


def outcome(operations: Iterable[Operation], view: View) -> str | None:
    """Return what a program shows at last, or None if it fails."""
    try:
        return view.output(run(operations))
    except (IndexError, ValueError):
        return None


def number(rng: Random) -> int:
    """Draw a value for the list."""
    drawn = rng.getrandbits(BITS)
    while drawn > HIGH - LOW:
        drawn = rng.getrandbits(BITS)
    return LOW + drawn
