"""Histories of a property: sales are made, set aside and restored, so that several entries decide its owner on a day.

The owner's purchase and each step from there to the day are needed: without any one of them somebody else owns the
property. Earlier and later steps are not. So that no rule finds the owner's purchase among the others, the numbers of
needed steps and of sales after the owner's are dealt (`SHAPES`), and days are drawn alike for all steps. There are also
offers that came to nothing. Another property has its own history with as many entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from random import Random

from pipeline.caches import lru_cache
from pipeline.streams import Streams, deal
from pipeline.tasks.annals.haystack import PlannedEntry, days_at
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import quiet, scattered
from pipeline.tasks.longqa.steps import fits, forgotten, history, sold
from pipeline.worlds.chronicle import Chronicle, new_year, written, year
from pipeline.worlds.chronicle.entries import LAST_DAY
from pipeline.worlds.chronicle.world import UNNAMED, Step

SHAPES_OF_FIVE = (
    (3, 0), (3, 0), (5, 0), (7, 0), (9, 0), (3, 1), (5, 1), (5, 1), (7, 1), (9, 1),
    (4, 2), (5, 2), (5, 2), (6, 2), (8, 2), (6, 3), (6, 3), (6, 3), (7, 3), (8, 3),
)  # fmt: skip
"""Shapes with about five needed steps: their number, and that of sales among them after the owner's. They are chosen so
that no fixed place, such as the first or last sale, is often right."""
SHAPES = {1: ((1, 0),), 5: SHAPES_OF_FIVE, 20: tuple((needed, -1) for needed in range(17, 24))}
"""The dealt shapes by complexity; -1 stands for any number of sales."""
SALES_AHEAD = {1: (1, 2), 5: (1, 2, 3, 3, 4, 4, 5, 5), 20: (1, 2, 3, 3, 4, 4, 5, 5)}
"""Numbers of sales before the owner's, by complexity, in proportion to how often they are listed."""
MOST_STEPS_AFTER = 3
"""The most steps after the needed ones; there is at least one."""
OFFER, OFFERS, HAPPENED = "bid", 2, 1
"""The kind and number of offers that came to nothing, and the number of happenings at the property."""


@dataclass(frozen=True, slots=True)
class Past:
    """A history: its steps, their days, and the range of needed steps."""

    steps: Sequence[Step]
    days: Sequence[int]
    needed: range

    @property
    def owner(self) -> str:
        """The owner after the needed steps."""
        return self.steps[self.needed.start][1]

    @property
    def buyers(self) -> list[str]:
        """All buyers, in order."""
        return sold(self.steps)

    @property
    def asked(self) -> range:
        """The days on which the owner after the needed steps owns the property."""
        last = self.needed.stop
        return range(self.days[last - 1] + 1, self.days[last] if last < len(self.days) else LAST_DAY)

    def unnamed(self, at: int) -> Past:
        """Return the same history without the name of one step's buyer."""
        steps = [(UNNAMED, "") if place == at else step for place, step in enumerate(self.steps)]
        return Past(steps, self.days, self.needed)

    def entries(self, prop: str, relevant: Collection[int] = ()) -> list[PlannedEntry]:
        """Return its entries; all but the `relevant` steps are decoys."""
        return [
            PlannedEntry(
                day,
                kind,
                {"prop": prop, **({"buyer": buyer} if buyer else {})},
                "relevant" if at in relevant else "decoy",
            )
            for at, ((kind, buyer), day) in enumerate(zip(self.steps, self.days, strict=True))
        ]

    @property
    def shown(self) -> dict[str, object]:
        """What the metadata contains of it."""
        return {
            "steps": [kind for kind, _ in self.steps],
            "needed": [self.needed.start, self.needed.stop],
            "buyers": self.buyers,
        }


@dataclass(frozen=True, slots=True)
class Sizes:
    """The sizes of histories: the dealt shapes, numbers of sales before the owner's, and numbers of later steps.

    If `before` is not empty, it has the numbers of steps before the owner's purchase, and `ahead` is not used.
    """

    shapes: tuple[tuple[int, int], ...]
    ahead: tuple[int, ...]
    after: range
    before: range = range(0)


def sizes(complexity: int) -> Sizes:
    """Return the sizes of histories of a complexity."""
    return Sizes(SHAPES[complexity], SALES_AHEAD[complexity], range(1, MOST_STEPS_AFTER + 1))


def past(world: Chronicle, rng: Random, some: Sizes, shape: tuple[int, int], taken: Sequence[str] = ()) -> Past:
    """Draw a history of a shape, with buyers who are not `taken`."""
    return on_days(world, rng, *of_shape(rng, some, shape), some, taken)


def of_shape(rng: Random, some: Sizes, shape: tuple[int, int]) -> tuple[list[Step], range]:
    """Draw the steps of a history of a shape, and the range of needed ones."""
    needed, later_sales = shape
    return history(rng, rng.choice(some.ahead), needed, rng.choice(some.after), later_sales)


