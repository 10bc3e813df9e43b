"""summ.points: who did what to a property, and when, summed up with sources.

A key point is a person and a year. Its entries are spread over the annals. The property also has as many buyers whose
purchase was set aside, early and late ones, and people who did what is not asked for, only wished to, or came later.
Another property that shares a word of the name has as many entries of each sort (SummHay, Laban et al. 2024, section 3:
key points that are known beforehand, each with its sources).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count, groupby
from random import Random
from typing import Any

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal, spread
from pipeline.tasks.annals.haystack import PlannedEntry, asked_property, dated, days_at, filler
from pipeline.tasks.base import Key, Layout, Piece, PoolSpec, PublishedRow, Role, Sample, Task, Turns, Unit, unit
from pipeline.tasks.summ import solve as solver
from pipeline.tasks.summ import text
from pipeline.tasks.summ.text import Named
from pipeline.worlds.chronicle import WORLD, Chronicle, chronicle, new_year, source_digest, working, year
from pipeline.worlds.chronicle.entries import LAST_DAY
from pipeline.worlds.chronicle.world import REDO, SALE, UNDO, UNDO2, Step, standing
from pipeline.worlds.ids import fresh, numbers

OTHERS = ("lease", "repairs", "keeper", "loan")
"""Kinds of deeds other than purchases."""
VAIN = ("bid", "plea")
"""Kinds of events that came to nothing."""
WEIGHTS = {SALE: 5, UNDO: 3, UNDO2: 1, REDO: 2}
"""How often each step of a title is tried."""
AGAIN = 0.75
"""The probability that a step is followed by another of its kind: then cancellations reach back past the last sale."""
IN_VAIN = 8
"""How often a sale that stands in the end is tried to be set aside for a time, rather than followed by another."""
AT_ONCE, TRIES = 0.7, 200
"""The most that a reader may score who lets each cancellation strike the last sale stated, and tries to get there."""


@dataclass(frozen=True, slots=True)
class Mixture:
    """How many entries of each sort a property has.

    Attributes:
        points: deeds that belong in the summary, purchases among them.
        undone: purchases that were set aside.
        other: deeds of kinds that are not asked for.
        vain: offers and wishes that came to nothing.
        late: deeds of the kinds asked for after the time asked about, as many as are dealt.
    """

    points: int
    undone: int
    other: int
    vain: int
    late: tuple[int, ...]


MIXTURES = {
    5: Mixture(5, 5, 1, 1, (1, 2)),
    10: Mixture(10, 10, 2, 2, (1, 2, 3, 4)),
    20: Mixture(20, 20, 4, 4, (1, 2, 4, 6)),
}
"""By complexity: as many purchases are set aside as there are key points, so that ignoring this costs a third."""


def is_needed(steps: Sequence[Step], at: int, right: Sequence[str]) -> bool:
    """Return whether other sales stand without one of the steps, or a later one becomes impossible."""
    try:
        return standing([*steps[:at], *steps[at + 1 :]]) != right
    except ValueError:
        return True


def titles(rng: Random, stand: int, undone: int, more: int = 0) -> list[Step]:
    """Draw `stand` sales that stand in the end and `undone` that do not, with what sets them aside and restores them.

    Buyers are numbers, in order. Any of the sales may be those that stand, so that their place tells nothing. Every
    step is needed to tell which do. Cancellations strike other sales than the last one so often that assuming the last
    one is wrong; `more` is how many other points there are.
    """
    for turn in count():
        if turn % TRIES == 0:
            one, other = (rng.sample([True] * stand + [False] * undone, stand + undone) for _ in range(2))
            stays = min(one, other, key=lambda some: len([*groupby(some)]))
        steps = _walk(rng, stays)
        right = standing(steps)
        if f1(at_once(steps), right, more) <= AT_ONCE and all(is_needed(steps, at, right) for at in range(len(steps))):
            return steps
    raise AssertionError


def at_once(steps: Sequence[Step]) -> list[str]:
    """Return the buyers who are left if each cancellation strikes the last sale stated, or the last two."""
    buyers, gone = list[str](), set[str]()
    for kind, buyer in steps:
        if kind == SALE:
            buyers.append(buyer)
        elif kind != REDO:
            gone.update(buyers[-1 - (kind == UNDO2) :])
    return [one for one in buyers if one not in gone]


def unrestored(steps: Sequence[Step]) -> list[str]:
    """Return the buyers who are left if sales are set aside in order, and none is restored."""
    left = list[str]()
    for kind, buyer in steps:
        if kind == SALE:
            left.append(buyer)
        elif kind != REDO:
            del left[-1 - (kind == UNDO2) :]
    return left


def f1(buyers: Sequence[str], right: Sequence[str], more: int) -> float:
    """Return the score of a summary with some buyers and `more` other points that are right."""
    hits = len(set(buyers) & set(right)) + more
    return 2 * hits / (len(buyers) + len(right) + 2 * more)


def _walk(rng: Random, stays: Sequence[bool]) -> list[Step]:
    """Draw possible steps after which those sales stand that stay; a sale that stays may be set aside for a time.

    What is below a sale cannot be struck without it. So one that stays is made once all others before it are gone.
    """
    steps, last = list[Step](), ""
    held, struck = list[bool](), list[bool]()
    made = restored = 0
    most = stays.count(False) // 2
    while made < len(stays) or not all(held) or any(struck):
        spare, out = restored + sum(struck) < most, any(struck)
        able = [
            kind
            for kind, free in (
                (SALE, made < len(stays) and not out and (all(held) or not stays[made])),
                (UNDO, held and (spare or not held[-1])),
                (UNDO2, held[-2:] == [False, False] and not out),
                (REDO, struck and (spare or struck[-1])),
            )
            if free
        ]
        if last not in able or rng.random() > AGAIN or (last == SALE and held[-1]):
            (last,) = rng.choices(able, [IN_VAIN if one == UNDO and held[-1] else WEIGHTS[one] for one in able])
        if last == SALE:
            held.append(stays[made])
            steps.append((SALE, str(made)))
            made, struck = made + 1, []
            continue
        steps.append((last, ""))
        if last == REDO:
            held.append(struck.pop())
            restored += 1
        elif last == UNDO:
            struck.append(held.pop())
        else:
            del held[-2:]
            struck = []
    return steps


def shares(rng: Random, total: int, parts: int) -> list[int]:
    """Cut a number into random parts, none of them 0."""
    cuts = sorted(rng.sample(range(1, total), parts - 1))
    return [end - start for start, end in zip([0, *cuts], [*cuts, total], strict=True)]


@dataclass(frozen=True, slots=True)
class Event(PlannedEntry):
    """An entry written for a row, and whether it is a key point."""

    point: bool = False

    @property
    def named(self) -> Named:
        """Who did it, and the year; the name is empty where a court did."""
        return self.about.get("buyer") or self.about.get("person", ""), year(self.day)


def named_in(events: Sequence[Event]) -> list[Named]:
    """Return who is named in some entries, with the years."""
    return [one.named for one in events if one.named[0]]


@dataclass(frozen=True, slots=True)
class Past:
    """What befell a property, by date, the years at whose end it can be asked about, and the steps of its title."""

    events: Sequence[Event]
    years: range
    steps: Sequence[str]


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
    late: int,
    prop: str,
    theme: Sequence[str],
    taken: set[str],
    place: Callable[[int], float],
) -> Past:
    """Draw what befell a property, with needed entries uniform in the share of the annals asked about.

    Nobody in `taken` is named, and whoever is named is added. `place` gives the place of each needed entry, by its
    number, in its share.
    """
    while True:
        drafts = _drafts(rng, mixture, late, theme, place)
        days = days_at(world, [one.depth for one in drafts])
        after = new_year(year(days[-1]) + 1)
        if after <= LAST_DAY:  # else there is no year left for what comes too late
            break
    days += sorted(working(rng.randrange(after, LAST_DAY + 1)) for _ in range(late))
    drafts += [Draft(1.0, kind, "decoy") for kind in rng.choices((SALE, *theme), k=late)]
    events = [_event(world, rng, prop, one, day, taken) for one, day in zip(drafts, days, strict=True)]
    years = range(year(days[-1 - late]), year(days[-late]))
    return Past(events, years, [one.kind for one in drafts if one.kind in WEIGHTS and one.role == "relevant"])


def _drafts(
    rng: Random, mixture: Mixture, late: int, theme: Sequence[str], place: Callable[[int], float]
) -> list[Draft]:
    """Return drafts by depth; the end of the annals is left free for what comes too late."""
    stand = rng.choice(range(2 * mixture.points // 5, 3 * mixture.points // 5 + 1))
    each = shares(rng, mixture.points - stand, len(theme))
    steps = titles(rng, stand, mixture.undone, mixture.points - stand)
    deeds = [kind for kind, count in zip(theme, each, strict=True) for _ in range(count)]
    order = rng.sample([True] * len(steps) + [False] * len(deeds), len(steps) + len(deeds))
    rng.shuffle(deeds)
    left = set(standing(steps))
    sales = iter([(kind, buyer in left) for kind, buyer in steps])
    needed = [next(sales) if one else (deeds.pop(), True) for one in order]
    share = 1 / (len(needed) + late)
    drafts = [Draft((at + place(at)) * share, kind, "relevant", point) for at, (kind, point) in enumerate(needed)]
    end = drafts[-1].depth
    other_deeds = [one for one in OTHERS if one not in theme]
    unasked = [*rng.choices(other_deeds, k=mixture.other), *rng.choices(VAIN, k=mixture.vain)]
    drafts += [Draft(rng.random() * end, kind, "decoy") for kind in unasked]
    return sorted(drafts, key=lambda one: one.depth)


def _event(world: Chronicle, rng: Random, prop: str, draft: Draft, day: int, taken: set[str]) -> Event:
    about = {"prop": prop}
    if draft.kind == SALE:
        about["buyer"] = _somebody(rng, world.able(day), taken) or _somebody(rng, world.living(day), taken)
    elif draft.kind not in WEIGHTS:
        about["person"] = _somebody(rng, world.living(day), taken)
    return Event(day, draft.kind, about, draft.role, draft.point)


def _somebody(rng: Random, people: Sequence[str], taken: set[str]) -> str:
    """Draw somebody not taken, with a new surname if possible, and add the name to `taken`; empty if all are taken."""
    surnames = {one.rpartition(" ")[2] for one in taken}
    free = [one for one in people if one not in taken]
    preferred = [one for one in free if one.rpartition(" ")[2] not in surnames] or free
    if not preferred:
        return ""
    name = rng.choice(preferred)
    taken.add(name)
    return name


THEMES = tuple((one, other) for at, one in enumerate(OTHERS) for other in OTHERS[at + 1 :])
"""Pairs of kinds of deeds that are asked for besides purchases."""
ROWS = 256
"""How many rows' entries are cached, some 30 kB each: a shard is sampled, and then packed."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What is asked, and all entries written for it, those of the property first."""

    question: str
    props: tuple[str, str]
    theme: tuple[str, str]
    late: int
    steps: Sequence[str]
    events: Sequence[Event]
    twin_events: Sequence[Event]


