"""Programs in the making: every operation so far can still be proven to be relevant.

The true list and the lists of all programs that leave one operation out are carried forward together. An operation that
would make one of those equal to the true list is refused, for nothing that follows could tell the two apart again.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import accumulate
from random import Random

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
STRETCH, ATTEMPTS = 3, 40
"""Operations in a stretch; operations at one place that are tried before a draft is given up."""


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
    """A program in the making: the true list, and for each operation the list without it (None once that failed)."""

    true: list[int] = field(default_factory=lambda: list(START))
    others: list[list[int] | None] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)

    def add(self, name: str, args: tuple[int, ...]) -> bool:
        """Append an operation if it and all before it stay provable; tell whether it was."""
        run, true = getattr(list, name), self.true[:]
        try:
            run(true, *args)
        except (IndexError, ValueError):
            return False
        if not true or true == self.true:
            return False
        others = _kept(name, args, self.others) if name in KEEPING else [_after(run, args, one) for one in self.others]
        if name not in KEEPING and true in others:
            return False
        others.append(self.true)
        self.true, self.others = true, others
        self.operations.append(Operation(name, args))
        return True

    @property
    def alive(self) -> list[list[int]]:
        """The lists of the programs that leave one operation out and have not failed."""
        return [other for other in self.others if other is not None]

    def seen(self, view: View) -> Program:
        """Return the program that ends with a view."""
        failed = len(self.others) - sum(_shows(view, other) for other in self.alive)
        return Program(tuple(self.operations), view, tuple(self.true), view.output(self.true), failed)

    def stretched(self, weights: Weights, ways: Sequence[int], rng: Random, *, quotas: bool) -> Draft | None:
        """Return the draft with some more operations, or None if it is stuck.

        `ways` tells for each operation of the whole program whether it lengthens the list (1), shortens it (-1) or may
        do either (0). With `quotas` a kind weighs as much as it is still wanting of its share of the whole.
        """
        longer = Draft(self.true, self.others, self.operations[:])
        done = len(self.operations)
        size = (len(ways) - done - 1) % STRETCH + 1
        wanted = self.wanting(weights, len(ways)) if quotas else dict[str, float](weights)
        for way in ways[done : done + size]:
            last = longer.operations[-1].name if longer.operations else ""
            kinds = _kinds(way, reversed_last=last == "reverse", short=len(longer.true) < 3)
            sums = list(accumulate(max(wanted[kind], LEAST) for kind in kinds))
            for _ in range(ATTEMPTS):
                kind = kinds[one_of(rng, sums)]
                if longer.add(kind, draw_arguments(rng, kind, longer.true)):
                    break
            else:
                return None
            if quotas:
                wanted[longer.operations[-1].name] -= 1
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


def _kept(name: str, args: tuple[int, ...], lists: Sequence[list[int] | None]) -> list[list[int] | None]:
    """Return what one of the kinds that never fail makes of some lists."""
    if name == "reverse":
        return [items if items is None else items[::-1] for items in lists]
    *at, value = args
    if not at:
        return [items if items is None else [*items, value] for items in lists]
    return [items if items is None else [*items[: at[0]], value, *items[at[0] :]] for items in lists]


def _after(run: Callable[..., object], args: tuple[int, ...], items: list[int] | None) -> list[int] | None:
    """Return what an operation makes of a list; None if it fails."""
    if items is None:
        return None
    items = items[:]
    try:
        run(items, *args)
    except (IndexError, ValueError):
        return None
    return items


def one_of(rng: Random, sums: Sequence[float]) -> int:
    """Draw a place by the running sums of weights, as ``rng.choices`` does."""
    return bisect(sums, rng.random() * (sums[-1] + 0.0), 0, len(sums) - 1)


@cache
def _kinds(way: int, *, reversed_last: bool, short: bool) -> Sequence[str]:
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
        at = _near_the_ends(rng, (tuple(at for at in places if items[at] in STARTING) if first else ()) or places)
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
