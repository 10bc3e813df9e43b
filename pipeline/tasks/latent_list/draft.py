"""Programs in the making: every operation so far can still be proven to be relevant.

The true list and the lists of all programs that leave one operation out are carried forward together. An operation that
would make one of those equal to the true list is refused, for nothing that follows could tell the two apart again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random

from pipeline.worlds.programs import INSERT_AT, POP_AT, REVERSE, SORT, START, Operation, View, number

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

    def add(self, operation: Operation) -> bool:
        """Append an operation if it and all before it stay provable; tell whether it was."""
        method, args, true = getattr(list, operation.name), operation.args, self.true[:]
        try:
            method(true, *args)
        except (IndexError, ValueError):
            return False
        if not true or true == self.true:
            return False
        others: list[list[int] | None] = []
        for other in self.others:
            after = None if other is None else other[:]
            if after is not None:
                try:
                    method(after, *args)
                except (IndexError, ValueError):
                    after = None
                if after == true:
                    return False
            others.append(after)
        self.true, self.others = true, [*others, self.true]
        self.operations.append(operation)
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
            kinds = _kinds(longer, way)
            drawn = _tried(rng, kinds, [max(wanted[kind], LEAST) for kind in kinds])
            if not any(longer.add(draw_operation(rng, kind, longer.true)) for kind in drawn):
                return None
            if quotas:
                wanted[longer.operations[-1].name] -= 1
        return longer

    def wanting(self, shares: Weights, size: int) -> dict[str, float]:
        """Return how many operations of each kind a program of some size wants yet: less than none of some."""
        have = Counter(operation.name for operation in self.operations)
        whole = sum(shares.values())
        return {kind: share * size / whole - have[kind] for kind, share in shares.items()}


def _shows(view: View, items: list[int]) -> bool:
    try:
        view.output(items)
    except ValueError:
        return False
    return True


def _tried(rng: Random, kinds: Sequence[str], weights: Sequence[float]) -> Iterator[str]:
    return (rng.choices(kinds, weights)[0] for _ in range(ATTEMPTS))


def _kinds(draft: Draft, way: int) -> Sequence[str]:
    """Return the kinds that may come next: no reverse right after a reverse, which would look like filler."""
    if way:
        return LENGTHENS if way > 0 else SHORTENS
    last = draft.operations[-1].name if draft.operations else ""
    kinds = (*LENGTHENS, *SHORTENS, "reverse", "sort")
    return [
        kind for kind in kinds if not (kind == last == "reverse") and not (kind in SHORTENS and len(draft.true) < 3)
    ]


def draw_operation(rng: Random, kind: str, items: Sequence[int]) -> Operation:
    """Draw an operation of a kind, in the forms and with the indices that filler has too."""
    size = len(items)
    if kind == "append":
        return Operation("append", (number(rng),))
    if kind == "insert":
        places = [at for at in INSERT_AT if abs(at) <= size]
        return Operation("insert", (_near_the_ends(rng, places), number(rng)))
    if kind in SHORTENS:
        first = rng.random() < FIRST
        if kind == "remove":
            return Operation("remove", (rng.choice([item for item in items if item in START and first] or items),))
        places = [at for at in POP_AT if -size <= at < size]
        at = _near_the_ends(rng, [at for at in places if items[at] in START and first] or places)
        return Operation("pop", () if at == -1 and rng.random() < 0.7 else (at,))
    return REVERSE if kind == "reverse" else SORT


def _near_the_ends(rng: Random, places: Sequence[int]) -> int:
    return rng.choices(places, [NEAR[max(at, ~at)] for at in places])[0]
