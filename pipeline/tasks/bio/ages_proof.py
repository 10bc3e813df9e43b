"""What prompts about ages say, and what must hold of them: judged from the text alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.bio.haystack import density
from pipeline.tasks.bio.proof import (
    mark_faults,
    only,
    people_faults,
    question_faults,
    share_faults,
    spans,
    whole_faults,
)
from pipeline.tasks.bio.reader import AGE, ATTRIBUTES, NAME, Asked, Entry, read_asked

Answer = Callable[[str, Sequence[Entry]], tuple[str, ...]]
"""Answers a question from the table of people."""
STATED = re.compile(rf"({NAME}) is (\d+) years old")
"""How biographies, and replies of demonstrations, state an age."""
STATING = (AGE, *ATTRIBUTES[1:])
"""What biographies state here: the age stands in place of the birthdate."""


def ages_of(entries: Sequence[Entry], names: Sequence[str]) -> dict[str, int]:
    """Return the ages of some people, whose biographies stand just once and state them.

    Raises:
        ValueError: if they do not.
    """
    known = {name: only(entries, name).stated.get(AGE) for name in names}
    if None in known.values():
        raise ValueError(f"an age is not stated: {known}")
    return {name: int(age) for name, age in known.items() if age}


def understood(pattern: re.Pattern[str], question: str) -> re.Match[str]:
    """Return what a question asks.

    Raises:
        ValueError: if it is of another form.
    """
    match = pattern.fullmatch(question)
    if not match:
        raise ValueError(f"no question: {question[:80]!r}")
    return match


def faults(
    row: Published, entries: Sequence[Entry], names: Sequence[str], answer: Answer, role: str = "relevant"
) -> Iterator[str]:
    """Yield what is wrong with a row whose answer needs the biographies of the people named."""
    *shown, _ = read_asked(row.text)
    yield from question_faults(row)
    if len(set(names)) != row.stratum.complexity:
        yield f"the answer needs {len(set(names))} biographies in place of {row.stratum.complexity}"
    yield from mark_faults(row, role, [entry for entry in entries if entry.name in names], "people needed")
    yield from people_faults(entries)
    yield from whole_faults(entries, STATING, AGE if density(row.stratum) < 1 else "")
    yield from _example_faults(row, entries, shown, names, answer)
    decoys = set(spans(row, "decoy"))
    apart = {*names, *(name for example in shown for name, _ in STATED.findall(example.reasoning))}
    rest = (entry for entry in entries if entry.name not in apart and (entry.start, entry.end) not in decoys)
    yield from share_faults(row.stratum, (AGE in entry.stated for entry in rest))


def _example_faults(
    row: Published, entries: Sequence[Entry], shown: Sequence[Asked], names: Sequence[str], answer: Answer
) -> Iterator[str]:
    """Hold demonstrations to the text: ages, answer and mark of each are right, and nobody asked about is in them."""
    seen, firsts = set(names), []
    for number, example in enumerate(shown, start=1):
        stated = {name: int(age) for name, age in STATED.findall(example.reasoning)}
        own = [entry for entry in entries if entry.name in stated]
        if ages_of(entries, list(stated)) != stated or example.final != answer(example.question, own)[0]:
            yield f"demonstration {number} is wrong"
        if seen.intersection(stated) or len(stated) != row.stratum.complexity:
            yield f"demonstration {number} is about {len(stated)} people, or about some who are needed elsewhere"
        seen.update(stated)
        firsts += [entry for entry in own if entry.name == next(iter(stated))]
    yield from mark_faults(row, "demo", firsts, "demonstrations")
