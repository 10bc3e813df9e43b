"""Entries of the annals: a date, a sentence that states something, and up to four that state nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from random import Random
from zlib import crc32

from pipeline.caches import cache
from pipeline.worlds.people import MONTHS
from pipeline.worlds.wording import Phrase, parse, sections, settled
from pipeline.worlds.words import pool_digest

FILES = tuple(f"chronicle/{name}" for name in ("events", "happenings", "deeds", "colour", "phrases", "names", "talk"))
ASKED = "? "
TAG = re.compile(r"<([^>]+)> ")
"""Precedes a sentence that fits only some months (`<11-2>`) or some kinds of events (`<fire flood>`)."""
EVENTS = ("events", "happenings", "deeds")
"""Files whose sentences state events, each with a section for each kind."""
FLEETING = ("somebody", "elsewhere")
"""Slots for people and streets about which nothing is stated: they have another value each time they occur."""


def write(rng: Random, wording: Phrase, values: Mapping[str, str]) -> str:
    """Return a sentence with values in its slots; its alternatives are drawn before any value is needed.

    A slot with the name of a phrase is written anew each time it occurs.
    """
    sentence = _written(rng, wording, values, phrases())
    return sentence[0].upper() + sentence[1:]


def _written(rng: Random, wording: Phrase, values: Mapping[str, str], rules: Mapping[str, Sequence[Phrase]]) -> str:
    def pick(options: tuple[Phrase, ...]) -> Phrase:
        return options[0] if len(options) == 1 else rng.choice(options)

    texts = []
    for part in settled(wording, pick):
        if isinstance(part, str):
            texts.append(part)
        elif part.name in rules:
            texts.append(_written(rng, rng.choice(rules[part.name]), values, rules))
        else:
            texts.append(values[part.name])
    return "".join(texts)


class Values(dict[str, str]):
    """Values of slots; missing ones are drawn when a sentence needs them."""

    __slots__ = ("_draw",)

    def __init__(self, values: Mapping[str, str], draw: Callable[[str, Values], str]) -> None:
        super().__init__(values)
        self._draw = draw

    def __missing__(self, slot: str) -> str:
        """Draw the value of a slot, and keep it unless it changes each time."""
        value = self._draw(slot, self)
        self[f"{slot} {len(self)}" if slot in FLEETING else slot] = value
        return value


@cache
def lines(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lines of a file of the annals by section, without their tags."""
    return {kind: tuple(TAG.sub("", one) for one in texts) for kind, texts in sections(f"chronicle/{name}").items()}


@cache
def wordings(kind: str, month: int) -> Sequence[Phrase]:
    """Return the sentences that state a kind of event (happenings and deeds too) in a month."""
    (texts,) = (by_kind[kind] for name in EVENTS if kind in (by_kind := sections(f"chronicle/{name}")))
    return _fitting([one for one in texts if not one.startswith(ASKED)], month, kind)


@cache
def colours(group: str, month: int, kind: str = "") -> Sequence[Phrase]:
    """Return the sentences of a group that state nothing, and can be used in a month with an event of a kind."""
    return _fitting(sections("chronicle/colour")[group], month, kind)


def _fitting(texts: Sequence[str], month: int, kind: str) -> Sequence[Phrase]:
    return [parse(TAG.sub("", one)) for one in texts if not (tag := TAG.match(one)) or _allows(tag[1], month, kind)]


def _allows(tag: str, month: int, kind: str) -> bool:
    """Return whether a tag allows a month and a kind.

    >>> [month for month in range(1, 13) if _allows("11-2", month, "")], _allows("fire flood", 7, "duel")
    ([1, 2, 11, 12], False)
    """
    if not tag[0].isdigit():
        return kind in tag.split(" ")
    first, _, last = tag.partition("-")
    return (month - int(first)) % 12 <= (int(last or first) - int(first)) % 12


@cache
def happenings() -> Mapping[str, Sequence[str]]:
    """Return the kinds of things that happen to a property, each with other words for it in questions."""
    return {
        kind: [one.removeprefix(ASKED) for one in texts if one.startswith(ASKED)]
        for kind, texts in lines("happenings").items()
    }


@cache
def deeds() -> tuple[str, ...]:
    """Return the kinds of things that people do for a property, or in vain, other than buying it."""
    return tuple(lines("deeds"))


