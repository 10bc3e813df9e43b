"""Histories of a property: sales are made, set aside and restored, so that several entries decide whose it is on a day.

The owner's purchase and each step from there to the day are needed: without one of them somebody else owns the
property. Steps before and after are not. Where the owner's purchase stands among the others must not be told by a rule,
so how many steps are needed, and how many sales come behind the owner's, is dealt (`SHAPES`), and days are drawn alike
for all steps. Beside them stand offers that came to nothing. Another property has a history of its own with as many
entries.
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

FEW = (
    (3, 0), (3, 0), (5, 0), (7, 0), (9, 0), (3, 1), (5, 1), (5, 1), (7, 1), (9, 1),
    (4, 2), (5, 2), (5, 2), (6, 2), (8, 2), (6, 3), (6, 3), (6, 3), (7, 3), (8, 3),
)  # fmt: skip
"""Steps needed, and sales among them behind the owner's, about five: no count, last or first of them is often right."""
SHAPES = {1: ((1, 0),), 5: FEW, 20: tuple((needed, -1) for needed in range(17, 24))}
"""What is dealt by complexity; -1 is any number of sales."""
AHEAD = {1: (1, 2), 5: (1, 2, 3, 3, 4, 4, 5, 5), 20: (1, 2, 3, 3, 4, 4, 5, 5)}
"""How many sales come before the owner's, by complexity: each as often as it stands here."""
AFTER = 3
"""Steps after those needed, at most; there is one at the least."""
OFFER, OFFERS, HAPPENED = "bid", 2, 1
"""Offers that came to nothing, how many there are, and how many other things that befell the property."""


@dataclass(frozen=True, slots=True)
class Past:
    """A history on its days: kinds and buyers, and which steps are needed."""

    steps: Sequence[Step]
    days: Sequence[int]
    needed: range

    @property
    def owner(self) -> str:
        """Who owns the property behind the steps needed."""
        return self.steps[self.needed.start][1]

    @property
    def buyers(self) -> list[str]:
        """Everybody who bought it, in order."""
        return sold(self.steps)

    @property
    def asked(self) -> range:
        """The days on which the answer is as it is asked."""
        last = self.needed.stop
        return range(self.days[last - 1] + 1, self.days[last] if last < len(self.days) else LAST_DAY)

    def unnamed(self, at: int) -> Past:
        """Return the same history, but that the buyer of one step is not named."""
        steps = [(UNNAMED, "") if place == at else step for place, step in enumerate(self.steps)]
        return Past(steps, self.days, self.needed)

    def told(self, prop: str, relevant: Collection[int] = ()) -> list[PlannedEntry]:
        """Return what is told of it; all but the steps that are relevant is a decoy."""
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
        """What stands of it in the metadata."""
        return {
            "steps": [kind for kind, _ in self.steps],
            "needed": [self.needed.start, self.needed.stop],
            "buyers": self.buyers,
        }


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many steps a history may have: what is dealt of those needed, sales before the owner's, and steps after."""

    shapes: tuple[tuple[int, int], ...]
    ahead: tuple[int, ...]
    after: range


def sizes(complexity: int) -> Sizes:
    """Return the sizes of histories of a complexity."""
    return Sizes(SHAPES[complexity], AHEAD[complexity], range(1, AFTER + 1))


def past(world: Chronicle, rng: Random, some: Sizes, shape: tuple[int, int], taken: Sequence[str] = ()) -> Past:
    """Draw a history of a shape, with a day to ask about, whose buyers are not taken."""
    return on_days(world, rng, *of_shape(rng, some, shape), some, taken)


def of_shape(rng: Random, some: Sizes, shape: tuple[int, int]) -> tuple[list[Step], range]:
    """Draw the steps of a history of a shape, and which of them are needed."""
    needed, behind = shape
    return history(rng, rng.choice(some.ahead), needed, rng.choice(some.after), behind)


def like(world: Chronicle, rng: Random, other: Past, some: Sizes, taken: Sequence[str]) -> Past:
    """Draw a history of as many steps as another has, as many of them before the owner's purchase."""
    length, after = other.needed.start, len(other.steps) - other.needed.stop
    ahead = rng.choice([one for one in some.ahead if fits(one, length)])
    steps, wanted = history(rng, ahead, len(other.needed), after, length=length)
    return on_days(world, rng, steps, wanted, some, taken)


