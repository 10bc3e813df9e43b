"""Tasks of tally: lines of messages, and a question behind them about how many, whose or when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import cache, lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Indices, Shuffled, Streams, deal, spread, words
from pipeline.tasks.base import (
    CorpusKnob,
    Filler,
    Key,
    Layout,
    Placed,
    Plain,
    PoolSpec,
    Published,
    Sample,
    Task,
    Unit,
    depths,
)
from pipeline.tasks.tally import solve as reader
from pipeline.tasks.tally import text
from pipeline.tasks.tally.text import DAYS, line
from pipeline.typed import TIERS
from pipeline.worlds.frequencies import Bursts, arrivals
from pipeline.worlds.utterances import Intent, domain, kinds, mentioned, source_digest, texts, write

WORLD = "tally@1"
TOKENS = 18
"""Of so many tokens of a tier there is a line: twice what a prompt can hold, for lists that are dealt."""
CLERKS, SPARE = 64, 4096
"""Clerks of the pool; numbers that no clerk of the pool has."""
LEAST, NUMBERS = 10_000, 90_000
SPARES = 24
INTENTS = domain("request").intents
STATED = (False, True)


def spec_of(stratum: Stratum) -> PoolSpec:
    """Return the pool of a stratum."""
    form = "stated" if is_stated(stratum) else "plain"
    return PoolSpec(f"tally-{form}-{stratum.tier}", 1, stratum.tier, f"{WORLD}:{source_digest()}", make)


def is_stated(stratum: Stratum) -> bool:
    """Return whether lines state what their messages ask."""
    return bool(stratum.knob("stated", STATED[0]))


def each(tier: str) -> int:
    """Return how many lines the pool has of each intent."""
    return TIERS[tier] // (TOKENS * len(INTENTS))


def lines_of(tier: str, intent: Intent) -> range:
    """Return the lines of the pool of an intent."""
    first = INTENTS.index(intent) * each(tier)
    return range(first, first + each(tier))


def clerks(streams: Streams) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the numbers of the clerks of the pool, and other numbers; `streams` are any below the seed."""
    return _clerks(streams.world(WORLD))


@lru_cache(maxsize=2)
def _clerks(world: Streams) -> tuple[tuple[str, ...], tuple[str, ...]]:
    drawn = world.of("clerks").sample(range(LEAST, LEAST + NUMBERS), CLERKS + SPARE)
    return tuple(map(str, drawn[:CLERKS])), tuple(map(str, drawn[CLERKS:]))


@lru_cache(maxsize=4)
def placing(world: Streams, tier: str) -> tuple[Indices, Indices]:
    """Return the clerk and the date of every line, by number."""
    rng, count = world.world(WORLD, tier).of("lines"), each(tier) * len(INTENTS)
    drawn = words(rng, 2 * count).astype(np.int64).reshape(2, count)
    return drawn[0] % CLERKS, drawn[1] % (DAYS * len(text.MONTHS))


