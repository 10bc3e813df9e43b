"""What the firm has: people, rooms, things with codes, and sentences about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random
from types import MappingProxyType
from zlib import crc32

from pipeline.caches import cache, lru_cache
from pipeline.streams import Permutation, Streams
from pipeline.typed import TIERS
from pipeline.worlds.identifying import identifying
from pipeline.worlds.wording import sections
from pipeline.worlds.words import pool, pool_digest

WORLD = "desk@1"
MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")
SLOT = re.compile(r"\{(\w+)\}")
CONSONANTS, FIGURES = "bcdfghjkmnpqrstvwxyz", "23456789"
REFS = len(CONSONANTS) ** 3 * len(FIGURES) ** 2
"""How many codes there are of the form letter, digit, letter, digit, letter: every result has its own."""
CAPITALS = "ABCDEFGHKLMNPRSTVWXZ"
STAFF = 240
TOKENS_PER_UNIT = 56
"""Tokens of the tier per unit of the pool: about twice what a prompt can hold."""
LEAST_THINGS, UNITS_PER_THING = 8, 24
"""Families of things of each kind in the smallest world; units of the pool per family."""
FAMILY = 4
"""How many things have codes that differ in one place."""
ONCE = frozenset({"person", "stem"})
"""Slots that no sentence fills twice with the same value: nobody hands over to themselves."""
AS_OF = date(2026, 7, 1)
"""The day on which a trace is set: its past is earlier, and rooms are booked for later days."""
FIRST_HALF, SECOND_HALF = range(1, 7), range(7, 13)
"""The months of a trace's past, and of its future."""
VALUES: Mapping[str, range] = {
    "max_sessions": range(20, 900), "retry_limit": range(2, 20), "batch_size": range(20, 900),
    "poll_seconds": range(5, 300), "page_width": range(60, 240), "grace_days": range(2, 60),
    "cache_mb": range(64, 4000), "queue_depth": range(20, 900), "label_dpi": range(150, 610),
    "alarm_level": range(2, 100), "lease_hours": range(2, 200), "upload_mb": range(5, 900),
    "idle_minutes": range(5, 240), "rate_cap": range(20, 2000),
}  # fmt: skip
"""The keys of settings, and the values that each may have."""
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")


def source_digest() -> str:
    """Return the digest of the words that the world is made from."""
    return pool_digest("desk/words", "first", "last")


@cache
def words() -> Mapping[str, Sequence[str]]:
    """Return the lists of words and sentences by name."""
    return sections("desk/words")


@cache
def words_for_training() -> Mapping[str, Sequence[str]]:
    """Return the same lists without every third sentence, which is left for evaluation."""
    return {
        name: tuple(one for place, one in enumerate(sentences) if place % 3 < 2 or not any(map(SLOT.search, sentences)))
        for name, sentences in words().items()
    }


def ref_code(number: int) -> str:
    """Return the code of a result.

    >>> ref_code(0), ref_code(REFS - 1)
    ('b2b2b', 'z9z9z')
    """
    number, last = divmod(number, len(CONSONANTS))
    number, second = divmod(number, len(FIGURES))
    number, middle = divmod(number, len(CONSONANTS))
    first, figure = divmod(number, len(FIGURES))
    return f"{CONSONANTS[first]}{FIGURES[figure]}{CONSONANTS[middle]}{FIGURES[second]}{CONSONANTS[last]}"


class Refs:
    """Distinct codes of results, in a fixed order: a pool takes the first ones, a row others."""

    def __init__(self, order: Permutation, first: int) -> None:
        self._order, self._next = order, first

    def new(self) -> str:
        """Return the next code."""
        self._next += 1
        return ref_code(self._order[self._next - 1])


@dataclass(frozen=True, eq=False)
class Desk:
    """The firm of a tier: its people, the things of its filler in families of similar codes, and its sentences."""

    staff: Sequence[str]
    items: Sequence[Sequence[str]]
    tickets: Sequence[Sequence[str]]
    files: Sequence[Sequence[str]]
    hosts: Sequence[Sequence[str]]
    order: Permutation
    units: int
    taken: frozenset[str]
    lists: Mapping[str, Sequence[str]]
    world: Streams

    def refs(self, first: int) -> Refs:
        """Return codes of results, from a place in their order."""
        return Refs(self.order, first)

    def forms(self, what: str, kinds: int) -> Sequence[int]:
        """Return the two of some forms in which the firm's tools show something, in all traces."""
        return _two_of(self.world, what, kinds)

    def fresh(self, kind: str, rng: Random) -> Sequence[str]:
        """Draw a family of things that the filler never names."""
        while True:
            family = FAMILIES[kind](rng)
            if not self.taken.intersection(family):
                return family


