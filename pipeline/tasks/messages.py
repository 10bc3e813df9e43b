"""A reader of people's messages, which families that are made of them share. It is not a family.

What a sentence can say is expanded by `pipeline.worlds.wording`, as the writer's is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.caches import cache, lru_cache
from pipeline.tasks.solving import LINES, ReadError
from pipeline.worlds.wording import sections, variants

__all__ = ["Meaning", "intent_of", "intents_of", "read", "sentences"]

SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z])")
THINGS = re.compile(r"\b(?:my|our|the) [\w-]+")
HOLE, PRONOUN, CLAUSE = "{it}", "it", "{do}"
OUT = "out"
"""What the files call acts and things that have no name."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message is for: the act and the thing, each "" where it is none of those that the world knows by name.

    `acts` and `things` are all that the message mentions, in order: also those that are not wanted or not meant.
    """

    domain: str
    act: str
    thing: str
    acts: tuple[str, ...]
    things: tuple[str, ...]

    @property
    def denied(self) -> str:
        """The act that the message says is not wanted, or ""."""
        return next((act for act in self.acts if act != self.act), "")


class Said(NamedTuple):
    """What a sentence says: an act that it asks for or denies, and a thing that is meant or not. None is nothing."""

    act: str | None = None
    asked: bool = False
    thing: str | None = None
    meant: bool = False


NOTHING = Said()


@dataclass(frozen=True, slots=True)
class Tables:
    """What sentences of one domain say.

    Frames are found by what stands before their clause; each has its voice, what stands after, and whether it denies.
    Clauses are found by voice and text, and things by their first two words, the longest first.
    """

    frames: Mapping[str, tuple[tuple[str, str, bool], ...]]
    clauses: Mapping[tuple[str, str], str]
    things: Mapping[str, tuple[tuple[str, str], ...]]
    naming: frozenset[str]
    not_meant: frozenset[str]
    idle: frozenset[str]


def _lines(name: str) -> Iterator[tuple[str, str]]:
    """Yield all that each line of a file can say, with the heading above it."""
    every = sections(f"utterances/{name}").items()
    return ((heading, said) for heading, lines in every for line in lines for said in variants(line))


@cache
def _tables() -> Mapping[str, Tables]:
    return {domain: _made(domain) for domain in ("request", "question")}


def _made(domain: str) -> Tables:
    frames: dict[str, set[tuple[str, str, bool]]] = {}
    named: dict[str, set[str]] = {"before": set(), "behind": set(), "beside": set()}
    for heading, said in _lines(f"{domain}-frames"):
        if heading in named:
            named[heading].add(said)
        else:
            mood, voice = heading.split("_")
            head, _, tail = said.partition(CLAUSE)
            frames.setdefault(head, set()).add((voice, tail, mood == "denied"))
    clauses = {}
    for heading, said in _lines(f"{domain}-clauses"):
        act, voice = heading.split("_")
        clauses[voice, said] = clauses[voice, said.replace(HOLE, PRONOUN)] = act
    things: dict[str, list[tuple[str, str]]] = {}
    for thing, said in _lines(f"{domain}-objects"):
        start = THINGS.match(said)
        assert start
        things.setdefault(start[0], []).append((said, thing))
    longest = {start: tuple(sorted(some, key=lambda one: -len(one[0]))) for start, some in things.items()}
    idle = frozenset(said for name in ("greetings", "details") for _, said in _lines(name))
    naming = frozenset(named["before"] | named["behind"])
    ordered = {head: tuple(sorted(some)) for head, some in frames.items()}
    return Tables(ordered, clauses, longest, naming, frozenset(named["beside"]), idle)


@cache
def _slots() -> Mapping[str, str]:
    """Return the slot that each word fills, alone or with the mark that may stand behind it."""
    every = sections("utterances/slots").items()
    return {
        f"{word}{mark}": f"{{{slot}}}{mark}" for slot, some in every for word in some for mark in ("", ".", ",", "?")
    }


def sentences(message: str) -> list[str]:
    """Return the sentences of a message."""
    return SENTENCES.split(message)


def read(message: str) -> Meaning:
    """Return what a message is for."""
    marks = _slots()
    parts = [" ".join([marks.get(word, word) for word in part.split(" ")]) for part in sentences(message)]
    for domain in _tables():
        said = [_read(part, domain) for part in parts]
        if None in said:
            continue
        known = [one for one in said if one]
        acts = [one.act for one in known if one.asked and one.act is not None]
        things = [one.thing for one in known if one.meant and one.thing is not None]
        if len(acts) == len(things) == 1:
            every = (tuple(_named(name) for name in some if name is not None) for some in _columns(known))
            return Meaning(domain, _named(acts[0]), _named(things[0]), *every)
    raise ReadError(f"no message that is understood: {message!r}")


def _columns(said: Sequence[Said]) -> tuple[list[str | None], list[str | None]]:
    return [one.act for one in said], [one.thing for one in said]


def _named(name: str) -> str:
    return "" if name == OUT else name


@lru_cache(maxsize=100_000)
def _read(sentence: str, domain: str) -> Said | None:
    """Return what a sentence says whose slots are open; None if it is not known."""
    tables = _tables()[domain]
    if sentence in tables.idle:
        return NOTHING
    for found in THINGS.finditer(sentence):
        for wording, thing in tables.things.get(found[0], ()):
            start = found.start()
            if sentence.startswith(wording, start) and not sentence[start + len(wording) :][:1].isalnum():
                form = f"{sentence[:start]}{HOLE}{sentence[start + len(wording) :]}"
                if form in tables.naming:
                    return Said(thing=thing, meant=True)
                if form in tables.not_meant:
                    return Said(thing=thing)
                if said := _framed(form, tables):
                    return Said(said.act, said.asked, thing, True)
    return _framed(sentence, tables)


def _framed(form: str, tables: Tables) -> Said | None:
    """Return what a sentence says that consists of a frame and a clause."""
    end = form.find(" ")
    while end >= 0:
        for voice, tail, denies in tables.frames.get(form[: end + 1], ()):
            if form.endswith(tail):
                act = tables.clauses.get((voice, form[end + 1 : len(form) - len(tail)]))
                if act is not None:
                    return Said(act, not denies)
        end = form.find(" ", end + 1)
    return None


def intent_of(message: str) -> tuple[str, str]:
    """Return the act and the thing of a message, both "" where it has none of those that are named."""
    meaning = read(message)
    return (meaning.act, meaning.thing) if meaning.act and meaning.thing else ("", "")


intents_of = LINES.of_each(intent_of)
"""The same of many messages, most of which were read before."""
