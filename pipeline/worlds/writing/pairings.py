"""Pairings: which formats suit which topics, by what a topic can be.

The table says what the topics of a domain can be, with exceptions by name, and what each format asks of its topic: a
recipe of something that can be eaten or drunk, a review of something that can be bought.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache

from pipeline.worlds.words import pool_text
from pipeline.worlds.writing.topics import topics

ANYTHING = "anything"
"""What formats ask of their topic if every topic suits them."""
FILE = "writing/pairings"


def fits(form: str, topic: str) -> bool:
    """Tell whether a text of a format can sensibly be about a topic.

    Raises:
        KeyError: for a format that the table lacks.
    """
    needed = needs()[form]
    return needed == ANYTHING or topic in kinds()[needed]


@cache
def topics_for(form: str) -> tuple[str, ...]:
    """Return the names of all topics that suit a format, in the order of `topics`."""
    return tuple(topic.name for topic in topics() if fits(form, topic.name))


@cache
def needs() -> Mapping[str, str]:
    """Return what each format asks of its topic: a kind, or ANYTHING."""
    return parse_pairings(pool_text(FILE))[1]


@cache
def kinds() -> Mapping[str, frozenset[str]]:
    """Return the topics of each kind.

    Raises:
        ValueError: naming a kind with a domain or topic that is unknown, or excepted for nothing.
    """
    found = parse_pairings(pool_text(FILE))[0]
    return {kind: frozenset(_members(kind, *parts)) for kind, parts in found.items()}


Parts = tuple[list[str], list[str], list[str]]
"""Of a kind: its domains, the topics that it has besides, and those that it has not."""


def parse_pairings(text: str) -> tuple[dict[str, Parts], dict[str, str]]:
    """Return the parts of each kind, and what each format asks for.

    A line ``kind: domain, domain`` says where a kind is at home, the lines ``+ topic, topic`` and ``- topic, topic``
    below it name exceptions, and ``format: kind`` says what a format asks for.

    Raises:
        ValueError: naming a line that is none of them.
    """
    parts, formats, kind = dict[str, Parts](), dict[str, str](), ""
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        head, mark, values = line.partition(":")
        exception = line.lstrip()
        if exception[0] in "+-" and kind:
            parts[kind]["+-".index(exception[0]) + 1].extend(_listed(exception[1:]))
        elif mark and (values.strip() == ANYTHING or values.strip() in parts):
            formats[head] = values.strip()
        elif mark and values.strip():
            kind = head
            parts.setdefault(kind, ([], [], []))[0].extend(_listed(values))
        else:
            raise ValueError(f"pairings: {line!r}: give 'kind: domain, domain', '+ topic', '- topic' or 'format: kind'")
    return parts, formats


def _listed(text: str) -> Iterator[str]:
    return (value.strip() for value in text.split(","))


def _members(kind: str, domains: list[str], more: list[str], less: list[str]) -> set[str]:
    home = {topic.name for topic in topics() if topic.domain.replace("_", " ") in domains}
    known = {topic.domain.replace("_", " ") for topic in topics()} | {topic.name for topic in topics()}
    odd = [name for name in (*domains, *more, *less) if name not in known]
    odd += [name for name in more if name in home] + [name for name in less if name not in home]
    if odd:
        raise ValueError(f"pairings: {kind!r} has what is unknown, or excepted for nothing: {odd}")
    return (home | set(more)) - set(less)
