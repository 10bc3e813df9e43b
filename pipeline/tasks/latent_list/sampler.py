"""Draws programs in which every operation is proven to be relevant.

The true list and the lists of all programs that leave one operation out are carried forward together. An operation that
would make one of those equal to the true list is refused, for nothing that follows could tell the two apart again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random

from pipeline.tasks.latent_list.slices import Wish, choose, miss, proven
from pipeline.worlds.programs import INSERT_AT, POP_AT, REVERSE, SORT, START, Operation, View, number

WEIGHTS = {"append": 19, "insert": 19, "pop": 20, "remove": 19, "reverse": 18, "sort": 21}
EXTREME = {"append": 31, "insert": 14, "pop": 18, "remove": 17, "reverse": 18, "sort": 26}
"""How often a kind is tried, EXTREME for min and max. Kinds are not refused equally often: what stays is flatter."""
LENGTHENS, SHORTENS = ("append", "insert"), ("pop", "remove")
Weights = Mapping[str, int]
TRIES, SHORT = 2, 5
"""Last stretches of a program from which the nearest to the wish is taken; what counts as few operations."""
STRETCH, PATIENCE, ATTEMPTS = 3, 12, 40
"""Operations in a stretch; stretches, and operations at one place, that are tried before a draft is given up."""


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
        true = _after(self.true, operation)
        if not true or true == self.true:
            return False
        others: list[list[int] | None] = []
        for other in self.others:
            others.append(None if other is None else _after(other, operation))
            if others[-1] == true:
                return False
        self.true, self.others = true, [*others, self.true]
        self.operations.append(operation)
        return True

    @property
    def alive(self) -> list[list[int]]:
        """The lists of the programs that leave one operation out and have not failed."""
        return [other for other in self.others if other is not None]

    def provable(self, name: str) -> bool:
        """Tell whether a slice tells the true list from all others."""
        return bool(proven(name, self.true, self.alive).any())

    def finish(self, name: str, wish: Wish, rng: Random) -> Program | None:
        """Return the program with a view that tells the true list from all others, if there is one."""
        view = choose(name, self.true, self.alive, wish, rng)
        if view is None:
            return None
        failed = len(self.others) - sum(_shows(view, other) for other in self.alive)
        return Program(tuple(self.operations), view, tuple(self.true), view.output(self.true), failed)


def _after(items: list[int], operation: Operation) -> list[int] | None:
    after = items[:]
    try:
        getattr(after, operation.name)(*operation.args)
    except (IndexError, ValueError):
        return None
    return after


def _shows(view: View, items: list[int]) -> bool:
    try:
        view.output(items)
    except ValueError:
        return False
    return True


def draw_operation(rng: Random, kind: str, items: Sequence[int]) -> Operation:
    """Draw an operation of a kind, in the forms and with the indices that filler has too."""
    size = len(items)
    if kind == "append":
        return Operation("append", (number(rng),))
    if kind == "insert":
        places = [at for at in INSERT_AT if abs(at) <= size]
        return Operation("insert", (_near_the_ends(rng, places), number(rng)))
    if kind == "remove":
        return Operation("remove", (rng.choice(items),))
    if kind == "pop":
        places = [at for at in POP_AT if -size <= at < size]
        return Operation("pop", () if rng.random() < 0.3 else (_near_the_ends(rng, places),))
    return REVERSE if kind == "reverse" else SORT


def _near_the_ends(rng: Random, places: Sequence[int]) -> int:
    return rng.choices(places, [3 if at in (0, -1) else 2 if at in (1, -2) else 1 for at in places])[0]


def draw(name: str, complexity: int, wish: Wish, rng: Random) -> Program:
    """Draw some programs of a view and return the nearest to the wish; with few operations there are few to choose."""
    drawn = [_draw(name, complexity, wish, rng) for _ in range(1 if complexity > SHORT or name == "len" else 5)]
    return min(drawn, key=lambda program: miss(program.view, program.final, wish))


def _draw(name: str, complexity: int, wish: Wish, rng: Random) -> Program:
    """Draw a stretch anew until a slice shows all operations so far; where that fails, draw the one before it anew.

    Without that, one draft in fifty of twenty operations has a slice that shows them all by its minimum.
    """
    weights = EXTREME if name in ("min", "max") else WEIGHTS
    ways = _ways(complexity, wish.size, rng) if name == "len" else [0] * complexity
    drafts = [Draft()]
    while True:
        ends = filter(None, (_stretch(drafts[-1], weights, ways, rng) for _ in range(PATIENCE)))
        if complexity - len(drafts[-1].operations) > STRETCH:
            longer = next((draft for draft in ends if name == "len" or draft.provable(name)), None)
            drafts = [*drafts, longer] if longer else drafts[:-1] or [Draft()]
            continue
        programs = list(islice(filter(None, (draft.finish(name, wish, rng) for draft in ends)), TRIES))
        if programs:
            return min(programs, key=lambda program: miss(program.view, program.final, wish))
        drafts = drafts[:-1] or [Draft()]


def _stretch(draft: Draft, weights: Weights, ways: Sequence[int], rng: Random) -> Draft | None:
    """Return the draft with some more operations, or None if it is stuck."""
    longer = Draft(draft.true, draft.others, draft.operations[:])
    done = len(draft.operations)
    size = (len(ways) - done - 1) % STRETCH + 1
    for way in ways[done : done + size]:
        kinds = _kinds(longer, way)
        drawn = _tried(rng, kinds, [weights[kind] for kind in kinds])
        if not any(longer.add(draw_operation(rng, kind, longer.true)) for kind in drawn):
            return None
    return longer


def _tried(rng: Random, kinds: Sequence[str], weights: Sequence[int]) -> Iterator[str]:
    return (rng.choices(kinds, weights)[0] for _ in range(ATTEMPTS))


def _kinds(draft: Draft, way: int) -> Sequence[str]:
    """Return the kinds that may come next: no reverse right after a reverse, which would look like filler."""
    if way:
        return LENGTHENS if way > 0 else SHORTENS
    last = draft.operations[-1].name if draft.operations else ""
    return [
        kind for kind in WEIGHTS if not (kind == last == "reverse") and not (kind in SHORTENS and len(draft.true) < 3)
    ]


def lengths(complexity: int) -> range:
    """Return the lengths that so many operations, each changing it by one, can leave: their parity is fixed."""
    most = len(START) + complexity
    return range(max(2 - most % 2, len(START) - complexity), most + 1, 2)


def _ways(complexity: int, length: int, rng: Random) -> list[int]:
    """Order growth and loss so that the list ends with a length and is never empty."""
    grown = (complexity + length - len(START)) // 2
    ways = [1] * grown + [-1] * (complexity - grown)
    while True:
        rng.shuffle(ways)
        size = len(START)
        if all((size := size + way) > 0 for way in ways):
            return ways
