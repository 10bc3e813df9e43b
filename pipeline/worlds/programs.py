"""Programs on one Python list: operations, the views that end them, and their text.

An operation is a method of ``list`` with integer arguments, so that running it is calling it: a program prints what
Python prints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from operator import is_
from random import Random
from typing import Any

from pipeline.caches import lru_cache

START = (1, 2, 3, 4, 5, 6)
START_LINE = f">> a = {list(START)}"
DO_NOTHING = '>> print("Do nothing.")'
LOW, HIGH = -4000, 4000
BITS = (HIGH - LOW + 1).bit_length()
"""Bits drawn for a value, as in ``randint``; values that are too large are redrawn."""
INSERT_AT = tuple(range(-2, 3))
POP_AT = tuple(range(-3, 3))
"""Where operations insert and pop. Filler cannot safely reach further, so relevant operations do not either."""
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
    """The last line of a program: prints a slice of the list, its sum, minimum or maximum, or the length.

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
        """Return what Python prints.

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
    """Return what a program prints at the end, or None if it fails."""
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


Block = tuple[Operation, ...]
APART = 12
"""Unknown elements in the list that a block is drawn on: operations at one end cannot reach the other."""


class Hole:
    """An element about which nothing is known: nothing may ask whether it equals a value."""

    def __eq__(self, other: object) -> bool:
        """Return whether it is the same element; refuse to compare it with a value."""
        if isinstance(other, int):
            raise ValueError("an unknown element may equal the value or not")
        return self is other

    __hash__ = object.__hash__


def cancels(block: Sequence[Operation]) -> bool:
    """Prove that a block never fails and leaves every list as it found it.

    The block runs on lists of unknown elements. A removal that would have to compare with one of them is refused, so
    that the proof covers all contents, duplicates included. No operation can touch an element further than ``reach +
    len(block)`` from both ends, so every list longer than twice that behaves as the longest that is run.
    """
    return _cancels(tuple(block))


@lru_cache(maxsize=1)  # whoever takes a block just drawn asks for the proof again
def _cancels(block: Block) -> bool:
    reach = max((abs(item.args[0]) for item in block if item.name in ("insert", "pop") and item.args), default=0)
    steps = [(getattr(list, operation.name), operation.args) for operation in block]
    holes: list[Any] = [Hole() for _ in range(2 * (reach + len(block)))]
    return all(_cancels_on(steps, holes[:length]) for length in range(len(holes) + 1))


def _cancels_on(steps: Iterable[tuple[Callable[..., object], tuple[int, ...]]], start: list[Any]) -> bool:
    items = start[:]
    try:
        for method, args in steps:
            method(items, *args)
    except (IndexError, TypeError, ValueError):
        return False
    return len(items) == len(start) and all(map(is_, items, start))


def draw_block(rng: Random, steps: str) -> Block:
    """Draw a block from its steps, proven: `a` adds an element, `t` takes one out, `r` reverses the list.

    Steps take out as many elements as they add, none before it is there, and reverse the list an even number of times.
    """
    while True:
        block = _walk(rng, steps)
        if block is not None and cancels(block):
            return block


def _walk(rng: Random, steps: str) -> Block | None:
    """Draw a walk that cancels on a long list, or None if it strays; only `cancels` proves it for all lists."""
    items: list[Any] = [Hole() for _ in range(APART)]
    values: list[int] = []
    block: list[Operation] = []
    for step in steps:
        operation = REVERSE
        if step == "a":
            operation = _addition(rng, len(values), values)
            values.append(operation.args[-1])
        elif step == "t":
            forms = _removals(items)
            if not forms:
                return None
            value, operation = rng.choice(forms)
            values.remove(value)
        operation.run(items)
        block.append(operation)
    return tuple(block)


def _addition(rng: Random, live: int, values: Sequence[int]) -> Operation:
    value = _value(rng, values)
    if rng.random() < 0.55:
        return Operation("append", (value,))
    guarded = [at for at in INSERT_AT if abs(at) <= live]
    return Operation("insert", (rng.choices(guarded, [1 + 3 * abs(at) for at in guarded])[0], value))


def _value(rng: Random, values: Sequence[int]) -> int:
    """Draw a value that the block does not have; sometimes one that the list starts with."""
    while True:
        value = rng.choice(START) if rng.random() < 0.25 else number(rng)
        if value not in values:
            return value


def _removals(items: Sequence[Any]) -> list[tuple[int, Operation]]:
    """Return the ways to take out an element of the block's own, each with its value."""
    forms = []
    for index, value in enumerate(items):
        if isinstance(value, Hole):
            continue
        places = [at for at in (index, index - len(items)) if at in POP_AT]
        forms += [(value, Operation("pop", (at,))) for at in places for _ in range(1 + 2 * max(at, ~at))]
        if index == len(items) - 1:
            forms.append((value, Operation("pop")))
        if not any(isinstance(item, Hole) for item in items[:index]):
            forms += [(value, Operation("remove", (value,)))] * (8 if value in START else 1)
    return forms
