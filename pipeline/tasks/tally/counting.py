"""count and when: how many messages of one kind a clerk received, and when the last of a number of them came."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, Sample
from pipeline.tasks.tally import base, text
from pipeline.tasks.tally.base import YEAR, Line, TallyTask, dates, misses, near_numbers, told
from pipeline.worlds.utterances import Intent

COUNTS = {5: range(2, 9), 20: range(14, 27), 80: range(60, 101)}
"""How many messages are counted that are dealt, by complexity."""
OWN, OTHERS = {5: (6, 10), 20: (12, 30), 80: (48, 100)}, {5: (3, 8), 20: (10, 30), 80: (40, 100)}
"""How many other messages the clerk received, and how many of the kind other clerks did: from and to."""
MONTHS = len(text.MONTHS)


class OfOneClerk(TallyTask):
    """One clerk, and one kind of message; `complexity` is about how many of them are relevant."""

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kind of message that is asked about."""
        return {"kind": (sample.latent["kind"], len(base.INTENTS))}

    def asked(
        self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> tuple[int, Intent, str]:
        """Deal a kind, and draw a clerk of whom no line of the pool is."""
        kind = self.drawn(stratum, index, stratum_streams, "kind", len(base.INTENTS))
        return kind, base.INTENTS[kind], row_streams.of("clerk").choice(base.clerks(row_streams)[1])

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put near misses beside what is asked."""
        intent, clerk = base.INTENTS[sample.latent["kind"]], sample.latent["clerk"]
        rng = row_streams.of("misses")
        more = self.later(sample, rng)
        mine = misses(intent, rng, sample.latent["own"])
        more += [(date, clerk, said, what) for date, (what, said) in zip(dates(rng, len(mine)), mine, strict=True)]
        known, free = base.clerks(row_streams)
        others = sample.latent["others"]
        near = near_numbers(clerk, free, rng, 3)
        whose = [rng.choice(near) if rng.random() < 0.5 else rng.choice(known) for _ in range(others)]
        theirs = zip(dates(rng, others), whose, told(intent, rng, others), strict=True)
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
        said = zip(dates(rng, count), told(intent, rng, count), strict=True)
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
        relevant = [(date, clerk, said, intent) for date, said in zip(days, told(intent, rng, count), strict=True)]
        return self.made(stratum, index, latent, relevant, text.dating(clerk, intent, count), text.MONTHS[month])

    def later(self, sample: Sample, rng: Random) -> list[Line]:
        """Return the messages of later months."""
        latent, intent = sample.latent, base.INTENTS[sample.latent["kind"]]
        days = dates(rng, latent["later"], (latent["month"] + 1) * text.DAYS, YEAR) if latent["later"] else []
        return [
            (day, latent["clerk"], said, intent) for day, said in zip(days, told(intent, rng, len(days)), strict=True)
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
        kind = self.drawn(stratum, index, stratum_streams, "kind", len(base.INTENTS))
        intent, rng = base.INTENTS[kind], row_streams.of("clerks")
        near = [one for one in base.INTENTS if (one.act == intent.act) != (one.thing == intent.thing)]
        other = rng.choice(near)
        clerks = rng.sample(base.clerks(row_streams)[0], 4 * stratum.complexity)
        both = clerks[: stratum.complexity]
        latent = {"kind": kind, "other": base.INTENTS.index(other), "clerks": clerks}
        latent["effective_complexity"] = 2 * stratum.complexity
        relevant = [*_once(row_streams, "first", intent, both), *_once(row_streams, "second", other, both)]
        return self.made(stratum, index, latent, relevant, text.pairing(intent, other), ", ".join(sorted(both)))

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Put clerks beside them who received two messages of one kind, or a near miss of the second."""
        latent, count = sample.latent, sample.stratum.complexity
        intent, other = base.INTENTS[latent["kind"]], base.INTENTS[latent["other"]]
        one, two, three = (latent["clerks"][at * count : (at + 1) * count] for at in (1, 2, 3))
        more = [*_once(row_streams, "one", intent, [*one, *one]), *_once(row_streams, "two", other, [*two, *two])]
        more += _once(row_streams, "three", intent, three)
        rng = row_streams.of("misses")
        missed = [each for each in misses(other, rng, 2 * count) if each[0] != intent][:count]
        more += [
            (date, who, said, what) for date, who, (what, said) in zip(dates(rng, count), three, missed, strict=False)
        ]
        return self.around(sample, more, (intent, other), row_streams, stratum_streams)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the first kind that is asked about."""
        return {"kind": (sample.latent["kind"], len(base.INTENTS))}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the score of clerks drawn at random, and of all who received a message of either kind."""
        count = sample.stratum.complexity
        return {"uniform": count / base.CLERKS, "either": 2 * count / (count + 4 * count)}


def _once(row_streams: Streams, purpose: str, intent: Intent, clerks: Sequence[str]) -> list[Line]:
    """Write a message of an intent to each of some clerks."""
    rng = row_streams.of("told", purpose)
    said = zip(dates(rng, len(clerks)), clerks, told(intent, rng, len(clerks)), strict=True)
    return [(date, clerk, message, intent) for date, clerk, message in said]
