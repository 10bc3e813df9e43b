"""Blocks of list operations that cancel, whatever the list holds and however long it is.

A block is drawn as a walk that adds elements of its own at the ends or beside each other, reverses the list an even
number of times, and takes out again exactly what it added, in any order. Every block is then proven by `cancels`.
Sorting cannot be undone, so no block sorts: the one form that relevant operations cannot share with filler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from operator import is_
from random import Random
from typing import Any

from pipeline.worlds.programs import INSERT_AT, POP_AT, REVERSE, START, Operation, number

Block = tuple[Operation, ...]
APART = 12
"""Unknown elements in the list that a block is drawn on: its ends are out of each other's reach."""


class Hole:
    """An element of which nothing is known: nothing may ask whether it equals a value."""

    def __eq__(self, other: object) -> bool:
        """Tell whether it is the same element; refuse to tell whether it equals a value."""
        if isinstance(other, int):
            raise ValueError("an unknown element may equal the value or not")
        return self is other

    __hash__ = object.__hash__


def cancels(block: Sequence[Operation]) -> bool:
    """Prove that a block never fails and leaves every list as it found it.

    The block runs on lists of unknown elements. A removal that would have to compare with one of them is refused, so
    what holds here holds for all contents, duplicates included. No operation can touch an element further than
    ``reach + len(block)`` from both ends, so every list longer than twice that behaves as the longest that is run.
    """
    return _cancels(tuple(block))


@lru_cache(maxsize=1)  # whoever takes a block that was just drawn asks for the proof again
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

    Steps take out as many elements as they add, none before it is there, and reverse an even number of times.
    """
    while True:
        block = _walk(rng, steps)
        if block is not None and cancels(block):
            return block


def _walk(rng: Random, steps: str) -> Block | None:
    """Draw a walk that cancels on a long list, or None where it strays; only `cancels` proves it for all lists."""
    items: list[Any] = [Hole() for _ in range(APART)]
    own: list[int] = []
    block: list[Operation] = []
    for step in steps:
        operation = REVERSE
        if step == "a":
            operation = _addition(rng, len(own), own)
            own.append(operation.args[-1])
        elif step == "t":
            forms = _removals(items)
            if not forms:
                return None
            value, operation = rng.choice(forms)
            own.remove(value)
        operation.run(items)
        block.append(operation)
    return tuple(block)


def _addition(rng: Random, live: int, own: Sequence[int]) -> Operation:
    value = _value(rng, own)
    if rng.random() < 0.55:
        return Operation("append", (value,))
    guarded = [at for at in INSERT_AT if abs(at) <= live]
    return Operation("insert", (rng.choices(guarded, [1 + 3 * abs(at) for at in guarded])[0], value))


def _value(rng: Random, own: Sequence[int]) -> int:
    """Draw a value that the block does not hold; now and then one that the list starts with."""
    while True:
        value = rng.choice(START) if rng.random() < 0.25 else number(rng)
        if value not in own:
            return value


def _removals(items: Sequence[Any]) -> list[tuple[int, Operation]]:
    """Return the ways to take out an element of one's own, each with its value."""
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
