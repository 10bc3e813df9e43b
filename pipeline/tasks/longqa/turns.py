"""longqa.turns: what a user has told in dated sessions of a chat, as real turns (after LongMemEval, Wu et al. 2025).

Four abilities are asked for in equal shares: a fact told once, its latest state, its state on a day, and a fact joined
from two sessions; the fifth, to abstain, is form b of each pair, in which what would tell is replaced. Things that
change are mentioned as often as things that do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from random import Random

import numpy as np

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams, deal, spread
from pipeline.tasks.annals.haystack import PlannedEntry, asked_property, days_at
from pipeline.tasks.base import Filler, Key, Layout, Piece, Placed, PoolSpec, Published, Role, Sample, Turns, Unit
from pipeline.tasks.longqa import solve as talk
from pipeline.tasks.longqa import text
from pipeline.tasks.longqa.base import Drawn, LongQa, buyers, near, plan_entry, quiet, rolls, scattered, written
from pipeline.worlds.chronicle import WORLD, Chronicle, chronicle, source_digest
from pipeline.worlds.chronicle import written as chronicle_written
from pipeline.worlds.chronicle import written as dated
from pipeline.worlds.chronicle.entries import LAST_DAY, write
from pipeline.worlds.chronicle.entries import talk as wording_talk
from pipeline.worlds.chronicle.world import Names

ENTRIES = 3
"""Entries of a session."""


def session(rng: Random, day: int, entries: Sequence[str], role: Role = "filler", facts: tuple[str, ...] = ()) -> Unit:
    """Return a session: what is dictated on a day, and what is replied."""
    opening, reply = (write(rng, rng.choice(wording_talk()[name]), {}) for name in ("opening", "reply"))
    said = "\n".join([f"{chronicle_written(day)}. {opening}", *(entry.rstrip("\n") for entry in entries)])
    return Unit((Piece(said, role, "user"), Piece(reply, "filler", "assistant")), facts)


def opening() -> tuple[Piece, Piece]:
    """Return the first turns of every chat."""
    said, welcome = (write(Random(0), wording_talk()[name][0], {}) for name in ("start", "welcome"))
    return Piece(said, "instruction", "user"), Piece(welcome, "instruction", "assistant")


def make_sessions(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Return the entries of a tier in sessions, in order of date."""
    world, rng = chronicle(streams, spec.tier), streams.world("sessions@1", spec.tier).of("talk")
    for start in range(0, len(world.entries), ENTRIES):
        some = world.entries[start : start + ENTRIES]
        facts = tuple(fact for one in some for fact in one.facts)
        yield session(rng, some[-1].day, [one.text for one in some], "filler", facts)


def spec(tier: str) -> PoolSpec:
    """Return the pool of sessions of a tier."""
    return PoolSpec(f"chronicle-chat-{tier}", 1, tier, f"{WORLD}:{source_digest()}", make_sessions)


@lru_cache(maxsize=2)
def _days(world: Chronicle) -> Indices:
    return np.array([world.days[min(at + ENTRIES, len(world.days)) - 1] for at in range(0, len(world.days), ENTRIES)])


def filler(world: Chronicle, tier: str, row_streams: Streams, props: Sequence[str], told: Iterable[int]) -> Filler:
    """Return sessions in order of date, but those with an entry about some properties or one that is told already."""
    about = [number for prop in props for number in world.about.get(prop, ())]
    out = frozenset(number // ENTRIES for number in (*about, *told))
    days = _days(world)
    return Filler(spec(tier).name, Shuffled(row_streams.of("filler"), len(days), out), policy="ranked", ranks=days)


KINDS = ("information", "update", "temporal", "sessions")
MENTIONS = 4
"""Entries about the asked property, and about its twin."""
SALES = 3
"""How many of them are sales of a property that changes hands again and again; else one is."""
REACH = 60
"""How many entries before and behind one may share its session."""
WEDDING = "wedding"


@dataclass(frozen=True, slots=True)
class Plot:
    """What is told of the asked property: entries by day, who is asked for, and who is named, each with a day."""

    told: list[PlannedEntry]
    answer: str
    asked: range
    names: dict[str, int]


class ChatTurns(LongQa):
    """What has been told in sessions. `complexity` is 1 where the answer was told, else 0."""

    __slots__ = ()

    subtask = "turns"
    version = 2
    title = "what was told in dated sessions of a chat, in pairs of rows in which it was told and not"
    scorer = "idk_pair"
    complexities = (0, 1)
    paired = True

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec(stratum.tier),)

    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw what is told of a property and its twin, by the ability that is asked for."""
        kind = KINDS[deal(stratum_streams.of("kind"), stratum.rows, index, len(KINDS))]
        prop, twin = asked_property(world, index, row_streams, stratum_streams)
        depth, stated = spread(stratum_streams.of("depth"), stratum.rows, index), stratum.complexity == 1
        mine = _plot(world, row_streams.of("plot"), kind, prop, depth, stated=stated)
        sales = 1 if kind in ("update", "temporal") else SALES
        other = _others(world, row_streams.of("near"), twin, sales, [*mine.names])
        told = [*mine.told, *other, *rolls(world, row_streams.of("rolls"), {**mine.names, **buyers(other)})]
        day = row_streams.of("asked").choice(mine.asked)
        question = row_streams.of("words").choice(text.TALKED[kind]).format(prop=prop, day=dated(day))
        forms = (mine.answer,) if stated else text.REFUSALS
        shown = {"asked": kind, "property": prop, "twin": twin, "buyers": [*mine.names]}
        return Drawn(question, Key(forms[0], forms), told, (prop, twin), shown)

    def placed(self, world: Chronicle, row_streams: Streams, drawn: Drawn) -> list[Placed]:
        """Return what is told for a row, each entry in a session with entries of the world about its day."""
        around, found = _companions(world, row_streams, drawn), []
        for number, (one, said) in enumerate(written(world, row_streams, drawn)):
            entries = [(world.entries[at].day, world.entries[at].text) for at in around[number]]
            entries = sorted([*entries, (one.day, said)])
            day = entries[-1][0]
            unit = session(row_streams.of("session", number), day, [text for _, text in entries], one.role)
            found.append(Placed(unit, world.depth_of(day), at=day))
        return found

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put each entry that was written for the row into a session of its day, among others."""
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
        """Read every session, and answer from what they tell."""
        found = talk.answer(tuple(turns))[0]
        return (found,) if found else text.REFUSALS

    def faults(self, row: Published) -> Iterable[str]:
        """Prove that what is asked was told, by sessions that are needed, or was not."""
        return talk.faults(row, SALES, MENTIONS)

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of who names anybody in question, and of who always refuses."""
        stated = sample.stratum.complexity == 1
        return {"uniform": stated / max(1, len(sample.latent["buyers"])), "refusal": float(not stated)}

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the ability that is asked for."""
        return {"kind": (sample.latent["asked"], len(KINDS))}


