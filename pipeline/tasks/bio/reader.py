"""A reader of biographies: builds the table of people from a prompt's text alone.

It shares no code with the world or the renderer: sentences are taken apart at their fixed words, and every sentence
must name the person its paragraph began with. Prompts of one build share paragraphs, so a paragraph once read is
remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

START = "\nBiographies:\n"
END = "This is the end of the biographies."

FIXED_WORDS = (
    ("birthdate", "", " was born on "),
    ("birthplace", "The birthplace of ", " is "),
    ("hobby", "The favorite hobby of ", " is "),
    ("university", "", " graduated from "),
    ("major", "The university major of ", " was "),
    ("city", "", " now lives and works in "),
)

ASKED = (
    ("birthdate", re.compile(r"On what date was (.+) born\?")),
    ("birthplace", re.compile(r"What is the birthplace of (.+)\?")),
    ("hobby", re.compile(r"What is the favorite hobby of (.+)\?")),
    ("university", re.compile(r"Which university did (.+) graduate from\?")),
    ("major", re.compile(r"What was the university major of (.+)\?")),
    ("city", re.compile(r"In which city does (.+) now live and work\?")),
)


@dataclass(frozen=True, slots=True)
class Entry:
    """A paragraph as read: where it stands, whom it names, and the attributes it states."""

    start: int
    end: int
    name: str
    stated: dict[str, str]


@lru_cache(maxsize=1)
def read_biographies(text: str) -> tuple[Entry, ...]:
    """Return every biography of a prompt in order; remembers the last prompt it read.

    Raises:
        ValueError: if there is no body, or a line of it is no biography.
    """
    return tuple(_entries(text))


def _entries(text: str) -> Iterator[Entry]:
    start = text.find(START) + len(START)
    end = text.rfind("\n" + END) + 1
    if start < len(START) or end <= start:
        raise ValueError("the prompt has no body of biographies")
    while start < end:
        stop = text.index("\n", start)
        yield Entry(start, stop + 1, *_take_apart(text[start:stop]))
        start = stop + 1


@lru_cache(maxsize=1 << 16)
def _take_apart(line: str) -> tuple[str, dict[str, str]]:
    name = line.partition(" was born on ")[0]
    stated = {}
    rest = line
    for (attribute, before, after), following in zip(FIXED_WORDS, (*FIXED_WORDS[1:], None), strict=True):
        opening = f"{before}{name}{after}"
        if not rest.startswith(opening):
            raise ValueError(f"no biography: {line[:80]!r}")
        rest = rest[len(opening) :]
        mark = ". " + following[1] + name + following[2] if following else "."
        value, found, tail = rest.partition(mark)
        if not found or not value:
            raise ValueError(f"no biography: {line[:80]!r}")
        stated[attribute] = value
        rest = mark[2:] + tail if following else tail
    if rest:
        raise ValueError(f"words after a biography: {rest[:80]!r}")
    return name, stated


def read_questions(text: str) -> list[tuple[str, str, str]]:
    """Return (attribute, name, reply) of each question after the biographies; the last one's reply is empty.

    Raises:
        ValueError: if a question cannot be read.
    """
    tail = text[text.rfind(END) :]
    asked = []
    for block in tail.split("\nQuestion: ")[1:]:
        line, _, reply = block.partition("\nAnswer:")
        asked.append((*_understood(line), reply.strip()))
    if not asked:
        raise ValueError("the prompt asks nothing")
    return asked


def _understood(line: str) -> tuple[str, str]:
    for attribute, pattern in ASKED:
        match = pattern.fullmatch(line)
        if match:
            return attribute, match[1]
    raise ValueError(f"no question: {line[:80]!r}")
