"""A reader of linked biographies: builds the table of people from a prompt's text alone, and follows links in it.

It shares no code with the world or the renderer. Prompts of one build share paragraphs, so a paragraph once read is
remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from pipeline.tasks.bio.memory import MEMORY
from pipeline.tasks.bio.reader import END, FIXED_WORDS, START, understood

NAME = "[A-Z][A-Za-z]+ [A-Z][A-Za-z]+ [A-Z][A-Za-z]+"
NAMED = re.compile(NAME)
LINK = re.compile(rf"the same (?:date as|as that of|university as|city as) ({NAME})")
FINAL = "\nFinal answer: "

FRAMES = tuple((attribute, (before, after)) for attribute, before, after in FIXED_WORDS)


@dataclass(frozen=True, slots=True)
class Told:
    """What a paragraph says: whose it is, the attributes that it states, and those for which it names somebody."""

    name: str
    stated: Mapping[str, str]
    linked: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Entry:
    """A paragraph as read, and where it stands."""

    start: int
    end: int
    told: Told


@dataclass(frozen=True, slots=True)
class Query:
    """A question as read: about which attribute of whom, and the reply that follows it (empty for the last)."""

    attribute: str
    name: str
    text: str
    reply: str


@lru_cache(maxsize=1)
def read_table(text: str) -> dict[str, list[Entry]]:
    """Return the biographies of a prompt by full name, in order; remembers the last prompt it read.

    Raises:
        ValueError: if there is no body, or a line of it is no biography.
    """
    table: dict[str, list[Entry]] = {}
    for entry in _entries(text):
        table.setdefault(entry.told.name, []).append(entry)
    return table


def _entries(text: str) -> Iterator[Entry]:
    start = text.find(START) + len(START)
    end = text.rfind("\n" + END) + 1
    if start < len(START) or end <= start:
        raise ValueError("the prompt has no body of biographies")
    for line in text[start : end - 1].split("\n"):
        stop = start + len(line) + 1
        yield Entry(start, stop, take_apart(line))
        start = stop


@MEMORY.of
def take_apart(line: str) -> Told:
    """Read a paragraph: its sentences in order, of which any but not all may be missing."""
    named = NAMED.search(line)
    name = named[0] if named else ""
    openings = [(attribute, name.join(frame)) for attribute, frame in FRAMES]
    places = [(line.find(opening), attribute, opening) for attribute, opening in openings if name and opening in line]
    if not places or places[0][0] != 0 or places != sorted(places) or not line.endswith("."):
        raise ValueError(f"no biography: {line[:80]!r}")
    stops = [place - 2 for place, _, _ in places[1:]] + [len(line) - 1]
    values = {}
    for (place, attribute, opening), stop in zip(places, stops, strict=True):
        values[attribute] = line[place + len(opening) : stop]
        if not values[attribute] or line[stop : stop + 2].strip() != "." or line.count(opening) != 1:
            raise ValueError(f"no biography: {line[:80]!r}")
    links = {attribute: found[1] for attribute, value in values.items() if (found := LINK.fullmatch(value))}
    return Told(name, {key: value for key, value in values.items() if key not in links}, links)


def follow(table: Mapping[str, list[Entry]], name: str, attribute: str) -> tuple[list[Entry], str]:
    """Return the biographies that lead from a person to the value of an attribute, and the value.

    Raises:
        ValueError: if a person has not just one biography, or the links end in none that states it.
    """
    chain: list[Entry] = []
    while True:
        found = table.get(name, [])
        if len(found) != 1:
            raise ValueError(f"{name} has {len(found)} biographies")
        if found[0] in chain:
            raise ValueError(f"the links from {chain[0].told.name} go in a circle")
        chain.append(found[0])
        told = found[0].told
        if attribute in told.stated:
            return chain, told.stated[attribute]
        if attribute not in told.linked:
            raise ValueError(f"the biography of {name} does not tell the {attribute}")
        name = told.linked[attribute]


def read_queries(text: str) -> list[Query]:
    """Return every question after the biographies, the last one being that of the prompt.

    Raises:
        ValueError: if a question cannot be read.
    """
    blocks = text[text.rfind("\n" + END) :].split("\nQuestion: ")[1:]
    parts = [block.partition("\nAnswer:") for block in blocks]
    if not parts or parts[-1][2]:
        raise ValueError("the prompt does not end in a question")
    return [Query(*understood(line), line, reply.strip()) for line, _, reply in parts]