def like(world: Chronicle, rng: Random, other: Past, some: Sizes, taken: Sequence[str]) -> Past:
    """Draw a history with as many steps as another before, in and after the needed range."""
    length, after = other.needed.start, len(other.steps) - other.needed.stop
    ahead = rng.choice([one for one in some.ahead if fits(one, length)])
    steps, wanted = history(rng, ahead, len(other.needed), after, length=length)
    return on_days(world, rng, steps, wanted, some, taken)


def on_days(
    world: Chronicle, rng: Random, steps: Sequence[Step], wanted: range, some: Sizes, taken: Sequence[str] = ()
) -> Past:
    """Draw the days of a history, alike for all steps, and its buyers from people of the time."""
    while True:
        days = days_at(world, sorted(even(rng.random(), some) for _ in steps))
        if days[-1] < LAST_DAY and (found := _named(world, rng, steps, days, taken)):
            return Past(found, days, wanted)


INTERVALS, HISTORIES_SAMPLED = 32, 200
"""The number of intervals in the table of `even`, and the histories sampled for it."""


def even(share: float, some: Sizes) -> float:
    """Map a uniform number to a depth, by one increasing function for all steps that makes needed steps uniform.

    Needed steps are in the middle of their histories, and would otherwise be rare at both ends of the annals.
    """
    table, at = _table(some), int(share * INTERVALS)
    return table[at] + (share * INTERVALS - at) * (table[at + 1] - table[at])


@lru_cache(maxsize=16)
def _table(some: Sizes) -> Sequence[float]:
    """Return the share of needed steps below each of some uniform numbers.

    The k-th lowest of n uniform numbers is below x if at least k are, which is a sum of binomial probabilities. No
    functions of a math library are used, as their last digits differ between machines.
    """
    rng, mixed = Random(0), list[tuple[int, int, int]]()
    for turn in range(HISTORIES_SAMPLED):
        needed, _ = some.shapes[turn % len(some.shapes)]
        before = rng.choice(some.before) if some.before else len(forgotten(rng, rng.choice(some.ahead)))
        mixed.append((before, needed, before + needed + rng.choice(some.after)))
    table = [0.0]
    for step in range(1, INTERVALS):
        share, total = step / INTERVALS, 0.0
        below: dict[int, list[float]] = {}
        for before, needed, steps in mixed:
            if steps not in below:
                below[steps] = _at_least(steps, share)
            total += sum(below[steps][before + 1 : before + needed + 1]) / needed
        table.append(total / len(mixed))
    return (*table, 1.0)


def _at_least(count: int, share: float) -> list[float]:
    """Return for each k the probability that at least k of `count` uniform numbers are below `share`."""
    exact = [1.0]
    for _ in range(count):
        exact = [
            (exact[at] if at < len(exact) else 0.0) * (1 - share) + (exact[at - 1] if at else 0.0) * share
            for at in range(len(exact) + 1)
        ]
    found, left = [1.0], 1.0
    for one in exact[:-1]:
        left -= one
        found.append(left)
    return found


def _named(
    world: Chronicle, rng: Random, steps: Sequence[Step], days: Sequence[int], taken: Sequence[str]
) -> list[Step]:
    """Return the steps with different people of the time as buyers; empty if at some time there is nobody left."""
    gone, found = set(taken), list[Step]()
    for (kind, buyer), day in zip(steps, days, strict=True):
        if buyer:
            able = [one for one in world.able(day) if one not in gone]
            if not able:
                return []
            buyer = rng.choice(able)
            gone.add(buyer)
        found.append((kind, buyer))
    return found


def beside(
    world: Chronicle, rng: Random, prop: str, taken: Sequence[str], offers: int = OFFERS, happened: int = HAPPENED
) -> list[PlannedEntry]:
    """Return offers for a property that came to nothing, and happenings at it, at any time."""
    days, gone = scattered(world, rng, offers + happened), set(taken)
    kinds = rng.sample([*(OFFER,) * offers, *quiet(rng, happened)], len(days))
    found = list[PlannedEntry]()
    for kind, day in zip(kinds, days, strict=True):
        about = {"prop": prop}
        if kind == OFFER:
            able = [one for one in world.able(day) if one not in gone]
            about["person"] = rng.choice(able or [one for one in world.living(day) if one not in gone])
            gone.add(about["person"])
        found.append(PlannedEntry(day, kind, about, "decoy"))
    return found


def buyers(entries: Iterable[PlannedEntry]) -> dict[str, int]:
    """Return all buyers in some entries, with the day."""
    return {one.about["buyer"]: one.day for one in entries if "buyer" in one.about}


def named(entries: Iterable[PlannedEntry]) -> list[str]:
    """Return all names in some entries, except those of properties."""
    return [name for one in entries for slot, name in one.about.items() if slot != "prop"]


def shape_of(stratum_streams: Streams, rows: int, index: int, some: Sizes) -> int:
    """Return the index of the shape that a row is dealt."""
    return deal(stratum_streams.of("shape"), rows, index, len(some.shapes))


def when(rng: Random, days: range) -> str:
    """Return words for one of some days; if a year ends on one of them, in half of the cases for that end."""
    ends = [now for now in range(year(days.start), year(days.stop)) if new_year(now + 1) - 1 in days]
    if ends and rng.random() < 0.5:
        return text.END_OF.format(year=rng.choice(ends))
    return text.ON.format(day=written(rng.choice(days)))
