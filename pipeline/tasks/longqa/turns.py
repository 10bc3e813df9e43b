"""longqa.turns: what a user has told in dated sessions of a chat, as real turns (after LongMemEval, Wu et al. 2025).

Four abilities are asked for equally often: what came next (`information`), the latest state (`update`), the state on a
day (`temporal`), and a fact about its owner (`sessions`). All need several sessions. The fifth, to abstain, is row b
of each pair: the decisive name is left out or replaced, as another name is in row a.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

import numpy as np

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams, deal
from pipeline.tasks.annals.haystack import PlannedEntry, asked_property
from pipeline.tasks.base import Filler, Key, Layout, Piece, Placed, PoolSpec, PublishedRow, Role, Sample, Turns, Unit
from pipeline.tasks.longqa import solve as solver
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import REPEAT_DAYS, Drawn, LongQa, plan_entry, rolls, written
from pipeline.tasks.longqa.pairs import other_sale
from pipeline.tasks.longqa.steps import without_restoring
from pipeline.tasks.longqa.titles import (
    SALES_AHEAD,
    SHAPES,
    Past,
    Sizes,
    beside,
    buyers,
    like,
    named,
    past,
    shape_of,
)
from pipeline.worlds.chronicle import WORLD, Chronicle, chronicle, source_digest
from pipeline.worlds.chronicle import written as dated
from pipeline.worlds.chronicle.entries import FIRST_DAY, LAST_DAY, talked, write
from pipeline.worlds.chronicle.entries import talk as wording_talk
from pipeline.worlds.chronicle.world import SALE, UNNAMED

SESSION_ENTRIES = 2
"""Entries in a session."""
DAYS_LATER, WEEK = 14, 7
"""A session is on a Sunday, at least this many days after its last entry, so that what the entries state is past."""


def session(rng: Random, day: int, entries: Sequence[str], role: Role = "filler", facts: tuple[str, ...] = ()) -> Unit:
    """Return a session: a user's turn with entries, some time after the last one's day, and a reply."""
    held = -(-(day + DAYS_LATER) // WEEK) * WEEK
    opening, reply = (talked(rng, name, held) for name in ("opening", "reply"))
    message = "\n".join([f"{dated(held)}. {opening}", *(entry.rstrip("\n") for entry in entries)])
    return Unit((Piece(message, role, "user"), Piece(reply, "filler", "assistant")), facts)


def opening() -> tuple[Piece, Piece]:
    """Return the first turns of every chat."""
    message, welcome = (write(Random(0), wording_talk()[name][0], {}) for name in ("start", "welcome"))
    return Piece(message, "instruction", "user"), Piece(welcome, "instruction", "assistant")


def make_sessions(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write the entries of a tier in sessions, in order of date."""
    world, rng = chronicle(streams, spec.tier), streams.world("sessions@1", spec.tier).of("talk")
    for start in range(0, len(world.entries), SESSION_ENTRIES):
        some = world.entries[start : start + SESSION_ENTRIES]
        facts = tuple(fact for one in some for fact in one.facts)
        yield session(rng, some[-1].day, [one.text for one in some], "filler", facts)


def spec(tier: str) -> PoolSpec:
    """Return the pool of sessions of a tier."""
    return PoolSpec(f"chronicle-chat-{tier}", 1, tier, f"{WORLD}:{source_digest()}", make_sessions)


@lru_cache(maxsize=2)
def _days(world: Chronicle) -> Indices:
    return np.array(
        [
            world.days[min(at + SESSION_ENTRIES, len(world.days)) - 1]
            for at in range(0, len(world.days), SESSION_ENTRIES)
        ]
    )


