"""A reader of biographies that state ages: the table of people of a prompt, and what is asked about it.

It shares no code with the world or the renderer. Prompts of one build share paragraphs, so a paragraph once read is
remembered.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from pipeline.tasks.bio.memory import MEMORY
from pipeline.tasks.bio.reader import Entry

START = "\nBiographies:\n"
STOP = "\nThis is the end of the biographies."
NAME = r"[A-Z][\w'.-]* [A-Z][\w'.-]* [A-Z][\w'.-]*"
PARAGRAPH = re.compile(
    rf"(?:(?P<aged>{NAME}) is (?P<age>\d+) years old\. )?"
    rf"The birthplace of (?P<name>{NAME}) is [^.].*?\. The favorite hobby of (?P=name) is [^.].*?\. "
    r"(?P=name) graduated from [^.].*?\. The university major of (?P=name) was [^.].*?\. "
    r"(?P=name) now lives and works in [^.].*?\."
)
STATED = re.compile(rf"({NAME}) is (\d+) years old")
FINAL = "\nFinal answer: "


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the reply that follows it: reasoning, and the final answer (empty where the prompt ends)."""

    question: str
    reasoning: str
    final: str

    @property
    def stated(self) -> list[tuple[str, str]]:
        """Names and ages that the reasoning states, in its order."""
        return STATED.findall(self.reasoning)


@lru_cache(maxsize=1)
def read_people(text: str) -> tuple[Entry, ...]:
    """Return every biography of a prompt in order; remembers the last prompt it read.

    Raises:
        ValueError: if there is no body, or a line of it is no biography.
    """
    return tuple(_entries(text))


def _entries(text: str) -> Iterator[Entry]:
    start = text.find(START) + len(START)
    end = text.rfind(STOP) + 1
    if start < len(START) or end <= start:
        raise ValueError("the prompt has no body of biographies")
    for line in text[start : end - 1].split("\n"):
        stop = start + len(line) + 1
        yield Entry(start, stop, *_person(line))
        start = stop


@MEMORY.of
def _person(line: str) -> tuple[str, dict[str, str]]:
    match = PARAGRAPH.fullmatch(line)
    if not match or match["aged"] not in (None, match["name"]):
        raise ValueError(f"no biography: {line[:80]!r}")
    return match["name"], {} if match["age"] is None else {"age": match["age"]}


def read_asked(text: str) -> list[Asked]:
    """Return each question after the biographies, the one to be answered last.

    Raises:
        ValueError: if nothing is asked.
    """
    blocks = text[text.rfind(STOP) :].split("\nQuestion: ")[1:]
    if not blocks:
        raise ValueError("the prompt asks nothing")
    return [_asked(block) for block in blocks]


def _asked(block: str) -> Asked:
    question, _, reply = block.partition("\nAnswer:")
    reasoning, _, final = reply.strip().partition(FINAL)
    return Asked(question, reasoning, final)


def ages_of(entries: Sequence[Entry], names: Sequence[str]) -> dict[str, int]:
    """Return the ages of some people, whose biographies stand just once and state them.

    Raises:
        ValueError: if they do not.
    """
    found: dict[str, list[Mapping[str, str]]] = {name: [] for name in names}
    for entry in entries:
        if entry.name in found:
            found[entry.name].append(entry.stated)
    for name, stated in found.items():
        if len(stated) != 1 or "age" not in stated[0]:
            raise ValueError(f"{name} has {len(stated)} biographies, which state {stated}")
    return {name: int(stated[0]["age"]) for name, stated in found.items()}


def understood(pattern: re.Pattern[str], question: str) -> re.Match[str]:
    """Return what a question asks.

    Raises:
        ValueError: if it is of another form.
    """
    match = pattern.fullmatch(question)
    if not match:
        raise ValueError(f"no question: {question[:80]!r}")
    return match
