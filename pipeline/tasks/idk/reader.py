"""A reader of prompts: finds who is asked about and whether that story tells what is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

from pipeline.tasks.finding import Lines
from pipeline.tasks.idk.grammar import FULL_NAME, Told, pattern_of, read_story
from pipeline.tasks.idk.text import END, LETTERS, START, accepted
from pipeline.tasks.line_cache import LINES, PROMPT
from pipeline.worlds.plots import plots

RANDOM_LETTERS = re.compile(r"[A-Z](?: [A-Z])*")
BLOCK = re.compile(r"Question: (.+)\nChoices:\n\(A\) (.+)\n\(B\) (.+)\n\(C\) (.+)\n\(D\) (.+)\nAnswer:(?: ([A-D]))?")


class Line(NamedTuple):
    """A line of the body: the story that it tells, or None if it is random letters."""

    start: int
    end: int
    text: str
    told: Told | None


@dataclass(frozen=True, slots=True)
class Query:
    """A question as read: about whom, of which plot and noun; its choices, and the letter that follows it, if any."""

    name: str
    plot: str
    noun: str
    choices: tuple[str, ...]
    reply: str


def solve(text: str) -> tuple[str, ...]:
    """Return the accepted answers of a prompt's last question.

    Raises:
        ValueError: if the prompt cannot be read, or the person has not just one story.
    """
    asked = read_question(text)
    letter = answer(asked, [line.told for line in read_body(text) if line.told])
    return accepted(letter, asked.choices[LETTERS.index(letter)])


def answer(asked: Query, stories: list[Told]) -> str:
    """Return the letter that answers a question about one of some stories.

    Raises:
        ValueError: if they hold not just one story of that person and plot, or it states what is no choice.
    """
    own = [told for told in stories if told.name == asked.name]
    if len(own) != 1 or own[0].plot != asked.plot:
        raise ValueError(f"{asked.name} has {len(own)} stories, of {[told.plot for told in own]}")
    if asked.noun not in own[0].mentioned:
        raise ValueError(f"the story of {asked.name} does not mention {asked.noun}")
    value = own[0].stated.get(asked.noun)
    if value is None:
        return LETTERS[-1]
    if value not in asked.choices:
        raise ValueError(f"the story of {asked.name} states {value!r}, which is no choice")
    return LETTERS[asked.choices.index(value)]


@PROMPT.of
def read_body(text: str) -> tuple[Line, ...]:
    """Return every line of the body; remembers the last prompt it read.

    Raises:
        ValueError: if there is no body, or a line is neither a story nor letters.
    """
    start = text.find("\n" + START) + 1 + len(START)
    end = text.rfind("\n" + END) + 1
    if start <= len(START) or end <= start:
        raise ValueError("the prompt has no body")
    lines = Lines(text, start, end)
    told = (one or None for one in _told(lines.texts))
    return tuple(
        Line(*lines.span(number), line, story)
        for number, (line, story) in enumerate(zip(lines.texts, told, strict=True))
    )


@LINES.of_each
def _told(line: str) -> Told | Literal[False]:
    return False if RANDOM_LETTERS.fullmatch(line) else read_story(line)


def read_question(text: str) -> Query:
    """Return the question that a prompt ends in.

    Raises:
        ValueError: if there is none, or it is of no plot.
    """
    asked = read_blocks(text[text.rfind("\n" + END) :])
    if len(asked) != 1 or asked[0].reply:
        raise ValueError("the prompt does not end in one question")
    return asked[0]


def read_blocks(text: str) -> list[Query]:
    """Return every question of a text, with the letter that follows it.

    Raises:
        ValueError: if one is of no plot.
    """
    return [Query(*_understood(found[1]), found.groups()[1:5], found[6] or "") for found in BLOCK.finditer(text)]


def _understood(question: str) -> tuple[str, str, str]:
    for plot, pattern in _questions():
        match = pattern.fullmatch(question)
        if match:
            return match["name"], plot, match["it"]
    raise ValueError(f"no question: {question[:80]!r}")


@cache
def _questions() -> tuple[tuple[str, re.Pattern[str]], ...]:
    found = []
    for plot in plots():
        nouns = "|".join(re.escape(slot.noun) for slot in plot.slots)
        found.append((plot.title, pattern_of(plot.ask, {"name": FULL_NAME, "it": nouns})))
    return tuple(found)
