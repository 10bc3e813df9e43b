"""The world of utterances: what people write to a service, each message with one intent that no single word tells.

An intent is an act and a thing: to cancel a library card, to ask when a rod licence runs out. Every act is worded in
the same ways for all things, and every thing for all acts. What else a message says (greetings, circumstances, what is
*not* wanted, other things that are in order) has the words of other intents.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product
from math import lcm
from random import Random
from typing import NamedTuple

from pipeline.caches import cache, lru_cache
from pipeline.streams import Streams, words
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.wording import Slot, filled, parse, sections
from pipeline.worlds.wording import slots as slots_of
from pipeline.worlds.wording import write as write_phrase
from pipeline.worlds.words import pool, pool_digest, pools_in

__all__ = [
    "DOMAINS",
    "OTHER",
    "RESERVE",
    "Domain",
    "Intent",
    "chosen",
    "domain",
    "kinds",
    "mentioned",
    "phrase",
    "source_digest",
    "texts",
    "write",
]

FOLDER = "utterances"
DOMAINS = ("request", "question")

Sections = Mapping[str, Sequence[str]]


class Intent(NamedTuple):
    """What a message is for: an act, and the thing that it is about."""

    act: str
    thing: str


OTHER = Intent("out", "of-scope")
"""The intent of requests that are about something else, or ask for something else."""


@dataclass(frozen=True, eq=False, slots=True)
class Domain:
    """The words of one kind of messages, by act or by thing.

    `before` and `behind` are sentences that name the thing where the main one has a pronoun, `asides` say of each act
    that it is not wanted, and `others` that another thing is not meant.
    """

    name: str
    acts: Sections
    things: Sections
    asides: Sections
    before: Sequence[str]
    behind: Sequence[str]
    others: Sequence[str]

    @property
    def intents(self) -> tuple[Intent, ...]:
        """All pairs of an act and a thing, so that any first ones of them hold acts and things about equally often."""
        acts, things = list(self.acts), list(self.things)
        turn = lcm(len(acts), len(things))
        places = ((at % len(acts), (at % turn + at // turn) % len(things)) for at in range(len(acts) * len(things)))
        return tuple(Intent(acts[act], things[thing]) for act, thing in places)


@cache
def domain(name: str) -> Domain:
    """Return a domain, one of `DOMAINS`."""
    acts, things, asides, frames = (
        sections(f"{FOLDER}/{name}-{part}") for part in ("acts", "objects", "asides", "frames")
    )
    return Domain(name, acts, things, asides, frames["before"], frames["behind"], frames["aside"])


def lines(name: str) -> tuple[str, ...]:
    """Return the lines of a file without sections."""
    return pool(f"{FOLDER}/{name}")


@cache
def slots() -> Sections:
    """Return what fills each slot."""
    return sections(f"{FOLDER}/slots")


class Kind(NamedTuple):
    """How questions speak of an act or of a thing: by one word, or by a phrase."""

    word: str
    phrase: str


@cache
def kinds(what: str) -> Mapping[str, Kind]:
    """Return how questions speak of acts, or of things: `what` is "act" or "thing"."""
    split = (line.split(": ") for line in sections(f"{FOLDER}/kinds")[what])
    return {name: Kind(word, phrase) for name, word, phrase in split}


def phrase(intent: Intent) -> str:
    """Return what a message of an intent asks, as it stands behind "asks".

    >>> phrase(Intent("price", "zoo"))
    'what a zoo pass costs'
    """
    return filled(kinds("act")[intent.act].phrase, {"it": kinds("thing")[intent.thing].phrase})


@cache
def source_digest() -> str:
    """Return the digest of all files."""
    return pool_digest(*pools_in(FOLDER))


PRONOUN = "it"
END = re.compile(r"(?<=[.?!]) (?=[A-Z])")
"""Where a sentence ends and the next one begins."""
WORD = 1 << 32
GREETED, TOLD = int(0.45 * WORD), int(0.6 * WORD)
"""Of as many messages as there are words of 32 bits: how many have a greeting, and how many end in something else."""
PLAIN, BEFORE = int(0.5 * WORD), int(0.8 * WORD)
"""How many name their thing in the main sentence; up to how many do in a sentence before it, the rest in one behind."""
DENIED, BESIDE = int(0.35 * WORD), int(0.65 * WORD)
"""How many say what is not wanted; up to how many say what other thing is not meant."""
SLOTS = tuple(slots())
DRAWS = 11 + len(SLOTS)


@dataclass(frozen=True, slots=True)
class Words:
    """What messages of an intent are made of; `denied` are sentences of other acts, `beside` the other things."""

    acts: Sequence[str]
    things: Sequence[str]
    denied: Sequence[str]
    beside: Sequence[str]


def write(of: Domain, intent: Intent, rng: Random, count: int, near: Intent | None = None) -> list[str]:
    """Write so many distinct messages of an intent.

    Args:
        of: the domain of the intent; `OTHER` is an intent of requests.
        intent: what the messages are for.
        rng: the stream to draw from.
        count: how many.
        near: an intent with the same act or thing, of which every message then says that it is not wanted, or that the
            thing is not meant.
    """
    found: dict[str, None] = {}
    every = words_of(of, intent) if near is None else (_near(of, intent, near),)
    while len(found) < count:
        drawn = words(rng, DRAWS * (count - len(found))).reshape(-1, DRAWS).tolist()
        found.update(dict.fromkeys(" ".join(_sentences(of, every[one[0] * len(every) >> 32], one)) for one in drawn))
    return list(found)


@lru_cache(maxsize=256)
def words_of(of: Domain, intent: Intent) -> tuple[Words, ...]:
    """Return the words of an intent, by halves where it has two kinds of messages."""
    if intent == OTHER:
        acts, things = _joined(of.acts), _joined(of.things)
        denied, aims, objects = _joined(of.asides), lines("other-acts"), lines("other-objects")
        return Words(acts, objects, denied, things), Words(aims, things, denied, objects)
    denied = _joined({act: said for act, said in of.asides.items() if act != intent.act})
    beside = _joined({thing: said for thing, said in of.things.items() if thing != intent.thing})
    return (Words(of.acts[intent.act], of.things[intent.thing], denied, beside),)


def _near(of: Domain, intent: Intent, near: Intent) -> Words:
    """Return the words of messages that mention what another intent has and this one has not."""
    own = words_of(of, intent)[0]
    if intent.thing == near.thing:
        return Words(own.acts, own.things, of.asides[near.act], ())
    return Words(own.acts, own.things, (), of.things[near.thing])


def _joined(sections: Sections) -> tuple[str, ...]:
    return tuple(chain.from_iterable(sections.values()))


def _sentences(of: Domain, own: Words, drawn: Sequence[int]) -> Iterator[str]:
    """Yield the sentences of a message; each number of `drawn` decides one thing."""
    _, greeted, told, named, aside, act, thing, frame, first, second, last, *filling = drawn
    it = _pick(own.things, thing)
    if greeted < GREETED:
        yield _filled(_pick(lines("greetings"), first), filling)
    if PLAIN <= named < BEFORE:
        yield filled(_pick(of.before, frame), {"it": it})
    yield filled(_pick(own.acts, act), {"it": it if named < PLAIN else PRONOUN})
    if named >= BEFORE:
        yield filled(_pick(of.behind, frame), {"it": it})
    if own.denied and (aside < DENIED or not own.beside):
        yield _filled(_pick(own.denied, second), filling)
    elif aside < BESIDE or not own.denied:
        yield _filled(_pick(of.others, second), filling, _pick(own.beside, second * 97 % WORD))
    if told < TOLD:
        yield _filled(_pick(lines("details"), last), filling)


def _filled(text: str, filling: Sequence[int], it: str = "") -> str:
    if "{" not in text:
        return text

    def fill(slot: Slot) -> str:
        return it if slot.name == "it" else _pick(slots()[slot.name], filling[SLOTS.index(slot.name)])

    return write_phrase(parse(text), fill)


def _pick(some: Sequence[str], number: int) -> str:
    return some[number * len(some) >> 32]


@cache
def _asides(name: str) -> Mapping[str, str]:
    """Return the act that each sentence of a domain says is not wanted, whatever fills its slots."""
    found = {}
    for act, said in domain(name).asides.items():
        for text in said:
            found.update(dict.fromkeys(_fillings(text), act))
    return found


def _fillings(text: str) -> Iterator[str]:
    names = tuple(dict.fromkeys(slots_of(text)))
    for values in product(*(slots()[name] for name in names)):
        yield filled(text, dict(zip(names, values, strict=True)))


def mentioned(name: str, message: str) -> str:
    """Return the act that a message says is not wanted, or "" if it says so of none."""
    known = _asides(name)
    return next((known[part] for part in END.split(message) if part in known), "")


WORLD = "utterances@1"
RESERVE = 48
"""Utterances of each intent that stand in no pool: they are asked about."""
TOKENS = {"request": 1496, "question": 1100}
"""Of so many tokens of a tier there is an utterance of each intent."""


def texts(streams: Streams, tier: str, name: str) -> Mapping[Intent, Sequence[str]]:
    """Return all utterances of a domain by intent, equally many of each; the last `RESERVE` stand in no pool.

    Args:
        streams: any streams below the seed.
        tier: decides how many there are.
        name: the domain.
    """
    return _texts(streams.world(WORLD, tier, name), tier, name)


@lru_cache(maxsize=4)
def _texts(row_streams: Streams, tier: str, name: str) -> Mapping[Intent, Sequence[str]]:
    of, count = domain(name), -(-TIERS[tier] // TOKENS[name]) + RESERVE
    every = (*of.intents, *([OTHER] if name == "request" else []))
    return {intent: write(of, intent, row_streams.of(*intent), count) for intent in every}


def chosen(streams: Streams, tier: str, name: str, which: int, count: int) -> tuple[Intent, ...]:
    """Return the intents of a numbered set of labels, in the order of their labels.

    Acts and things are mixed again for each set, so that pairs take turns where there are more of them than labels;
    `OTHER` belongs to a set that is larger than all pairs.
    """
    rng, of = streams.world(WORLD, tier, name).of("labels", count, which), domain(name)
    acts, things = (
        dict(zip(names, rng.sample(names, len(names)), strict=True)) for names in (list(of.acts), list(of.things))
    )
    found = [Intent(acts[act], things[thing]) for act, thing in of.intents[:count]]
    return tuple(rng.sample([*found, OTHER][:count], count))