def make_numbered(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Return every entry of a tier with its number, in order of date."""
    world = chronicle(streams, spec.tier)
    for entry, number in zip(world.entries, ids(streams, spec.tier), strict=True):
        yield unit(text.NUMBERED.format(number=number, entry=entry.text), "filler", entry.facts)


def spec(tier: str) -> PoolSpec:
    """Return the pool of numbered entries of a tier."""
    return PoolSpec(f"chronicle-ids-{tier}", 1, tier, f"{WORLD}:{source_digest()}", make_numbered)


def ids(streams: Streams, tier: str) -> Sequence[str]:
    """Return the number of every entry of a tier, in order; `streams` are any below the same seed."""
    return _ids(streams.world(WORLD, tier, "ids"), len(chronicle(streams, tier).entries))


@lru_cache(maxsize=2)
def _ids(world: Streams, count: int) -> tuple[str, ...]:
    return numbers(world.of("numbers"), count)


class Points(Task):
    """A summary of what people did for a property. `complexity` is the number of key points."""

    __slots__ = ()

    family = "summ"
    subtask = "points"
    title = "a summary of who did what to a property, in which year, and according to which entry"
    scorer = "key_points"
    complexities = (5, 10, 20)
    max_new_tokens = 960
    shortest = 16384
    version = 6

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec(stratum.tier),)

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw the time and the kinds asked about, and what befell the property and its twin."""
        prop, twin = asked_property(world, index, row_streams, stratum_streams)
        theme = THEMES[deal(stratum_streams.of("theme"), stratum.rows, index, len(THEMES))]
        mixture, rng, taken = MIXTURES[stratum.complexity], row_streams.of("told"), set[str]()
        late = mixture.late[deal(stratum_streams.of("late"), stratum.rows, index, len(mixture.late))]
        past = history(
            world,
            rng,
            mixture,
            late,
            prop,
            theme,
            taken,
            lambda at: spread(stratum_streams.of("depth", at), stratum.rows, index),
        )
        twin_past = history(world, rng, mixture, late, twin, theme, taken, lambda at: rng.random())
        kinds = rng.sample((SALE, *theme), 1 + len(theme))
        asked = text.question(rng.choice(text.QUESTIONS), prop, rng.choice(past.years), kinds)
        twin_events = [replace(one, role="decoy", point=False) for one in twin_past.events]
        return Drawn(asked, (prop, twin), theme, late, past.steps, past.events, twin_events)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw what is asked, and write the entries that its answer needs."""
        drawn, written = planned(self, stratum, index, row_streams, stratum_streams)
        points = {one.named: [number] for one, number, _ in written if one.point}
        others = named_in([one for one in drawn.events if not one.point])
        answers = text.accepted(points, others)
        relevant = tuple(line for one, _, line in written if one.role == "relevant")
        latent: dict[str, Any] = {
            "property": drawn.props[0],
            "twin": drawn.props[1],
            "theme": list(drawn.theme),
            "needed": len(relevant),
            "steps": list(drawn.steps),
            "late": drawn.late,
            "others": len(others),
        }
        return Sample("", stratum, index, latent, relevant, drawn.question, Key.accepting(*answers))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put every entry written for the row at its date among those of the world."""
        stratum = sample.stratum
        world = chronicle(row_streams, stratum.tier)
        drawn, written = planned(self, stratum, sample.index, row_streams, stratum_streams)
        return Layout(
            head=(Piece(text.INTRODUCTION, "instruction"), Piece(text.START, "instruction")),
            placed=tuple(dated(world, one, line) for one, _, line in written),
            filler=filler(world, spec(stratum.tier).name, row_streams, drawn.props),
            tail=(Piece(text.TAIL.format(question=sample.question), "question"),),
        )

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read what befell the property, and sum up what is asked for."""
        points, others = solver.summed_up(turns[-1][1])
        return text.accepted(points, others)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that exactly the marked entries are needed, and that there are as many decoys as promised."""
        return solver.faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of summaries of one point, of all who are named with the property, or with its twin too.

        `asked_kinds` takes all deeds of the kinds asked for up to the year, `at_once` leaves out the last sales stated
        before each cancellation, `earliest` keeps the first sales, as many as stand, and `no_restoring` ignores that
        sales are restored.
        """
        points, others = sample.stratum.complexity, int(sample.latent["others"])
        steps = [(kind, str(at) if kind == SALE else "") for at, kind in enumerate(sample.latent["steps"])]
        right, undone = standing(steps), MIXTURES[points].undone
        more = points - len(right)
        return {
            "uniform": 0.0,
            "one_point": 2 / (points + 1),
            "everybody": 2 * points / (2 * points + others),
            "twin_too": 2 * points / (3 * points + 2 * others),
            "asked_kinds": 2 * points / (2 * points + undone),
            "at_once": f1(at_once(steps), right, more),
            "earliest": f1([buyer for kind, buyer in steps if kind == SALE][: len(right)], right, more),
            "no_restoring": f1(unrestored(steps), right, more),
        }

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kinds asked for, and how many deeds come too late."""
        points = sample.stratum.complexity
        late = (sample.latent["late"], len(MIXTURES[points].late))
        return {"theme": (tuple(sample.latent["theme"]), len(THEMES)), f"too late, of {points} points": late}

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        return sample.relevant


@lru_cache(maxsize=ROWS)
def planned(
    task: Points, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
) -> tuple[Drawn, Sequence[tuple[Event, str, str]]]:
    """Return what a row asks, and its entries with their numbers and texts."""
    world = chronicle(row_streams, stratum.tier)
    drawn = task.drawn(world, stratum, index, row_streams, stratum_streams)
    events = [*drawn.events, *drawn.twin_events]
    free = fresh(row_streams.of("ids"), ids(row_streams, stratum.tier), len(events))
    texts = [
        world.write(row_streams.of("text", at), event.day, event.kind, event.about).text
        for at, event in enumerate(events)
    ]
    return drawn, [
        (event, number, text.NUMBERED.format(number=number, entry=entry))
        for event, number, entry in zip(events, free, texts, strict=True)
    ]
