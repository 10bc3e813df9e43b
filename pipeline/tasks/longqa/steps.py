"""Draws the steps of a property's history: sales, set aside and restored, several of which decide the final owner.

A history has steps none of which matters once the property is sold again, the owner's purchase, and steps that are all
needed. Each step is drawn in proportion to the number of ways to complete the history after it, so that no draw fails,
and the end of a history looks like its middle.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate, count
from random import Random
from typing import NamedTuple

from pipeline.caches import cache, lru_cache
from pipeline.worlds.chronicle.world import REDO, SALE, UNDO, UNDO2, UNNAMED, Step, owner

STEP_WEIGHTS = {SALE: 5, UNDO: 4, REDO: 3, UNDO2: 1}
"""How often each step is tried."""
LAST_STEPS, TRIES = (SALE, SALE, SALE, UNDO, REDO), 20
"""Candidates for the last step before the owner's purchase, and tries for each, as not all are possible."""
COUNTABLE_SHARE = 0.25
"""The share of histories in which counting sales may find the owner, besides those with one earlier sale."""


class Rules(NamedTuple):
    """How many sales must be valid, or restorable, before each step, and how many may be valid at the end.

    Attributes:
        sale, undo, undo2: the fewest valid sales before such a step.
        redo: the fewest restorable sales before such a step.
        most: the most valid sales at the end; there is at least one.
    """

    sale: int
    undo: int
    undo2: int
    redo: int
    most: int


class Place(NamedTuple):
    """The state of a history: valid and restorable sales, sales to come (-1 for any number), and steps to come.

    `last` is the kind of the last step, or "" for any.
    """

    valid: int
    undone: int
    sales: int
    left: int
    last: str


NOWHERE = Place(0, 0, 0, 1, "")
"""A place with a step to come and none that is possible."""
POSSIBLE = Rules(sale=0, undo=1, undo2=2, redo=1, most=99)
"""Rules for any steps that are possible."""
RULES_FOR_SPARE = Rules(sale=0, undo=2, undo2=3, redo=2, most=99)
"""Rules for steps any one of which can be left out without making others impossible."""


def _onward(rules: Rules, place: Place) -> Iterator[tuple[str, Place]]:
    """Yield the steps that are possible at a place, each with the place after it."""
    valid, undone, sales, left, last = place
    for kind in STEP_WEIGHTS if left > 1 or not last else (last,):
        if kind == SALE and sales and valid >= rules.sale:
            yield kind, Place(valid + 1, 0, max(sales - 1, -1), left - 1, last)
        elif kind == UNDO and valid >= rules.undo:
            yield kind, Place(valid - 1, undone + 1, sales, left - 1, last)
        elif kind == UNDO2 and valid >= rules.undo2:
            yield kind, Place(valid - 2, 0, sales, left - 1, last)
        elif kind == REDO and undone >= rules.redo:
            yield kind, Place(valid + 1, undone - 1, sales, left - 1, last)


@lru_cache(maxsize=1 << 16)
def _ways(rules: Rules, place: Place) -> int:
    """Return the number of ways from a place to the end, each step weighted as in `STEP_WEIGHTS`."""
    if not place.left:
        return int(place.sales <= 0 and 1 <= place.valid <= rules.most)
    return sum(STEP_WEIGHTS[kind] * _ways(rules, then) for kind, then in _onward(rules, place))


@lru_cache(maxsize=1 << 14)
def _choices(rules: Rules, place: Place) -> tuple[Sequence[tuple[str, Place]], Sequence[int]]:
    """Return the steps from a place from which the end can be reached, and the running sums of their ways."""
    found = [(kind, then) for kind, then in _onward(rules, place) if _ways(rules, then)]
    return found, [*accumulate(STEP_WEIGHTS[kind] * _ways(rules, then) for kind, then in found)]


def _drawn(rng: Random, rules: Rules, place: Place) -> list[str]:
    """Draw the kinds of all steps to come; empty if the end cannot be reached."""
    kinds = list[str]()
    while place.left:
        found, sums = _choices(rules, place)
        if not found:
            return []
        kind, place = found[bisect_right(sums, rng.randrange(sums[-1]))]
        kinds.append(kind)
    return kinds


def named(kinds: Sequence[str], first: int = 0) -> list[Step]:
    """Return steps whose buyers are numbers, in order from `first` on."""
    buyers = iter(range(first, first + len(kinds)))
    return [(kind, str(next(buyers)) if kind == SALE else "") for kind in kinds]


def sold(steps: Sequence[Step]) -> list[str]:
    """Return all buyers, in order."""
    return [buyer for kind, buyer in steps if kind == SALE]


def changes(steps: Sequence[Step], without: int, right: str = "") -> bool:
    """Return whether the owner changes, or there is none, if one step is left out; `right` is the owner with all."""
    try:
        return owner([*steps[:without], *steps[without + 1 :]]) != (right or owner(steps))
    except ValueError:
        return True


@cache
def cores(needed: int, later_sales: int) -> Sequence[Sequence[str]]:
    """Return the kinds of `needed` steps that are all needed for the first, a sale, to count.

    `later_sales` of the steps after it are sales. Those that the last step alone gives away, or in which no sale is
    restored, are left out if there are others.
    """
    found = [named((SALE, *kinds)) for kinds in _every(_deciding(1), Place(1, 0, later_sales, needed - 1, ""))]
    found = [steps for steps in found if owner(steps) == "0" and all(changes(steps, at, "0") for at in range(needed))]
    hard = [steps for steps in found if by_last_step(steps) != "0"] or found
    hard = [steps for steps in hard if (REDO, "") in steps] or hard
    return [[kind for kind, _ in steps] for steps in hard]


