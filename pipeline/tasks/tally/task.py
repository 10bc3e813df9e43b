"""Tasks of tally: lines of messages, and a question behind them about how many, whose or when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import cache, lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Given, Indices, Shuffled, Streams, deal, spread, words
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
from pipeline.worlds.utterances import Intent, denials, domain, share, source_digest, texts, times, write

WORLD = "tally@2"
CLERKS, SPARE = 64, 4096
"""Clerks of the pool; numbers that no clerk of the pool has."""
FIRST, NUMBERS = 10_000, 90_000
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
    """Return how many lines the pool has of each intent: all that are written, several times what a prompt can hold.

    Lists that are dealt need them: they end where an act runs out of lines that deny another one.
    """
    return times(tier, "request")


def lines_of(tier: str, intent: Intent) -> range:
    """Return the lines of the pool of an intent."""
    first = INTENTS.index(intent) * each(tier)
    return range(first, first + each(tier))


def clerks(streams: Streams) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the numbers of the clerks of the pool, and other numbers; `streams` are any below the seed."""
    return _clerks(streams.world(WORLD))


@lru_cache(maxsize=2)
def _clerks(world: Streams) -> tuple[tuple[str, ...], tuple[str, ...]]:
    drawn = world.of("clerks").sample(range(FIRST, FIRST + NUMBERS), CLERKS + SPARE)
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
        for at, message in enumerate(every[intent], number * each(tier)):
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
        return reader.accepted(reader.solve(text))

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
        other = rng.choice(_alike(intent, SHARED[number % 6]))
        near = intent if number % 6 < 4 else None
        found += [(other, message) for message in write(domain("request"), other, rng, 1, near)]
    rng.shuffle(found)
    return found


def mentioning(intent: Intent, rng: Random, without: Intent) -> tuple[Intent, str]:
    """Write a message that mentions the act and the thing of an intent and asks neither that nor another intent."""
    other = rng.choice([one for shared in SHARED[:2] for one in _alike(intent, shared) if one != without])
    return other, write(domain("request"), other, rng, 1, intent)[0]


SHARED = ((True, False), (False, True), (True, False), (False, True), (True, False), (False, False))
"""By turn, whether a miss has the thing and whether it has the act."""


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
OWN, OTHERS = {5: (4, 8), 20: (12, 30), 80: (48, 70)}, {5: (3, 6), 20: (10, 30), 80: (30, 50)}
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
        days = self.days(sample, rng)
        more += [(date, clerk, said, what) for date, (what, said) in zip(days, mine, strict=True)]
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

    def days(self, sample: Sample, rng: Random) -> list[int]:
        """Return when the clerk's other messages came."""
        return dates(rng, sample.latent["own"])

    def numbers(self, stratum: Stratum, row_streams: Streams) -> dict[str, int]:
        """Draw how many near misses there are."""
        rng = row_streams.of("numbers")
        return {"own": rng.randint(*OWN[stratum.complexity]), "others": rng.randint(*OTHERS[stratum.complexity])}


