"""How alike the sentences of different texts are: a sentence's skeleton is what is left without what it is about."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from random import Random

import pytest

from pipeline.streams import Streams
from pipeline.worlds.words import pool
from pipeline.worlds.writing.library import Label, written
from pipeline.worlds.writing.realise import DAYS, MONTHS, common, formats
from pipeline.worlds.writing.surface import SMALL
from pipeline.worlds.writing.topics import ATTRIBUTES, Topic, topics_for
from prose_rules import topic_named

WORDS = 5
"""Shorter sentences are not counted: there are few ways to say yes."""
AGREEING = re.compile(r"\b(?:an?|is|are|was|were|has|have|it|they|them|its|their|he|she|him|her|his)\b", re.IGNORECASE)
SENTENCE = re.compile(r"(?<=[.!?])[\"')]* |\n+")


def skeletons(text: str, topic: Topic) -> Iterator[str]:
    """Yield the sentences (of verse: lines) of a text without topic, names, dates, numbers and words that agree."""
    bare = _words_of(topic).sub("T", text)
    bare = _names().sub("N", bare)
    bare = _small().sub("C", re.sub(r"\d[\d,:]*", "0", bare))
    bare = AGREEING.sub("a", bare)
    yield from (said.strip().lower() for said in SENTENCE.split(bare) if len(said.split()) >= WORDS)


@cache
def _words_of(topic: Topic) -> re.Pattern[str]:
    given = (getattr(topic, name) for name in ATTRIBUTES)
    values = {value for values in given for value in ((values,) if isinstance(values, str) else values)}
    return _either({topic.name, *values, *(re.sub("^(?:the|an?) ", "", value) for value in values)}, re.IGNORECASE)


@cache
def _names() -> re.Pattern[str]:
    people = (line[2:] for line in pool("writing/people"))
    return _either({*people, *pool("last"), *pool("writing/towns"), *pool("writing/streets"), *DAYS, *MONTHS})


@cache
def _small() -> re.Pattern[str]:
    shared = {word for phrases in common().rules.values() for phrase in phrases for word in phrase}
    return _either({*SMALL, *(word for word in shared if isinstance(word, str))}, re.IGNORECASE)


def _either(words: Iterable[str], flags: int = 0) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(sorted(map(re.escape, words), key=len, reverse=True))})\b", flags)


@pytest.mark.parametrize(("texts_of_each", "most"), [(20, 0.23), pytest.param(60, 0.5, marks=pytest.mark.slow)])
def test_most_sentences_are_built_like_no_other(texts_of_each: int, most: float) -> None:
    """Of so many texts of each format, at most this share of sentences has a skeleton that another sentence has."""
    rng, texts = Random(7), list[list[str]]()
    for form in formats():
        for name in rng.choices(topics_for(form), k=texts_of_each):
            world, size = Streams((rng.randrange(10**9), "skeletons")), rng.choice(("short", "long"))
            texts += [list(skeletons(text, topic_named(name))) for text in written(world, Label(form, name), [size])]
    heard = Counter(said for text in texts for said in set(text))
    shared = sum(heard[said] > 1 for text in texts for said in text)
    assert shared / sum(map(len, texts)) < most
