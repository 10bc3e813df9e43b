"""Tasks of tally that ask about clerks: how many messages of a kind one received, when, and who received two kinds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from types import MappingProxyType

from pipeline.recipe import Stratum
from pipeline.streams import Streams, deal
from pipeline.tasks.base import (
    Key,
    Layout,
    Sample,
)
from pipeline.tasks.tally import text
from pipeline.tasks.tally.base import (
    CLERKS,
    INTENTS,
    YEAR,
    Line,
    TallyTask,
    clerks,
    dates,
    mentioning,
    messages_of,
    near_misses,
    near_numbers,
)
from pipeline.worlds.people import MONTHS
from pipeline.worlds.utterances import Intent

COUNTS = {5: range(2, 9), 20: range(14, 27), 80: range(60, 101)}
"""How many messages are counted, by complexity: one of these numbers is dealt."""
OWN, OTHERS = {5: (4, 8), 20: (12, 30), 80: (48, 70)}, {5: (3, 6), 20: (10, 30), 80: (30, 50)}
"""How many other messages the clerk received, and how many of the kind other clerks did: the least and the most."""


class OfOneClerk(TallyTask):
    """One clerk and one kind of message; `complexity` is about how many messages are relevant."""

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kind of message that is asked about."""
        return {"kind": (sample.latent["kind"], len(INTENTS))}

    def kind_and_clerk(
        self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> tuple[int, Intent, str]:
        """Deal a kind, and draw a clerk who has no line in the pool."""
        kind = deal(stratum_streams.of("kind"), stratum.rows, index, len(INTENTS))
        return kind, INTENTS[kind], row_streams.of("clerk").choice(clerks(row_streams)[1])

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Add decoys to what is asked."""
        intent, clerk = INTENTS[sample.latent["kind"]], sample.latent["clerk"]
        rng = row_streams.of("misses")
        more = self.later(sample, rng)
        mine = near_misses(intent, rng, sample.latent["own"])
        days = self.days(sample, rng)
        more += [(date, clerk, message, what) for date, (what, message) in zip(days, mine, strict=True)]
        known, free = clerks(row_streams)
        others = sample.latent["others"]
        similar = near_numbers(clerk, free, rng, 3)
        whose = [rng.choice(similar) if rng.random() < 0.5 else rng.choice(known) for _ in range(others)]
        theirs = zip(dates(rng, others), whose, messages_of(intent, rng, others), strict=True)
        more += [(date, receiver, message, intent) for date, receiver, message in theirs]
        return self.around(sample, more, (intent,), row_streams, stratum_streams)

    def later(self, sample: Sample, rng: Random) -> list[Line]:
        """Return messages of the kind to the clerk that do not count."""
        return []

    def days(self, sample: Sample, rng: Random) -> list[int]:
        """Return the days of the clerk's other messages."""
        return dates(rng, sample.latent["own"])

    def numbers(self, stratum: Stratum, row_streams: Streams) -> dict[str, int]:
        """Draw how many decoys there are."""
        rng = row_streams.of("numbers")
        return {"own": rng.randint(*OWN[stratum.complexity]), "others": rng.randint(*OTHERS[stratum.complexity])}


class Count(OfOneClerk):
    """How many messages of a kind a clerk received."""

    subtask = "count"
    version = 7
    title = "how many messages of one kind one clerk received"
    scorer = "count"
    complexities = (5, 20, 80)
    shortest = 16_384
    fits = MappingProxyType({5: 4096, 20: 8192})

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a number, and write as many messages."""
        kind, intent, clerk = self.kind_and_clerk(stratum, index, row_streams, stratum_streams)
        counts = COUNTS[stratum.complexity]
        count = counts[deal(stratum_streams.of("count"), stratum.rows, index, len(counts))]
        rng = row_streams.of("relevant")
        messages = zip(dates(rng, count), messages_of(intent, rng, count), strict=True)
        latent = {"kind": kind, "clerk": clerk, "effective_complexity": count, **self.numbers(stratum, row_streams)}
        relevant = [(date, clerk, message, intent) for date, message in messages]
        return self.sample_of(stratum, index, latent, relevant, text.counting(clerk, intent), str(count))

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kind, and the number that is the answer."""
        complexity = sample.stratum.complexity
        number = {f"number at {complexity}": (int(sample.key.target), len(COUNTS[complexity]))}
        return {**OfOneClerk.dealt(self, sample), **number}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess among the numbers that are dealt, and the scores of counting without reading."""
        count, latent = int(key.target), sample.latent
        return {
            "uniform": 1 / len(COUNTS[sample.stratum.complexity]),
            "all_of_clerk": float(latent["own"] == 0),
            "all_of_kind": float(latent["others"] == 0 and count > 0),
        }


class When(OfOneClerk):
    """The month of the last of a number of messages; `complexity` is the number."""

    subtask = "when"
    version = 7
    title = "the month in which a clerk received the nth message of one kind"
    scorer = "exact"
    complexities = (5, 20)
    fits = MappingProxyType({5: 4096})

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a month: the last of the messages comes in it, and all further ones come later."""
        kind, intent, clerk = self.kind_and_clerk(stratum, index, row_streams, stratum_streams)
        month, count = deal(stratum_streams.of("month"), stratum.rows, index, len(MONTHS)), stratum.complexity
        rng = row_streams.of("relevant")
        days = dates(rng, count - 1, 0, (month + 1) * text.DAYS) + dates(
            rng, 1, month * text.DAYS, (month + 1) * text.DAYS
        )
        later = 0 if month == len(MONTHS) - 1 else row_streams.of("later").randint(2, count)
        latent = {"kind": kind, "clerk": clerk, "month": month, "later": later, **self.numbers(stratum, row_streams)}
        latent["effective_complexity"] = count
        relevant = [
            (date, clerk, message, intent) for date, message in zip(days, messages_of(intent, rng, count), strict=True)
        ]
        return self.sample_of(stratum, index, latent, relevant, text.dating(clerk, intent, count), MONTHS[month])

    def later(self, sample: Sample, rng: Random) -> list[Line]:
        """Return the messages of later months."""
        latent, intent = sample.latent, INTENTS[sample.latent["kind"]]
        days = dates(rng, latent["later"], (latent["month"] + 1) * text.DAYS, YEAR) if latent["later"] else []
        return [
            (day, latent["clerk"], message, intent)
            for day, message in zip(days, messages_of(intent, rng, len(days)), strict=True)
        ]

    def days(self, sample: Sample, rng: Random) -> list[int]:
        """Return the days of the clerk's other messages, at least a third of them up to the answer's month.

        More of them are, if it takes more for the clerk's messages to be as frequent up to that month as after it.
        """
        latent, count = sample.latent, sample.stratum.complexity
        misses, passed = latent["own"], latent["month"] + 1
        wanted = round((misses + count + latent["later"]) * passed / len(MONTHS)) - count
        early = misses if passed == len(MONTHS) else min(max(wanted, -(-misses // 3)), misses)
        return [*dates(rng, early, 0, passed * text.DAYS), *dates(rng, misses - early, passed * text.DAYS, YEAR)]

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the kind, and the month that is the answer."""
        return {**OfOneClerk.dealt(self, sample), "month": (sample.latent["month"], len(MONTHS))}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the chance of a guess among the months."""
        return {"uniform": 1 / len(MONTHS)}


class Users(TallyTask):
    """Clerks who received a message of each of two kinds; `complexity` is how many there are.

    As many clerks received a message of the first kind and one that only mentions the second, as many the reverse, and
    as many two that only mention what is asked. All of them are clerks of the pool, with other messages too.
    """

    subtask = "users"
    version = 7
    title = "the clerks who received messages of two given kinds"
    scorer = "members"
    max_new_tokens = 128
    complexities = (2, 4, 8)
    fits = MappingProxyType({2: 4096, 4: 4096})

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Deal a kind, and draw another and the clerks."""
        kind = deal(stratum_streams.of("kind"), stratum.rows, index, len(INTENTS))
        intent, rng = INTENTS[kind], row_streams.of("clerks")
        other = INTENTS[rng.choice(self.partners(kind, stratum.complexity))]
        chosen = rng.sample(clerks(row_streams)[0], 4 * stratum.complexity)
        both = chosen[: stratum.complexity]
        latent = {"kind": kind, "other": INTENTS.index(other), "clerks": chosen}
        latent["effective_complexity"] = 2 * stratum.complexity
        relevant = [*_once(row_streams, "first", intent, both), *_once(row_streams, "second", other, both)]
        return self.sample_of(stratum, index, latent, relevant, text.pairing(intent, other), ", ".join(sorted(both)))

    def partners(self, kind: int, complexity: int) -> Sequence[int]:
        """Return the kinds that share the act or the thing with a kind, and may be asked for with it at a complexity.

        Each pair belongs to one complexity and has one order, so that no two rows of a length ask the same question.
        """
        at, intent = self.complexities.index(complexity), INTENTS[kind]
        return [
            number
            for number, other in enumerate(INTENTS)
            if (intent.act == other.act) != (intent.thing == other.thing)
            and (kind + number) % len(self.complexities) == at
            and 0 < (number - kind) % len(INTENTS) < len(INTENTS) // 2
        ]

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Add clerks who received one of the messages or none, and decoys that mention what they lack."""
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
                other, message = mentioning(intent, rng, without)
                more.append((date, clerk, message, other))
        return self.around(sample, more, kinds_asked, row_streams, stratum_streams)

    def dealt(self, sample: Sample) -> Mapping[str, tuple[object, int]]:
        """Return the first kind that is asked about."""
        return {"kind": (sample.latent["kind"], len(INTENTS))}

    def baselines(self, sample: Sample, key: Key) -> dict[str, float]:
        """Return the scores of random clerks, and of all who received a message of either kind, or a mention."""
        return {"uniform": sample.stratum.complexity / CLERKS, "either": 2 / (1 + 3), "mentioned": 2 / (1 + 4)}


def _once(row_streams: Streams, purpose: str, intent: Intent, clerks: Sequence[str]) -> list[Line]:
    """Write a message of an intent to each of some clerks."""
    rng = row_streams.of("told", purpose)
    messages = zip(dates(rng, len(clerks)), clerks, messages_of(intent, rng, len(clerks)), strict=True)
    return [(date, clerk, message, intent) for date, clerk, message in messages]
