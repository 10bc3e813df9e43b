"""The smallest part of a program that still gives its answer.

No single relevant operation can be left out, but several together may be, such as adding a number and taking it out
again. What is counted here is the smallest subsequence of the relevant operations that runs and shows the same answer.
The search is exhaustive over the lists that subsequences leave. Line by line, it drops lists that provably cannot reach
the answer with as few operations as are allowed, and allows more until the answer is reached. Lists that nothing later
can tell apart count as one. If more than `MOST_STATES` lists must be kept, there is no result, and no row is drawn.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.caches import lru_cache
from pipeline.worlds.programs import START, Operation, View, run

MOST_STATES = 3000
"""The most lists to keep after a line."""
ADDS, TAKES = ("append", "insert"), ("pop", "remove")
SURPLUS = sum(START)
"""The most that the list's initial numbers can add to a sum."""
NEVER = 1 << 20
"""More operations than any program has."""
Items = tuple[int, ...]
States = dict[Items, int]


@lru_cache(maxsize=1 << 14)
def effective(operations: tuple[Operation, ...], view: View) -> int | None:
    """Return the number of operations in the smallest answer-preserving subsequence; None if there are too many lists.

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
    """A search over the parts of a program, with what is known before any is tried."""

    def __init__(self, operations: Sequence[Operation], view: View) -> None:
        final = run(operations)
        self._operations, self._view, self._answer = operations, view, view.output(final)
        self._value = 0 if view.name == "print" else view.value(final)
        self._span = view.span or (0, 0)
        self._least = self._shortest(final)
        self._needed = needed(operations, view, final)
        self._kept = {operations[place].args[-1] for place in self._needed}
        places = range(len(operations) + 1)
        self._adds, self._takes = (
            [sum(operation.name in kinds for operation in operations[place:]) for place in places]
            for kinds in (ADDS, TAKES)
        )
        self._owed = [sum(place >= since for place in self._needed) for since in places]
        self._faces = [self._alike(operations[place:], final) for place in places]
        beyond = {"min": self._value.__gt__, "max": self._value.__lt__}.get(view.name)
        self._rivals = frozenset(filter(beyond, self._faces[0])) if beyond else frozenset[int]()
        self._fewest: dict[tuple[int, int, int], int] = {}

    def _shortest(self, final: Sequence[int]) -> int:
        """Return the least length at which a list can show the answer."""
        start = self._span[0]
        if self._view.name == "print":
            return start + len(final[slice(*self._span)])
        return start + 1 if self._view.name in ("min", "max") else 0

    def _alike(self, later: Sequence[Operation], final: Sequence[int]) -> Mapping[int, int]:
        """Return a representative of each number, which everything later treats alike.

        Numbers that are later removed by value, or shown, represent themselves. For the rest only their order among
        those matters, and only if a sort follows or a minimum or maximum is asked for. A sum tells all apart.
        """
        numbers = sorted({*START, *(operation.args[-1] for operation in self._operations if operation.name in ADDS)})
        if self._view.name == "sum":
            return {value: value for value in numbers}
        shown = set(visible(self._view, final, ()))
        distinct = shown.union(operation.args[0] for operation in later if operation.name == "remove")
        sorts = any(operation.name == "sort" for operation in later)
        marks = sorted(distinct if sorts else () if self._view.name == "print" else shown)
        first: dict[int, int] = {}
        return {
            value: value if value in distinct else first.setdefault(bisect(marks, value), value) for value in numbers
        }

    def shows(self, items: Items) -> bool:
        """Return whether a list shows the answer."""
        try:
            return self._view.output(items) == self._answer
        except ValueError:
            return False

    def reached(self, allowed: int) -> States | None:
        """Return the lists that parts of at most `allowed` operations leave, with the fewest operations for each."""
        states: States = {tuple(map(self._faces[0].__getitem__, START)): 0}
        for place, operation in enumerate(self._operations):
            after = {} if place in self._needed else states.copy()
            self._taken(states, operation, self._faces[place], after)
            states = self._kept_of(after, place + 1, allowed)
            if len(states) > MOST_STATES:
                return None
        return states

    def _taken(self, states: States, operation: Operation, faces: Mapping[int, int], into: States) -> None:
        """Add to `into` the lists that an operation leaves."""
        method, args, kept = getattr(list, operation.name), operation.args, self._kept
        if operation.name == "remove" and args[0] in kept:
            return
        if operation.name in ADDS:
            args = (*args[:-1], faces[args[-1]])
        for before, used in states.items():
            items = list(before)
            try:
                gone = method(items, *args)
            except (IndexError, ValueError):
                continue
            after = tuple(items)
            if gone not in kept and into.get(after, NEVER) > used:
                into[after] = used + 1

    def _kept_of(self, states: States, place: int, allowed: int) -> States:
        """Return the lists that can still reach the answer from a place on, and merge those that no longer differ."""
        face, fewest, rivals = self._faces[place].__getitem__, self._fewest, self._rivals
        changes, kept = self._faces[place] != self._faces[place - 1], States()
        for items, used in states.items():
            known = (place, len(items), sum(map(rivals.__contains__, items)) if rivals else 0)
            if known not in fewest:
                fewest[known] = self._counted(*known)
            if used + fewest[known] <= allowed:
                alike = tuple(map(face, items)) if changes else items
                if kept.get(alike, NEVER) > used:
                    kept[alike] = used
        return kept

    def _counted(self, place: int, size: int, rivals: int) -> int:
        """Return a lower bound of the additions and removals after which a list of this size can show the answer.

        Rivals, which may not be shown, must be removed or be outside the slice.
        """
        name, (start, stop) = self._view.name, self._span
        fewest = NEVER
        for removed in range(self._takes[place] + 1):
            for added in range(self._owed[place], min(self._adds[place], fewest - removed - 1) + 1):
                length = size + added - removed
                hidden = start + max(0, length - stop) if name in ("min", "max") else 0
                fits = length == self._value if name == "len" else length >= self._least
                if fits and rivals - removed <= hidden:
                    fewest = added + removed
                    break
        return fewest


def needed(operations: Sequence[Operation], view: View, final: Sequence[int]) -> frozenset[int]:
    """Return the places of additions in every answer-preserving part, as nothing else supplies their numbers."""
    added = [(place, operation.args[-1]) for place, operation in enumerate(operations) if operation.name in ADDS]
    times = Counter([*START, *(value for _, value in added)])
    shown = set(visible(view, final, [value for _, value in added]))
    return frozenset(place for place, value in added if value in shown and times[value] == 1)


def visible(view: View, final: Sequence[int], added: Sequence[int]) -> list[int]:
    """Return numbers without which a view cannot show what it shows.

    For a sum, these are the added numbers that belong to every subset whose sum, with some initial numbers, is right.
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
