"""Answers from documents by titles, shapes of values and shared words: no sentence is understood."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.caches import cache
from pipeline.tasks.documents.solve import SENTENCE, Entry
from pipeline.worlds.gazetteer.documents import stems
from pipeline.worlds.gazetteer.things import forms, words_of

HEAD = re.compile(r"^Document(?: \[\d+\])?(?: \(title: [^()]+\)|:) ")
SHAPES = (
    ("year", re.compile(r"\byear\b|^When\b|^Since when\b|^at what age", re.IGNORECASE)),
    ("firm", re.compile(r"\b(?:firm|contractor|publisher)\b", re.IGNORECASE)),
    ("place", re.compile(r"\b(?:[Ww]hich|[Ww]hat) (?:town|river)\b|\b[Ii]nto which river\b")),
    ("work", re.compile(r"\b(?:museum|school|novel)\b", re.IGNORECASE)),
    ("person", re.compile(r"\b(?:who|whom|whose|which engineer|which keeper|chief rival)\b", re.IGNORECASE)),
)
"""What shape a question asks for: the first that fits, or else a word."""
FIRM = re.compile(r"\b[A-Z]\w+ (?:& [A-Z]\w+|Brothers)")
FOUND = {
    "year": re.compile(r"\b1[6-9]\d\d\b|\b20\d\d\b"),
    "firm": FIRM,
    "person": re.compile(r"\b[A-Z][a-z]+ [A-Z][a-z]+\b"),
    "place": re.compile(r"(?<=[a-z,] )[A-Z][a-z]+\b(?! [A-Z&])"),
    "work": re.compile(r"(?:[Tt]he )?[A-Z][\w'-]+(?: (?:of|and|the|at|in) (?:the )?[A-Z][\w'-]+| [A-Z][\w'-]+)+"),
}
NUMBER = re.compile(r"\b\d[\d,]*\b")


def sentences(entry: Entry) -> list[str]:
    """Return the sentences of a document."""
    return SENTENCE.split(HEAD.sub("", entry.text.rstrip("\n")))


def holds(text: str, value: str) -> bool:
    """Return whether a text contains a value as whole words."""
    return re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text) is not None


def shape_of(question: str) -> str:
    """Return the shape of the value that a question asks for.

    >>> shape_of("Who designed the Walton Bridge?"), shape_of("Of what material is it mainly built?")
    ('person', 'word')
    """
    return next((shape for shape, pattern in SHAPES if pattern.search(question)), "word")


@cache
def _words() -> tuple[str, ...]:
    return tuple(sorted({word for group in words_of().values() for word in group}, key=len, reverse=True))


def values_in(sentence: str, shape: str) -> Iterator[str]:
    """Yield what has a shape in a sentence."""
    if shape == "word":
        small = sentence.lower()
        yield from (word for word in _words() if word.lower() in small and holds(small, word.lower()))
        return
    yield from FOUND[shape].findall(FIRM.sub(" ", sentence) if shape == "person" else sentence)


def value(entries: Sequence[Entry], question: str) -> str | None:
    """Return the value of the right shape in the sentence that shares most words with a question, or the first such."""
    shape, asked = shape_of(question), stems(question)
    candidates = [
        (len((asked - stems(one.name)) & stems(sentence)), -place, value)
        for one in entries
        for place, sentence in enumerate(sentences(one))
        for value in values_in(sentence.replace(one.name, ""), shape)
    ]
    return max(candidates)[2] if candidates else None


def holding(entries: Sequence[Entry], form: str, wanted: str, question: str) -> list[Entry]:
    """Return all documents of a form that have a value in a sentence that shares a word, or in any if none does."""
    holders = [one for one in entries if one.form.name == form and holds(one.text, wanted)]
    return [one for one in holders if spoken_of(one, wanted, question)] or holders


def spoken_of(entry: Entry, wanted: str, phrase: str) -> bool:
    """Return whether a value is in a sentence that shares a word with a phrase."""
    asked = stems(phrase) - stems(wanted)
    return any(holds(sentence, wanted) and not asked.isdisjoint(stems(sentence)) for sentence in sentences(entry))


def number_in(entry: Entry, form: str, relation: str) -> int:
    """Return the first number of a document with the shape of a relation's numbers, or 0."""
    years = forms()[form].relation(relation).type == "year"
    text = " ".join(sentences(entry))
    numbers = [one for one in NUMBER.findall(text) if bool(FOUND["year"].fullmatch(one)) == years]
    return int(numbers[0].replace(",", "")) if numbers else 0
