"""The world of utterances: messages to a service, each with one intent that no single word reveals.

An intent is an act and a thing: to cancel a library card, to ask when a rod licence runs out. An act is worded by
clauses, such as "cancel {it} for good", and a frame says that the clause is asked for ("Could you please ...?") or that
it is not ("I don't want you to ..."). All acts share all frames, and what is asked for and what is denied have the same
clauses. All acts share all things, and the thing that is meant and one that is not have the same words. So the words of
a message reveal which acts and things it mentions, and only its sentences which of them are asked about.

Messages of the domain "contract" bear dates: a month that they name is a mark, such as <+2> or <-3>, which `dated`
replaces by the month so many months after or before that of the message.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import lcm
from random import Random
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pipeline.caches import cache, lru_cache
from pipeline.streams import Streams, words
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.people import MONTHS
from pipeline.worlds.wording import filled, sections, variants
from pipeline.worlds.words import pool, pool_digest, pools_in

__all__ = [
    "DOMAINS",
    "OTHER",
    "Domain",
    "Intent",
    "chosen",
    "dated",
    "denials",
    "domain",
    "fresh",
    "kinds",
    "phrase",
    "share",
    "source_digest",
    "texts",
    "times",
    "write",
]

FOLDER = "utterances"
DOMAINS = ("request", "question", "contract")

Sections = Mapping[str, Sequence[str]]
Wordings = Sequence[Sequence[str]]
"""Lines of a grammar, each as all that it can say, with its slots open."""


class Intent(NamedTuple):
    """What a message is for: an act, and the thing that it is about."""

    act: str
    thing: str


OTHER = Intent("out", "of-scope")
"""The intent of requests that are about something else, or ask for something else."""
VOICES = {"request": ("customer", "company"), "question": ("fact",), "contract": ("customer", "company")}
"""The voices of a domain's clauses: what the customer does, what the company does; what is to be known."""


