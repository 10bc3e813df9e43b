"""Wordings of the annals: sentences with alternatives in brackets and slots in braces, in ``pools/chronicle``."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random

from pipeline.worlds.words import pool, pool_digest

FILES = tuple(f"chronicle/{name}" for name in ("events", "happenings", "deeds", "colour", "names", "talk"))
SECTION = re.compile(r"\[(\w+)\]")
CHOICE = re.compile(r"\[([^\]]*)\]")
ASKED = "? "


@dataclass(frozen=True, slots=True)
class Wording:
    """A sentence: plain parts, and between them alternatives to choose from."""

    parts: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, line: str) -> Wording:
        """Take a line apart: what stands in brackets are alternatives."""
        parts = CHOICE.split(line)
        return cls(tuple(tuple(part.split("|")) if at % 2 else (part,) for at, part in enumerate(parts)))

    def write(self, rng: Random, values: Mapping[str, str]) -> str:
        """Return the sentence with values in its slots."""
        said = "".join([part[0] if len(part) == 1 else rng.choice(part) for part in self.parts]).format_map(values)
        return said[0].upper() + said[1:]


class Values(dict[str, str]):
    """Values of slots; those that are missing are drawn when a sentence wants them."""

    __slots__ = ("_draw",)

    def __init__(self, given: Mapping[str, str], draw: Callable[[str, Collection[str]], str]) -> None:
        super().__init__(given)
        self._draw = draw

    def __missing__(self, slot: str) -> str:
        """Draw the value of a slot, and keep it."""
        self[slot] = self._draw(slot, self.values())
        return self[slot]


@cache
def lines(name: str) -> Mapping[str, tuple[str, ...]]:
    """Return the lines of a file of the annals by the names of its sections."""
    found: dict[str, tuple[str, ...]] = {}
    kind = ""
    for line in filter(None, pool(f"chronicle/{name}")):
        section = SECTION.fullmatch(line)
        kind = section[1] if section else kind
        found[kind] = found.get(kind, ()) + (() if section else (line,))
    return found


@cache
def wordings() -> Mapping[str, Sequence[Wording]]:
    """Return the sentences of every kind of event, happenings and deeds among them."""
    said = {**lines("events"), **lines("happenings"), **lines("deeds")}
    return {kind: [Wording.of(one) for one in some if not one.startswith(ASKED)] for kind, some in said.items()}


@cache
def happenings() -> Mapping[str, Sequence[str]]:
    """Return the kinds of things that happen to a property, each with what is asked about it in other words."""
    return {
        kind: [one.removeprefix(ASKED) for one in some if one.startswith(ASKED)]
        for kind, some in lines("happenings").items()
    }


@cache
def deeds() -> tuple[str, ...]:
    """Return the kinds of things that somebody does for a property, or in vain, but for buying it."""
    return tuple(lines("deeds"))


@cache
def colours() -> Mapping[str, Sequence[Wording]]:
    """Return the sentences that state nothing, by the group of kinds that they go with."""
    return {group: [Wording.of(one) for one in some] for group, some in lines("colour").items()}


@cache
def talk() -> Mapping[str, Sequence[Wording]]:
    """Return what is said around entries in a chat."""
    return {kind: [Wording.of(one) for one in some] for kind, some in lines("talk").items()}


@cache
def words_of(name: str) -> Sequence[str]:
    """Return a list of names: separated by commas where one has several words."""
    (line,) = lines("names")[name]
    return line.split(", ") if ", " in line else line.split(" ")


@cache
def source_digest() -> str:
    """Return the digest of all files that the annals are written from."""
    return pool_digest(*FILES)