def on_days(
    world: Chronicle, rng: Random, steps: Sequence[Step], wanted: range, some: Sizes, taken: Sequence[str] = ()
) -> Past:
    """Return a history on days that are drawn alike for all steps, with people of the time as buyers."""
    while True:
        days = days_at(world, sorted(even(rng.random(), some) for _ in steps))
        if days[-1] < LAST_DAY:
            return Past(_named(world, rng, steps, days, taken), days, wanted)


GRID, SAMPLED = 32, 200
"""Uniform numbers that are tabled, and histories that they are tabled for."""


def even(share: float, some: Sizes) -> float:
    """Return a depth for a uniform number, the same rising function for all steps: those needed are uniform.

    Those needed stand in the middle of their histories, so they would be rare at both ends of the annals.
    """
    table, at = _table(some), int(share * GRID)
    return table[at] + (share * GRID - at) * (table[at + 1] - table[at])


@lru_cache(maxsize=16)
def _table(some: Sizes) -> Sequence[float]:
    """Return the share of steps needed that stand below each of some uniform numbers.

    The k-th lowest of n uniform numbers is below x if k of them are: a sum over binomial chances. There are no calls of
    a library of mathematics: its last digits differ between machines.
    """
    rng, mixed = Random(0), list[tuple[int, int, int]]()
    for turn in range(SAMPLED):
        needed, _ = some.shapes[turn % len(some.shapes)]
        before = len(forgotten(rng, rng.choice(some.ahead)))
        mixed.append((before, needed, before + needed + rng.choice(some.after)))
    table = [0.0]
    for step in range(1, GRID):
        share, total = step / GRID, 0.0
        below: dict[int, list[float]] = {}
        for before, needed, steps in mixed:
            if steps not in below:
                below[steps] = _at_least(steps, share)
            total += sum(below[steps][before + 1 : before + needed + 1]) / needed
        table.append(total / len(mixed))
    return (*table, 1.0)


def _at_least(count: int, share: float) -> list[float]:
    """Return for each number how likely as many of some uniform numbers, or more, are below a share."""
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
    """Return the steps with people of the time as buyers, nobody twice."""
    gone, found = set(taken), list[Step]()
    for (kind, buyer), day in zip(steps, days, strict=True):
        if buyer:
            buyer = rng.choice([one for one in world.able(day) if one not in gone])
            gone.add(buyer)
        found.append((kind, buyer))
    return found


def beside(
    world: Chronicle, rng: Random, prop: str, taken: Sequence[str], offers: int = OFFERS, happened: int = HAPPENED
) -> list[PlannedEntry]:
    """Return offers for a property that came to nothing, and other things that befell it, at any time."""
    days, gone = scattered(world, rng, offers + happened), set(taken)
    kinds = rng.sample([*(OFFER,) * offers, *quiet(rng, happened)], len(days))
    found = list[PlannedEntry]()
    for kind, day in zip(kinds, days, strict=True):
        about = {"prop": prop}
        if kind == OFFER:
            about["person"] = rng.choice([one for one in world.able(day) if one not in gone])
            gone.add(about["person"])
        found.append(PlannedEntry(day, kind, about, "decoy"))
    return found


def buyers(told: Iterable[PlannedEntry]) -> dict[str, int]:
    """Return everybody who buys something in what is told, with the day."""
    return {one.about["buyer"]: one.day for one in told if "buyer" in one.about}


def named(told: Iterable[PlannedEntry]) -> list[str]:
    """Return everybody who is named in what is told, beside a property."""
    return [name for one in told for slot, name in one.about.items() if slot != "prop"]


def shape_of(stratum_streams: Streams, rows: int, index: int, some: Sizes) -> int:
    """Return which of the shapes a row is dealt."""
    return deal(stratum_streams.of("shape"), rows, index, len(some.shapes))


def when(rng: Random, days: range) -> str:
    """Return words for one of some days: the end of a year, in half of the cases where one is among them."""
    ends = [now for now in range(year(days.start), year(days.stop)) if new_year(now + 1) - 1 in days]
    if ends and rng.random() < 0.5:
        return text.END_OF.format(year=rng.choice(ends))
    return text.ON.format(day=written(rng.choice(days)))
