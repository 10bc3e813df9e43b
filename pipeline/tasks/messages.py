"""A reader of people's messages, which families that are made of them share. It is not a family.

Sentences with all fillings of their slots are written by `pipeline.worlds.wording`, as the writer's are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from pipeline.caches import cache, lru_cache
from pipeline.tasks.solving import LINES, ReadError
from pipeline.worlds.wording import filled, sections, slots

__all__ = ["Meaning", "intent_of", "intents_of", "read"]

SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z])")
HOLE, PRONOUN = "{it}", "it"


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message is for: the act and the thing, each "" where it is none of those that the world knows by name."""

    domain: str
    act: str
    thing: str


@dataclass(frozen=True, slots=True)
class Tables:
    """What sentences with a hole say in one domain: an act ("" if none that has a name), a thing's name, or nothing."""

    acts: Mapping[str, str]
    naming: frozenset[str]
    beside: frozenset[str]
    idle: frozenset[str]
    things: Mapping[str, str]
    known: re.Pattern[str]


def _lines(name: str) -> Iterator[tuple[str, str]]:
    """Yield each line of a file with the heading above it."""
    return ((heading, line) for heading, some in sections(f"utterances/{name}").items() for line in some)


def _filled(line: str) -> Iterator[str]:
    """Yield a sentence with every filling of its slots."""
    known, names = sections("utterances/slots"), dict.fromkeys(name for name in slots(line) if name != "it")
    for values in product(*(known[name] for name in names)):
        yield filled(line, {**dict(zip(names, values, strict=True)), "it": HOLE})


@cache
def _tables() -> Mapping[str, Tables]:
    return {domain: _made(domain) for domain in ("request", "question")}


def _made(domain: str) -> Tables:
    acts = {line: act for act, line in _lines(f"{domain}-acts")}
    things = {line: thing for thing, line in _lines(f"{domain}-objects")}
    if domain == "request":
        acts |= {line: "" for _, line in _lines("other-acts")}
        things |= {line: "" for _, line in _lines("other-objects")}
    frames = [(kind, text) for kind, line in _lines(f"{domain}-frames") for text in _filled(line)]
    spoken = [line for name in (f"{domain}-asides", "greetings", "details") for _, line in _lines(name)]
    longest = sorted(things, key=len, reverse=True)
    return Tables(
        acts,
        frozenset(text for kind, text in frames if kind != "aside"),
        frozenset(text for kind, text in frames if kind == "aside"),
        frozenset(text for line in spoken for text in _filled(line)),
        things,
        re.compile(rf"\b(?:{'|'.join(map(re.escape, longest))})(?![\w-])"),
    )


def read(message: str) -> Meaning:
    """Return what a message is for."""
    parts = SENTENCES.split(message)
    for domain in ("request", "question"):
        said = [_read(part, domain) for part in parts]
        if all(one is not None for one in said):
            acts = [one[0] for one in said if one and one[0] is not None]
            things = [one[1] for one in said if one and one[1] is not None]
            if len(acts) == len(things) == 1:
                return Meaning(domain, acts[0], things[0])
    raise ReadError(f"no message that is understood: {message!r}")


@lru_cache(maxsize=100_000)
def _read(sentence: str, domain: str) -> tuple[str | None, str | None] | None:
    """Return the act and the thing that a sentence gives, None for either that it does not; None if it is not known."""
    tables = _tables()[domain]
    if sentence in tables.idle:
        return None, None
    named = [(found.start(), found.end()) for found in tables.known.finditer(sentence)]
    for start, end in named:
        form, thing = f"{sentence[:start]}{HOLE}{sentence[end:]}", tables.things[sentence[start:end]]
        if form in tables.beside:
            return None, None
        if form in tables.naming:
            return None, thing
        if form in tables.acts:
            return tables.acts[form], thing
    return _unnamed(sentence, tables)


def _unnamed(sentence: str, tables: Tables) -> tuple[str | None, str | None] | None:
    """Return the act of a sentence with a pronoun in the place of the thing."""
    for found in re.finditer(rf"\b{PRONOUN}\b", sentence):
        form = f"{sentence[: found.start()]}{HOLE}{sentence[found.end() :]}"
        if form in tables.acts:
            return tables.acts[form], None
    return None


def intent_of(message: str) -> tuple[str, str]:
    """Return the act and the thing of a message, both "" where it has none of those that are named."""
    meaning = read(message)
    return (meaning.act, meaning.thing) if meaning.act and meaning.thing else ("", "")


intents_of = LINES.of_each(intent_of)
"""The same of many messages, most of which were read before."""
