"""Proves of a published row of `citation` that it is what it says, from its text alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from pipeline.tasks.base import Published
from pipeline.tasks.bio.citation_reader import Query, answers, read_asked, read_cited
from pipeline.tasks.bio.haystack import share_faults
from pipeline.tasks.bio.reader import Entry

FIVE_DIGITS = re.compile(r"[1-9]\d{4}")


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row.

    Raises:
        ValueError: if the prompt cannot be read.
    """
    table, (*shown, asked) = read_cited(row.text), read_asked(row.text)
    if not row.text.endswith(f"\nQuestion: {row.question}\nAnswer:"):
        yield f"the prompt does not end in the question {row.question!r}"
    if len(set(asked.names)) != row.stratum.complexity or len(set(asked.attributes)) != 1:
        yield f"asked are {asked.attributes} of {asked.names}"
    stated = answers(asked, table)
    if row.key.target != stated[0] or row.key.answers != stated:
        yield f"the prompt states {stated[0]!r}, the key {row.key.target!r}"
    yield from mark_faults(row, asked.names, shown, [entry for _, entry in table])
    yield from people_faults([entry for _, entry in table])
    labels = [label for label, _ in table]
    yield from _number_faults(labels) if row.stratum.knob("labels", "") == "running" else _label_faults(labels)
    for query in shown:
        if query.reply != answers(query, table)[0]:
            yield f"the demonstration about {query.names[0]} is wrong"
    reserved = {name for query in (*shown, asked) for name in query.names}
    others = [entry for _, entry in table if entry.name not in reserved]
    yield from share_faults(row.stratum, [asked.attributes[0] in entry.stated for entry in others])


def mark_faults(
    row: Published, asked: Sequence[str], shown: Sequence[Query], entries: Sequence[Entry]
) -> Iterator[str]:
    """Hold the marks to the paragraphs of those who are asked about, and of the first of each demonstration."""
    first = {query.names[0] for query in shown}
    for role, wanted, whose in (("relevant", set(asked), "asked people"), ("demo", first, "demonstrations")):
        marked = [(needle.char_start, needle.char_end) for needle in row.needles if needle.role == role]
        if marked != [(entry.start, entry.end) for entry in entries if entry.name in wanted]:
            yield f"the needles of {whose} are not their paragraphs"
    named = [name for query in shown for name in query.names]
    if len({*asked, *named}) != len(asked) + len(named):
        yield "a demonstration asks about somebody who is asked about elsewhere"


def people_faults(entries: Sequence[Entry]) -> Iterator[str]:
    """Hold a haystack to distinct people: by full name, and by first and last name."""
    names = [entry.name for entry in entries]
    if len(set(names)) != len(names):
        yield "two biographies have the same full name"
    ends = {(name.partition(" ")[0], name.rpartition(" ")[2]) for name in names}
    if len(ends) != len(set(names)):
        yield "two people have the same first and last name"


def _label_faults(labels: Sequence[str]) -> Iterator[str]:
    if len(set(labels)) != len(labels):
        yield "two biographies have the same label"
    wrong = [label for label in labels if not FIVE_DIGITS.fullmatch(label)]
    if wrong:
        yield f"{wrong[0]!r} is no label of five digits"


def _number_faults(labels: Sequence[str]) -> Iterator[str]:
    if len(set(map(len, labels))) != 1 or [int(label.replace(".", "")) for label in labels] != list(
        range(1, len(labels) + 1)
    ):
        yield "the biographies are not numbered in order"