def _companions(world: Chronicle, row_streams: Streams, drawn: Drawn) -> list[list[int]]:
    """Return for each entry that is written for a row the entries of the world that share its session.

    They are the nearest before and behind it that tell nothing of the properties, and none shares two sessions.
    """
    shut = {number for prop in drawn.props for number in world.about.get(prop, ())}
    found = []
    for number, one in enumerate(drawn.told):
        now = int(np.searchsorted(world.days, one.day, side="right"))
        before = [at for at in range(now - 1, max(-1, now - REACH), -1) if at not in shut]
        behind = [at for at in range(now, min(len(world.days), now + REACH)) if at not in shut]
        many = ENTRIES - 1
        first = max(row_streams.of("place", number).randrange(ENTRIES), many - len(behind))
        chosen = [*before[:first], *behind[: many - len(before[:first])]]
        shut.update(chosen)
        found.append(chosen)
    return found


def _plot(world: Chronicle, rng: Random, kind: str, prop: str, depth: float, *, stated: bool) -> Plot:
    """Draw the entries about the asked property, one of which is at a depth and tells."""
    changing = kind in ("update", "temporal")
    later = int(kind == "temporal")  # one sale that comes after the day asked about
    before = SALES - 1 - later if changing else 0
    depths = [*sorted(depth * rng.random() for _ in range(before)), depth]
    depths += [depth + (1 - depth) * (0.2 + 0.8 * rng.random()) for _ in range(later)]
    days = days_at(world, depths)
    told, names = list[PlannedEntry](), dict[str, int]()
    fresh = Names(rng, set(world.population.names.taken)) if kind == "sessions" else None
    happened = quiet(rng, MENTIONS + SALES)
    for at, day in enumerate(days):
        living = [one for one in world.living(day) if one not in names]
        name = fresh.new(woman=False) if fresh else rng.choice(living)
        names[name] = day
        silent = not stated and at <= before and not fresh
        about = {"prop": prop} if silent else {"prop": prop, "buyer": name}
        told.append(
            PlannedEntry(day, happened.pop() if silent else "sale", about, "relevant" if at == before else "decoy")
        )
    answer = [*names][before]
    rest = scattered(world, rng, MENTIONS - len(told))
    told += [PlannedEntry(day, happened.pop(), {"prop": prop}, "decoy") for day in rest]
    if fresh:
        wife, day = fresh.new(woman=True), near(rng, days[before])
        husband = answer if stated else fresh.new(woman=False)
        told.append(PlannedEntry(day, WEDDING, {"husband": husband, "wife": wife}, "relevant"))
        names[wife], answer = day, wife
    until = days[before + 1] if later else LAST_DAY
    return Plot(told, answer, range(days[before] + 1, max(until, days[before] + 2)), names)


def _others(world: Chronicle, rng: Random, prop: str, sales: int, taken: list[str]) -> list[PlannedEntry]:
    """Return as many entries about another property, some of them sales."""
    kinds, sold = quiet(rng, MENTIONS), set(rng.sample(range(MENTIONS), sales))
    found, gone = list[PlannedEntry](), list(taken)
    for at, day in enumerate(scattered(world, rng, MENTIONS)):
        about = {"prop": prop}
        if at in sold:
            about["buyer"] = rng.choice([one for one in world.living(day) if one not in gone])
            gone.append(about["buyer"])
        found.append(PlannedEntry(day, "sale" if at in sold else kinds[at], about, "decoy"))
    return found
