"""The base of all tasks of `longqa`: a row's own entries among those of the world, in order of date."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from pipeline.caches import lru_cache
from pipeline.recipe import Stratum
from pipeline.streams import Streams
from pipeline.tasks.annals.haystack import PlannedEntry, dated, days_at, filler
from pipeline.tasks.base import Key, Layout, Piece, Placed, PoolSpec, Sample, Task, Unit, unit
from pipeline.tasks.longqa import text
from pipeline.worlds.chronicle import WORLD, Chronicle, chronicle, happenings, listed, source_digest, working
from pipeline.worlds.chronicle.entries import LAST_DAY, ON_ROLL

CACHED_ROWS = 1024
"""Rows whose entries are cached, as a shard is sampled, packed and proven in turn."""
ROLL, MOST_ON_ROLL = "roll", 5
"""The kind of entry that names people once more, and the most of them in one."""
MOST_DAYS_TOGETHER, REPEAT_DAYS = 15 * 365, 8 * 365
"""The most days between the entries of people who are named together, and before a person is named again."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a row asks, and all entries that are written for it.

    No entry of the world about the `props` may enter the prompt; `shown` is for the metadata.
    """

    question: str
    key: Key
    entries: Sequence[PlannedEntry]
    props: Sequence[str]
    shown: Mapping[str, Any]


def make_annals(streams: Streams, spec: PoolSpec) -> Iterable[Unit]:
    """Write every entry of a tier, in order of date."""
    for one in chronicle(streams, spec.tier).entries:
        yield unit(one.text, "filler", one.facts)


def spec(tier: str) -> PoolSpec:
    """Return the pool of entries of a tier."""
    return PoolSpec(f"chronicle-{tier}", 1, tier, f"{WORLD}:{source_digest()}", make_annals)


class LongQa(Task):
    """A question about the annals of a town. `complexity` is the number of entries that its answer needs.

    Questions are drawn as in the version in `drawn_as`, since which only words and a few days of the annals changed.
    """

    __slots__ = ()

    family = "longqa"
    scorer = "exact"
    reply = text.NAME
    rules = text.TITLES
    """What the introduction says besides, so that the question is clear."""

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (spec(stratum.tier),)

    @abstractmethod
    def drawn(
        self, world: Chronicle, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
    ) -> Drawn:
        """Draw what a row asks, and plan its entries."""

    def sample(self, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams) -> Sample:
        """Draw what is asked, and write the entries that its answer needs."""
        drawn, placed = plan_entry(self, stratum, index, row_streams, stratum_streams)
        pieces = [piece for item in placed for piece in item.unit.pieces]
        relevant = tuple(piece.text for piece in pieces if piece.role == "relevant")
        return Sample("", stratum, index, drawn.shown, relevant, drawn.question, drawn.key)

    def layout(self, sample: Sample, row_streams: Streams, stratum_streams: Streams) -> Layout:
        """Place the row's entries by date among those of the world."""
        world = chronicle(row_streams, sample.stratum.tier)
        drawn, placed = plan_entry(self, sample.stratum, sample.index, row_streams, stratum_streams)
        return Layout(
            head=(Piece(text.INTRODUCTION.format(rules=self.rules), "instruction"), Piece(text.START, "instruction")),
            placed=placed,
            filler=filler(world, spec(sample.stratum.tier).name, row_streams, drawn.props),
            tail=(Piece(text.TAIL.format(reply=self.reply, question=self.asking(sample)), "question"),),
        )

    def placed(self, world: Chronicle, row_streams: Streams, drawn: Drawn) -> list[Placed]:
        """Return a row's own entries, written and placed."""
        entries = written(world, row_streams, drawn)
        return [dated(world, one, line) for one, line in entries]

    def asking(self, sample: Sample) -> str:
        """Return the question as written in the prompt."""
        return sample.question

    def own_texts(self, sample: Sample) -> tuple[str, ...]:
        return () if self.paired else sample.relevant


@lru_cache(maxsize=CACHED_ROWS)
def plan_entry(
    task: LongQa, stratum: Stratum, index: int, row_streams: Streams, stratum_streams: Streams
) -> tuple[Drawn, tuple[Placed, ...]]:
    """Return what a row asks, and its own entries as placed; cached for the rows of a shard."""
    world = chronicle(row_streams, stratum.tier)
    drawn = task.drawn(world, stratum, index, row_streams, stratum_streams)
    return drawn, tuple(task.placed(world, row_streams, drawn))


def written(world: Chronicle, row_streams: Streams, drawn: Drawn) -> list[tuple[PlannedEntry, str]]:
    """Return a row's own entries, each with its text."""
    return [
        (one, world.write(row_streams.of("text", number), one.day, one.kind, one.about).text)
        for number, one in enumerate(drawn.entries)
    ]


def scattered(world: Chronicle, rng: Random, count: int) -> list[int]:
    """Draw different days anywhere in the annals, in order."""
    return days_at(world, sorted(rng.random() for _ in range(count)))


def quiet(rng: Random, count: int, but: Iterable[str] = ()) -> list[str]:
    """Draw kinds of happenings, which do not change the owner, all different if there are enough."""
    kinds = [kind for kind in happenings() if kind not in but]
    found: list[str] = []
    while len(found) < count:
        found += rng.sample(kinds, min(len(kinds), count - len(found)))
    return found


def rolls(world: Chronicle, rng: Random, days: Mapping[str, int]) -> list[PlannedEntry]:
    """Return entries that name each of some people once more, at or after their `days`."""
    groups = list[list[str]]()
    for name in sorted(days, key=lambda one: (days[one], one)):
        if groups and len(groups[-1]) < MOST_ON_ROLL and days[name] - days[groups[-1][0]] < MOST_DAYS_TOGETHER:
            groups[-1].append(name)
        else:
            groups.append([name])
    return [_later_roll(world, rng, some, days[some[-1]]) for some in groups]


def _later_roll(world: Chronicle, rng: Random, some: Sequence[str], first: int) -> PlannedEntry:
    """Return an entry that names some people, in the years from day `first` on."""
    return PlannedEntry(*roll(world, rng, some, rng.randrange(first, min(first + REPEAT_DAYS, LAST_DAY) + 1)), "anchor")


def roll(world: Chronicle, rng: Random, some: Sequence[str], day: int) -> tuple[int, str, Mapping[str, str]]:
    """Return the day, kind and slots of an entry that names some people, with others of the time."""
    more = [one for one in rng.sample(world.living(day), max(ON_ROLL) + len(some)) if one not in some]
    every = [*some, *more[: max(0, rng.choice(ON_ROLL) - len(some))]]
    return working(day), ROLL, {"names": listed(rng.sample(every, len(every)))}