@dataclass(frozen=True, eq=False, slots=True)
class Domain:
    """The words of one kind of messages.

    `clauses` are those of each act, by voice; `asked` and `denied` are the frames of each voice. `things` are wordings
    of each thing. `before` and `after` are sentences that name the thing where others have a pronoun, and `not_meant`
    sentences that say that a thing is not meant. `greetings` and `details` have nothing to do with the intent.
    """

    name: str
    clauses: Mapping[str, Mapping[str, Wordings]]
    things: Mapping[str, Wordings]
    asked: Mapping[str, Wordings]
    denied: Mapping[str, Wordings]
    before: Wordings
    after: Wordings
    not_meant: Wordings
    greetings: Wordings
    details: Wordings

    @property
    def acts(self) -> tuple[str, ...]:
        """The names of all acts."""
        return tuple(act for act in self.clauses if act != OTHER.act)

    @property
    def objects(self) -> tuple[str, ...]:
        """The names of all things."""
        return tuple(thing for thing in self.things if thing != OTHER.act)

    @property
    def intents(self) -> tuple[Intent, ...]:
        """All pairs of an act and a thing, ordered so that any prefix has acts and things about equally often."""
        acts, things = self.acts, self.objects
        cycle = lcm(len(acts), len(things))
        places = ((at % len(acts), (at % cycle + at // cycle) % len(things)) for at in range(len(acts) * len(things)))
        return tuple(Intent(acts[act], things[thing]) for act, thing in places)


@cache
def domain(name: str) -> Domain:
    """Return a domain, one of `DOMAINS`."""
    clauses, things, frames = (_wordings(f"{FOLDER}/{name}-{part}") for part in ("clauses", "objects", "frames"))
    acts = dict.fromkeys(section.rpartition("_")[0] for section in clauses)
    voices = VOICES[name]
    return Domain(
        name,
        {act: {voice: clauses[f"{act}_{voice}"] for voice in voices} for act in acts},
        things,
        {voice: frames[f"asked_{voice}"] for voice in voices},
        {voice: frames[f"denied_{voice}"] for voice in voices},
        frames["before"],
        frames["behind"],
        frames["beside"],
        *(tuple(map(variants, pool(loose(name, part)))) for part in ("greetings", "details")),
    )


def _wordings(name: str) -> Mapping[str, Wordings]:
    return {section: tuple(map(variants, lines)) for section, lines in sections(name).items()}


def loose(name: str, part: str) -> str:
    """Return the name of a domain's file of sentences unrelated to the intent: its own, or one that domains share."""
    own = f"{FOLDER}/{name}-{part}"
    return own if own in pools_in(FOLDER) else f"{FOLDER}/{part}"


@cache
def slots() -> Sections:
    """Return the values of each slot."""
    return sections(f"{FOLDER}/slots")


class Kind(NamedTuple):
    """How questions refer to an act or a thing: by one word, or by a phrase."""

    word: str
    phrase: str


@cache
def kinds(what: str) -> Mapping[str, Kind]:
    """Return how questions refer to acts or things: `what` is "act" or "thing"."""
    split = (line.split(": ") for line in sections(f"{FOLDER}/kinds")[what])
    return {name: Kind(word, phrase) for name, word, phrase in split}


def phrase(intent: Intent) -> str:
    """Return what a message of an intent asks, in words that follow "asks".

    >>> phrase(Intent("price", "zoo"))
    'what a zoo pass costs'
    """
    return filled(kinds("act")[intent.act].phrase, {"it": kinds("thing")[intent.thing].phrase})


@cache
def source_digest() -> str:
    """Return the digest of all files."""
    return pool_digest(*pools_in(FOLDER))


MARK = re.compile(r"<([+-]\d+)>")


def dated(message: str, month: int) -> str:
    """Return a message of a month, counted from 0, with the months that it names.

    >>> dated("Please suspend it until <+2>, as I asked in <-1>.", 11)
    'Please suspend it until February, as I asked in November.'
    """
    return MARK.sub(lambda mark: MONTHS[(month + int(mark[1])) % len(MONTHS)], message)


PRONOUN = "it"
WORD = 1 << 32


def share(of_all: float) -> int:
    """Return a share of all 32-bit words, as a number of them."""
    return int(of_all * WORD)


GREETED, TOLD = share(0.12), share(0.16)
"""How many messages have a greeting, and how many end with something else."""
PLAIN, BEFORE = share(0.68), share(0.86)
"""How many name their thing in a sentence of an act; up to how many do so in a sentence before it, the rest after."""
DENIED, BOTH, NOT_MEANT = share(0.56), share(0.68), share(0.76)
"""Up to how many deny an act, deny one and say what other thing is not meant, or only say the latter."""
COMMON = ("name", "town")
"""Slots that have one value in the whole message: who writes, and from where."""
TAGS = ("by the way", "as I said", "I should add", "mind you")
"""What sentences may end with after a comma: a message says each once, and not before it has said anything else."""
DRAWS = 48
"""The most numbers that decide a message."""
TURNS = (3_242_174_889, 2_447_445_414)
"""Steps in `WORD` whose multiples fill a square evenly: of consecutive messages, as many deny each act as should."""


@dataclass(frozen=True, slots=True)
class Words:
    """What messages of an intent mention: its acts and things, acts that may be denied, and other things."""

    acts: Sequence[str]
    things: Sequence[str]
    denied: Sequence[str]
    other_things: Sequence[str]


def write(of: Domain, intent: Intent, rng: Random, count: int, mentioned: Intent | None = None) -> list[str]:
    """Write distinct messages of an intent.

    Args:
        of: the domain of the intent; `OTHER` is an intent of requests.
        intent: what the messages are for.
        rng: the stream to draw from.
        count: how many.
        mentioned: an intent with the same act or thing; every message then says that its act is not wanted, or that its
            thing is not meant.
    """
    return list(_written(of, intent, rng, count, mentioned))


def _written(
    of: Domain, intent: Intent, rng: Random, count: int, mentioned: Intent | None = None, first: int | None = None
) -> dict[str, str]:
    """Write distinct messages, each with the act that it denies or ""; `first` is the number of the first one."""
    messages: dict[str, str] = {}
    choices, needed = words_of(of, intent), ""
    if mentioned is not None:
        needed, usual = ("denied" if mentioned.thing == intent.thing else "not meant"), choices[0]
        acts, things = (
            ((mentioned.act,), usual.other_things) if needed == "denied" else (usual.denied, (mentioned.thing,))
        )
        choices = (Words(usual.acts, usual.things, acts, things),)
    number = rng.getrandbits(32) if first is None else first
    while len(messages) < count:
        for drawn in words(rng, DRAWS * (count - len(messages))).reshape(-1, DRAWS).tolist():
            message = _Message(of, drawn, number := number + 1)
            denied = message.write(choices[drawn[0] * len(choices) >> 32], needed)
            messages[" ".join((*message.greeting, *_tagged_once(message.sentences)))] = denied
    return messages


def _tagged_once(sentences: Sequence[str]) -> Iterator[str]:
    """Yield the sentences of a message, without tags that an earlier one has too, and the first without any."""
    tags = set[str]()
    for place, sentence in enumerate(sentences):
        rest, _, tag = sentence[:-1].rpartition(", ")
        if tag in tags or (tag in TAGS and place == 0):
            sentence, tag = f"{rest}{sentence[-1]}", ""
        yield sentence
        tags.update(each for each in TAGS if each == tag or sentence.startswith(each[0].upper() + each[1:]))


@lru_cache(maxsize=256)
def words_of(of: Domain, intent: Intent) -> tuple[Words, ...]:
    """Return the words of an intent; `OTHER` has two kinds of messages, each half of them."""
    if intent == OTHER:
        out = (OTHER.act,)
        return Words(of.acts, out, of.acts, of.objects), Words(out, of.objects, of.acts, out)
    acts, things = (act for act in of.acts if act != intent.act), (each for each in of.objects if each != intent.thing)
    return (Words((intent.act,), (intent.thing,), tuple(acts), tuple(things)),)


class _Message:
    """A message being written: its greeting and sentences so far, its number, and the numbers that decide the rest."""

    __slots__ = ("_number", "_of", "_take", "_writer", "greeting", "sentences")

    def __init__(self, of: Domain, drawn: Sequence[int], number: int) -> None:
        self._of, self._take, self._writer, self._number = of, iter(drawn[2:]).__next__, drawn[1], number
        self.greeting: list[str] = []
        self.sentences: list[str] = []

    def write(self, words: Words, needed: str) -> str:
        """Write all sentences, and return the act that is denied, or ""."""
        of, sentences, take = self._of, self.sentences, self._take
        greeted, detail, named, order = take(), take(), take(), take()
        aside, which = (self._number * factor % WORD for factor in TURNS)
        plain, after = named < PLAIN, named >= BEFORE
        asked, it = self._option(words.acts), self._thing(words.things)
        denied = words.denied[which * len(words.denied) >> 32] if aside < BOTH or needed == "denied" else ""
        while denied == asked:  # possible where any act may be denied, as for `OTHER`
            denied = self._option(words.denied)
        strange = ""
        if DENIED <= aside < NOT_MEANT or needed == "not meant":
            strange = self._filled(of.not_meant, self._thing(words.other_things))
        leads, early = denied != "" and order & 1 == 1, order & 2 == 2 and not after
        if greeted < GREETED:
            self.greeting.append(self._filled(of.greetings))
        if strange and early:
            sentences.append(strange)
        if not plain and not after:
            sentences.append(self._filled(of.before, it))
        if leads:
            sentences.append(self._framed(of.denied, denied, it if plain else PRONOUN))
        sentences.append(self._framed(of.asked, asked, it if plain and not leads else PRONOUN))
        if after:
            sentences.append(self._filled(of.after, it))
        if denied and not leads:
            sentences.append(self._framed(of.denied, denied, PRONOUN))
        if strange and not early:
            sentences.append(strange)
        if detail < TOLD:
            sentences.append(self._filled(of.details))
        return denied

    def _option(self, options: Sequence[str]) -> str:
        return options[self._take() * len(options) >> 32]

    def _thing(self, things: Sequence[str]) -> str:
        return self._filled(self._of.things[self._option(things)])

    def _framed(self, frames: Mapping[str, Wordings], act: str, it: str) -> str:
        """Return a sentence that asks for an act or denies it."""
        voice = self._option(tuple(frames))
        frame = _pick(frames[voice], self._take())
        clause = _pick(self._of.clauses[act][voice], self._take())
        return self._slots(frame.replace("{do}", clause).replace("{it}", it))

    def _filled(self, wordings: Wordings, it: str = "") -> str:
        return self._slots(_pick(wordings, self._take()).replace("{it}", it))

    def _slots(self, text: str) -> str:
        """Fill slots one by one, each with its own value unless it is in `COMMON`."""
        while (start := text.find("{")) >= 0:
            end = text.index("}", start)
            values = slots()[name := text[start + 1 : end]]
            number = self._writer if name in COMMON else self._take()
            text = f"{text[:start]}{values[number * len(values) >> 32]}{text[end + 1 :]}"
        return text


def _pick(wordings: Wordings, number: int) -> str:
    """Return one of all the things that the lines of a grammar can say, the lines being equally likely."""
    at = number * len(wordings)
    line = wordings[at >> 32]
    return line[(at & WORD - 1) * len(line) >> 32]


WORLD = "utterances@2"
TOKENS = {"request": 1904, "question": 1400, "contract": 1904}
"""Tokens of a tier per utterance of each intent."""


def times(tier: str, name: str) -> int:
    """Return how many utterances of each intent `texts` has."""
    return -(-TIERS[tier] // TOKENS[name])


def texts(streams: Streams, tier: str, name: str) -> Mapping[Intent, Sequence[str]]:
    """Return all utterances of a domain by intent, equally many of each.

    Args:
        streams: any streams below the seed.
        tier: decides how many there are.
        name: the domain.
    """
    return {
        intent: tuple(messages) for intent, messages in _texts(streams.world(WORLD, tier, name), tier, name).items()
    }


def denials(streams: Streams, tier: str, name: str) -> Mapping[Intent, NDArray[np.int64]]:
    """Return the number of the act that each utterance denies, or -1, in the order of `texts`."""
    by_intent = _texts(streams.world(WORLD, tier, name), tier, name)
    numbers = {"": -1, **{act: number for number, act in enumerate(domain(name).acts)}}
    return {
        intent: np.array([numbers[act] for act in messages.values()], dtype=np.int64)
        for intent, messages in by_intent.items()
    }


def fresh(streams: Streams, tier: str, name: str, intent: Intent, rng: Random) -> str:
    """Write an utterance that is not in `texts`."""
    known, of = _texts(streams.world(WORLD, tier, name), tier, name)[intent], domain(name)
    while (message := write(of, intent, rng, 1)[0]) in known:
        pass
    return message


@lru_cache(maxsize=4)
def _texts(row_streams: Streams, tier: str, name: str) -> Mapping[Intent, Mapping[str, str]]:
    of, count = domain(name), times(tier, name)
    intents = (*of.intents, *([OTHER] if name == "request" else []))
    firsts = {thing: number * count for number, thing in enumerate((*of.objects, OTHER.thing))}
    # Numbers go on from thing to thing, so that the messages of an act deny every other act equally often.
    return {
        intent: _written(of, intent, row_streams.of(*intent), count, first=firsts[intent.thing]) for intent in intents
    }


def chosen(streams: Streams, tier: str, name: str, which: int, count: int) -> tuple[Intent, ...]:
    """Return the intents of a numbered set of labels, in the order of their labels.

    Acts and things are shuffled anew for each set, so that pairs alternate if there are more of them than labels.
    `OTHER` is in sets that are larger than the number of pairs.
    """
    rng, of = streams.world(WORLD, tier, name).of("labels", count, which), domain(name)
    acts, things = (dict(zip(names, rng.sample(names, len(names)), strict=True)) for names in (of.acts, of.objects))
    intents = [Intent(acts[act], things[thing]) for act, thing in of.intents[:count]]
    return tuple(rng.sample([*intents, OTHER][:count], count))
