"""The world `hostlog`: the log of one day that many hosts share, in order of time.

A line has a time, a host, a unit, a level and a message with one number. The unit `relay` quotes lines of other hosts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from random import Random
from typing import NamedTuple

from pipeline.caches import cache, lru_cache
from pipeline.streams import Indices, Streams, words
from pipeline.typed import TIERS
from pipeline.worlds.wording import sections
from pipeline.worlds.words import pool_digest

WORLD = "hostlog@1"
LINES = "hostlog/lines"
RELAY = "relay"
TOKENS_PER_LINE = 11
"""Tokens of the tier per line: nearly twice what a prompt can hold."""
DAY = 24 * 60 * 60
HOSTS = 40
CONSONANTS, VOWELS = "bdfgklmnprstv", "aeiou"
FORM = (CONSONANTS, VOWELS, CONSONANTS, VOWELS, CONSONANTS, VOWELS)
"""The letters of a host's name, in order."""
NUMBERS = range(12, 500)
QUOTED = 0.25
"""The share of lines that quote another one."""
LAG = (1, 90)
"""Seconds between a line and one that quotes it."""


class Event(NamedTuple):
    """A line of the log; `time` is in seconds of the day. A line that quotes another has no number."""

    time: int
    host: str
    unit: str
    level: str
    message: str
    number: int | None

    @property
    def text(self) -> str:
        """The line without its newline."""
        return f"{clock(self.time)} {self.host} {self.unit} {self.level} {self.message}"


@cache
def wordings() -> Mapping[str, Sequence[str]]:
    """Return the levels, and the messages of each unit with the levels that each may have."""
    return sections(LINES)


def levels() -> Sequence[str]:
    """Return the levels."""
    return wordings()["level"]


@cache
def units() -> Sequence[str]:
    """Return the units whose messages have a number."""
    return tuple(name for name in wordings() if name not in ("level", RELAY))


def source_digest() -> str:
    """Return the digest of all words that the world is made of."""
    return pool_digest(LINES)


def clock(time: int) -> str:
    """Return a time of the day.

    >>> clock(33247)
    '09:14:07'
    """
    return f"{time // 3600:02}:{time // 60 % 60:02}:{time % 60:02}"


def event(rng: Random, time: int, host: str) -> Event:
    """Draw a line of a host at a time."""
    unit, number = rng.choice(units()), rng.choice(NUMBERS)
    level, message = _worded(rng, unit)
    return Event(time, host, unit, level, message.replace("{n}", str(number)), number)


def quoting(rng: Random, time: int, host: str, quoted: Event) -> Event:
    """Draw a line of a host at a time, quoting another line."""
    level, message = _worded(rng, RELAY)
    return Event(time, host, RELAY, level, message.replace("{line}", quoted.text), None)


def _worded(rng: Random, unit: str) -> tuple[str, str]:
    """Draw a message of a unit, and one of the levels that it may have."""
    able, _, message = rng.choice(wordings()[unit]).partition(": ")
    return rng.choice(able.split()), message


def differ(first: str, second: str) -> int:
    """Return in how many letters two host names differ."""
    return sum(mine != yours for mine, yours in zip(first, second, strict=True))


@dataclass(frozen=True)
class HostLog:
    """The log of a tier: its hosts, and the time of every line."""

    streams: Streams
    hosts: Sequence[str]
    size: int

    @cached_property
    def times(self) -> Indices:
        """The second of the day of each line of the pool, in order."""
        within = words(self.streams.of("times"), self.size) / (1 << 32)
        return ((within + range(self.size)) * DAY / self.size).astype(int)

    def texts(self) -> Iterator[str]:
        """Yield every line of the pool."""
        rng = self.streams.of("texts")
        for time in self.times.tolist():
            host = rng.choice(self.hosts)
            if rng.random() < QUOTED and time > LAG[1]:
                other = rng.choice([one for one in self.hosts if one != host])
                yield quoting(rng, time, host, event(rng, time - rng.randint(*LAG), other)).text + "\n"
            else:
                yield event(rng, time, host).text + "\n"

    def named_alike(self, rng: Random, count: int) -> tuple[str, ...]:
        """Draw a host and `count` others whose names differ from it by one letter; the log has none of these names."""
        while True:
            host = _name(rng)
            if min(differ(host, other) for other in self.hosts) > 1:
                break
        others = list[str]()
        while len(others) < count:
            at = rng.randrange(len(host))
            name = host[:at] + rng.choice(FORM[at]) + host[at + 1 :]
            if name not in (host, *others, *self.hosts):
                others.append(name)
        return (host, *others)


def hostlog(streams: Streams, tier: str) -> HostLog:
    """Return the log of a tier; `streams` are those of any row or pool below the same seed."""
    return _hostlog(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_LINE)


@lru_cache(maxsize=2)
def _hostlog(world: Streams, size: int) -> HostLog:
    rng, hosts = world.of("hosts"), dict[str, None]()
    while len(hosts) < HOSTS:
        hosts[_name(rng)] = None
    return HostLog(world, [*hosts], size)


def _name(rng: Random) -> str:
    return "".join(map(rng.choice, FORM))
