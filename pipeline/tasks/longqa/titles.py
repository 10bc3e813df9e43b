"""Histories of a property: sales are made, set aside and restored, so that several entries decide whose it is on a day.

The owner's purchase and each step from there to the day are needed: without one of them somebody else owns the
property. Steps before and after are not. Where the owner's purchase stands among the others must not be told by a rule,
so how many steps are needed, and how many sales come behind the owner's, is dealt (`SHAPES`), and days are drawn alike
for all steps. Beside them stand offers that came to nothing. Another property has a history of its own with as many
entries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count, product
from random import Random

from pipeline.caches import cache, lru_cache
from pipeline.streams import Streams, deal
from pipeline.tasks.annals.haystack import PlannedEntry, days_at
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import quiet, scattered
from pipeline.worlds.chronicle import Chronicle, new_year, written, year
from pipeline.worlds.chronicle.entries import LAST_DAY
from pipeline.worlds.chronicle.world import REDO, SALE, UNDO, UNDO2, UNNAMED, Step, Title, owner

STEPS = (SALE, SALE, SALE, SALE, SALE, UNDO, UNDO, UNDO, UNDO, REDO, REDO, REDO, UNDO2)
"""How often each step is tried."""
FEW = (
    (3, 0), (3, 0), (5, 0), (7, 0), (9, 0), (3, 1), (5, 1), (5, 1), (7, 1), (9, 1),
    (4, 2), (5, 2), (5, 2), (6, 2), (8, 2), (6, 3), (6, 3), (6, 3), (7, 3), (8, 3),
)  # fmt: skip
"""Steps needed, and sales among them behind the owner's, about five: no count, last or first of them is often right."""
SHAPES = {1: ((1, 0),), 5: FEW, 20: tuple((needed, -1) for needed in range(17, 24))}
"""What is dealt by complexity; -1 is any number of sales."""
AHEAD = {1: (1, 2), 5: (1, 2, 2, 3, 3, 4), 20: (1, 2, 2, 3, 3, 4, 4, 5, 5)}
"""How many sales come before the owner's, by complexity: each as often as it stands here."""
LAST, TRIES = (SALE, SALE, SALE, UNDO, REDO), 100
"""What is tried as the last step before the owner's purchase, and how often: not all are possible."""
COUNTS = 0.25
"""The share of histories in which counting may find the owner, beside those with one sale before."""
AFTER = 3
"""Steps after those needed, at most; there is one at the least."""
OFFER, OFFERS, HAPPENED = "bid", 2, 1
"""Offers that came to nothing, how many there are, and how many other things that befell the property."""


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


def sold(steps: Sequence[Step]) -> list[str]:
    """Return everybody who buys, in order."""
    return [buyer for kind, buyer in steps if kind == SALE]


def _replay(steps: Sequence[Step]) -> Title:
    title = Title()
    for kind, buyer in steps:
        title.take(kind, buyer)
    return title


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
    found = list[list[Step]]()
    for kinds in product((SALE, UNDO, REDO, UNDO2), repeat=needed - 1):
        if kinds.count(SALE) != behind:
            continue
        told = iter(map(str, range(needed)))
        steps = [(kind, next(told) if kind == SALE else "") for kind in (SALE, *kinds)]
        try:
            if owner(steps) == "0" and all(changes(steps, at, "0") for at in range(needed)):
                found.append(steps)
        except ValueError:
            continue
    hard = [steps for steps in found if by_last_step(steps) != "0"] or found
    hard = [steps for steps in hard if (REDO, "") in steps] or hard
    return [[kind for kind, _ in steps] for steps in hard]


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


def by_count(steps: Sequence[Step]) -> str:
    """Return whose a property seems to be if sales that stand are counted, and as many buyers from the first on."""
    buyers = sold(steps)
    stand = len(buyers) - sum({UNDO: 1, UNDO2: 2, REDO: -1}.get(kind, 0) for kind, _ in steps)
    return buyers[stand - 1] if 0 < stand <= len(buyers) else ""


def forgotten(rng: Random, ahead: int) -> tuple[list[Step], str]:
    """Draw steps with so many sales, no single one of which matters once the property is sold again, and that buyer.

    In most of them some sales were set aside, so that the owner is not found by counting those that stand.
    """
    counts = rng.random() < COUNTS
    for turn in count():
        if turn % TRIES == 0:
            last = rng.choice(LAST)
        steps = list(_walk(rng, Title(), rng.randrange(ahead, 2 * ahead + 3), 0))
        mine = str(len(sold(steps)))
        more = [*steps, (SALE, mine)]
        if steps[-1][0] != last and ahead > 1:
            continue
        if mine != str(ahead) or not _replay(steps).standing or (not counts and ahead > 1 and by_count(more) == mine):
            continue
        if not any(changes(more, at, mine) for at in range(len(steps))):
            return steps, mine
    raise AssertionError


def _sold_on(rng: Random, title: Title, count: int, told: int) -> Iterator[Step]:
    """Yield steps of which the first is a sale: the owner asked for is not the last who is named."""
    if count:
        title.take(SALE, str(told))
        yield SALE, str(told)
        yield from _walk(rng, title, count - 1, told + 1)


def history(rng: Random, ahead: int, needed: int, after: int, behind: int = -1) -> tuple[list[Step], range]:
    """Draw a history, and which of its steps decide who owns it behind them: so many, and no step before or after.

    Buyers are numbers, in order. `ahead` is how many sales come before the owner's, and `behind` how many of the needed
    ones after it; negative for any number.
    """
    first, mine = forgotten(rng, ahead)
    while True:
        title = _replay(first)
        title.take(SALE, mine)
        steps = [*first, (SALE, mine), *_deciding(rng, title, needed, int(mine) + 1, behind)]
        owns = bool(title.standing) and title.standing[-1] == mine
        if owns and all(changes(steps, at, mine) == (at >= len(first)) for at in range(len(steps))):
            wanted = range(len(first), len(steps))
            return [*steps, *_sold_on(rng, title, after, len(sold(steps)))], wanted


def _deciding(rng: Random, title: Title, needed: int, told: int, behind: int) -> Iterator[Step]:
    """Yield the steps behind the owner's purchase, and take them."""
    if behind < 0:
        yield from _walk(rng, title, needed - 1, told)
        return
    for kind in rng.choice(cores(needed, behind))[1:]:
        buyer = str(told) if kind == SALE else ""
        told += kind == SALE
        title.take(kind, buyer)
        yield kind, buyer


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
    needed, behind = shape
    steps, wanted = history(rng, rng.choice(some.ahead), needed, rng.choice(some.after), behind)
    return _dated(world, rng, steps, wanted, some, taken)


def like(world: Chronicle, rng: Random, other: Past, some: Sizes, taken: Sequence[str]) -> Past:
    """Draw a history of as many steps as another has."""
    while True:
        after = len(other.steps) - other.needed.stop
        steps, wanted = history(rng, rng.choice(some.ahead), len(other.needed), after)
        if len(steps) == len(other.steps):
            return _dated(world, rng, steps, wanted, some, taken)


def _dated(
    world: Chronicle, rng: Random, steps: Sequence[Step], wanted: range, some: Sizes, taken: Sequence[str]
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
        before = len(forgotten(rng, rng.choice(some.ahead))[0])
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