def desk(streams: Streams, tier: str) -> Desk:
    """Return the firm of a tier; `streams` are any below the same seed."""
    return _desk(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_UNIT)


@lru_cache(maxsize=64)
def _two_of(world: Streams, what: str, kinds: int) -> Sequence[int]:
    return world.of("forms", what).sample(range(kinds), 2)


@lru_cache(maxsize=2)
def _desk(world: Streams, units: int) -> Desk:
    rng, count = world.of("things"), max(LEAST_THINGS, units // UNITS_PER_THING // 4)
    things = {kind: _families(draw, rng, count) for kind, draw in FAMILIES.items()}
    firsts, lasts = rng.sample(_plain("first"), STAFF), rng.sample(identifying(_plain("last"), world), STAFF)
    staff = [f"{first} {last}" for first, last in zip(firsts, lasts, strict=True)]
    taken = frozenset(one for families in things.values() for family in families for one in family)
    order = Permutation(world.of("refs"), REFS)
    lists = words_for_training() if world.training else words()
    return Desk(
        staff, things["item"], things["ticket"], things["file"], things["host"], order, units, taken, lists, world
    )


@cache
def _plain(name: str) -> Sequence[str]:
    """Return the names of a list that are a single capitalized word."""
    return [one for one in pool(name) if re.fullmatch(r"[A-Z][a-z]{2,9}", one)]


def _families(draw: Callable[[Random], Sequence[str]], rng: Random, count: int) -> Sequence[Sequence[str]]:
    families, taken = list[Sequence[str]](), set[str]()
    while len(families) < count:
        family = draw(rng)
        if not taken.intersection(family):
            families.append(family)
            taken.update(family)
    return families


def _alike(rng: Random, head: str, digits: str) -> Sequence[str]:
    """Return a code and three others that differ from it in one digit each."""
    variants = [digits]
    while len(variants) < FAMILY:
        place, figure = rng.randrange(1, len(digits)), rng.choice("0123456789")
        variant = digits[:place] + figure + digits[place + 1 :]
        if variant not in variants:
            variants.append(variant)
    rng.shuffle(variants)
    return [head + one for one in variants]


def _digits(rng: Random, count: int) -> str:
    return str(rng.randrange(10 ** (count - 1), 10**count))


def item_family(rng: Random) -> Sequence[str]:
    """Draw stock codes such as ``LBX-4417``."""
    return _alike(rng, "".join(rng.choices(CAPITALS, k=3)) + "-", _digits(rng, 4))


def ticket_family(rng: Random) -> Sequence[str]:
    """Draw ticket numbers such as ``TK-48213``."""
    return _alike(rng, "TK-", _digits(rng, 5))


def file_family(rng: Random) -> Sequence[str]:
    """Draw paths of settings files that differ in one word."""
    lists = words()
    folder = rng.choice([one for one in lists["dir"] if one.startswith(("/etc", "/opt"))])
    stem, number = rng.choice(lists["stem"]), rng.randrange(10, 100)
    return [f"{folder}/{stem}-{number}-{tail}.ini" for tail in rng.sample(lists["tail"], FAMILY)]


def host_family(rng: Random) -> Sequence[str]:
    """Draw host names that differ in one digit."""
    lists = words()
    return _alike(rng, f"{rng.choice(lists['host'])}-{rng.choice(lists['site'])[:3].lower()}-", _digits(rng, 3))


FAMILIES: Mapping[str, Callable[[Random], Sequence[str]]] = {
    "item": item_family,
    "ticket": ticket_family,
    "file": file_family,
    "host": host_family,
}


class SentenceWriter:
    """Draws sentences about the firm, with names, numbers and dates in their slots."""

    def __init__(self, desk: Desk, rng: Random) -> None:
        self.desk, self.rng = desk, rng

    def pick(self, name: str, bound: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return a word or sentence of a list, filled."""
        return self.fill(self.rng.choice(self.desk.lists[name]), bound)

    def fill(self, wording: str, bound: Mapping[str, str] = MappingProxyType({})) -> str:
        """Fill the slots of a wording, some with given values; no person or stem occurs twice."""
        if "{" not in wording:
            return wording
        taken = set[str]()

        def filled(match: re.Match[str]) -> str:
            value = bound.get(match[1]) or self.slot(match[1])
            while value in taken and match[1] in ONCE and match[1] not in bound:
                value = self.slot(match[1])
            taken.add(value)
            return value

        return SLOT.sub(filled, wording)

    def slot(self, name: str) -> str:
        """Draw the value of a slot."""
        draw = OWN.get(name)
        return draw(self) if draw else self.pick(name)

    def subject(self, day: str) -> str:
        """Return the subject of a mail of a past day: what it names as past is no later."""
        last = (int(day[5:7]) - 1) * 28 + int(day[8:])  # days of the past are the first 28 of a month
        month, before = divmod(self.rng.randrange(last), 28)
        return self.sentence("subject", {"date": f"{before + 1} {MONTHS[month]}"})

    def form(self, what: str, kinds: int) -> int:
        """Draw one of the two forms that something has at the firm."""
        return self.rng.choice(self.desk.forms(what, kinds))

    def sentence(self, name: str, bound: Mapping[str, str] = MappingProxyType({})) -> str:
        """Return a sentence of a list with a capital letter."""
        return _capital(self.pick(name, bound))

    def picks(self, name: str, most: int, bound: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        """Return filled sentences of a list, each of a wording of its own that has the bound slots."""
        able = [one for one in self.desk.lists[name] if {*bound} <= {*SLOT.findall(one)}]
        return [self.fill(wording, bound) for wording in self.rng.sample(able, min(most, len(able)))]

    def several(self, name: str, most: int, bound: Mapping[str, str] = MappingProxyType({})) -> list[str]:
        """Return the same sentences with a capital letter each."""
        return [*map(_capital, self.picks(name, most, bound))]


def _capital(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def _login(writer: SentenceWriter) -> str:
    first, last = writer.rng.choice(writer.desk.staff).lower().split()
    return f"{first[0]}{last}"


def drawn_room(rng: Random, *, asked: bool = False) -> str:
    """Draw half of a room that is only ever named in a question's own calls (`asked`), or of one of all others.

    A checksum tells the two apart, and nothing that a reader could see.
    """
    while True:
        room = f"{rng.choice('ABCDE')}{rng.randrange(1, 7)}.{rng.randrange(10, 60)}"
        if (crc32(room.encode()) % 4 == 0) is asked:
            return f"{room}-{rng.choice(('west', 'east'))}"


def _workday(rng: Random) -> str:
    """Draw a day on which rooms are booked: a future one, from Monday to Friday."""
    while True:
        day = date(2026, rng.choice(SECOND_HALF), rng.randrange(1, 29))
        if day > AS_OF and day.weekday() <= DAYS.index("Fri"):
            return day.isoformat()


OWN: Mapping[str, Callable[[SentenceWriter], str]] = {
    "person": lambda writer: writer.rng.choice(writer.desk.staff),
    "login": _login,
    "room": lambda writer: drawn_room(writer.rng),
    "date": lambda writer: f"{writer.rng.randrange(1, 29)} {MONTHS[writer.rng.choice(FIRST_HALF) - 1]}",
    "coming": lambda writer: f"{writer.rng.randrange(2, 29)} {MONTHS[writer.rng.choice(SECOND_HALF) - 1]}",
    "day": lambda writer: f"2026-{writer.rng.choice(FIRST_HALF):02}-{writer.rng.randrange(1, 29):02}",
    "workday": lambda writer: _workday(writer.rng),
    "time": lambda writer: f"{writer.rng.randrange(7, 19):02}:{writer.rng.randrange(60):02}",
    "quarter": lambda writer: f"{writer.rng.randrange(7, 19):02}:{writer.rng.randrange(0, 60, 15):02}",
    "weekday": lambda writer: writer.rng.choice(WEEKDAYS),
    "d": lambda writer: str(writer.rng.randrange(2, 10)),
    "n2": lambda writer: str(writer.rng.randrange(10, 100)),
    "n3": lambda writer: str(writer.rng.randrange(100, 1000)),
    "n4": lambda writer: str(writer.rng.randrange(1000, 10_000)),
    "n5": lambda writer: str(writer.rng.randrange(10_000, 100_000)),
    "nth": lambda writer: writer.rng.choice(("third", "fourth", "fifth", "sixth", "tenth")),
    "serial": lambda writer: (
        f"S{writer.rng.randrange(100, 1000)}{writer.rng.choice(CAPITALS)}{writer.rng.randrange(10, 100)}"
    ),
    "version": lambda writer: f"{writer.rng.randrange(1, 9)}.{writer.rng.randrange(20)}.{writer.rng.randrange(40)}",
    "port": lambda writer: str(writer.rng.randrange(32_768, 61_000)),
    "o": lambda writer: str(writer.rng.randrange(1, 255)),
    "mac": lambda writer: ":".join(f"{writer.rng.randrange(256):02x}" for _ in range(6)),
    "hex": lambda writer: f"{writer.rng.getrandbits(28):07x}",
    "sitecode": lambda writer: writer.rng.choice(words()["site"])[:3].upper(),
    "sitelow": lambda writer: writer.rng.choice(words()["site"]).lower(),
    "week": lambda writer: str(writer.rng.randrange(2, 53)),
    "key": lambda writer: writer.rng.choice([*VALUES]),
    "aimlow": lambda writer: writer.pick("note_text"),
}
