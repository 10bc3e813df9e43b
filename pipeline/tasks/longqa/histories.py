"""Histories of a property of which a given number of steps decide who owns it, each of them necessary."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from random import Random

from pipeline.worlds.chronicle.titles import REDO, SALE, UNDO, UNDO2, Step, Title, owner

STEPS = (SALE, SALE, SALE, SALE, SALE, UNDO, UNDO, UNDO, UNDO, REDO, REDO, REDO, UNDO2)
"""How often each step is tried."""


def _walk(rng: Random, title: Title, steps: int, told: int) -> Iterator[Step]:
    """Yield steps that can be taken, each one's buyer a new number, and take them."""
    for _ in range(steps):
        kind = rng.choice(_able(min(len(title.standing), 2), min(len(title.undone), 1)))
        buyer = str(told) if kind == SALE else ""
        told += kind == SALE
        title.take(kind, buyer)
        yield kind, buyer


@cache
def _able(standing: int, undone: int) -> list[str]:
    """Return the steps that can be taken where so many sales stand, and so many may be restored."""
    can = {SALE: True, UNDO: standing > 0, UNDO2: standing > 1, REDO: undone > 0}
    return [step for step in STEPS if can[step]]


def _buyers(steps: Sequence[Step]) -> int:
    return sum(kind == SALE for kind, _ in steps)


def _replay(steps: Sequence[Step]) -> Title:
    title = Title()
    for kind, buyer in steps:
        title.take(kind, buyer)
    return title


def changes(steps: Sequence[Step], without: int, right: str) -> bool:
    """Tell whether the owner is another than the right one, or there is none, without one of the steps."""
    try:
        return owner([*steps[:without], *steps[without + 1 :]]) != right
    except ValueError:
        return True


def _forgotten(rng: Random, count: int) -> tuple[list[Step], str]:
    """Draw steps, no single one of which matters once the property is sold again, and the number of that buyer."""
    while True:
        steps = list(_walk(rng, Title(), count, 0))
        mine = str(_buyers(steps))
        sold = [*steps, (SALE, mine)]
        if (not count or _replay(steps).standing) and not any(changes(sold, at, mine) for at in range(count)):
            return steps, mine


def _sold_on(rng: Random, title: Title, count: int, told: int) -> Iterator[Step]:
    """Yield steps of which the first is a sale: the owner asked for is not the last who is named."""
    if count:
        title.take(SALE, str(told))
        yield SALE, str(told)
        yield from _walk(rng, title, count - 1, told + 1)


def history(rng: Random, before: int, needed: int, after: int, behind: int = -1) -> list[Step]:
    """Draw a history: `needed` steps decide who owns it behind them, those `before` and `after` do not.

    Buyers are numbers, in order. `behind` is how many of the needed sales are to come after the owner's; negative for
    any number.
    """
    first, mine = _forgotten(rng, before)
    while True:
        title = _replay(first)
        title.take(SALE, mine)
        core = [(SALE, mine), *_walk(rng, title, needed - 1, int(mine) + 1)]
        if not title.standing or title.standing[-1] != mine or behind not in (-1, _buyers(core) - 1):
            continue
        steps = [*first, *core]
        if all(changes(steps, at, mine) == (at >= before) for at in range(len(steps))):
            return [*steps, *_sold_on(rng, title, after, _buyers(steps))]
