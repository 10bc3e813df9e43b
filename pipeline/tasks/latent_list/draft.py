"""Programs in the making: every operation so far can still be proven to be relevant.

The true list and the lists of all programs that leave one operation out are carried forward together. An operation that
would make one of those equal to the true list is refused, for nothing that follows could tell the two apart again.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from random import Random

from pipeline.tasks.latent_list.lists import Lists, after
from pipeline.worlds.programs import INSERT_AT, POP_AT, START, Operation, View, number

KEEPING = ("append", "insert", "reverse")
"""Kinds that leave any two lists as different as they were."""
STARTING = frozenset(START)
LENGTHENS, SHORTENS = ("append", "insert"), ("pop", "remove")
Weights = Mapping[str, int]
LEAST = 0.05
"""What a kind weighs of which there are enough."""
FIRST = 0.95
"""How often a number that the list starts with is taken out, if there is one: to add a number and take it out again is
work that can be left undone."""
NEAR = (7, 4, 2)
"""What indices weigh by their distance from the nearer end, as in filler."""
ATTEMPTS = 40
"""Operations at one place that are tried before a draft is given up."""


@dataclass(frozen=True, slots=True)
class Program:
    """Relevant operations, the view that shows them all, the final list, and the answer."""

    operations: tuple[Operation, ...]
    view: View
    final: tuple[int, ...]
    output: str
    by_failure: int
    """Operations without which the program fails, and that are proven only by that."""


@dataclass(slots=True)
class Draft:
    """A program in the making: its list, and the lists of all that leave one operation out and do not fail."""

    true: list[int] = field(default_factory=lambda: list(START))
    others: Lists = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    def add(self, name: str, args: tuple[int, ...]) -> bool:
        """Append an operation if it and all before it stay provable; tell whether it was."""
        true = next(iter(after(name, args, [self.true])), [])
        if not true or true == self.true:
            return False
        others = after(name, args, self.others)
        if name not in KEEPING and true in others:
            return False
        others.append(self.true)
        self.true, self.others = true, others
        self.operations.append(Operation(name, args))
        return True

    def seen(self, view: View) -> Program:
        """Return the program that ends with a view."""
        failed = len(self.operations) - sum(_shows(view, other) for other in self.others)
        return Program(tuple(self.operations), view, tuple(self.true), view.output(self.true), failed)

    def stretches(
        self, weights: Weights, ways: Sequence[int], size: int, rng: Random, *, quotas: bool
    ) -> Iterator[Draft | None]:
        """Yield the draft with `size` operations more, which are drawn anew each time, or None where it is stuck.

        `ways` tells for each operation of the whole program whether it lengthens the list (1), shortens it (-1) or may
        do either (0). With `quotas` a kind weighs as much as it is still wanting of its share of the whole.
        """
        done = len(self.operations)
        coming = ways[done : done + size]
        wanted = self.wanting(weights, len(ways)) if quotas else dict[str, float](weights)
        while True:
            yield self._stretched(wanted.copy(), coming, rng, quotas=quotas)

    def _stretched(self, wanted: dict[str, float], ways: Sequence[int], rng: Random, *, quotas: bool) -> Draft | None:
        longer = Draft(self.true, self.others, self.operations[:])
        last = longer.operations[-1].name if longer.operations else ""
        for way in ways:
            kinds = _kinds(way, last == "reverse", len(longer.true) < 3)
            sums = _sums(kinds, wanted)
            for _ in range(ATTEMPTS):
                last = kinds[one_of(rng, sums)]
                if longer.add(last, draw_arguments(rng, last, longer.true)):
                    break
                if last == "sort":  # It has no arguments that another attempt could change.
                    kinds = [kind for kind in kinds if kind != last]
                    sums = _sums(kinds, wanted)
            else:
                return None
            if quotas:
                wanted[last] -= 1
        return longer

    def wanting(self, shares: Weights, size: int) -> dict[str, float]:
        """Return how many operations of each kind a program of some size wants yet: less than none of some."""
        have = [operation.name for operation in self.operations]
        whole = sum(shares.values())
        return {kind: share * size / whole - have.count(kind) for kind, share in shares.items()}


def _shows(view: View, items: list[int]) -> bool:
    try:
        view.output(items)
    except ValueError:
        return False
    return True


def _sums(kinds: Sequence[str], wanted: Mapping[str, float]) -> Sequence[float]:
    return list(accumulate([max(wanted[kind], LEAST) for kind in kinds]))


def one_of(rng: Random, sums: Sequence[float]) -> int:
    """Draw a place by the running sums of weights, as ``rng.choices`` does."""
    return bisect(sums, rng.random() * (sums[-1] + 0.0), 0, len(sums) - 1)


@cache
def _kinds(way: int, reversed_last: bool, short: bool) -> Sequence[str]:  # noqa: FBT001
    """Return the kinds that may come next: no reverse right after a reverse, which would look like filler."""
    if way:
        return LENGTHENS if way > 0 else SHORTENS
    kinds = (*LENGTHENS, *SHORTENS, "reverse", "sort")
    return [kind for kind in kinds if not (reversed_last and kind == "reverse") and not (short and kind in SHORTENS)]


def draw_arguments(rng: Random, kind: str, items: Sequence[int]) -> tuple[int, ...]:
    """Draw the arguments of an operation of a kind, in the forms and with the indices that filler has too."""
    if kind == "append":
        return (number(rng),)
    if kind == "insert":
        return (_near_the_ends(rng, _within(INSERT_AT, -len(items), len(items))), number(rng))
    if kind in SHORTENS:
        first = rng.random() < FIRST
        if kind == "remove":
            return (rng.choice(([item for item in items if item in STARTING] if first else ()) or items),)
        places = _within(POP_AT, -len(items), len(items) - 1)
        at = _near_the_ends(rng, (tuple([at for at in places if items[at] in STARTING]) if first else ()) or places)
        return () if at == -1 and rng.random() < 0.7 else (at,)
    return ()


@cache
def _within(places: tuple[int, ...], least: int, most: int) -> tuple[int, ...]:
    """Return those of some places that lie between two."""
    return tuple(at for at in places if least <= at <= most)


def _near_the_ends(rng: Random, places: tuple[int, ...]) -> int:
    return places[one_of(rng, _nearness(places))]


@cache
def _nearness(places: tuple[int, ...]) -> Sequence[int]:
    return list(accumulate(NEAR[max(at, ~at)] for at in places))
