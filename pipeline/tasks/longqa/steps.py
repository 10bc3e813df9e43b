"""Steps of a title: sales are made, set aside and restored, so that several of them decide who owns it in the end.

A history has steps none of which matters once the property is sold again, the owner's purchase, and steps that are all
needed. They are drawn by counting: each step as often as it stands among the ways to reach what is wanted, so that no
draw is in vain and the end of a history looks like its middle.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from random import Random
from typing import NamedTuple

from pipeline.caches import cache, lru_cache
from pipeline.worlds.chronicle.world import REDO, SALE, UNDO, UNDO2, UNNAMED, Step, owner

TRIED = {SALE: 5, UNDO: 4, REDO: 3, UNDO2: 1}
"""How often each step is tried."""
LAST, TRIES = (SALE, SALE, SALE, UNDO, REDO), 20
"""What is tried as the last step before the owner's purchase, and how often: not all are possible."""
COUNTS = 0.25
"""The share of histories in which counting may find the owner, beside those with one sale before."""


class Rules(NamedTuple):
    """How many sales must stand, or be set aside, before each step, and how many may stand at the end.

    Attributes:
        sale, undo, undo2: sales that stand before such a step, at the least.
        redo: sales that can be restored, at the least.
        most: sales that stand at the end, at the most; one does at the least.
    """

    sale: int
    undo: int
    undo2: int
    redo: int
    most: int


class Place(NamedTuple):
    """Where a history has come to: sales that stand or can be restored, those to come (-1 for any), and steps to come.

    `last` is the kind of the last step; any if it is empty.
    """

    standing: int
    undone: int
    sales: int
    left: int
    last: str


SPARE = Rules(sale=0, undo=2, undo2=3, redo=2, most=99)
"""Steps of which any one can be left out, and all others can still be taken."""


def _onward(rules: Rules, place: Place) -> Iterator[tuple[str, Place]]:
    """Yield the steps that can be taken from a place, each with the place behind it."""
    standing, undone, sales, left, last = place
    for kind in TRIED if left > 1 or not last else (last,):
        if kind == SALE and sales and standing >= rules.sale:
            yield kind, Place(standing + 1, 0, max(sales - 1, -1), left - 1, last)
        elif kind == UNDO and standing >= rules.undo:
            yield kind, Place(standing - 1, undone + 1, sales, left - 1, last)
        elif kind == UNDO2 and standing >= rules.undo2:
            yield kind, Place(standing - 2, 0, sales, left - 1, last)
        elif kind == REDO and undone >= rules.redo:
            yield kind, Place(standing + 1, undone - 1, sales, left - 1, last)


@lru_cache(maxsize=1 << 16)
def _ways(rules: Rules, place: Place) -> int:
    """Return in how many ways the end can be reached from a place, each step as often as it is tried."""
    if not place.left:
        return int(place.sales <= 0 and 1 <= place.standing <= rules.most)
    return sum(TRIED[kind] * _ways(rules, then) for kind, then in _onward(rules, place))


@lru_cache(maxsize=1 << 14)
def _choices(rules: Rules, place: Place) -> tuple[Sequence[tuple[str, Place]], Sequence[int]]:
    """Return the steps from a place by which the end can be reached, and the running sum of their ways."""
    found = [(kind, then) for kind, then in _onward(rules, place) if _ways(rules, then)]
    return found, [*accumulate(TRIED[kind] * _ways(rules, then) for kind, then in found)]


def _drawn(rng: Random, rules: Rules, place: Place) -> list[str]:
    """Draw the kinds of all steps to come; none if the end cannot be reached."""
    kinds = list[str]()
    while place.left:
        found, sums = _choices(rules, place)
        if not found:
            return []
        kind, place = found[bisect_right(sums, rng.randrange(sums[-1]))]
        kinds.append(kind)
    return kinds


def named(kinds: Sequence[str], first: int = 0) -> list[Step]:
    """Return steps whose buyers are numbers, in order from one on."""
    buyers = iter(range(first, first + len(kinds)))
    return [(kind, str(next(buyers)) if kind == SALE else "") for kind in kinds]


def sold(steps: Sequence[Step]) -> list[str]:
    """Return everybody who buys, in order."""
    return [buyer for kind, buyer in steps if kind == SALE]


def changes(steps: Sequence[Step], without: int, right: str = "") -> bool:
    """Return whether the owner is another, or there is none, without one of the steps; `right` owns it with all."""
    try:
        return owner([*steps[:without], *steps[without + 1 :]]) != (right or owner(steps))
    except ValueError:
        return True


