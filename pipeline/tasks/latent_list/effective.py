"""The smallest part of a program that still gives its answer.

Every relevant operation is needed by all others; some of them together may be left out and the answer stays, as a
number that is added and taken away again. What is counted here is the smallest subsequence of the relevant operations
that runs and shows the same. The search is exhaustive over the lists that subsequences leave, equal lists taken as one:
line by line, it drops what provably cannot reach the answer with as few operations as are allowed, and allows more
until the answer is reached. Where more than `STATES` lists have to be kept there is no result, and no row is drawn.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from pipeline.worlds.programs import START, Operation, View, run

STATES = 3000
"""Lists that are kept of a line, at most."""
ADDS = ("append", "insert")
SURPLUS = sum(START)
"""What the numbers that the list starts with can add to a sum, at most."""
Items = tuple[int, ...]
States = dict[Items, int]


@lru_cache(maxsize=1 << 14)
def effective(operations: tuple[Operation, ...], view: View) -> int | None:
    """Return how many operations the smallest answer-preserving subsequence has, or None if that cannot be told.

    Raises:
        IndexError, ValueError: if the program itself fails.
    """
    if view.name == "len" and (grown := len(run(operations)) - len(START)) >= 0:
        return grown  # Each operation changes the length by one, and additions never fail.
    search = Search(operations, view)
    allowed = len(operations) if view.name in ("print", "sum") else 0
    while True:
        states = search.reached(allowed)
        if states is None:
            return None
        found = [used for items, used in states.items() if search.shows(items)]
        if found:
            return min(found)
        allowed += 1


class Search:
    """What is known of a program before its parts are tried."""

    def __init__(self, operations: Sequence[Operation], view: View) -> None:
        final = run(operations)
        self._operations, self._view, self._answer = operations, view, view.output(final)
        self._value = 0 if view.name == "print" else view.value(final)
        self._span = view.span or (0, 0)
        self._least = self._shortest(final)
        self._needed = needed(operations, view, final)
        self._kept = {operations[place].args[-1] for place in self._needed}
        places = range(len(operations) + 1)
        self._adds = [sum(operation.name in ADDS for operation in operations[place:]) for place in places]
        self._owed = [sum(place >= since for place in self._needed) for since in places]

    def _shortest(self, final: Sequence[int]) -> int:
        """Return the length that a list must have to show the answer."""
        start = self._span[0]
        if self._view.name == "print":
            return start + len(final[slice(*self._span)])
        return start + 1 if self._view.name in ("min", "max") else 0

    def shows(self, items: Items) -> bool:
        """Tell whether a list shows the answer."""
        try:
            return self._view.output(items) == self._answer
        except ValueError:
            return False

    def reached(self, allowed: int) -> States | None:
        """Return the lists that parts of at most so many operations leave, with the fewest that leave each."""
        states: States = {START: 0}
        for place, operation in enumerate(self._operations):
            skipped = {} if place in self._needed else self._long_enough(states, place + 1)
            states = self._taken(states, operation, place + 1, allowed, skipped)
            if len(states) > STATES:
                return None
        return states

    def _long_enough(self, states: States, place: int) -> States:
        least = self._least - self._adds[place]
        return states.copy() if least <= 0 else {items: used for items, used in states.items() if len(items) >= least}

    def _taken(self, states: States, operation: Operation, place: int, allowed: int, into: States) -> States:
        """Add the lists on which an operation was run to those on which it was not."""
        method, args, kept = getattr(list, operation.name), operation.args, self._kept
        if operation.name == "remove" and args[0] in kept:
            return into
        least, owed = self._least - self._adds[place], self._owed[place]
        for before, used in states.items():
            if used + owed >= allowed:
                continue
            items = list(before)
            try:
                gone = method(items, *args)
            except (IndexError, ValueError):
                continue
            if len(items) < least or gone in kept or self._lacks(items) > allowed - used - 1:
                continue
            after = tuple(items)
            if into.get(after, allowed) > used:
                into[after] = used + 1
        return into

    def _lacks(self, items: Sequence[int]) -> int:
        """Return how many more operations a list needs, at least.

        An operation changes a length by one, and takes one number out of a slice, or pushes one out at its end.
        """
        name, (start, stop) = self._view.name, self._span
        if name == "len":
            return abs(len(items) - self._value)
        if name in ("print", "sum"):
            return self._least - len(items)
        rivals = sum(item > self._value if name == "max" else item < self._value for item in items)
        return max(start + 1 - len(items), rivals - start - max(0, len(items) - stop))


def needed(operations: Sequence[Operation], view: View, final: Sequence[int]) -> frozenset[int]:
    """Return the places of additions that every answer-preserving part holds, as nothing else brings their numbers."""
    added = [(place, operation.args[-1]) for place, operation in enumerate(operations) if operation.name in ADDS]
    times = Counter([*START, *(value for _, value in added)])
    shown = set(visible(view, final, [value for _, value in added]))
    return frozenset(place for place, value in added if value in shown and times[value] == 1)


def visible(view: View, final: Sequence[int], added: Sequence[int]) -> list[int]:
    """Return numbers without which a view cannot show what it shows.

    A sum is that of some of the numbers added, and of some that the list starts with: the numbers that all such sums
    hold are told by adding all subsets up.
    """
    if view.name == "len":
        return []
    if view.name == "print":
        return list(final[slice(*(view.span or ()))])
    if view.name != "sum":
        return [view.value(final)]
    sums = np.zeros(1, dtype=np.int64)
    for value in added:
        sums = np.concatenate([sums, sums + value])
    rest = view.value(final) - sums
    subsets = np.flatnonzero((rest >= 0) & (rest <= SURPLUS))
    common = int(np.bitwise_and.reduce(subsets)) if len(subsets) else 0
    return [value for bit, value in enumerate(added) if common >> bit & 1]
