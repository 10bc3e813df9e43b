"""Dated sessions of a chat: a clerk dictates entries of the annals, and the assistant acknowledges them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from random import Random

import numpy as np

from pipeline.streams import Indices, Shuffled, Streams
from pipeline.tasks.base import Filler, Piece, PoolSpec, Role, Unit
from pipeline.tasks.longqa.frame import NONE
from pipeline.worlds.chronicle import WORLD, Chronicle, chronicle, source_digest, written
from pipeline.worlds.chronicle.wording import talk

ENTRIES = 3
"""Entries of a session."""


def session(rng: Random, day: int, entries: Sequence[str], role: Role = "filler", facts: tuple[str, ...] = ()) -> Unit:
    """Return a session: what is dictated on a day, and what is replied."""
    opening, reply = (rng.choice(talk()[name]).write(rng, {}) for name in ("opening", "reply"))
    said = "\n".join([f"{written(day)}. {opening}", *(entry.rstrip("\n") for entry in entries)])
    return Unit((Piece(said, role, "user"), Piece(reply, "filler", "assistant")), facts)


def opening() -> tuple[Piece, Piece]:
    """Return the first turns of every chat."""
    said, welcome = (talk()[name][0].write(Random(0), {}) for name in ("start", "welcome"))
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


def filler(world: Chronicle, tier: str, own: Streams, props: Sequence[str], told: Iterable[int]) -> Filler:
    """Return sessions in order of date, but those with an entry about some properties or one that is told already."""
    about = [number for prop in props for number in world.about.get(prop, ())]
    out = frozenset(number // ENTRIES for number in (*about, *told))
    days = _days(world)
    return Filler(spec(tier).name, Shuffled(own.of("filler"), len(days), out), NONE, "ranked", ranks=days)
