"""What all tasks of tally share: lines of messages, by number, and how some of them are placed among the others."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import cache, lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams, words
from pipeline.tasks.base import (
    CorpusKnob,
    Filler,
    Key,
    Layout,
    Placed,
    Plain,
    PoolSpec,
    PublishedRow,
    Sample,
    Task,
    Unit,
    depths,
)
from pipeline.tasks.tally import solve as solver
from pipeline.tasks.tally import text
from pipeline.tasks.tally.text import DAYS, line
from pipeline.worlds.people import MONTHS
from pipeline.worlds.utterances import Intent, domain, source_digest, texts, times, write

WORLD = "tally@2"
CLERKS, SPARE = 64, 4096
"""Clerks of the pool, and how many other numbers there are."""
FIRST, NUMBERS = 10_000, 90_000
SPARES = 24
DOMAIN = "contract"
INTENTS = domain(DOMAIN).intents
STATED = (False, True)


def spec_of(stratum: Stratum) -> PoolSpec:
    """Return the pool of a stratum."""
    form = "stated" if is_stated(stratum) else "plain"
    return PoolSpec(f"tally-{form}-{stratum.tier}", 1, stratum.tier, f"{WORLD}:{source_digest()}", make)


def is_stated(stratum: Stratum) -> bool:
    """Return whether lines state what their messages ask."""
    return bool(stratum.knob("stated", STATED[0]))


def lines_per_intent(tier: str) -> int:
    """Return how many lines the pool has of each intent: all that are written, several times what a prompt can hold.

    Dealt lists need them: they end where an act runs out of lines that deny another one.
    """
    return times(tier, DOMAIN)


def lines_of(tier: str, intent: Intent) -> range:
    """Return the pool's lines of an intent, by number."""
    first = INTENTS.index(intent) * lines_per_intent(tier)
    return range(first, first + lines_per_intent(tier))


def clerks(streams: Streams) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the numbers of the pool's clerks, and other numbers; `streams` are any below the seed."""
    return _clerks(streams.world(WORLD))


@lru_cache(maxsize=2)
def _clerks(world: Streams) -> tuple[tuple[str, ...], tuple[str, ...]]:
    drawn = world.of("clerks").sample(range(FIRST, FIRST + NUMBERS), CLERKS + SPARE)
    return tuple(map(str, drawn[:CLERKS])), tuple(map(str, drawn[CLERKS:]))


@lru_cache(maxsize=4)
def clerks_and_days(world: Streams, tier: str) -> tuple[Indices, Indices]:
    """Return the clerk and the day of every line, by number."""
    rng, count = world.world(WORLD, tier).of("lines"), lines_per_intent(tier) * len(INTENTS)
    drawn = words(rng, 2 * count).astype(np.int64).reshape(2, count)
    return drawn[0] % CLERKS, drawn[1] % (DAYS * len(MONTHS))