class Count(OfOneClerk):
    """How many messages of a kind a clerk received."""

    subtask = "count"
    version = 3
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
    version = 3
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

    def days(self, sample: Sample, rng: Random) -> list[int]:
        """Return when the clerk's other messages came: a third of them up to the answer's month, or more.

        They are as many as make the clerk's messages up to that month and behind it equally frequent, if that is more.
        """
        latent, count = sample.latent, sample.stratum.complexity
        own, passed = latent["own"], latent["month"] + 1
        wanted = round((own + count + latent["later"]) * passed / MONTHS) - count
        early = own if passed == MONTHS else min(max(wanted, -(-own // 3)), own)
        return [*dates(rng, early, 0, passed * text.DAYS), *dates(rng, own - early, passed * text.DAYS, YEAR)]

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kind, and the month that is the answer."""
        return {**OfOneClerk.dealt(self, sample), "month": (sample.latent["month"], MONTHS)}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess among the months."""
        return {"uniform": 1 / MONTHS}


class Users(TallyTask):
    """Clerks who received a message of each of two kinds; `complexity` is how many there are.

    As many clerks received a message of the first kind and one that only mentions the second, as many the reverse, and
    as many two that only mention what is asked. All of them are clerks of the pool, with other messages as well.
    """

    subtask = "users"
    version = 3
    title = "the clerks who received messages of two kinds"
    scorer = "members"
    max_new_tokens = 128
    complexities = (2, 4, 8)
    fits = MappingProxyType({8: 8192})

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a kind, and draw another and the clerks."""
        kind = self.drawn(stratum, index, stratum_streams, "kind", len(INTENTS))
        intent, rng = INTENTS[kind], row_streams.of("clerks")
        other = INTENTS[rng.choice(self.partners(kind, stratum.complexity))]
        some = rng.sample(clerks(row_streams)[0], 4 * stratum.complexity)
        both = some[: stratum.complexity]
        latent = {"kind": kind, "other": INTENTS.index(other), "clerks": some}
        latent["effective_complexity"] = 2 * stratum.complexity
        relevant = [*_once(row_streams, "first", intent, both), *_once(row_streams, "second", other, both)]
        return self.made(stratum, index, latent, relevant, text.pairing(intent, other), ", ".join(sorted(both)))

    def partners(self, kind: int, complexity: int) -> Sequence[int]:
        """Return the kinds that share the act or the thing, of which a question of a complexity may ask beside a kind.

        Each pair belongs to one complexity and has one order, so that no two rows of a length put the same question.
        """
        turn, one = self.complexities.index(complexity), INTENTS[kind]
        return [
            number
            for number, other in enumerate(INTENTS)
            if (one.act == other.act) != (one.thing == other.thing)
            and (kind + number) % len(self.complexities) == turn
            and 0 < (number - kind) % len(INTENTS) < len(INTENTS) // 2
        ]

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put clerks beside them who received one of the messages, or none, and instead near misses that mention it."""
        latent, count = sample.latent, sample.stratum.complexity
        kinds_asked = INTENTS[latent["kind"]], INTENTS[latent["other"]]
        one, two, none = (latent["clerks"][at * count : (at + 1) * count] for at in (1, 2, 3))
        more = [*_once(row_streams, "one", kinds_asked[0], one), *_once(row_streams, "two", kinds_asked[1], two)]
        rng = row_streams.of("misses")
        for intent, without, whose in (
            (kinds_asked[1], kinds_asked[0], [*one, *none]),
            (kinds_asked[0], kinds_asked[1], [*two, *none]),
        ):
            for date, clerk in zip(dates(rng, len(whose)), whose, strict=True):
                other, said = mentioning(intent, rng, without)
                more.append((date, clerk, said, other))
        return self.around(sample, more, kinds_asked, row_streams, stratum_streams)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the first kind that is asked about."""
        return {"kind": (sample.latent["kind"], len(INTENTS))}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of clerks drawn at random, and of all who received a message of either kind, or mention."""
        return {"uniform": sample.stratum.complexity / CLERKS, "either": 2 / (1 + 3), "mentioned": 2 / (1 + 4)}


def _once(row_streams: Streams, purpose: str, intent: Intent, clerks: Sequence[str]) -> list[Line]:
    """Write a message of an intent to each of some clerks."""
    rng = row_streams.of("told", purpose)
    said = zip(dates(rng, len(clerks)), clerks, messages_of(intent, rng, len(clerks)), strict=True)
    return [(date, clerk, message, intent) for date, clerk, message in said]


ACTS = domain("request").acts
THINGS = domain("request").objects
LOTS = {"denied": 3, "alone": 5}
"""How many acts are denied often, and how many stand alone often: asked for in messages that deny nothing."""
DENIED, ALONE = (2.7, 16.1), (2.0, 3.4)
"""How often acts are denied, and stand alone, that do so seldom or often, in the measure of the weights below."""
LINE_TOKENS = 48
"""Tokens of a line at the least, as a mean over a prompt."""
LINES = 50
"""Lines of the dealt list in which the leader is safely ahead of its rival, give or take one of each."""
DRAWN_TWICE = 0.5
"""How many lines stand at the nearer to one end of two places: not so many that what is denied seems rare there."""
ROUNDS_OF_SHARES = 24
"""How often shares are scaled to their sums."""
NO_BURSTS = Bursts(0, 0.0, 0.0, 1)


class Shares(TallyTask):
    """A dealt list of which one side leads another: the acts of either are counted together.

    Who does not see which act a message denies can count two things of each act: the messages that mention it, and
    those that mention no other act. How often an act is denied, and how often it stands alone, is drawn by lot,
    whatever it is asked for, and differs by more than what acts are asked for does. So neither count tells the leader.
    """

    scorer = "exact"
    shortest = 4096
    side: int
    """How many acts a side has; those of the leader are the first in the ranks, then come those of its rival."""
    turns: int
    """In how many ways a lot may fall for the sides."""
    spared: Sequence[int]
    """How many lines of each rank may close gaps: so few that the leader leads with any of them."""

    def weights(self, sample: Sample) -> Sequence[int]:
        """Return how often acts are asked for, in the order of the sample's ranks."""
        raise NotImplementedError

    def lot(self, ranks: Sequence[str], turn: int, count: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return which acts of the sides are among so many that are drawn, and those of which the others are drawn."""
        raise NotImplementedError

    def made_of(
        self,
        stratum: Stratum,
        index: int,
        streams: tuple[Streams, Streams],
        ranks: Sequence[str],
        latent: Mapping[str, Any],
        options: Sequence[Sequence[str]],
    ) -> Sample:
        """Draw what is denied often and where lines stand, and two lines to be marked: of the leader and its rival."""
        row_streams, stratum_streams = streams
        rng, size = row_streams.of("relevant"), self.side
        sides, rest = (ranks[:size], ranks[size : 2 * size]), ranks[2 * size :]
        end, lots = self.drawn(stratum, index, stratum_streams, "end", 2), row_streams.of("lots")
        early = [*sides[end], *lots.sample(rest, len(rest) // 2)]
        told: dict[str, Any] = {"ranks": list(ranks), "end": end, "early": early, **latent}
        for name, count in LOTS.items():
            turn = self.drawn(stratum, index, stratum_streams, name, self.turns)
            own, others = self.lot(ranks, turn, count)
            told[name] = {"turn": turn, "acts": [*own, *lots.sample(others, count - len(own))]}
        clerk = rng.choice(clerks(row_streams)[0])
        some = [Intent(rng.choice(side), rng.choice(THINGS)) for side in sides]
        said = [messages_of(one, rng, 1)[0] for one in some]
        relevant = [(date, clerk, message, one) for date, message, one in zip(dates(rng, 2), said, some, strict=True)]
        forms = text.sides(next(option for option in options if {*option} == {*sides[0]}))
        question = text.weighing(self.subtask, options)
        found = self.made(stratum, index, told, relevant, question, forms[0])
        return replace(found, key=Key.accepting(*forms))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Mark a line of the leader and one of its rival; the rest is dealt."""
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
        """Return the dealt lines: in every prefix acts are asked for, stand alone and are denied by their shares."""
        stratum, latent = sample.stratum, sample.latent
        ranks, asked = [ACTS.index(act) for act in latent["ranks"]], np.array(self.weights(sample), dtype=np.float64)
        denied, alone = (
            np.array([some[act in latent[name]["acts"]] for act in latent["ranks"]])
            for name, some in (("denied", DENIED), ("alone", ALONE))
        )
        denied *= (asked - alone).sum() / denied.sum()
        shares = np.empty((3, len(ACTS)))
        shares[:, ranks] = np.array([asked, alone, denied]) / asked.sum()
        queues, left = _queues(row_streams, stratum.tier, *shares)
        dealt = arrivals(row_streams.of("filler"), self.weights(sample), len(acts(stratum.tier)), NO_BURSTS)
        spares = np.concatenate([left[act][:count] for act, count in zip(ranks, self.spared, strict=True)])
        order = Given(_order(dealt, [queues[act] for act in ranks]))
        return Filler(spec_of(stratum).name, order, spares, "ranked", self._places(sample, row_streams), least=LINES)

    def _places(self, sample: Sample, row_streams: Streams) -> Indices:
        """Return where lines stand: those of half of the acts nearer to the start, the others nearer to the end."""
        of_act = acts(sample.stratum.tier)
        one, two, lot = words(row_streams.of("places"), 3 * len(of_act)).astype(np.int64).reshape(3, -1)
        early = np.array([act in sample.latent["early"] for act in ACTS])[of_act]
        drawn_twice = np.where(early, np.minimum(one, two), np.maximum(one, two))
        return np.where(lot < share(DRAWN_TWICE), drawn_twice, one)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return how the lots fell, and the end at which the answer is frequent."""
        lots = {name: (sample.latent[name]["turn"], self.turns) for name in LOTS}
        return {**lots, "end": (sample.latent["end"], 2)}


class Most(Shares):
    """The act that most messages ask for; `complexity` is how many acts there are."""

    subtask = "most"
    version = 3
    title = "what most of all messages ask for"
    complexities = (10,)
    side, turns = 1, len(ACTS)
    spared = (0, 0, 2, 2, 2, 2, 3, 4, 4, 4)
    WEIGHTS = (16, 11, 10, 10, 9, 9, 8, 7, 7, 7)

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal the act that leads."""
        answer = ACTS[self.drawn(stratum, index, stratum_streams, "act", len(ACTS))]
        others = row_streams.of("ranks").sample([act for act in ACTS if act != answer], len(ACTS) - 1)
        options = [(act,) for act in row_streams.of("options").sample(ACTS, len(ACTS))]
        return self.made_of(stratum, index, (row_streams, stratum_streams), [answer, *others], {}, options)

    def weights(self, sample: Sample) -> Sequence[int]:
        """Return the same weights for all rows."""
        return self.WEIGHTS

    def lot(self, ranks: Sequence[str], turn: int, count: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return the leader as often as any other act is drawn."""
        return ranks[: int(turn < count)], ranks[1:]

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the act that is the answer, too."""
        return {"act": (sample.key.target, len(ACTS)), **Shares.dealt(self, sample)}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, and the scores of who counts what is mentioned, and what is mentioned alone."""
        often, alone = (sample.latent[name]["turn"] < count for name, count in LOTS.items())
        return {"uniform": 1 / len(ACTS), "mentioned": float(often), "alone": alone / LOTS["alone"]}


SHORTEST, TURNS = 12, 7
"""Binary logarithm of the shortest length; by how many questions of each act lengths are apart in the lists below."""


class Compare(Shares):
    """Which of two pairs of acts more messages ask for; no two rows of a length put the same question.

    The pair that leads has the act of the four that is asked for most often and the one that is seldom asked for, or
    neither, in turn. Both acts of one pair are denied often, and both of one stand alone often.
    """

    subtask = "compare"
    version = 3
    title = "which of two pairs of things more of all messages ask for"
    complexities = (2,)
    side, turns = 2, 2
    spared = (0, 0, 0, 0, 4, 4, 4, 4, 4, 4)
    WEIGHTS = ((19, 7, 9, 9, 10, 9, 9, 8, 7, 7), (13, 13, 14, 4, 10, 9, 9, 8, 7, 7))

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal an act of the pair that leads, and take the other three from its list of questions."""
        block, rng = divmod(index, stratum.rows)[0], stratum_streams.of("question")
        place = block * stratum.rows + int(spread(rng, stratum.rows, index) * stratum.rows)
        lengths = stratum.length.bit_length() - 1 - SHORTEST
        turn, first = place // len(ACTS), (place + lengths * stratum.rows) % len(ACTS)
        skip = lengths * TURNS
        listed = _questions(row_streams.world(WORLD, stratum.tier))[first]
        four = listed[(skip + turn) % len(listed)]
        left = [act for act in ACTS if act not in four]
        drawn = row_streams.of("options")
        pairs = [tuple(drawn.sample(pair, 2)) for pair in (four[:2], four[2:])]
        options = drawn.sample(pairs, 2)
        ranks = [*four, *row_streams.of("ranks").sample(left, len(left))]
        latent = {"top": self.drawn(stratum, index, stratum_streams, "top", 2)}
        return self.made_of(stratum, index, (row_streams, stratum_streams), ranks, latent, options)

    def weights(self, sample: Sample) -> Sequence[int]:
        """Return the weights with the most frequent act in the pair that leads, or in the other one."""
        return self.WEIGHTS[sample.latent["top"]]

    def lot(self, ranks: Sequence[str], turn: int, count: int) -> tuple[Sequence[str], Sequence[str]]:
        """Return one pair or the other."""
        return ranks[turn * self.side :][: self.side], ranks[2 * self.side :]

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return an act of the answer, and in which pair the most frequent act is, too."""
        latent = sample.latent
        return {"act": (latent["ranks"][0], len(ACTS)), "top": (latent["top"], 2), **Shares.dealt(self, sample)}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess, and the scores of who counts what is mentioned, and what is mentioned alone."""
        often, alone = (float(sample.latent[name]["turn"] == 0) for name in LOTS)
        return {"uniform": 1 / 2, "mentioned": often, "alone": alone}


@lru_cache(maxsize=4)
def _questions(world: Streams) -> Sequence[Sequence[tuple[str, ...]]]:
    """Return all questions about two pairs of acts, each in the list of one of its acts, whose pair is to lead.

    A question is four acts, first those of the pair that is to lead. The lists are about equally long.
    """
    rng, found = world.of("questions"), [list[tuple[str, ...]]() for _ in ACTS]
    fours = [*combinations(range(len(ACTS)), 4)]
    every = [(four, partner) for four in fours for partner in four[1:]]
    for four, partner in rng.sample(every, len(every)):
        pair, other = (four[0], partner), tuple(act for act in four[1:] if act != partner)
        first = min(rng.sample(four, 4), key=lambda act: len(found[act]))
        one, two = (pair, other) if first in pair else (other, pair)
        named = (first, *(act for act in one if act != first), *rng.sample(two, 2))
        found[first].append(tuple(ACTS[act] for act in named))
    return found


def _order(dealt: Indices, queues: Sequence[Indices]) -> Indices:
    """Return the lines of the acts that are dealt by rank, up to where the lines of one run out."""
    places = [np.flatnonzero(dealt == rank) for rank in range(len(queues))]
    ends = [int(some[len(queue)]) for some, queue in zip(places, queues, strict=True) if len(some) > len(queue)]
    order = np.empty(min(ends, default=len(dealt)), dtype=np.int64)
    for some, queue in zip(places, queues, strict=True):
        fits = some[some < len(order)]
        order[fits] = queue[: len(fits)]
    return order


@lru_cache(maxsize=2)
def acts(tier: str) -> Indices:
    """Return the number of the act of each line of a pool."""
    return np.repeat([ACTS.index(intent.act) for intent in INTENTS], each(tier))


@lru_cache(maxsize=2)
def _denied(world: Streams, tier: str) -> Indices:
    """Return the number of the act that each line of a pool denies, or -1."""
    every = denials(world, tier, "request")
    return np.concatenate([every[intent] for intent in INTENTS])


def _queues(
    row_streams: Streams,
    tier: str,
    asked: NDArray[np.float64],
    alone: NDArray[np.float64],
    denied: NDArray[np.float64],
) -> tuple[list[Indices], list[Indices]]:
    """Return the lines of each act in an order of which every prefix denies other acts in proportion, and the rest.

    Of all lines `asked` are the shares that ask for each act, `alone` those that deny nothing beside, and `denied`
    those that deny the act. The order ends where the lines of an act that deny another one run out; the rest are lines
    behind it that deny something: what closes gaps stands alone no more often than it should.
    """
    of_act, said, count = acts(tier), _denied(row_streams.world(), tier), len(ACTS)
    sizes = np.bincount(of_act * (count + 1) + np.where(said < 0, count, said), minlength=count * (count + 1))
    enough = sizes.reshape(count, -1)[:, :count] * LINE_TOKENS / TIERS[tier]
    rates = np.column_stack([_joint(asked - alone, denied, enough), alone]) / asked[:, None]
    pairs = of_act * (count + 1) + np.where(said < 0, count, said)
    drawn = words(row_streams.of("queues"), len(pairs))
    order = np.argsort((pairs.astype(np.uint64) << np.uint64(32)) + drawn, kind="stable")
    nth = np.arange(len(pairs)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    flat = rates.ravel()[pairs[order]]
    times = (nth + (drawn[order] & np.uint64(0xFFFF)) / 65536) / flat
    with np.errstate(divide="ignore", invalid="ignore"):
        ends = np.where(rates > 0, sizes.reshape(rates.shape) / rates, np.inf).min(axis=1)
    found, left = [], []
    for act in range(count):
        mine = of_act[order] == act
        lines, when = order[mine], times[mine]
        lines = lines[np.argsort(when, kind="stable")]
        size = int((when < ends[act]).sum())
        found.append(lines[:size])
        left.append(lines[size:][said[lines[size:]] >= 0])
    return found, left


def _joint(rows: NDArray[np.float64], columns: NDArray[np.float64], most: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return shares with given sums of rows and, about, of columns, none above its most and none on the diagonal."""
    found = np.outer(rows, columns)
    np.fill_diagonal(found, 0.0)
    for _ in range(ROUNDS_OF_SHARES):
        found = np.minimum(found * (columns / found.sum(axis=0)), most)
        found *= (rows / found.sum(axis=1))[:, None]
    return found