def make(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every line of a pool."""
    return Plain(_lines(streams, spec.tier, stated="stated" in spec.name))


def _lines(streams: Streams, tier: str, *, stated: bool) -> Iterator[str]:
    every, (numbers, _) = texts(streams, tier, "request"), clerks(streams)
    whose, dates = (found.tolist() for found in placing(streams.world(), tier))
    for number, intent in enumerate(INTENTS):
        for at, message in enumerate(every[intent][: each(tier)], number * each(tier)):
            yield line(dates[at], numbers[whose[at]], message, intent if stated else None)


def filler(stratum: Stratum, without: Iterable[Intent], row_streams: Streams) -> Filler:
    """Return lines in random order, none of them of some intents."""
    left_out = frozenset(at for intent in without for at in lines_of(stratum.tier, intent))
    spares = Shuffled(row_streams.of("spares"), each(stratum.tier) * len(INTENTS), left_out).take(SPARES)
    rest = Shuffled(row_streams.of("filler"), each(stratum.tier) * len(INTENTS), left_out | {*spares.tolist()})
    return Filler(spec_of(stratum).name, rest, spares)


Line = tuple[int, str, str, Intent]
"""A line before it is written: its day, its clerk, its message and what that asks."""


class TallyTask(Task):
    """Lines that are placed among others."""

    family = "tally"
    max_new_tokens = 64
    shortest = 8192
    knobs: Mapping[str, tuple[Any, ...] | CorpusKnob] = MappingProxyType({"stated": STATED})

    fits: Mapping[int, int] = MappingProxyType({})
    """The shortest length at which a complexity fits, where that is not 4,096."""

    def golden_stratum(self, complexity: int) -> Stratum:
        """Return a stratum of one row, at the shortest length at which the complexity fits."""
        return Stratum(self.family, self.subtask, "32k", self.fits.get(complexity, 4096), complexity, 1)

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec_of(stratum),)

    def lines(self, stratum: Stratum, some: Sequence[Line]) -> list[str]:
        """Write lines as the stratum has them."""
        stated = is_stated(stratum)
        return [text.line(date, clerk, said, intent if stated else None) for date, clerk, said, intent in some]

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
        placed += [Placed.line(one, "decoy", anywhere.random()) for one in self.lines(stratum, decoys)]
        return Layout(
            head=text.head(self.subtask, stated=is_stated(stratum)),
            placed=tuple(placed),
            filler=filler(stratum, without, row_streams),
            tail=text.tail(self.subtask, sample.question),
        )

    def drawn(self, stratum: Stratum, index: int, stratum_streams: Streams, purpose: str, kinds: int) -> int:
        """Return what a row is dealt of so many kinds."""
        return deal(stratum_streams.of(purpose), stratum.rows, index, kinds)

    def made(
        self, stratum: Stratum, index: int, latent: Mapping[str, Any], relevant: Sequence[Line], asked: str, key: str
    ) -> Sample:
        """Return a sample; the plan names it."""
        return Sample("", stratum, index, latent, tuple(self.lines(stratum, relevant)), asked, Key.accepting(key))

    def answers(self, text: str) -> tuple[str, ...]:
        """Read all lines and answer the question."""
        return (reader.solve(text),)

    def faults(self, row: Published) -> Iterable[str]:
        """Prove that marked lines are needed and others not, and that near misses are there."""
        return reader.faults(row)


YEAR = DAYS * len(text.MONTHS)
APART = 2
"""Digits in which numbers that are alike differ, at most."""


def messages_of(intent: Intent, rng: Random, count: int) -> list[str]:
    """Write so many messages of an intent."""
    return write(domain("request"), intent, rng, count)


def near_misses(intent: Intent, rng: Random, count: int) -> list[tuple[Intent, str]]:
    """Write messages that ask something else, but share the act or the thing of an intent, and often mention both.

    Of six messages two ask about the same thing and say that the act is not wanted, two ask for the same act and say
    that the thing is not meant; one shares the act or the thing, and one shares neither.
    """
    found = []
    for number in range(count):
        other = _other(intent, rng, number % 6)
        near = intent if number % 6 < 4 else None
        found += [(other, message) for message in write(domain("request"), other, rng, 1, near)]
    rng.shuffle(found)
    return found


SHARED = ((True, False), (False, True), (True, False), (False, True), (True, False), (False, False))
"""By turn, whether a miss has the thing and whether it has the act."""


def _other(intent: Intent, rng: Random, turn: int) -> Intent:
    """Draw another intent: for even turns of the same thing, for odd ones of the same act, for the last of neither."""
    return rng.choice(_alike(intent, SHARED[turn]))


@cache
def _alike(intent: Intent, shared: tuple[bool, bool]) -> Sequence[Intent]:
    return [one for one in INTENTS if one != intent and (one.thing == intent.thing, one.act == intent.act) == shared]


def dates(rng: Random, count: int, first: int = 0, last: int = YEAR) -> list[int]:
    """Draw so many days, all of them at or after the first and before the last."""
    return [rng.randrange(first, last) for _ in range(count)]


def near_numbers(number: str, free: Sequence[str], rng: Random, count: int) -> list[str]:
    """Draw numbers of which at most two digits differ from those of a number, as far as there are such."""
    apart = (_digits(free) != np.array([*number.encode()])).sum(axis=1)
    alike = [free[place] for place in np.flatnonzero((apart > 0) & (apart <= APART)).tolist()]
    return rng.sample(alike if len(alike) >= count else free, count)


@lru_cache(maxsize=2)
def _digits(numbers: Sequence[str]) -> NDArray[np.uint8]:
    """Return the digits of numbers that have equally many, as their ASCII codes, a row each."""
    return np.frombuffer("".join(numbers).encode(), dtype=np.uint8).reshape(len(numbers), -1)


COUNTS = {5: range(2, 9), 20: range(14, 27), 80: range(60, 101)}
"""How many messages are counted that are dealt, by complexity."""
OWN, OTHERS = {5: (6, 10), 20: (12, 30), 80: (48, 100)}, {5: (3, 8), 20: (10, 30), 80: (40, 100)}
"""How many other messages the clerk received, and how many of the kind other clerks did: from and to."""
MONTHS = len(text.MONTHS)


class OfOneClerk(TallyTask):
    """One clerk, and one kind of message; `complexity` is about how many of them are relevant."""

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kind of message that is asked about."""
        return {"kind": (sample.latent["kind"], len(INTENTS))}

    def asked(
        self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> tuple[int, Intent, str]:
        """Deal a kind, and draw a clerk of whom no line of the pool is."""
        kind = self.drawn(stratum, index, stratum_streams, "kind", len(INTENTS))
        return kind, INTENTS[kind], row_streams.of("clerk").choice(clerks(row_streams)[1])

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put near misses beside what is asked."""
        intent, clerk = INTENTS[sample.latent["kind"]], sample.latent["clerk"]
        rng = row_streams.of("misses")
        more = self.later(sample, rng)
        mine = near_misses(intent, rng, sample.latent["own"])
        more += [(date, clerk, said, what) for date, (what, said) in zip(dates(rng, len(mine)), mine, strict=True)]
        known, free = clerks(row_streams)
        others = sample.latent["others"]
        near = near_numbers(clerk, free, rng, 3)
        whose = [rng.choice(near) if rng.random() < 0.5 else rng.choice(known) for _ in range(others)]
        theirs = zip(dates(rng, others), whose, messages_of(intent, rng, others), strict=True)
        more += [(date, one, said, intent) for date, one, said in theirs]
        return self.around(sample, more, (intent,), row_streams, stratum_streams)

    def later(self, sample: Sample, rng: Random) -> list[Line]:
        """Return messages of the kind to the clerk that do not count."""
        return []

    def numbers(self, stratum: Stratum, row_streams: Streams) -> dict[str, int]:
        """Draw how many near misses there are."""
        rng = row_streams.of("numbers")
        return {"own": rng.randint(*OWN[stratum.complexity]), "others": rng.randint(*OTHERS[stratum.complexity])}


class Count(OfOneClerk):
    """How many messages of a kind a clerk received."""

    subtask = "count"
    version = 2
    title = "how many messages of one kind one clerk received"
    scorer = "count"
    complexities = (5, 20, 80)
    shortest = 16_384
    fits = MappingProxyType({20: 8192, 80: 16_384})

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a number, and write so many messages."""
        kind, intent, clerk = self.asked(stratum, index, row_streams, stratum_streams)
        counts = COUNTS[stratum.complexity]
        count = counts[self.drawn(stratum, index, stratum_streams, "count", len(counts))]
        rng = row_streams.of("relevant")
        said = zip(dates(rng, count), messages_of(intent, rng, count), strict=True)
        latent = {"kind": kind, "clerk": clerk, "effective_complexity": count, **self.numbers(stratum, row_streams)}
        relevant = [(date, clerk, message, intent) for date, message in said]
        return self.made(stratum, index, latent, relevant, text.counting(clerk, intent), str(count))

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kind, and the number that is the answer."""
        complexity = sample.stratum.complexity
        number = {f"number at {complexity}": (int(sample.key.target), len(COUNTS[complexity]))}
        return {**OfOneClerk.dealt(self, sample), **number}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess among the numbers that are dealt, and what counters who do not read score."""
        count, latent = int(key.target), sample.latent
        return {
            "uniform": 1 / len(COUNTS[sample.stratum.complexity]),
            "all_of_clerk": float(latent["own"] == 0),
            "all_of_kind": float(latent["others"] == 0 and count > 0),
        }


class When(OfOneClerk):
    """In which month the last of a number of messages came; `complexity` is the number."""

    subtask = "when"
    version = 2
    title = "in which month one clerk received so many messages of one kind"
    scorer = "exact"
    complexities = (5, 20)
    fits = MappingProxyType({20: 8192})

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a month: the last of the messages comes in it, and all further ones in later months."""
        kind, intent, clerk = self.asked(stratum, index, row_streams, stratum_streams)
        month, count = self.drawn(stratum, index, stratum_streams, "month", MONTHS), stratum.complexity
        rng = row_streams.of("relevant")
        days = dates(rng, count - 1, 0, (month + 1) * text.DAYS) + dates(
            rng, 1, month * text.DAYS, (month + 1) * text.DAYS
        )
        later = 0 if month == MONTHS - 1 else row_streams.of("later").randint(2, count)
        latent = {"kind": kind, "clerk": clerk, "month": month, "later": later, **self.numbers(stratum, row_streams)}
        latent["effective_complexity"] = count
        relevant = [
            (date, clerk, said, intent) for date, said in zip(days, messages_of(intent, rng, count), strict=True)
        ]
        return self.made(stratum, index, latent, relevant, text.dating(clerk, intent, count), text.MONTHS[month])

    def later(self, sample: Sample, rng: Random) -> list[Line]:
        """Return the messages of later months."""
        latent, intent = sample.latent, INTENTS[sample.latent["kind"]]
        days = dates(rng, latent["later"], (latent["month"] + 1) * text.DAYS, YEAR) if latent["later"] else []
        return [
            (day, latent["clerk"], said, intent)
            for day, said in zip(days, messages_of(intent, rng, len(days)), strict=True)
        ]

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kind, and the month that is the answer."""
        return {**OfOneClerk.dealt(self, sample), "month": (sample.latent["month"], MONTHS)}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess among the months."""
        return {"uniform": 1 / MONTHS}


class Users(TallyTask):
    """Clerks who received a message of each of two kinds; `complexity` is how many there are.

    As many clerks received two messages of the first kind, as many two of the second, as many one of the first and a
    near miss of the second. All of them are clerks of the pool, with other messages as well.
    """

    subtask = "users"
    version = 2
    title = "the clerks who received messages of two kinds"
    scorer = "members"
    max_new_tokens = 128
    complexities = (2, 4, 8)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a kind, and draw another and the clerks."""
        kind = self.drawn(stratum, index, stratum_streams, "kind", len(INTENTS))
        intent, rng = INTENTS[kind], row_streams.of("clerks")
        near = [one for one in INTENTS if (one.act == intent.act) != (one.thing == intent.thing)]
        other = rng.choice(near)
        some = rng.sample(clerks(row_streams)[0], 4 * stratum.complexity)
        both = some[: stratum.complexity]
        latent = {"kind": kind, "other": INTENTS.index(other), "clerks": some}
        latent["effective_complexity"] = 2 * stratum.complexity
        relevant = [*_once(row_streams, "first", intent, both), *_once(row_streams, "second", other, both)]
        return self.made(stratum, index, latent, relevant, text.pairing(intent, other), ", ".join(sorted(both)))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put clerks beside them who received two messages of one kind, or a near miss of the second."""
        latent, count = sample.latent, sample.stratum.complexity
        intent, other = INTENTS[latent["kind"]], INTENTS[latent["other"]]
        one, two, three = (latent["clerks"][at * count : (at + 1) * count] for at in (1, 2, 3))
        more = [*_once(row_streams, "one", intent, [*one, *one]), *_once(row_streams, "two", other, [*two, *two])]
        more += _once(row_streams, "three", intent, three)
        rng = row_streams.of("misses")
        missed = [each for each in near_misses(other, rng, 2 * count) if each[0] != intent][:count]
        more += [
            (date, who, said, what) for date, who, (what, said) in zip(dates(rng, count), three, missed, strict=False)
        ]
        return self.around(sample, more, (intent, other), row_streams, stratum_streams)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the first kind that is asked about."""
        return {"kind": (sample.latent["kind"], len(INTENTS))}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of clerks drawn at random, and of all who received a message of either kind."""
        count = sample.stratum.complexity
        return {"uniform": count / CLERKS, "either": 2 * count / (count + 4 * count)}


def _once(row_streams: Streams, purpose: str, intent: Intent, clerks: Sequence[str]) -> list[Line]:
    """Write a message of an intent to each of some clerks."""
    rng = row_streams.of("told", purpose)
    said = zip(dates(rng, len(clerks)), clerks, messages_of(intent, rng, len(clerks)), strict=True)
    return [(date, clerk, message, intent) for date, clerk, message in said]


ACTS = tuple(domain("request").acts)
THINGS = tuple(domain("request").things)
WEIGHTS = (18, 13, 11, 10, 9, 9, 6, 6, 6, 6)
"""How often the acts of a prompt are asked for, the most frequent first."""
LINES = 60
"""Lines of the dealt list in which the leader is safely ahead of its rival, give or take one of each."""
LOW = 4
"""Acts of the least weight, whose lines close gaps."""
NO_BURSTS = Bursts(0, 0.0, 0.0, 1)


class Shares(TallyTask):
    """A dealt list of which one act leads another."""

    scorer = "exact"
    shortest = 4096
    first: int
    """The rank of the act that is the answer: 0 is the most frequent one."""

    def ranks(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> list[str]:
        """Return all acts, the most frequent first, with a dealt one in the place of the answer."""
        answer = ACTS[self.drawn(stratum, index, stratum_streams, "act", len(ACTS))]
        others = row_streams.of("ranks").sample([act for act in ACTS if act != answer], len(ACTS) - 1)
        return [*others[: self.first], answer, *others[self.first :]]

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal the act that leads, and the end of the text towards which it does not."""
        ranks = self.ranks(stratum, index, row_streams, stratum_streams)
        rng = row_streams.of("relevant")
        clerk = rng.choice(clerks(row_streams)[0])
        lead, rival = ranks[self.first], ranks[self.first + 1]
        some = [Intent(act, rng.choice(THINGS)) for act in (lead, rival)]
        relevant = [
            (date, clerk, messages_of(one, rng, 1)[0], one) for date, one in zip(dates(rng, 2), some, strict=True)
        ]
        options = row_streams.of("options").sample(self.options(ranks), len(self.options(ranks)))
        ends = self.drawn(stratum, index, stratum_streams, "end", 2)
        latent = {"ranks": ranks, "end": ends}
        question = text.weighing(self.subtask, options)
        return self.made(stratum, index, latent, relevant, question, kinds("act")[lead].word)

    def options(self, ranks: Sequence[str]) -> Sequence[str]:
        """Return what is offered for an answer."""
        return ranks

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Mark a line of the act that leads and one of its rival; the rest is dealt."""
        stratum = sample.stratum
        placed = [
            Placed.line(line, "relevant", spread(stratum_streams.of("depth", number), stratum.rows, sample.index))
            for number, line in enumerate(sample.relevant)
        ]
        return Layout(
            head=text.head(self.subtask, stated=is_stated(stratum)),
            placed=tuple(placed),
            filler=self.filler(sample, row_streams),
            tail=text.tail(self.subtask, sample.question),
        )

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return the dealt lines; none mentions the leader where it is not wanted, and many do so with the rival."""
        stratum, ranks = sample.stratum, sample.latent["ranks"]
        lead, rival = (ACTS.index(ranks[self.first + step]) for step in (0, 1))
        queues = _queues(row_streams, stratum.tier, [ACTS.index(act) for act in ranks], lead, rival)
        order = _order(arrivals(row_streams.of("filler"), WEIGHTS, len(acts(stratum.tier)), NO_BURSTS), queues)
        spares = np.concatenate([queue[-SPARES // LOW :] for queue in queues[-LOW:]])
        return Filler(
            spec_of(stratum).name,
            _Dealt(order[~np.isin(order, spares)]),
            spares,
            "ranked",
            self._places(sample, row_streams, lead, rival),
            least=LINES,
        )

    def _places(self, sample: Sample, row_streams: Streams, lead: int, rival: int) -> Indices:
        """Return where lines stand: those of the leader nearer to one end, those of its rival nearer to the other."""
        of_act, size = acts(sample.stratum.tier), each(sample.stratum.tier) * len(INTENTS)
        one, two = words(row_streams.of("places"), 2 * size).astype(np.int64).reshape(2, size)
        early, late = (lead, rival) if sample.latent["end"] else (rival, lead)
        one = np.where(of_act == early, np.minimum(one, two), one)
        return np.where(of_act == late, np.maximum(one, two), one)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the act that is the answer, and the end of the text at which it is frequent."""
        return {"act": (sample.key.target, len(ACTS)), "end": (sample.latent["end"], 2)}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess among the options."""
        return {"uniform": 1 / len(self.options(sample.latent["ranks"]))}


class Most(Shares):
    """The act that most messages ask for; `complexity` is how many acts there are."""

    subtask = "most"
    version = 2
    title = "what most of all messages ask for"
    complexities = (10,)
    first = 0


class Compare(Shares):
    """Which of two acts more messages ask for; others are as frequent as these, or more so."""

    subtask = "compare"
    version = 2
    title = "which of two things more of all messages ask for"
    complexities = (2,)
    first = 0

    def options(self, ranks: Sequence[str]) -> Sequence[str]:
        """Return the two acts that are compared."""
        return ranks[:2]


def _order(dealt: Indices, queues: Sequence[Indices]) -> Indices:
    """Return the lines of the acts that are dealt by rank, up to where the lines of one run out."""
    places = [np.flatnonzero(dealt == rank) for rank in range(len(queues))]
    ends = [int(some[len(queue)]) for some, queue in zip(places, queues, strict=True) if len(some) > len(queue)]
    order = np.empty(min(ends, default=len(dealt)), dtype=np.int64)
    for some, queue in zip(places, queues, strict=True):
        fits = some[some < len(order)]
        order[fits] = queue[: len(fits)]
    return order


class _Dealt:
    """A list that is there from its first line to its last."""

    def __init__(self, order: Indices) -> None:
        self._order = order

    def take(self, count: int) -> Indices:
        """Return the first `count` lines."""
        return self._order[:count]


@lru_cache(maxsize=2)
def acts(tier: str) -> Indices:
    """Return the number of the act of each line of a pool."""
    return np.repeat([ACTS.index(intent.act) for intent in INTENTS], each(tier))


@lru_cache(maxsize=2)
def _mentions(world: Streams, tier: str) -> Indices:
    """Return the number of the act that each line of a pool says is not wanted, or -1."""
    every = texts(world, tier, "request")
    names = (mentioned("request", one) for intent in INTENTS for one in every[intent][: each(tier)])
    return np.array([ACTS.index(name) if name else -1 for name in names], dtype=np.int64)


def _queues(row_streams: Streams, tier: str, ranks: Sequence[int], lead: int, rival: int) -> list[Indices]:
    """Return the lines of each act, in the order of ranks: random, but for those that mention leader or rival."""
    of_act, said = acts(tier), _mentions(row_streams.world(), tier)
    mixed = np.argsort(words(row_streams.of("queues"), len(of_act)), kind="stable")
    mixed = mixed[said[mixed] != lead]
    found = []
    for act in ranks:
        mine = mixed[of_act[mixed] == act]
        found.append(_favoured(mine, said[mine] == rival))
    return found


FAVOUR = 13
"""Of so many lines one mentions the rival, as long as there are such lines."""


def _favoured(lines: Indices, mentions: NDArray[np.bool_]) -> Indices:
    """Return lines in an order in which those that mention the rival come at even steps."""
    first, rest = lines[mentions], lines[~mentions]
    steps = np.concatenate([np.arange(len(first)) * FAVOUR, np.arange(len(rest)) * FAVOUR / (FAVOUR - 1) + 0.5])
    return np.concatenate([first, rest])[np.argsort(steps, kind="stable")]
