"""tabulate.rewrite: the lines of one host, from a log of many, in another form by stated rules and exceptions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations, permutations
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from pipeline.recipe import Stratum
from pipeline.streams import Shuffled, Streams
from pipeline.tasks.base import Filler, Plain, PoolSpec, PublishedRow, Sample
from pipeline.tasks.lines import Dealer, Line
from pipeline.tasks.tabulate import solve, text
from pipeline.tasks.tabulate.base import STOPS_AT, Drawn, TabulateTask, overlap
from pipeline.worlds.hostlog import (
    LAG,
    WORLD,
    Event,
    HostLog,
    clock,
    event,
    hostlog,
    levels,
    quoting,
    source_digest,
    units,
)

TWINS = 3
"""Hosts whose names differ by a letter from the asked one."""
LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
LEAST_HOURS = 2
HOURS = ("two", "three", "four", "five", "six", "seven", "eight", "nine")
"""How many hours a clock may be slow, from LEAST_HOURS on."""


def make_lines(streams: Streams, spec: PoolSpec) -> Plain:
    """Write the log of a tier."""
    return Plain(hostlog(streams, spec.tier).texts())


class Rules(NamedTuple):
    """The rules of a row.

    Attributes:
        kinds: by column, the name of the rule in `text.RULES`.
        hours: how many hours a time is moved, if it is.
        codes: the code of each level.
        excepted: the columns with an exception, in the order in which these are stated, and the units excepted.
        left_out: what stands for a number that is excepted; None for the number itself.
    """

    kinds: Mapping[str, str]
    hours: int
    codes: Mapping[str, str]
    excepted: Mapping[str, Sequence[str]]
    left_out: str | None

    def row(self, event: Event, columns: Sequence[str], *, strict: bool = True) -> str:
        """Return a line in the new form; a reader that is not `strict` forgets the exceptions."""
        spared = [column for column, units in self.excepted.items() if strict and event.unit in units]
        moved = clock((event.time + 3600 * self.hours) % (24 * 3600))
        cells = {
            "time": moved if self.kinds["time"] == "moved" else clock(event.time)[:5].replace(":", ""),
            "unit": event.unit,
            "level": self.codes[event.level],
            "number": str(2 * (event.number or 0)) if self.kinds["number"] == "doubled" else f"{event.number:04}",
        }
        kept = {
            "time": clock(event.time),
            "level": event.level,
            "number": str(event.number) if self.left_out is None else self.left_out,
        }
        return "\t".join(kept[column] if column in spared else cells[column] for column in columns)


class Worded(NamedTuple):
    """The wording of a row: what precedes the log, what follows it with ``{question}``, the question, and the head."""

    introduction: str
    tail: str
    question: str
    head: Sequence[str]


class Rewrite(TabulateTask):
    """The lines of one host, among as many of hosts with similar names, and as many that quote it."""

    __slots__ = ()

    subtask = "rewrite"
    version = 4
    title = "one host's lines of a log, rewritten by three rules with two exceptions"
    opening = text.LOG
    left_out: str | None = "none"
    """What stands for a number that is left out; None if it is never left out."""
    golden_shapes = MappingProxyType({64: (8192, 1.0), 256: (20480, 0.0)})

    def pools(self, stratum: Stratum) -> tuple[PoolSpec, ...]:
        return (PoolSpec(f"hostlog-{stratum.tier}", 2, stratum.tier, f"{WORLD}:{source_digest()}", make_lines),)

    def filler(self, sample: Sample, row_streams: Streams) -> Filler:
        """Return lines of other hosts, in order of time."""
        size = hostlog(row_streams, sample.stratum.tier).size
        order = Shuffled(row_streams.of("filler"), size)
        return Filler(self.pools(sample.stratum)[0].name, order, policy="ranked", ranks=np.arange(size))

    def drawn(self, dealer: Dealer, wanted: Sequence[float]) -> Drawn:
        """Deal the rules and the columns, and draw the lines of the host, and both sorts of decoys."""
        world, rng = hostlog(dealer.row_streams, dealer.stratum.tier), dealer.rng("events")
        rules = drawn_rules(dealer, self.left_out)
        columns = dealer.deal("columns", [*permutations(text.COLUMNS)])
        host, *twins = world.named_alike(dealer.rng("hosts"), TWINS)
        decoys = round(len(wanted) * float(self.knob(dealer.stratum, "decoys")))
        places = _places(world, [*wanted, *(rng.random() for _ in range(2 * decoys))])
        events = [event(rng, _time(world, at), host) for at in sorted(places[: len(wanted)])]
        lines = [
            Line(f"{one.text}\n", "relevant", at / world.size, at=at)
            for one, at in zip(events, sorted(places[: len(wanted)]), strict=True)
        ]
        for number, at in enumerate(places[len(wanted) :]):
            time = _time(world, at)
            if number < decoys:
                decoy = event(rng, time, rng.choice(twins))
            else:
                decoy = quoting(rng, time, rng.choice(world.hosts), event(rng, max(0, time - rng.randint(*LAG)), host))
            lines.append(Line(f"{decoy.text}\n", "decoy", at / world.size, at=at))
        lines.sort(key=lambda line: line.at or 0)
        table = [rules.row(one, columns) for one in events]
        careless = [rules.row(one, columns, strict=False) for one in events]
        shown = {
            "host": host,
            "dealt": {thing: list(dealt) for thing, dealt in dealer.dealt.items()},
            "guesses": guesses(table, careless, decoys),
        }
        worded = self.worded(rules, columns, host)
        head = "\t".join(worded.head)
        return Drawn(worded.introduction, worded.tail, worded.question, (head, *table), lines, shown)

    def worded(self, rules: Rules, columns: Sequence[str], host: str) -> Worded:
        """Return the wording of a row."""
        sentences = dict(zip(("time", "level", "number", "first", "second"), stated(rules), strict=True))
        named = f"{', '.join(columns[:-1])} and {columns[-1]}"
        return Worded(
            text.LOG_INTRODUCTION.format(**sentences),
            text.LOG_TAIL.replace("{columns}", named),
            text.REWRITTEN.format(host=host),
            columns,
        )

    def answers(self, text: str) -> tuple[str, ...]:
        return (solve.table_of_log(text),)

    def faults(self, row: PublishedRow) -> Iterable[str]:
        return solve.log_faults(row, solve.asked_of_log(row.text), float(self.knob(row.stratum, "decoys")), TWINS)


def drawn_rules(dealer: Dealer, left_out: str | None) -> Rules:
    """Deal a rule for each column but the unit, and the two columns that have exceptions."""
    rng = dealer.rng("rules")
    kinds = {
        column: dealer.deal(column, names)
        for column, names in (
            ("time", ("short", "moved")),
            ("level", ("coded", "ranked")),
            ("number", ("doubled", "padded")),
        )
    }
    hours = rng.choice(range(LEAST_HOURS, LEAST_HOURS + len(HOURS)))
    marks = rng.sample(LETTERS if kinds["level"] == "coded" else "1234", len(levels()))
    drawn = rng.sample(units(), 6)
    spared = dict(zip(("time", "level", "number"), (drawn[:2], drawn[2:4], drawn[4:]), strict=True))
    chosen = dealer.deal("exceptions", [*combinations(spared, 2)])
    codes = dict(zip(levels(), marks, strict=True))
    return Rules(kinds, hours, codes, {column: spared[column] for column in chosen}, left_out)


def stated(rules: Rules) -> list[str]:
    """Return the English sentences that state three rules and two exceptions."""
    *codes, last = [f"{code} for {name}" for name, code in rules.codes.items()]
    slots = {"hours": HOURS[rules.hours - LEAST_HOURS], "codes": f"{', '.join(codes)}, and {last}"}
    return [
        *(text.RULES[kind].format(**slots) for kind in rules.kinds.values()),
        *(text.RULES[column].format(units=" and ".join(units)) for column, units in rules.excepted.items()),
    ]


def _places(world: HostLog, depths: Sequence[float]) -> list[int]:
    """Return the lines of the log where a row's lines go, by their depths: no two in the same place."""
    places = dict[int, None]()
    for depth in depths:
        place = int(depth * world.size)
        while place in places:
            place = (place + 1) % world.size
        places[place] = None
    return [*places]


def _time(world: HostLog, place: int) -> int:
    return int(world.times[place])


def guesses(table: Sequence[str], careless: Sequence[str], decoys: int) -> dict[str, float]:
    """Return the scores of readers that forget exceptions, take lines of similar hosts or quoted lines, or stop."""
    count = len(table)
    kept = sum(one == other for one, other in zip(table, careless, strict=True))
    scores = {"uniform": 0.0, "no_exceptions": overlap(kept, count, count)}
    if decoys:
        scores |= dict.fromkeys(("like_hosts_too", "quoted_too"), overlap(count, count, count + decoys))
    return scores | ({"first_64": overlap(STOPS_AT, count, STOPS_AT)} if count > STOPS_AT else {})
