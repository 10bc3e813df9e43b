"""A reader of biographies: builds the table of people from a prompt's text alone.

It shares no code with the world or the renderer: sentences are taken apart at their fixed words, and every sentence
must name the person its paragraph began with. Prompts of one build share paragraphs, so a paragraph once read is
remembered.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from pipeline.tasks.bio.memory import MEMORY

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
    return tuple(entries(text, _take_apart))


def entries(text: str, take_apart: Callable[[str], tuple[str, dict[str, str]]]) -> Iterator[Entry]:
    """Yield the biographies of a prompt, each a line; `take_apart` returns the name and the attributes of one.

    Raises:
        ValueError: if there is no body.
    """
    start = text.find(START) + len(START)
    end = text.rfind("\n" + END) + 1
    if start < len(START) or end <= start:
        raise ValueError("the prompt has no body of biographies")
    while start < end:
        stop = text.index("\n", start)
        yield Entry(start, stop + 1, *take_apart(text[start:stop]))
        start = stop + 1


@MEMORY.of
def _take_apart(line: str) -> tuple[str, dict[str, str]]:
    """Return the name and the attributes of a biography; sentences may be wanting, those there are keep their order."""
    name = _opening_name(line)
    found = []
    for attribute, before, after in FIXED_WORDS:
        opening = f"{before}{name}{after}"
        at = 0 if line.startswith(opening) else line.find(f". {opening}") + 2
        if at != 1:
            found.append((at, at + len(opening), attribute))
    if not found or found != sorted(found) or found[0][0] or not line.endswith("."):
        raise ValueError(f"no biography: {line[:80]!r}")
    ends = [at - 2 for at, _, _ in found[1:]] + [len(line) - 1]
    stated = {attribute: line[start:end] for (_, start, attribute), end in zip(found, ends, strict=True)}
    if any(not value or name in value or ". " in value for value in stated.values()):
        raise ValueError(f"no biography, for words that are no attribute: {line[:80]!r}")
    return name, stated


def _opening_name(line: str) -> str:
    for _, before, after in FIXED_WORDS:
        if line.startswith(before) and after in line:
            name = line[len(before) : line.index(after)]
            if name.count(" ") == 2:
                return name
    raise ValueError(f"no biography: {line[:80]!r}")


def read_questions(text: str) -> list[tuple[str, str, str]]:
    """Return (attribute, name, reply) of each question after the biographies; the last one's reply is empty.

    Raises:
        ValueError: if a question cannot be read.
    """
    tail = text[text.rfind(END) :]
    asked = []
    for block in tail.split("\nQuestion: ")[1:]:
        line, _, reply = block.partition("\nAnswer:")
        asked.append((*understood(line), reply.strip()))
    if not asked:
        raise ValueError("the prompt asks nothing")
    return asked


def read_lists(text: str) -> list[tuple[list[tuple[str, str]], str]]:
    """Return (attribute, name) of each question of every list behind the biographies, and the reply to the list.

    Raises:
        ValueError: if a question cannot be read.
    """
    lists = []
    for block in text[text.rfind(END) :].split("\nQuestions:\n")[1:]:
        lines, _, reply = block.partition("\nAnswers:")
        numbered = [line.partition(". ") for line in lines.split("\n")]
        if [number for number, _, _ in numbered] != [str(at + 1) for at in range(len(numbered))]:
            raise ValueError(f"questions are not numbered one by one: {lines[:80]!r}")
        lists.append(([understood(line) for _, _, line in numbered], reply.strip()))
    if not lists:
        raise ValueError("the prompt asks nothing")
    return lists


def understood(line: str) -> tuple[str, str]:
    """Return the attribute and the name that a question asks for.

    Raises:
        ValueError: if it is none about a biography.
    """
    for attribute, pattern in ASKED:
        match = pattern.fullmatch(line)
        if match:
            return attribute, match[1]
    raise ValueError(f"no question: {line[:80]!r}")
