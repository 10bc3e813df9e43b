"""The words of the world, from ``pools/utterances/*.txt``: how acts and things are worded, and what stands round them.

A file holds sections like ``[renew]`` with a wording a line, or lines alone. ``{it}`` stands for the thing, which is
named there or has been named; other names in braces are slots that anything of `slots` fills.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import lcm
from typing import NamedTuple

from pipeline.worlds.words import pool, pool_digest, pools_in

FOLDER = "utterances"
DOMAINS = ("request", "question")
SECTION = re.compile(r"\[(\w+)\]")
SLOT = re.compile(r"\{(?!it\})(\w+)\}")
IT = "{it}"

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
    acts, things, asides, frames = (sections(f"{name}-{part}") for part in ("acts", "objects", "asides", "frames"))
    return Domain(name, acts, things, asides, frames["before"], frames["behind"], frames["aside"])


@cache
def sections(name: str) -> Sections:
    """Return the sections of a file."""
    found: dict[str, list[str]] = {}
    kind = ""
    for line in filter(None, pool(f"{FOLDER}/{name}")):
        section = SECTION.fullmatch(line)
        if section:
            kind = section[1]
        else:
            found.setdefault(kind, []).append(line)
    return {kind: tuple(lines) for kind, lines in found.items()}


def lines(name: str) -> tuple[str, ...]:
    """Return the lines of a file without sections."""
    return pool(f"{FOLDER}/{name}")


@cache
def slots() -> Sections:
    """Return what fills each slot."""
    return sections("slots")


class Kind(NamedTuple):
    """How questions speak of an act or of a thing: by one word, or by a phrase."""

    word: str
    phrase: str


@cache
def kinds(what: str) -> Mapping[str, Kind]:
    """Return how questions speak of acts, or of things: `what` is "act" or "thing"."""
    split = (line.split(": ") for line in sections("kinds")[what])
    return {name: Kind(word, phrase) for name, word, phrase in split}


def phrase(intent: Intent) -> str:
    """Return what a message of an intent asks, as it stands behind "asks".

    >>> phrase(Intent("price", "zoo"))
    'what a zoo pass costs'
    """
    return kinds("act")[intent.act].phrase.replace(IT, kinds("thing")[intent.thing].phrase)


@cache
def source_digest() -> str:
    """Return the digest of all files."""
    return pool_digest(*pools_in(FOLDER))
