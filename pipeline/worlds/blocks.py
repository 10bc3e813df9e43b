"""Blocks of list operations that cancel, whatever the list holds and however long it is.

A block is drawn as a walk that adds elements of its own at the ends or beside each other, reverses the list an even
number of times, and takes out again exactly what it added, in any order. Every block is then proven by `cancels`.
Sorting cannot be undone, so no block sorts: the one form that relevant operations cannot share with filler.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_
from random import Random
from typing import Any

from pipeline.worlds.programs import INSERT_AT, POP_AT, REVERSE, START, Operation, number

Block = tuple[Operation, ...]
LIVE = 4
"""How many elements of its own a block has in the list at once, at most."""
DOUBLE = 0.5
"""How many of the blocks that reverse do so twice in a row."""
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
    reach = max((abs(item.args[0]) for item in block if item.name in ("insert", "pop") and item.args), default=0)
    return all(_cancels_at(block, length) for length in range(2 * (reach + len(block)) + 1))


def _cancels_at(block: Sequence[Operation], length: int) -> bool:
    start: list[Any] = [Hole() for _ in range(length)]
    items = list(start)
    try:
        for operation in block:
            operation.run(items)
    except (IndexError, TypeError, ValueError):
        return False
    return len(items) == length and all(map(is_, items, start))


def draw_block(rng: Random, pairs: int, turns: int = 0) -> Block:
    """Draw a block of `pairs` additions, as many removals and ``2 * turns`` reverses, proven.

    No reverse stands first or last. Reverses stand alone or two side by side, so ``turns < pairs``.
    """
    while True:
        block = _walk(rng, pairs, turns)
        if block is not None and cancels(block):
            return block


def draw_run(rng: Random, length: int, pairs: int) -> Block:
    """Draw an even number of reverses in a row, with a block behind them."""
    return (REVERSE,) * length + draw_block(rng, pairs)


def _walk(rng: Random, pairs: int, turns: int) -> Block | None:
    """Draw a walk that cancels on a long list, or None where it strays; only `cancels` proves it for all lists."""
    items: list[Any] = [Hole() for _ in range(APART)]
    own: list[int] = []
    block: list[Operation] = []
    for step in _steps(rng, pairs, turns):
        operation = REVERSE
        if step == "add":
            operation = _addition(rng, len(own), own)
            own.append(operation.args[-1])
        elif step == "take":
            forms = _removals(items)
            if not forms:
                return None
            value, operation = rng.choice(forms)
            own.remove(value)
        operation.run(items)
        block.append(operation)
    return tuple(block)


def _steps(rng: Random, pairs: int, turns: int) -> list[str]:
    """Order additions, as many removals and an even number of reverses: none at an end, two side by side or none."""
    steps = _nest(rng, pairs)
    side = 2 if rng.random() < DOUBLE else 1
    for place in sorted(rng.sample(range(1, len(steps)), 2 * turns // side), reverse=True):
        steps[place:place] = ["reverse"] * side
    return steps


def _nest(rng: Random, count: int) -> list[str]:
    steps: list[str] = []
    live, left = 0, count
    while live or left:
        if left and (not live or (live < LIVE and rng.random() < 0.7)):
            steps.append("add")
            live, left = live + 1, left - 1
        else:
            steps.append("take")
            live -= 1
    return steps


def _addition(rng: Random, live: int, own: Sequence[int]) -> Operation:
    value = _value(rng, own)
    if rng.random() < 0.3:
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
            forms += [(value, Operation("pop"))] * 2
        if not any(isinstance(item, Hole) for item in items[:index]):
            forms += [(value, Operation("remove", (value,)))] * (8 if value in START else 1)
    return forms
