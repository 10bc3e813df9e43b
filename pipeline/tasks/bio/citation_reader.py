"""A reader of labelled biographies and of the questions about them, from a prompt's text alone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import zip_longest

from pipeline.tasks.bio.reader import END, START, Entry, read_biographies, understood
from pipeline.tasks.bio.text import accepted

LABEL = re.compile(r"^\[([\d.]+)\] ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked in one line: the attribute and the people in order; and the reply behind it."""

    attributes: tuple[str, ...]
    names: tuple[str, ...]
    reply: str


@lru_cache(maxsize=1)
def read_cited(text: str) -> tuple[tuple[str, Entry], ...]:
    """Return every biography with its label, in order; remembers the last prompt it read.

    Raises:
        ValueError: if there is no body, or a line of it is no labelled biography.
    """
    start, end = text.find(START) + len(START), text.rfind("\n" + END) + 1
    if start < len(START) or end <= start:
        raise ValueError("the prompt has no body of biographies")
    body = text[start:end]
    labels = LABEL.findall(body)
    entries = read_biographies(text[:start] + LABEL.sub("", body) + text[end:])
    if len(labels) != len(entries) or len(labels) != sum(line.startswith("[") for line in body.splitlines()):
        raise ValueError(f"{len(entries)} biographies have {len(labels)} labels")
    return tuple(zip(labels, _moved(entries, labels), strict=True))


def _moved(entries: Sequence[Entry], labels: Sequence[str]) -> list[Entry]:
    """Return entries where they stand in the text with labels."""
    moved, shift = [], 0
    for entry, label in zip(entries, labels, strict=True):
        width = len(label) + 3
        moved.append(replace(entry, start=entry.start + shift, end=entry.end + shift + width))
        shift += width
    return moved


def read_asked(text: str) -> list[Query]:
    """Return every question behind the biographies; the last one's reply is empty.

    Raises:
        ValueError: if a question cannot be read.
    """
    asked = []
    for block in text[text.rfind(END) :].split("\nQuestion: ")[1:]:
        line, _, reply = block.partition("\nAnswer:")
        found = [understood(part.removesuffix("?") + "?") for part in line.split("? ")]
        attributes, names = (tuple(pair[part] for pair in found) for part in (0, 1))
        asked.append(Query(attributes, names, reply.strip()))
    if not asked:
        raise ValueError("the prompt asks nothing")
    return asked


def answers(query: Query, table: Sequence[tuple[str, Entry]]) -> tuple[str, ...]:
    """Return every accepted reply to a question.

    Raises:
        ValueError: if a person is not there just once, or the biography does not state what is asked.
    """
    forms, labels = [], []
    for attribute, name in zip(query.attributes, query.names, strict=True):
        found = [(label, entry) for label, entry in table if entry.name == name]
        if len(found) != 1 or attribute not in found[0][1].stated:
            raise ValueError(f"{name} has {len(found)} biographies, or none that states the {attribute}")
        labels.append(found[0][0])
        forms.append(accepted(found[0][1].stated[attribute], attribute))
    said = [[one or form[0] for one, form in zip(row, forms, strict=True)] for row in zip_longest(*forms)]
    return tuple("; ".join(f"{one} [{label}]" for one, label in zip(row, labels, strict=True)) for row in said)


def solve(text: str) -> tuple[str, ...]:
    """Return the accepted replies to a prompt's last question.

    Raises:
        ValueError: if the text cannot be read or does not answer it.
    """
    return answers(read_asked(text)[-1], read_cited(text))
