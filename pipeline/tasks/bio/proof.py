"""What must hold of a prompt about biographies: judged from the published row alone."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import zip_longest
from math import sqrt

from pipeline.recipe import Stratum
from pipeline.tasks.base import Published
from pipeline.tasks.bio.haystack import density
from pipeline.tasks.bio.reader import ATTRIBUTES, Asked, Entry, read_asked
from pipeline.tasks.bio.text import accepted

Answers = Callable[[Asked, Sequence[Entry]], tuple[str, ...]]
"""Answers a question from the biographies of a prompt, in every accepted form."""
FIVE_DIGITS = re.compile(r"[1-9]\d{4}")


def only(entries: Sequence[Entry], name: str) -> Entry:
    """Return the one biography of a person.

    Raises:
        ValueError: if there is none, or two.
    """
    found = [entry for entry in entries if entry.name == name]
    if len(found) != 1:
        raise ValueError(f"{name} has {len(found)} biographies")
    return found[0]


def looked_up(asked: Asked, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return what the biographies state: the n-th form of each answer together, and behind each its label.

    Raises:
        ValueError: if a person is not there just once, or does not state what is asked.
    """
    found = [(only(entries, name), kind) for kind, name in asked.about]
    for entry, kind in found:
        if kind not in entry.stated:
            raise ValueError(f"the biography of {entry.name} states no {kind}")
    forms = [accepted(entry.stated[kind], kind) for entry, kind in found]
    marks = [f" [{entry.label}]" if entry.label else "" for entry, _ in found]
    said = ([one or form[0] for one, form in zip(row, forms, strict=True)] for row in zip_longest(*forms))
    return tuple("; ".join(map("".join, zip(row, marks, strict=True))) for row in said)


def faults(row: Published, entries: Sequence[Entry], answers: Answers = looked_up, *, count: int = 1) -> Iterator[str]:
    """Yield what is wrong with a row that asks what `count` biographies state, and with its demonstrations."""
    *shown, asked = read_asked(row.text)
    yield from question_faults(row, "Questions:\n" if "\n" in row.question else "Question: ")
    yield from key_faults(row, asked, entries, answers)
    yield from people_faults(entries)
    if len(set(asked.names)) != count or len(asked.names) != count:
        yield f"{len(asked.names)} questions about {len(set(asked.names))} people in place of {count}"
    names = {*asked.names}
    yield from mark_faults(row, "relevant", [entry for entry in entries if entry.name in names], "people asked")
    firsts = {example.names[0] for example in shown}
    yield from mark_faults(row, "demo", [entry for entry in entries if entry.name in firsts], "demonstrations")
    named = [name for example in (*shown, asked) for name in example.names]
    if len(set(named)) != len(named):
        yield "a demonstration asks about somebody who is asked about elsewhere"
    for example in shown:
        if example.reply != answers(example, entries)[0]:
            yield f"the demonstration about {example.names[0]} is wrong"


def stated_faults(row: Published, entries: Sequence[Entry]) -> Iterator[str]:
    """Hold biographies to all six attributes, but for the asked one where a share of people lack it."""
    asked = read_asked(row.text)
    named, kind = {name for each in asked for name in each.names}, asked[-1].about[0][0]
    yield from whole_faults(entries, ATTRIBUTES, kind if density(row.stratum) < 1 else "")
    apart = set(spans(row, "decoy"))
    others = [entry for entry in entries if entry.name not in named and (entry.start, entry.end) not in apart]
    yield from share_faults(row.stratum, (kind in entry.stated for entry in others))


def key_faults(row: Published, asked: Asked, entries: Sequence[Entry], answers: Answers) -> Iterator[str]:
    """Hold the key to what the biographies state."""
    try:
        stated = answers(asked, entries)
    except ValueError as error:
        yield f"the key {row.key.target!r} is not stated: {error}"
        return
    if row.key.target != stated[0] or row.key.answers != stated:
        yield f"the prompt states {stated[0]!r}, the key {row.key.target!r}"


def question_faults(row: Published, asks: str = "Question: ") -> Iterator[str]:
    """Hold the end of a prompt to the row's question."""
    said = asks.split(":")[0].replace("Question", "Answer")
    if not row.text.endswith(f"\n{asks}{row.question}\n{said}:"):
        yield f"the prompt does not end in the question {row.question[:80]!r}"


def whole_faults(entries: Sequence[Entry], kinds: Iterable[str], lacking: str = "") -> Iterator[str]:
    """Hold biographies to tell, by a statement or a link, all of some kinds of facts but one that may be lacking."""
    every, told = set(kinds), [(*entry.stated, *entry.linked) for entry in entries]
    few = {one for one in {*told} if every - {lacking, *one}}
    many = {one for one in {*told} if {*one} - every}
    short = [entry for entry, one in zip(entries, told, strict=True) if one in few]
    if short:
        yield f"{len(short)} biographies state fewer than {len(every - {lacking})} attributes, {short[0].name}'s first"
    strange = [entry for entry, one in zip(entries, told, strict=True) if one in many]
    if strange:
        yield f"{len(strange)} biographies tell what they should not, {strange[0].name}'s first"


def spans(row: Published, role: str) -> list[tuple[int, int]]:
    """Return the characters that the needles of a role span."""
    return [(needle.char_start, needle.char_end) for needle in row.needles if needle.role == role]


def mark_faults(row: Published, role: str, entries: Iterable[Entry], whose: str) -> Iterator[str]:
    """Hold the needles of a role to some biographies, in the order of the text."""
    if spans(row, role) != sorted((entry.start, entry.end) for entry in entries):
        yield f"the needles of {whose} are not their paragraphs"


def people_faults(entries: Sequence[Entry]) -> Iterator[str]:
    """Hold a haystack to distinct people: no full name stands twice."""
    if len({entry.name for entry in entries}) != len(entries):
        yield "two biographies have the same full name"


def share_faults(stratum: Stratum, stating: Iterable[bool]) -> Iterator[str]:
    """Hold the share of other people who state what is asked to the stratum's density, within 3 standard deviations.

    `stating` tells it of each filler biography of a prompt. One biography more or less is always allowed.
    """
    told, wanted = list(stating), density(stratum)
    slack = 3 * sqrt(wanted * (1 - wanted) * len(told)) + (0 < wanted < 1)
    if abs(sum(told) - wanted * len(told)) > slack:
        yield f"{sum(told)} of {len(told)} other people state what is asked: a share of {wanted} was promised"


def label_faults(labels: Sequence[str], *, running: bool) -> Iterator[str]:
    """Hold labels to be five digits, no two equal, or to count the biographies in order."""
    if not running and len(set(labels)) != len(labels):
        yield "two biographies have the same label"
    if not running and (wrong := [label for label in labels if not FIVE_DIGITS.fullmatch(label)]):
        yield f"{wrong[0]!r} is no label of five digits"
    if running and [label.replace(".", "") for label in labels] != _counted(labels):
        yield "the biographies are not numbered in order"


def _counted(labels: Sequence[str]) -> list[str]:
    width = len(labels[0].replace(".", ""))
    return [f"{number:0{width}}" for number in range(1, len(labels) + 1)]