@cache
def phrases() -> Mapping[str, Sequence[Phrase]]:
    """Return the phrases that make up sentences without a statement, by the names of their slots."""
    return {name: [parse(one) for one in texts] for name, texts in lines("phrases").items()}


@cache
def talk() -> Mapping[str, Sequence[Phrase]]:
    """Return what is said around the entries of a chat."""
    return {kind: [parse(one) for one in texts] for kind, texts in lines("talk").items()}


@cache
def words_of(name: str) -> Sequence[str]:
    """Return a list of names, separated by commas if some have several words."""
    (line,) = lines("names")[name]
    return line.split(", ") if ", " in line else line.split(" ")


@cache
def source_digest() -> str:
    """Return the digest of all files that the annals are written from."""
    return pool_digest(*FILES)


FIRST_DAY, LAST_DAY = date(1790, 1, 1).toordinal(), date(1839, 12, 31).toordinal()
"""The span of the annals, as days: short enough that a buyer at its start can be the owner at its end."""
FEWEST, MOST = 24, 55
"""About how many words an entry has without its date."""
FIRST_SAID = 0.35
"""The share of entries that mention something else about the day before their event."""
NUMBERS = {
    3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight", 9: "nine", 10: "ten", 11: "eleven",
    12: "twelve", 13: "thirteen", 14: "fourteen", 15: "fifteen", 16: "sixteen", 20: "twenty", 30: "thirty",
    40: "forty", 50: "fifty",
}  # fmt: skip
ON_ROLL = range(4, 7)
"""How many people an entry names that lists some."""
MOST_COUNTED = 30
"""The highest count; only prices are higher."""
WORTH = range(200, 810, 10)
"""What properties are worth, in pounds: each has one of these values."""
SHARES = {
    "sale": (85, 120), "unnamed": (85, 120), "bid": (45, 75), "loan": (25, 65), "plea": (25, 65), "lease": (4, 9),
    "repairs": (4, 22), "keeper": (2, 5),
}  # fmt: skip
"""What share of a property's worth is paid, in hundredths, by the kind of event."""
SUMS = {"debt": (6, 160)}
"""Pounds in other events; `ANY_SUM` if none are given here."""
ANY_SUM = (4, 40)
GROUPS = {
    "sale": "sale", "unnamed": "sale", "undo": "court", "undo2": "court", "redo": "court", "birth": "birth",
    "bride": "wedding", "groom": "wedding", "wedding": "wedding", "death": "death", "burial": "death",
    "election": "vote", "roll": "roll", "stones": "stones", "move": "street", "works": "street",
    "debt": "money", "price": "money", "lease": "deed", "repairs": "deed", "keeper": "deed", "loan": "deed",
    "bid": "vain", "plea": "vain",
}  # fmt: skip
"""The group of colour of each kind of event; happenings have a group of their own."""
DAYS_A_LEAF = 8
"""How many days fill a leaf of the book in which a chat's entries are written."""
Fact = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry: its day, the kind of its event, what the event is about, and its text with a newline."""

    day: int
    kind: str
    about: Mapping[str, str]
    text: str

    @property
    def facts(self) -> tuple[str, ...]:
        """What it states, with bars between the parts."""
        return ("|".join((self.kind, *(f"{slot}={value}" for slot, value in self.about.items()))),)


def written(day: int) -> str:
    """Return a day as the annals have it.

    >>> written(date(1874, 3, 14).toordinal())
    '14 March 1874'
    """
    when = date.fromordinal(day)
    return f"{when.day} {MONTHS[when.month - 1]} {when.year}"


def working(day: int) -> int:
    """Return a day, or the next if it is Christmas Day, when nobody trades or judges.

    >>> written(working(date(1837, 12, 25).toordinal()))
    '26 December 1837'
    """
    when = date.fromordinal(day)
    return day + ((when.month, when.day) == (12, 25))


def year(day: int) -> int:
    """Return the year of a day."""
    return date.fromordinal(day).year


def new_year(number: int) -> int:
    """Return the first day of a year."""
    return date(number, 1, 1).toordinal()


def entry(rng: Random, day: int, kind: str, about: Mapping[str, str], people: Sequence[str]) -> Entry:
    """Write an entry; other people that it names are drawn from `people`."""
    month = date.fromordinal(day).month
    values = Values({**about, **_capitals(about)}, lambda slot, drawn: _drawn(rng, slot, people, kind, drawn))
    sentences = [write(rng, rng.choice(wordings(kind, month)), values)]
    length = sentences[0].count(" ") + 1
    of_kind = colours("house" if kind in happenings() else GROUPS[kind], month, kind)
    goal, used = rng.randrange(FEWEST, MOST - 8), list[Phrase]()
    weather = rng.random() < FIRST_SAID
    for choices, first in ((of_kind, False), (_of_month(month), weather), (of_kind, False), (_after(month), False)):
        if length >= goal:
            break
        more = _colour(rng, choices, values, used)
        if length + more.count(" ") < MOST:
            sentences.insert(0 if first else len(sentences), more)
            length += more.count(" ") + 1
    return Entry(day, kind, about, f"{written(day)}. {' '.join(sentences)}\n")


def talked(rng: Random, name: str, day: int) -> str:
    """Write what is said around the entries of a day in a chat: the opening or the reply."""
    leaf = {"leaf": str((day - FIRST_DAY) // DAYS_A_LEAF + 1)}
    return write(rng, rng.choice(talk()[name]), Values(leaf, lambda slot, drawn: _drawn(rng, slot, (), name, drawn)))


def _colour(rng: Random, phrases: Sequence[Phrase], values: Values, used: list[Phrase]) -> str:
    """Return a sentence of colour with a wording that is not yet used."""
    chosen = rng.choice(phrases)
    while chosen in used:
        chosen = rng.choice(phrases)
    used.append(chosen)
    return write(rng, chosen, values)


@cache
def _of_month(month: int) -> Sequence[Phrase]:
    """Return what may precede or follow an event: what else there was in a month."""
    return [*colours("any", month), *colours("season", month)]


@cache
def _after(month: int) -> Sequence[Phrase]:
    """Return what may follow an event, including remarks about it."""
    return [*_of_month(month), *colours("after", month)]


def _capitals(about: Mapping[str, str]) -> dict[str, str]:
    return {slot.capitalize(): value for slot, value in about.items()}


def _drawn(rng: Random, slot: str, people: Sequence[str], kind: str, drawn: Values) -> str:
    """Return a value of a slot; nobody and no street is drawn twice for one entry."""
    if slot in ("street", "street2", "elsewhere"):
        return _unused(rng, words_of("streets"), drawn)
    if slot == "num":
        return rng.choice([word for number, word in NUMBERS.items() if number <= MOST_COUNTED])
    if slot == "sum":
        return _sum(rng, kind, drawn.get("prop", ""))
    if slot in ("goods", "Goods"):
        return drawn.get("ware") or drawn.setdefault("ware", rng.choice(list(goods())))
    if slot == "price":
        ware = drawn.get("ware") or drawn.setdefault("ware", rng.choice(list(goods())))
        unit, low, high = goods()[ware]
        return f"{rng.choice([word for number, word in NUMBERS.items() if low <= number <= high])} shillings the {unit}"
    if slot == "names":
        return listed(rng.sample(people, min(len(people), rng.choice(ON_ROLL))))
    return _unused(rng, people, drawn)


def _sum(rng: Random, kind: str, prop: str) -> str:
    """Return a sum of money that fits the kind of event, and the worth of the property, if any."""
    low, high = SUMS.get(kind, ANY_SUM)
    if prop:
        worth = WORTH[crc32(prop.encode("ascii")) % len(WORTH)]
        low, high = (worth * share // 100 for share in SHARES[kind])
    pounds = rng.randrange(low, high + 1)
    step = 1 if pounds < 40 else 5 if pounds < 150 else 10
    return f"{pounds // step * step} {rng.choice(('pounds', 'pounds', 'guineas'))}"


@cache
def goods() -> Mapping[str, tuple[str, int, int]]:
    """Return goods, each with the unit that it is sold by, and the lowest and highest price in shillings."""
    rows = (one.split(" ") for one in words_of("goods"))
    return {name: (unit, int(low), int(high)) for name, unit, low, high in rows}


def _unused(rng: Random, options: Sequence[str], drawn: Values) -> str:
    while (chosen := rng.choice(options)) in drawn.values():
        pass
    return chosen


def listed(names: Sequence[str]) -> str:
    """Join names into a list in words."""
    return f"{', '.join(names[:-1])} and {names[-1]}"
