"""Reads the lines of a prompt and answers the question behind them, by the grammar of the messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import NamedTuple

from pipeline.tasks.line_cache import LINES, PROMPT
from pipeline.tasks.messages import intent_of
from pipeline.worlds.words import pool

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
LINE = re.compile(
    rf"^On (\d{{1,2}}) ({'|'.join(MONTHS)}) clerk (\d{{5}}) received: ([^\[\]\n]+)(?:\[([^\]\n]+)\])?\n", re.M
)
START, END = "\nMessages:\n", "This is the end of the messages."
ASKED = {
    "count": re.compile(r"How many of the messages that clerk (?P<clerk>\d+) received ask (?P<kind>.+)\?"),
    "when": re.compile(
        r"Taking the messages by their dates, in which month did clerk (?P<clerk>\d+) receive the "
        r"(?P<nth>\d+)(?:st|nd|rd|th) message that asks (?P<kind>.+)\?"
    ),
    "users": re.compile(
        r"Which clerks received both a message that asks (?P<kind>.+) and a message that asks (?P<other>.+)\?"
    ),
    "most": re.compile(r"Which of these things is asked most often in all messages: (?P<options>.+)\?"),
    "compare": re.compile(r"Which of these two things is asked more often in all messages: (?P<options>.+)\?"),
}
Intent = tuple[str, str]


class Entry(NamedTuple):
    """A line as read: its day and month, the clerk, the message, what the line states if it does, and what it means.

    `intent` is what the message asks, and `date` the month from 0 and the day.
    """

    day: str
    month: str
    clerk: str
    message: str
    stated: str
    intent: Intent
    date: tuple[int, int]


@dataclass(frozen=True)
class Asked:
    """A question: what kind it is, and what it names."""

    subtask: str
    named: Mapping[str, str]

    @cached_property
    def kinds(self) -> tuple[Intent, ...]:
        """The kinds of messages that are named."""
        return tuple(phrases()[self.named[name]] for name in ("kind", "other") if name in self.named)

    @cached_property
    def options(self) -> tuple[str, ...]:
        """The acts that are offered."""
        return tuple(acts()[word] for word in re.split(", | or ", self.named["options"]))


@dataclass(frozen=True, slots=True)
class Book:
    """All lines of a prompt as read and as they stand, and the question."""

    entries: Sequence[Entry]
    asked: Asked
    lines: Sequence[str]


@cache
def _kinds(what: str) -> list[list[str]]:
    """Return the name, word and phrase of every act, or of every thing."""
    told = "\n".join(pool("utterances/kinds")).partition(f"[{what}]\n")[2].partition("\n[")[0]
    return [line.split(": ") for line in told.splitlines()]


@cache
def phrases() -> Mapping[str, Intent]:
    """Return what questions call each kind of message."""
    pairs = product(_kinds("act"), _kinds("thing"))
    return {act[2].replace("{it}", thing[2]): (act[0], thing[0]) for act, thing in pairs}


@cache
def acts() -> Mapping[str, str]:
    """Return the act of each word that questions offer."""
    return {word: name for name, word, _ in _kinds("act")}


@cache
def _words() -> Mapping[str, str]:
    return {name: word for word, name in acts().items()}


@PROMPT.of
def read(text: str) -> Book:
    """Read a prompt.

    Raises:
        ValueError: if it is not this family's.
    """
    begin, end = text.find(START) + len(START), text.rfind(END)
    question = text[end:].rpartition("Question: ")[2].removesuffix("\nAnswer:")
    if not len(START) <= begin <= end or not question:
        raise ValueError("the prompt does not hold messages and a question behind them")
    return Book(entries_of(text[begin:end]), question_of(question), text[begin:end].split("\n")[:-1])


def entries_of(body: str) -> list[Entry]:
    """Read some lines.

    Raises:
        ValueError: if one is no message.
    """
    *lines, end = body.split("\n")
    if end:
        raise ValueError(f"line {body[-80:]!r} is no message")
    return _entries(lines)


@LINES.of_each
def _entries(line: str) -> Entry:
    found = LINE.fullmatch(f"{line}\n")
    if not found:
        raise ValueError(f"line {line[:80]!r} is no message")
    day, month, clerk, message, stated = found.groups("")
    return Entry(day, month, clerk, message, stated, intent_of(message.rstrip()), (MONTHS.index(month), int(day)))


def question_of(question: str) -> Asked:
    """Read a question.

    Raises:
        ValueError: if it is not this family's.
    """
    for subtask, form in ASKED.items():
        found = form.fullmatch(question)
        if found:
            return Asked(subtask, found.groupdict())
    raise ValueError(f"no question about messages: {question!r}")


def solve(text: str) -> str:
    """Return the answer of a prompt.

    Raises:
        ValueError: if it cannot be read, or has no answer.
    """
    book = read(text)
    return answer(book.entries, book.asked)


def answer(entries: Sequence[Entry], asked: Asked) -> str:
    """Answer a question from some lines.

    Raises:
        ValueError: if they do not answer it.
    """
    if asked.subtask in ("most", "compare"):
        return _words()[leading(times_of(entries), asked.options)[0]]
    if asked.subtask == "users":
        one, other = ({entry.clerk for entry in entries if entry.intent == kind} for kind in asked.kinds)
        if not one & other:
            raise ValueError("no clerk received both")
        return ", ".join(sorted(one & other))
    counted = counted_of(entries, asked)
    if asked.subtask == "count":
        return str(len(counted))
    if len(counted) < int(asked.named["nth"]):
        raise ValueError(f"there are {len(counted)} messages in place of {asked.named['nth']}")
    return counted[int(asked.named["nth"]) - 1].month


def times_of(entries: Sequence[Entry]) -> Counter[str]:
    """Return how many messages ask for each act."""
    return Counter(entry.intent[0] for entry in entries)


def counted_of(entries: Sequence[Entry], asked: Asked) -> list[Entry]:
    """Return the lines of the asked clerk and kind, by their dates."""
    mine = [entry for entry in entries if entry.clerk == asked.named["clerk"] and entry.intent == asked.kinds[0]]
    return sorted(mine, key=lambda entry: entry.date)


def leading(times: Counter[str], options: Sequence[str]) -> tuple[str, int, int]:
    """Return the option that comes most often, how often it does, and how often the next one does.

    Raises:
        ValueError: if two lead.
    """
    (first, most), (_, next_most), *_ = sorted(((one, times[one]) for one in options), key=lambda each: -each[1])
    if most == next_most:
        raise ValueError("two are asked for equally often")
    return first, most, next_most
