"""What befalls a property that is to be summed up: deeds that stand, and those that do not belong in a summary."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from pipeline.tasks.base import Role
from pipeline.tasks.longqa.frame import days_at
from pipeline.tasks.summ.text import Named
from pipeline.worlds.chronicle import Chronicle, new_year, year
from pipeline.worlds.chronicle.titles import REDO, SALE, UNDO, UNDO2, Step, Title

OTHERS = ("lease", "repairs", "keeper", "loan")
"""Kinds of deeds beside purchases."""
VAIN = ("bid", "plea")
"""Kinds of what came to nothing."""
BEHIND = 0.012
"""The share of the annals after the time asked about in which nothing befalls the property."""

WEIGHTS = {SALE: 5, UNDO: 3, UNDO2: 1, REDO: 2}
"""How often each step of a title is tried."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """How many entries of each sort a property has.

    Attributes:
        points: deeds that belong in the summary, purchases among them.
        undone: purchases that were set aside.
        other: deeds of kinds that are not asked for.
        vain: offers and wishes that came to nothing.
        late: deeds of the kinds asked for after the time asked about.
    """

    points: int
    undone: int
    other: int
    vain: int
    late: int

    @property
    def near(self) -> int:
        """How many people are named beside the property who do not belong in the summary."""
        return self.undone + self.other + self.vain + self.late


MIXTURES = {5: Mixture(5, 2, 2, 1, 1), 10: Mixture(10, 3, 3, 3, 2), 20: Mixture(20, 4, 6, 5, 5)}
"""By complexity: about as many who do not belong in the summary as do."""


def standing(steps: Sequence[Step]) -> list[str]:
    """Return the buyers whose purchases stand after some steps, in order.

    Raises:
        ValueError: if a step cannot be taken.
    """
    title = Title()
    for kind, buyer in steps:
        title.take(kind, buyer)
    return title.standing


def needed(steps: Sequence[Step], at: int) -> bool:
    """Tell whether others stand without one of the steps, or a later one could not be taken."""
    try:
        return standing([*steps[:at], *steps[at + 1 :]]) != standing(steps)
    except ValueError:
        return True


def titles(rng: Random, stand: int, undone: int) -> list[Step]:
    """Draw sales, of which so many stand in the end and so many do not, with what sets them aside and restores them.

    Buyers are numbers, in order. Every step is needed to tell which sales stand.
    """
    while True:
        steps = _walk(rng, stand + undone, undone)
        if all(needed(steps, at) for at in range(len(steps))):
            return steps


def _walk(rng: Random, sales: int, undone: int) -> list[Step]:
    title, steps, made, restored = Title(), list[Step](), 0, 0
    while made < sales or made - len(title.standing) < undone:
        gone = made - len(title.standing)
        able = {
            SALE: made < sales,
            UNDO: gone < undone,
            UNDO2: gone < undone - 1,
            REDO: restored < undone // 2,
        }
        kinds = [kind for kind, free in able.items() if free and title.able(kind)]
        (kind,) = rng.choices(kinds, [WEIGHTS[one] for one in kinds])
        steps.append((kind, str(made) if kind == SALE else ""))
        title.take(*steps[-1])
        made, restored = made + (kind == SALE), restored + (kind == REDO)
    return steps


def shares(rng: Random, total: int, parts: int) -> list[int]:
    """Cut a number into so many parts at random, none of them nothing."""
    cuts = sorted(rng.sample(range(1, total), parts - 1))
    return [end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True)]


@dataclass(frozen=True, slots=True)
class Told:
    """An entry that is written for a row: its day and kind, what it is about, its role, and whether a point."""

    day: int
    kind: str
    about: Mapping[str, str]
    role: Role
    point: bool = False

    @property
    def named(self) -> Named:
        """Who did it, and the year; nobody where a court did."""
        return self.about.get("buyer") or self.about.get("person", ""), year(self.day)


def named_in(told: Sequence[Told]) -> list[Named]:
    """Return who is named in some entries, with the years."""
    return [one.named for one in told if one.named[0]]


@dataclass(frozen=True, slots=True)
class Past:
    """What befell a property, by date, and at the ends of which years it can be asked about."""

    told: Sequence[Told]
    years: range


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before it has a day: its share of the annals, its kind, its role, and whether it is a point."""

    depth: float
    kind: str
    role: Role
    point: bool = False


def history(
    world: Chronicle,
    rng: Random,
    mixture: Mixture,
    prop: str,
    theme: Sequence[str],
    end: float,
    taken: set[str],
    place: Callable[[int], float],
) -> Past:
    """Draw what befell a property, so that what is needed is uniform in the share of the annals before `end`.

    Nobody who is `taken` is named; who is named is taken. `place` gives for each of the entries needed, in order, its
    place in its share.
    """
    while True:
        drafts = sorted(_drafts(rng, mixture, theme, end, place), key=lambda one: one.depth)
        days = days_at(world, [one.depth for one in drafts])
        before = [day for one, day in zip(drafts, days, strict=True) if one.depth <= end]
        years = range(year(before[-1]), year(days[len(before)]))
        if years:
            return Past(
                [_told(world, rng, prop, one, day, taken) for one, day in zip(drafts, days, strict=True)], years
            )


def _drafts(
    rng: Random, mixture: Mixture, theme: Sequence[str], end: float, place: Callable[[int], float]
) -> list[Draft]:
    stand, *each = shares(rng, mixture.points, 1 + len(theme))
    steps = titles(rng, stand, mixture.undone)
    deeds = [kind for kind, count in zip(theme, each, strict=True) for _ in range(count)]
    order = rng.sample([True] * len(steps) + [False] * len(deeds), len(steps) + len(deeds))
    rng.shuffle(deeds)
    left = set(standing(steps))
    said = iter([(kind, buyer in left) for kind, buyer in steps])
    needed = [next(said) if one else (deeds.pop(), True) for one in order]
    share = end / len(needed)
    found = [Draft((at + place(at)) * share, kind, "relevant", point) for at, (kind, point) in enumerate(needed)]
    others = [one for one in OTHERS if one not in theme]
    some = [*rng.choices(others, k=mixture.other), *rng.choices(VAIN, k=mixture.vain)]
    found += [Draft(rng.random() * end, kind, "decoy") for kind in some]
    late = rng.choices((SALE, *theme), k=mixture.late)
    start = end + BEHIND
    return found + [Draft(start + (1 - start) * rng.random(), kind, "decoy") for kind in late]


def _told(world: Chronicle, rng: Random, prop: str, draft: Draft, day: int, taken: set[str]) -> Told:
    about = {"prop": prop}
    if draft.kind == SALE or draft.kind not in WEIGHTS:
        about["buyer" if draft.kind == SALE else "person"] = _somebody(world, rng, day, taken)
    return Told(day, draft.kind, about, draft.role, draft.point)


def _somebody(world: Chronicle, rng: Random, day: int, taken: set[str]) -> str:
    """Draw somebody of the time who is not taken, of another surname than those who are if there is one."""
    surnames, people = {one.rpartition(" ")[2] for one in taken}, world.living(day)
    others = [one for one, last in zip(people, _surnames(world, year(day)), strict=True) if last not in surnames]
    name = rng.choice(others or [one for one in people if one not in taken])
    taken.add(name)
    return name


@lru_cache(maxsize=1 << 10)
def _surnames(world: Chronicle, when: int) -> list[str]:
    """Return the surnames of all who live in a year, in the order of their names."""
    return [one.rpartition(" ")[2] for one in world.living(new_year(when))]