@cache
def cores(needed: int, behind: int) -> Sequence[Sequence[str]]:
    """Return the kinds of so many steps that all decide, with so many sales behind the first, whose buyer owns it.

    Those that the last step alone gives away, or that need no sale restored, are left out where there are others.
    """
    found = [named((SALE, *kinds)) for kinds in _every(_deciding(1), Place(1, 0, behind, needed - 1, ""))]
    found = [steps for steps in found if owner(steps) == "0" and all(changes(steps, at, "0") for at in range(needed))]
    hard = [steps for steps in found if by_last_step(steps) != "0"] or found
    hard = [steps for steps in hard if (REDO, "") in steps] or hard
    return [[kind for kind, _ in steps] for steps in hard]


def _deciding(below: int) -> Rules:
    """Return the rules of steps behind the owner's purchase, below which so many sales stand.

    Places count from there: while it is set aside it can be lost for good, so nothing is sold, and in the end it is the
    last that stands.
    """
    return Rules(sale=1, undo=2 - below, undo2=3, redo=1, most=1)


def _every(rules: Rules, place: Place) -> Iterator[tuple[str, ...]]:
    """Yield the kinds of all ways to reach the end from a place."""
    if not place.left:
        yield ()
        return
    for kind, then in _choices(rules, place)[0]:
        yield from ((kind, *more) for more in _every(rules, then))


def by_last_step(steps: Sequence[Step]) -> str:
    """Return whose a property seems to be if the last step is read alone, with those who bought before it."""
    buyers, back = sold(steps), {SALE: 1, REDO: 1, UNDO: 2, UNDO2: 3}[steps[-1][0]]
    return buyers[-back] if back <= len(buyers) else ""


def without_restoring(kinds: Sequence[str]) -> int:
    """Return which step is the sale that seems to stand if sales are set aside and none is restored; -1 for none."""
    left = list[int]()
    for at, kind in enumerate(kinds):
        if kind in (SALE, UNNAMED):
            left.append(at)
        elif kind != REDO:
            del left[-1 - (kind == UNDO2) :]
    return left[-1] if left else -1


def forgotten(rng: Random, ahead: int, length: int = 0) -> list[Step]:
    """Draw steps with so many sales, no single one of which matters once the property is sold again.

    In most of them some sales were set aside, so that the owner is not found by counting those that stand. `length` is
    how many steps there are; any number if it is 0.
    """
    counts = rng.random() < COUNTS or ahead in (1, length)
    for turn in count():
        if turn % TRIES == 0:
            last = rng.choice(LAST)
        kinds = _drawn(rng, SPARE, Place(0, 0, ahead, length or rng.randrange(ahead, 2 * ahead + 3), last))
        if kinds and (counts or net(kinds) < ahead):
            return named(kinds)
    raise AssertionError


def net(kinds: Sequence[str]) -> int:
    """Return how many sales stand after some steps."""
    return sum({SALE: 1, UNNAMED: 1, UNDO: -1, UNDO2: -2, REDO: 1}[kind] for kind in kinds)


def fits(ahead: int, length: int) -> bool:
    """Return whether there can be so many steps before the owner's purchase, with so many sales among them."""
    return any(_ways(SPARE, Place(0, 0, ahead, length, last)) for last in LAST)


def history(
    rng: Random, ahead: int, needed: int, after: int, behind: int = -1, length: int = 0
) -> tuple[list[Step], range]:
    """Draw a history, and which of its steps decide who owns it behind them: so many, and no step before or after.

    Buyers are numbers, in order. `ahead` is how many sales come before the owner's, in `length` steps, and `behind` how
    many of the needed ones after it; negative for any number.
    """
    first, mine = forgotten(rng, ahead, length), str(ahead)
    rules, start = _deciding(net([kind for kind, _ in first])), Place(1, 0, -1, needed - 1, "")
    while True:
        kinds = _drawn(rng, rules, start) if behind < 0 else rng.choice(cores(needed, behind))[1:]
        steps = [*first, *named((SALE, *kinds), ahead)]
        if owner(steps) == mine and all(changes(steps, at, mine) == (at >= len(first)) for at in range(len(steps))):
            return [*steps, *_sold_on(rng, steps, after)], range(len(first), len(steps))


def _sold_on(rng: Random, steps: Sequence[Step], after: int) -> list[Step]:
    """Return steps of which the first is a sale: the owner asked for is not the last who is named."""
    if not after:
        return []
    kinds = _drawn(rng, Rules(sale=0, undo=1, undo2=2, redo=1, most=99), Place(2, 0, -1, after - 1, ""))
    return named((SALE, *kinds), len(sold(steps)))
