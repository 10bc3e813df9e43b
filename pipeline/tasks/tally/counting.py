"""count and when: how many messages of one kind a clerk received, and when the last of a number of them came."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random
from types import MappingProxyType

from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.base import Key, Layout, Sample
from pipeline.tasks.tally import pool, text
from pipeline.tasks.tally.base import Line, TallyTask
from pipeline.tasks.tally.written import YEAR, dates, misses, near_numbers, told
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
        return {"kind": (sample.latent["kind"], len(pool.INTENTS))}

    def asked(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> tuple[int, Intent, str]:
        """Deal a kind, and draw a clerk of whom no line of the pool is."""
        kind = self.drawn(stratum, index, shared, "kind", len(pool.INTENTS))
        return kind, pool.INTENTS[kind], own.of("clerk").choice(pool.clerks(own)[1])

    def layout(self, sample: Sample, own: Streams, shared: Streams) -> Layout:
        """Put near misses beside what is asked."""
        intent, clerk = pool.INTENTS[sample.latent["kind"]], sample.latent["clerk"]
        rng = own.of("misses")
        more = self.later(sample, rng)
        mine = misses(intent, rng, sample.latent["own"])
        more += [(date, clerk, said, what) for date, (what, said) in zip(dates(rng, len(mine)), mine, strict=True)]
        known, free = pool.clerks(own)
        others = sample.latent["others"]
        near = near_numbers(clerk, free, rng, 3)
        whose = [rng.choice(near) if rng.random() < 0.5 else rng.choice(known) for _ in range(others)]
        theirs = zip(dates(rng, others), whose, told(intent, rng, others), strict=True)
        more += [(date, one, said, intent) for date, one, said in theirs]
        return self.around(sample, more, (intent,), own, shared)

    def later(self, sample: Sample, rng: Random) -> list[Line]:
        """Return messages of the kind to the clerk that do not count."""
        return []

    def numbers(self, stratum: Stratum, own: Streams) -> dict[str, int]:
        """Draw how many near misses there are."""
        rng = own.of("numbers")
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

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Deal a number, and write so many messages."""
        kind, intent, clerk = self.asked(stratum, index, own, shared)
        counts = COUNTS[stratum.complexity]
        count = counts[self.drawn(stratum, index, shared, "count", len(counts))]
        rng = own.of("relevant")
        said = zip(dates(rng, count), told(intent, rng, count), strict=True)
        latent = {"kind": kind, "clerk": clerk, "effective_complexity": count, **self.numbers(stratum, own)}
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

    def sample(self, stratum: Stratum, index: int, own: Streams, shared: Streams) -> Sample:
        """Deal a month: the last of the messages comes in it, and all further ones in later months."""
        kind, intent, clerk = self.asked(stratum, index, own, shared)
        month, count = self.drawn(stratum, index, shared, "month", MONTHS), stratum.complexity
        rng = own.of("relevant")
        days = dates(rng, count - 1, 0, (month + 1) * text.DAYS) + dates(
            rng, 1, month * text.DAYS, (month + 1) * text.DAYS
        )
        later = 0 if month == MONTHS - 1 else own.of("later").randint(2, count)
        latent = {"kind": kind, "clerk": clerk, "month": month, "later": later, **self.numbers(stratum, own)}
        latent["effective_complexity"] = count
        relevant = [(date, clerk, said, intent) for date, said in zip(days, told(intent, rng, count), strict=True)]
        return self.made(stratum, index, latent, relevant, text.dating(clerk, intent, count), text.MONTHS[month])

    def later(self, sample: Sample, rng: Random) -> list[Line]:
        """Return the messages of later months."""
        latent, intent = sample.latent, pool.INTENTS[sample.latent["kind"]]
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
