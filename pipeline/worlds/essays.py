"""The world of essays: reflective prose that names nobody and says nothing about anybody.

An essay is an opening, some middles and a closing about one topic of the world of writing; a note is a single
paragraph. A paragraph is one line. The prose has no names, no digits, no values of the pools that biographies draw from
and none of the words that state their facts, so that nothing in it can answer a question about a person.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pipeline.caches import cache, lru_cache
from pipeline.streams import Streams
from pipeline.typed import (
    TIERS,
)
from pipeline.worlds.people import POOLS
from pipeline.worlds.words import pool, pool_digest, pool_text, pools_in
from pipeline.worlds.writing.corpus import has_doubled, runs_of, words_of
from pipeline.worlds.writing.grammar import Grammar, parse_grammar
from pipeline.worlds.writing.realise import Realiser, common, varied
from pipeline.worlds.writing.topics import ATTRIBUTES, VERBS, Topic, topics

WORLD = "essays@1"
TOKENS_PER_PARAGRAPH = 40
"""Tokens of the tier per paragraph: more than twice what a prompt can hold."""
CHARS = (340, 720)
"""Characters of a paragraph: 60 to 200 tokens in every shipped vocabulary."""
MIDDLES = (2, 5)
"""The least and the most middles of an essay."""
NOTES = 6
"""One in this many texts is a note."""
RUN = 12
"""No two paragraphs about one topic share this many words in a row."""
TRIES = 400
FEWEST = 2
"""The fewest values that a topic must keep for each of its attributes."""
NAMED = re.compile(r"[A-Z\d](?:(?<=\d)|(?<!^.)(?<![.?!:] .)(?<!\w.)(?:(?<!I)|(?=\w)))")
"""A digit, or a capital letter within a sentence. The lookbehinds follow the character, which is faster."""
TELLING = re.compile(r"\b(?:age[ds]?|birth(?:date|place)|born|college|graduat\w+|hobb(?:y|ies)|majors?|universit\w+)\b")
"""Words that state the facts of biographies."""
STEMS = ("age", "birth", "born", "college", "graduat", "hobb", "major", "universit")
"""Beginnings of those words: to look for these first is faster."""
VALUE_WORD = re.compile(r"[A-Za-z0-9'-]+")


@dataclass(frozen=True, slots=True)
class Essay:
    """The paragraphs of one text: `count` of them, from index `start` on. A note has one."""

    topic: int
    start: int
    count: int

    @property
    def kinds(self) -> tuple[str, ...]:
        """The grammar rules of its paragraphs."""
        return ("note",) if self.count == 1 else ("opening", *("middle",) * (self.count - 2), "closing")


def essays(streams: Streams, tier: str) -> Sequence[Essay]:
    """Return all essays and notes of a tier in the order of their paragraphs, without writing them.

    `streams` are those of any row or pool below the same seed.
    """
    return _essays(streams.world(WORLD, tier), TIERS[tier] // TOKENS_PER_PARAGRAPH)


@lru_cache(maxsize=4)
def _essays(world: Streams, paragraphs: int) -> Sequence[Essay]:
    """Deal topics to texts until there are enough paragraphs, then put the texts of a topic side by side."""
    rng, left, counts = world.of("essays"), paragraphs, list[tuple[int, int]]()
    while left > 0:
        for place, topic in enumerate(rng.sample(range(len(subjects())), len(subjects()))):
            counts.append((topic, rng.randint(*MIDDLES) + 2 if place % NOTES else 1))
            left -= counts[-1][1]
    essays, start = list[Essay](), 0
    for topic, count in sorted(counts, key=lambda pair: pair[0]):
        essays.append(Essay(topic, start, count))
        start += count
    return tuple(essays)


def paragraphs(streams: Streams, tier: str) -> Iterator[str]:
    """Write all paragraphs of a tier, in order, without line ends and all distinct.

    Raises:
        ValueError: if the grammar has no more to say about a topic.
    """
    world, written = streams.world(WORLD, tier), set[str]()
    writer = Writer(world, 0)
    for essay in essays(streams, tier):
        if writer.topic != essay.topic:
            writer = Writer(world, essay.topic)
        for kind in essay.kinds:
            yield writer.paragraph(kind, written)


class Writer:
    """Writes paragraphs about one topic, no two of which share a run of RUN words."""

    def __init__(self, world: Streams, topic: int) -> None:
        self.topic = topic
        rng = world.of("text", subjects()[topic].name)
        self._realiser = Realiser(reflection(), common().rules, subjects()[topic], rng)
        self._runs = set[str]()

    def paragraph(self, kind: str, written: set[str]) -> str:
        """Write a paragraph that is not in `written`, and add it."""
        for _ in range(TRIES):
            text = self._realiser.write(kind)
            words = words_of(text)
            runs = runs_of(words, RUN)
            if _is_sound(text, words) and text not in written and self._runs.isdisjoint(runs):
                self._runs |= runs
                written.add(text)
                return text
        raise ValueError(f"no {kind} about {subjects()[self.topic].name} in {TRIES} tries")


def _is_sound(text: str, words: list[str]) -> bool:
    low, high = CHARS
    return low <= len(text) <= high and not has_doubled(text, words) and tells_nothing(text)


def tells_nothing(text: str) -> bool:
    """Return whether prose names nobody and nowhere, and states no value or kind of fact of biographies."""
    telling = any(map(text.__contains__, STEMS)) and TELLING.search(text)
    return not telling and not NAMED.search(text) and not holds_value(text)


def holds_value(text: str) -> bool:
    """Return whether a text contains a value of the pools of people, as whole words with the same case."""
    words, known = VALUE_WORD.findall(text), _values()
    return not known.keys().isdisjoint(words) and any(
        words[max(0, at + 1 - len(value)) : at + 1] == value
        for at, word in enumerate(words)
        if word in known
        for value in known[word]
    )


@cache
def _values() -> Mapping[str, Sequence[list[str]]]:
    """Return the words of all values that biographies may state, by their last word."""
    by_last_word: dict[str, list[list[str]]] = {}
    for name in POOLS:
        for value in pool(name):
            words = VALUE_WORD.findall(value)
            by_last_word.setdefault(words[-1], []).append(words)
    return by_last_word


@cache
def reflection() -> Grammar:
    """Return the grammar of essays."""
    return varied(parse_grammar(pool_text("essays/reflection"), "reflection.txt"))


@cache
def subjects() -> tuple[Topic, ...]:
    """Return the topics of the world of writing without what essays may not say; some lose too much and drop out."""
    kept = (_without_telling(topic) for topic in topics())
    return tuple(topic for topic in kept if topic is not None)


def _without_telling(topic: Topic) -> Topic | None:
    attributes = {name: getattr(topic, name) for name in ATTRIBUTES}
    single = [topic.name, *(value for value in attributes.values() if isinstance(value, str))]
    kept: dict[str, Any] = {
        name: tuple(filter(_is_fit, values)) for name, values in attributes.items() if not isinstance(values, str)
    }
    forms = [forms for forms in zip(*(attributes[name] for name in VERBS), strict=True) if all(map(_is_fit, forms))]
    kept.update(zip(VERBS, zip(*forms, strict=True), strict=True) if forms else {})
    if not all(map(_is_fit, single)) or min(map(len, kept.values())) < FEWEST:
        return None
    return replace(topic, **kept)


def _is_fit(value: str) -> bool:
    return value == value.lower() and tells_nothing(value)


@cache
def source_digest() -> str:
    """Return the digest of all files that essays are written from, and of those with values that they avoid."""
    folders = ("essays", "writing/topics")
    return pool_digest(
        *POOLS, "writing/common", "writing/variants", *(name for folder in folders for name in pools_in(folder))
    )
