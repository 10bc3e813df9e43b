"""Writes utterances in bulk: every part of a message is drawn from its words, all draws at once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import chain
from random import Random

from pipeline.streams import words
from pipeline.worlds.utterances.grammar import IT, OTHER, SLOT, Domain, Intent, Sections, domain, lines, slots

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
        yield _pick(of.before, frame).replace(IT, it)
    yield _pick(own.acts, act).replace(IT, it if named < PLAIN else PRONOUN)
    if named >= BEFORE:
        yield _pick(of.behind, frame).replace(IT, it)
    if own.denied and (aside < DENIED or not own.beside):
        yield _filled(_pick(own.denied, second), filling)
    elif aside < BESIDE or not own.denied:
        yield _filled(_pick(of.others, second), filling).replace(IT, _pick(own.beside, second * 97 % WORD))
    if told < TOLD:
        yield _filled(_pick(lines("details"), last), filling)


def _filled(text: str, filling: Sequence[int]) -> str:
    if "{" not in text:
        return text
    return SLOT.sub(lambda found: _pick(slots()[found[1]], filling[SLOTS.index(found[1])]), text)


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
    slot = SLOT.search(text)
    if not slot:
        yield text
        return
    for value in slots()[slot[1]]:
        yield from _fillings(text.replace(slot[0], value))


def mentioned(name: str, message: str) -> str:
    """Return the act that a message says is not wanted, or "" if it says so of none."""
    known = _asides(name)
    return next((known[part] for part in END.split(message) if part in known), "")