def _deciding(below: int) -> Rules:
    """Return the rules of steps after the owner's purchase, before which `below` sales are valid.

    Places count from that purchase. While it is set aside it could be lost for good, so nothing is sold, and in the end
    it is the last valid sale.
    """
    return Rules(sale=1, undo=2 - below, undo2=3, redo=1, most=1)


def _every(rules: Rules, place: Place) -> Iterator[tuple[str, ...]]:
    """Yield the kinds of steps of all ways from a place to the end."""
    if not place.left:
        yield ()
        return
    for kind, then in _choices(rules, place)[0]:
        yield from ((kind, *more) for more in _every(rules, then))


def by_last_step(steps: Sequence[Step]) -> str:
    """Return the apparent owner if only the last step is read, and all sales before it count as valid; "" for none."""
    buyers, back = sold(steps), {SALE: 1, REDO: 1, UNDO: 2, UNDO2: 3}[steps[-1][0]]
    return buyers[-back] if back <= len(buyers) else ""


def without_restoring(kinds: Sequence[str]) -> int:
    """Return the index of the sale that seems valid if steps that restore sales are ignored; -1 for none."""
    left = list[int]()
    for at, kind in enumerate(kinds):
        if kind in (SALE, UNNAMED):
            left.append(at)
        elif kind != REDO:
            del left[-1 - (kind == UNDO2) :]
    return left[-1] if left else -1


def by_next_steps(kinds: Sequence[str], sales: Sequence[int]) -> list[int]:
    """Return those of some sales that look valid from the two steps after each alone.

    A sale that is set aside and restored at once looks best, one that is set aside for good worst.
    """
    looks = {at: _look(*(*kinds[at + 1 : at + 3], "", "")[:2]) for at in sales}
    return [at for at in sales if looks[at] == min(looks.values())]


def _look(first: str, second: str) -> int:
    if first in (UNDO, UNDO2):
        return 0 if second == REDO else 3
    return 2 if second in (UNDO, UNDO2) else 1


def forgotten(rng: Random, ahead: int, length: int = 0) -> list[Step]:
    """Draw steps with `ahead` sales, no single one of which matters once the property is sold again.

    In most cases some sales are set aside, so that counting valid sales does not find the owner. `length` is the number
    of steps, or 0 for any.
    """
    counts = rng.random() < COUNTABLE_SHARE or ahead in (1, length)
    for turn in count():
        if turn % TRIES == 0:
            last = rng.choice(LAST_STEPS)
        kinds = _drawn(rng, RULES_FOR_SPARE, Place(0, 0, ahead, length or rng.randrange(ahead, 2 * ahead + 3), last))
        if kinds and (counts or net(kinds) < ahead):
            return named(kinds)
    raise AssertionError


def net(kinds: Sequence[str]) -> int:
    """Return the number of valid sales after some steps."""
    return sum({SALE: 1, UNNAMED: 1, UNDO: -1, UNDO2: -2, REDO: 1}[kind] for kind in kinds)


def fits(ahead: int, length: int) -> bool:
    """Return whether `length` steps, with `ahead` sales among them, can precede the owner's purchase."""
    return any(_ways(RULES_FOR_SPARE, Place(0, 0, ahead, length, last)) for last in LAST_STEPS)


def history(
    rng: Random, ahead: int, needed: int, after: int, later_sales: int = -1, length: int = 0
) -> tuple[list[Step], range]:
    """Draw a history, and return its steps with the range of those that are `needed` to decide the owner after them.

    Buyers are numbers, in order. `ahead` sales come before the owner's, in `length` steps (0 for any number).
    `later_sales` of the needed steps after it are sales (negative for any number). `after` more steps follow.
    """
    first, mine = forgotten(rng, ahead, length), str(ahead)
    rules, start = _deciding(net([kind for kind, _ in first])), Place(1, 0, -1, needed - 1, "")
    while True:
        kinds = _drawn(rng, rules, start) if later_sales < 0 else rng.choice(cores(needed, later_sales))[1:]
        steps = [*first, *named((SALE, *kinds), ahead)]
        if owner(steps) == mine and all(changes(steps, at, mine) == (at >= len(first)) for at in range(len(steps))):
            return [*steps, *_sold_on(rng, steps, after)], range(len(first), len(steps))


def _sold_on(rng: Random, steps: Sequence[Step], after: int) -> list[Step]:
    """Draw later steps, the first of which is a sale, so that the owner asked for is not the last buyer."""
    if not after:
        return []
    kinds = _drawn(rng, POSSIBLE, Place(2, 0, -1, after - 1, ""))
    return named((SALE, *kinds), len(sold(steps)))


def open_history(
    rng: Random, before: int, needed: int, later_sales: int, after: int, start: Sequence[str] = ()
) -> tuple[list[Step], range] | None:
    """Draw a history in which any possible steps, `before` in number, come before the owner's purchase.

    The needed steps after that purchase begin with the kinds in `start`, and set aside no earlier sale. For the other
    arguments see `history`. Returns the steps and the range of the needed ones, or None if there is no such history.
    """
    rules, place = _deciding(1), Place(1, 0, later_sales, needed - 1, "")
    for kind in start:
        place = dict(_onward(rules, place)).get(kind, NOWHERE)
    end = _drawn(rng, rules, place)
    if len(end) < place.left:
        return None
    first = _drawn(rng, POSSIBLE, Place(0, 0, -1, before, ""))
    steps = named([*first, SALE, *start, *end])
    return [*steps, *_sold_on(rng, steps, after)], range(before, before + needed)
