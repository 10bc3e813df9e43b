"""A reader of people's messages, shared by the families that use them. It is not a family itself.

`pipeline.worlds.wording` expands the sentences that it knows, as it does for the writer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.caches import cache, lru_cache
from pipeline.tasks.solving import LINES, ReadError
from pipeline.worlds.wording import sections, variants
from pipeline.worlds.words import pools_in

__all__ = ["Meaning", "intent_of", "intents_of", "read", "sentences"]

SENTENCES = re.compile(r"(?<=[.?!]) (?=[A-Z])")
THINGS = re.compile(r"\b(?:my|our|the) [\w-]+")
HOLE, PRONOUN, CLAUSE = "{it}", "it", "{do}"
MONTH, RELATIVE = "{month}", re.compile(r"\{(?:ahead|ago|since)\}")
"""The slot of months, and those of months that are told from the date of the message."""
DOMAINS = ("request", "question")
"""Where messages come from if they have no date."""
OUT = "out"
"""The files' word for acts and things without a name."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What a message asks for: an act and a thing, each "" if the world has no name for it.

    `acts` and `things` are all that the message mentions, in order, even if it does not ask for them.
    """

    domain: str
    act: str
    thing: str
    acts: tuple[str, ...]
    things: tuple[str, ...]

    @property
    def denied(self) -> str:
        """The first act that the message mentions but does not ask for, or ""."""
        return next((act for act in self.acts if act != self.act), "")


class Statement(NamedTuple):
    """What a sentence says: an act, if any, and whether it asks for it; a thing, if any, and whether it means it."""

    act: str | None = None
    asked: bool = False
    thing: str | None = None
    meant: bool = False


NOTHING = Statement()


@dataclass(frozen=True, slots=True)
class Tables:
    """What sentences of one domain say.

    `frames` maps the text before a clause to the voice of the clause, the text after it, and whether the frame denies.
    `clauses` maps voice and text to an act. `things` maps two first words to wordings and things, longest first.
    """

    frames: Mapping[str, tuple[tuple[str, str, bool], ...]]
    clauses: Mapping[tuple[str, str], str]
    things: Mapping[str, tuple[tuple[str, str], ...]]
    naming: frozenset[str]
    not_meant: frozenset[str]
    idle: frozenset[str]


def _lines(name: str) -> Iterator[tuple[str, str]]:
    """Yield every variant of each line of a file, with the heading above it."""
    every = sections(name).items()
    variants_of = ((heading, wording) for heading, lines in every for line in lines for wording in variants(line))
    return ((heading, RELATIVE.sub(MONTH, wording)) for heading, wording in variants_of)


@cache
def _tables(domain: str) -> Tables:
    frames: dict[str, set[tuple[str, str, bool]]] = {}
    named: dict[str, set[str]] = {"before": set(), "behind": set(), "beside": set()}
    for heading, wording in _lines(f"utterances/{domain}-frames"):
        if heading in named:
            named[heading].add(wording)
        else:
            mood, voice = heading.split("_")
            head, _, tail = wording.partition(CLAUSE)
            frames.setdefault(head, set()).add((voice, tail, mood == "denied"))
    clauses = {}
    for heading, wording in _lines(f"utterances/{domain}-clauses"):
        act, voice = heading.split("_")
        clauses[voice, wording] = clauses[voice, wording.replace(HOLE, PRONOUN)] = act
    things: dict[str, list[tuple[str, str]]] = {}
    for thing, wording in _lines(f"utterances/{domain}-objects"):
        start = THINGS.match(wording)
        assert start
        things.setdefault(start[0], []).append((wording, thing))
    longest = {start: tuple(sorted(some, key=lambda one: -len(one[0]))) for start, some in things.items()}
    naming = frozenset(named["before"] | named["behind"])
    ordered = {head: tuple(sorted(some)) for head, some in frames.items()}
    return Tables(ordered, clauses, longest, naming, frozenset(named["beside"]), _idle())


@cache
def _idle() -> frozenset[str]:
    """Return the sentences of all domains that ask for nothing and name nothing."""
    files = [name for name in pools_in("utterances") if name.endswith(("greetings", "details"))]
    return frozenset(wording for name in files for _, wording in _lines(name))


@cache
def _slots() -> Mapping[str, str]:
    """Return the slot that each word fills, alone or with the mark that may follow it."""
    every = {word: f"{{{slot}}}" for slot, some in sections("utterances/slots").items() for word in some}
    marks = ("", ".", ",", ";", "?")
    return {f"{word}{mark}": f"{slot}{mark}" for word, slot in (every | {"May": MONTH}).items() for mark in marks}


def sentences(message: str) -> list[str]:
    """Return the sentences of a message."""
    return SENTENCES.split(message)


def read(message: str, *domains: str) -> Meaning:
    """Return what a message of one of some domains asks for; without any it is of one of `DOMAINS`."""
    marks = _slots()
    parts = [" ".join([marks.get(word, word) for word in part.split(" ")]) for part in sentences(message)]
    for domain in domains or DOMAINS:
        statements = [_read(part, domain) for part in parts]
        if None in statements:
            continue
        known = [one for one in statements if one]
        acts = [one.act for one in known if one.asked and one.act is not None]
        things = [one.thing for one in known if one.meant and one.thing is not None]
        if len(acts) == len(things) == 1:
            every = (tuple(_named(name) for name in some if name is not None) for some in _columns(known))
            return Meaning(domain, _named(acts[0]), _named(things[0]), *every)
    raise ReadError(f"no message that is understood: {message!r}")


def _columns(statements: Sequence[Statement]) -> tuple[list[str | None], list[str | None]]:
    return [one.act for one in statements], [one.thing for one in statements]


def _named(name: str) -> str:
    return "" if name == OUT else name


@lru_cache(maxsize=100_000)
def _read(sentence: str, domain: str) -> Statement | None:
    """Return what a sentence with open slots says; None for an unknown sentence."""
    tables = _tables(domain)
    if sentence in tables.idle:
        return NOTHING
    for found in THINGS.finditer(sentence):
        for wording, thing in tables.things.get(found[0], ()):
            start = found.start()
            if sentence.startswith(wording, start) and not sentence[start + len(wording) :][:1].isalnum():
                form = f"{sentence[:start]}{HOLE}{sentence[start + len(wording) :]}"
                if form in tables.naming:
                    return Statement(thing=thing, meant=True)
                if form in tables.not_meant:
                    return Statement(thing=thing)
                if framed := _framed(form, tables):
                    return Statement(framed.act, framed.asked, thing, True)
    return _framed(sentence, tables)


def _framed(form: str, tables: Tables) -> Statement | None:
    """Return what a sentence of a frame and a clause says; None if it is not one."""
    end = form.find(" ")
    while end >= 0:
        for voice, tail, denies in tables.frames.get(form[: end + 1], ()):
            if form.endswith(tail):
                act = tables.clauses.get((voice, form[end + 1 : len(form) - len(tail)]))
                if act is not None:
                    return Statement(act, not denies)
        end = form.find(" ", end + 1)
    return None


def intent_of(message: str, *domains: str) -> tuple[str, str]:
    """Return the act and the thing that a message asks for, or two empty strings unless both have names."""
    meaning = read(message, *domains)
    return (meaning.act, meaning.thing) if meaning.act and meaning.thing else ("", "")


intents_of = LINES.cached_map(intent_of)
"""The same for many messages, most of which were read before."""