def make(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every line of a pool."""
    return Plain(_lines(streams, spec.tier, stated="stated" in spec.name))


def _lines(streams: Streams, tier: str, *, stated: bool) -> Iterator[str]:
    messages, (numbers, _) = texts(streams, tier, DOMAIN), clerks(streams)
    whose, dates = (column.tolist() for column in clerks_and_days(streams.world(), tier))
    for number, intent in enumerate(INTENTS):
        for at, message in enumerate(messages[intent], number * lines_per_intent(tier)):
            yield line(dates[at], numbers[whose[at]], message, intent if stated else None)


def filler(stratum: Stratum, without: Iterable[Intent], row_streams: Streams) -> Filler:
    """Return lines in random order, without those of some intents."""
    count = lines_per_intent(stratum.tier) * len(INTENTS)
    left_out = frozenset(at for intent in without for at in lines_of(stratum.tier, intent))
    spares = Shuffled(row_streams.of("spares"), count, left_out).take(SPARES)
    rest = Shuffled(row_streams.of("filler"), count, left_out | {*spares.tolist()})
    return Filler(spec_of(stratum).name, rest, spares)


Line = tuple[int, str, str, Intent]
"""A line before it is written: its day, its clerk, its message and the message's intent."""


class TallyTask(Task):
    """A question about lines placed among others."""

    family = "tally"
    max_new_tokens = 64
    shortest = 8192
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({"stated": STATED})

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec_of(stratum),)

    def written(self, stratum: Stratum, lines: Sequence[Line]) -> list[str]:
        """Write lines in the form of a stratum."""
        stated = is_stated(stratum)
        return [text.line(date, clerk, message, intent if stated else None) for date, clerk, message, intent in lines]

    def around(
        self,
        sample: Sample,
        decoys: Sequence[Line],
        without: Sequence[Intent],
        row_streams: Streams,
        stratum_streams: Streams,
    ) -> Layout:
        """Put relevant lines at depths that are uniform over the stratum, and decoys anywhere, among other lines."""
        stratum, anywhere = sample.stratum, row_streams.of("decoys")
        wanted = depths(stratum_streams, row_streams, stratum.rows, sample.index, len(sample.relevant))
        placed = [Placed.line(one, "relevant", depth) for one, depth in zip(sample.relevant, wanted, strict=True)]
        placed += [Placed.line(one, "decoy", anywhere.random()) for one in self.written(stratum, decoys)]
        return Layout(
            head=text.head(self.subtask, stated=is_stated(stratum)),
            placed=tuple(placed),
            filler=filler(stratum, without, row_streams),
            tail=text.tail(self.subtask, sample.question),
        )

    def sample_of(
        self, stratum: Stratum, index: int, latent: Mapping[str, Any], relevant: Sequence[Line], asked: str, key: str
    ) -> Sample:
        """Return a sample; the plan sets its id."""
        return Sample("", stratum, index, latent, tuple(self.written(stratum, relevant)), asked, Key.accepting(key))

    def answers(self, text: str) -> tuple[str, ...]:
        """Read all lines and answer the question."""
        return solver.accepted(solver.solve(text))

    def faults(self, row: PublishedRow) -> Iterable[str]:
        """Prove that exactly the marked lines are needed, and that decoys are there."""
        return solver.faults(row)


YEAR = DAYS * len(MONTHS)
APART = 2
"""The most digits in which similar numbers differ."""


def messages_of(intent: Intent, rng: Random, count: int) -> list[str]:
    """Write messages of an intent."""
    return write(domain(DOMAIN), intent, rng, count)


def near_misses(intent: Intent, rng: Random, count: int) -> list[tuple[Intent, str]]:
    """Write messages that ask something else, but share the act or the thing of an intent, and often mention both.

    Of six messages, two ask about the same thing and say that the act is not wanted, two ask for the same act and say
    that the thing is not meant, one shares the thing, and one shares neither.
    """
    misses = []
    for number in range(count):
        other = rng.choice(_alike(intent, SHARED[number % 6]))
        mentioned = intent if number % 6 < 4 else None
        misses += [(other, message) for message in write(domain(DOMAIN), other, rng, 1, mentioned)]
    rng.shuffle(misses)
    return misses


def mentioning(intent: Intent, rng: Random, without: Intent) -> tuple[Intent, str]:
    """Write a message that mentions the act and the thing of an intent and asks for neither that nor another intent."""
    other = rng.choice([one for shared in SHARED[:2] for one in _alike(intent, shared) if one != without])
    return other, write(domain(DOMAIN), other, rng, 1, intent)[0]


SHARED = ((True, False), (False, True), (True, False), (False, True), (True, False), (False, False))
"""By turn, whether a near miss has the thing and whether it has the act."""


@cache
def _alike(intent: Intent, shared: tuple[bool, bool]) -> Sequence[Intent]:
    return [one for one in INTENTS if one != intent and (one.thing == intent.thing, one.act == intent.act) == shared]


def dates(rng: Random, count: int, first: int = 0, last: int = YEAR) -> list[int]:
    """Draw days from `first` on and before `last`."""
    return [rng.randrange(first, last) for _ in range(count)]


def near_numbers(number: str, free: Sequence[str], rng: Random, count: int) -> list[str]:
    """Draw numbers that differ from a number in at most two digits, or any if there are too few of these."""
    apart = (_digits(free) != np.array([*number.encode()])).sum(axis=1)
    alike = [free[place] for place in np.flatnonzero((apart > 0) & (apart <= APART)).tolist()]
    return rng.sample(alike if len(alike) >= count else free, count)


@lru_cache(maxsize=2)
def _digits(numbers: Sequence[str]) -> NDArray[np.uint8]:
    """Return the digits of numbers of equal length as ASCII codes, a row for each number."""
    return np.frombuffer("".join(numbers).encode(), dtype=np.uint8).reshape(len(numbers), -1)