def filler(world: Chronicle, tier: str, row_streams: Streams, props: Sequence[str], used: Iterable[int]) -> Filler:
    """Return sessions in order of date, without those that contain an entry about `props` or one in `used`."""
    about = [number for prop in props for number in world.about.get(prop, ())]
    out = frozenset(number // SESSION_ENTRIES for number in (*about, *used))
    days = _days(world)
    return Filler(spec(tier).name, Shuffled(row_streams.of("filler"), len(days), out), policy="ranked", ranks=days)


KINDS = ("information", "update", "temporal", "sessions")
SIZES = {kind: Sizes(SHAPES[5], SALES_AHEAD[5], range(1, 3) if kind == "temporal" else range(1)) for kind in KINDS}
"""The sizes of histories; only those for questions about a day have steps after the needed ones."""
REACH_IN_ENTRIES = 60
"""How far before and after an entry those that share its session may be, in entries."""
WEDDING = "wedding"


@dataclass(frozen=True, slots=True)
class Plot:
    """The entries about the asked property, and the answer.

    Attributes:
        past: its history, as told.
        entries: entries about it, and about weddings of its buyers.
        right: the index of the step whose buyer leads to the answer.
        answer: the person who is asked for, in row a.
        after: the buyer whom the question names, or "".
        wives: the buyers' wives who are named, each with the day of the wedding.
    """

    past: Past
    entries: list[PlannedEntry]
    right: int
    answer: str
    after: str
    wives: dict[str, int]


class ChatTurns(LongQa):
    """What has been told in sessions. `complexity` is 1 if the answer was told, else 0."""

    __slots__ = ()

    subtask = "turns"
    version = 8
    drawn_as = "turns@6"
    title = "what follows from several dated chat sessions, in pairs of rows with and without the decisive statement"
    scorer = "idk_pair"
    complexities = (0, 1)
    paired = True
    shortest = 8192

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec(stratum.tier),)

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw the histories of a property and its twin for a dealt ability."""
        kind = KINDS[deal(stratum_streams.of("kind"), stratum.rows, index, len(KINDS))]
        shape = shape_of(stratum_streams, stratum.rows, index, SIZES[kind])
        prop, twin = asked_property(world, index, row_streams, stratum_streams)
        stated, near = stratum.complexity == 1, row_streams.of("near")
        mine = _plot(world, row_streams.of("plot"), kind, prop, shape, stated=stated)
        other = like(world, near, mine.past, SIZES[kind], named(mine.entries))
        if kind != "sessions":
            other = other.unnamed(other_sale(near, other))
        entries = [*mine.entries, *other.entries(twin)]
        gone = named(entries)
        entries += [*beside(world, near, prop, gone, 1, 0), *beside(world, near, twin, gone, 1, 0)]
        entries += rolls(world, row_streams.of("rolls"), {**mine.wives, **buyers(entries)})
        day = row_streams.of("asked").choice(mine.past.asked)
        question = row_streams.of("words").choice(text.TALKED[kind])
        question = question.format(prop=prop, day=dated(day), name=mine.after)
        forms = (mine.answer,) if stated else text.REFUSALS
        shown = {"asked": kind, "shape": shape, "property": prop, "twin": twin, "right": mine.right, **mine.past.shown}
        return Drawn(question, Key(forms[0], forms), entries, (prop, twin), shown)

    def placed(self, world: Chronicle, row_streams: Streams, drawn: Drawn) -> list[Placed]:
        """Return a row's own entries, each in a session with entries of the world from about the same day."""
        around, found = _companions(world, row_streams, drawn), []
        for number, (one, line) in enumerate(written(world, row_streams, drawn)):
            entries = [(world.entries[at].day, world.entries[at].text) for at in around[number]]
            entries = sorted([*entries, (one.day, line)])
            day = entries[-1][0]
            unit = session(row_streams.of("session", number), day, [text for _, text in entries], one.role)
            found.append(Placed(unit, world.depth_of(day), at=day))
        return found

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Place the row's sessions by date among those of the world."""
        tier = sample.stratum.tier
        world = chronicle(row_streams, tier)
        drawn, placed = plan_entry(self, sample.stratum, sample.index, row_streams, stratum_streams)
        return Layout(
            head=opening(),
            placed=placed,
            filler=filler(world, tier, row_streams, drawn.props, chain(*_companions(world, row_streams, drawn))),
            tail=(Piece(text.ASKING.format(question=sample.question), "question", "user"),),
        )

    def solve(self, turns: Turns) -> tuple[str, ...]:
        """Read every session, and answer from their entries."""
        found = solver.answer(tuple(turns))[0]
        return (found,) if found else text.REFUSALS

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that several sessions, all needed, state the answer in row a, and that none does in row b."""
        return solver.faults(row)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of any buyer, a constant refusal, the last sale, and a reader who restores no sales."""
        stated, latent = sample.stratum.complexity == 1, sample.latent
        steps = latent["steps"] if latent["asked"] == "information" else latent["steps"][: latent["needed"][1]]
        sales = [at for at, kind in enumerate(steps) if kind in (SALE, UNNAMED)]
        return {
            "uniform": stated / max(1, len(latent["buyers"])),
            "refusal": float(not stated),
            "last_before": float(sales[-1] == latent["right"]),
            "no_restoring": float(latent["asked"] != "information" and without_restoring(steps) == latent["right"]),
        }

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the dealt ability."""
        return {"kind": (sample.latent["asked"], len(KINDS))}


def _companions(world: Chronicle, row_streams: Streams, drawn: Drawn) -> list[list[int]]:
    """Return, for each of a row's own entries, the entries of the world that share its session.

    They are the nearest before and after it that are not about the properties, and none is in two sessions. None is
    later than the row's next own entry, so that sessions have the same order as their entries.
    """
    shut = {number for prop in drawn.props for number in world.about.get(prop, ())}
    found, days = [], sorted({one.day for one in drawn.entries})
    for number, one in enumerate(drawn.entries):
        following = next((day for day in days if day > one.day), LAST_DAY)
        now = int(np.searchsorted(world.days, one.day, side="right"))
        before = [at for at in range(now - 1, max(-1, now - REACH_IN_ENTRIES), -1) if at not in shut]
        last = min(now + REACH_IN_ENTRIES, int(np.searchsorted(world.days, following)))
        after = [at for at in range(now, last) if at not in shut]
        many = SESSION_ENTRIES - 1
        first = max(row_streams.of("place", number).randrange(SESSION_ENTRIES), many - len(after))
        chosen = [*before[:first], *after[: many - len(before[:first])]]
        shut.update(chosen)
        found.append(chosen)
    return found


def _plot(world: Chronicle, rng: Random, kind: str, prop: str, shape: int, *, stated: bool) -> Plot:
    """Draw the entries about the asked property, which are the same in both rows of a pair except for one name.

    Each row leaves out another buyer's name, or names another husband.
    """
    while True:
        whole = past(world, rng, SIZES[kind], SHAPES[5][shape])
        sales = [at for at, (step, _) in enumerate(whole.steps) if step == SALE]
        if len(sales) > 2 or kind in ("update", "temporal"):
            break
    if kind == "sessions":
        return _married(world, rng, whole, prop, stated=stated)
    right, after = whole.needed.start, ""
    relevant: Collection[int] = whole.needed
    if kind == "information":
        first = rng.randrange(len(sales) - 1)
        relevant = sales[first : first + 2]
        right, after = sales[first + 1], whole.steps[sales[first]][1]
        wrong = other_sale(rng, whole, *relevant)
    else:
        wrong = other_sale(rng, whole, right)
    found = whole.unnamed(wrong if stated else right)
    return Plot(found, found.entries(prop, relevant), right, whole.steps[right][1], after, {})


def _married(world: Chronicle, rng: Random, whole: Past, prop: str, *, stated: bool) -> Plot:
    """Draw weddings of two buyers, one of them the owner if the answer is `stated`. All people are new to the town."""
    fresh = world.newcomers(rng)
    men = {old: fresh.new(woman=False) for old in whole.buyers}
    found = Past([(kind, men.get(buyer, "")) for kind, buyer in whole.steps], whole.days, whole.needed)
    entries, wives = found.entries(prop, found.needed), dict[str, int]()
    days = buyers(entries)
    first, second = rng.sample([one for one in found.buyers if one != found.owner], 2)
    for husband in (found.owner if stated else first, second):
        wife, day = fresh.new(woman=True), days[husband] + rng.randrange(-REPEAT_DAYS, REPEAT_DAYS)
        day = min(max(day, FIRST_DAY), LAST_DAY)
        role: Role = "relevant" if husband == found.owner else "decoy"
        entries.append(PlannedEntry(day, WEDDING, {"husband": husband, "wife": wife}, role))
        wives[wife] = day
    return Plot(found, entries, found.needed.start, next(iter(wives)), "", wives)
