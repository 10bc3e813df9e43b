"""What the prompts of needles in haystacks say, and how it is read again."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress, count

from pipeline.tasks.solving import LINES, PROMPT, Lines, Span, whole_lines

CODE = "access code"
OTHERS = ("account number", "gate number", "invoice number", "locker number", "order number", "permit number")
"""What else may be filed under a key, in the same words."""
NEEDLE = "{article} {thing} filed under {key} is {value}.\n"
THE, ONE = "The", "One"
"""What a line begins with: the second where a key has several values."""

STATING = "each of which states a number or a code and what it is filed under"
HAYSTACKS = {
    "essay": f"Below are essays on all kinds of things. Between their paragraphs stand single lines, {STATING}.",
    "addresses": (
        "Below are addresses by presidents of the United States. Between their paragraphs stand single lines, "
        f"{STATING}."
    ),
    "own": f"Below are texts. Between their paragraphs stand single lines, {STATING}.",
    "noise": f"Below is a text that says the same things again and again. Between its lines stand others, {STATING}.",
    "words": "Below is a long list of access codes. Each line states one and what it is filed under.",
    "uuids": "Below is a long list of access codes. Each line states one and what it is filed under.",
}
WANTED = {
    "one": "one access code",
    "values": "all the access codes that are filed under one name",
    "ordered": "all the access codes that are filed under one name, in the order in which they stand in the text",
    "keys": "the access codes that are filed under several names",
}
REPLIES = {
    "one": "Reply with the access code alone.",
    "values": "Reply with the access codes alone, separated by commas.",
    "ordered": "Reply with the access codes alone, in the order of the text, separated by commas.",
    "keys": "Reply with the access codes alone, separated by commas.",
}
QUESTIONS = {
    "one": "What is the access code filed under {keys}?",
    "values": "What are all the access codes filed under {keys}?",
    "ordered": "What are all the access codes filed under {keys}, in the order in which they stand in the text?",
    "keys": "What are the access codes filed under {keys}?",
}
START = "Text:\n"
END = "This is the end of the text."

STATED = re.compile(r"^(?:The|One) ([a-z]+ (?:code|number)) filed under (.+) is ([0-9a-f-]+)\.\n", re.MULTILINE)
ASKED = re.compile(
    r"^Question: What (?:is the|are the|are all the) access codes? filed under (.+?)"
    r"(, in the order in which they stand in the text)?\?$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Needle:
    """A line that states something: what is filed, under which key, the value, and where the line stands."""

    thing: str
    key: str
    value: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Needles:
    """All needles of a text, in order, each in the same place of every column: there may be a hundred thousand."""

    lines: Lines
    numbers: Sequence[int] = ()
    things: Sequence[str] = ()
    keys: Sequence[str] = ()
    values: Sequence[str] = ()

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.numbers)

    def span(self, place: int) -> Span:
        """Return where a needle starts and ends."""
        return self.lines.span(self.numbers[place])

    def places(self, asked: Sequence[str]) -> list[int]:
        """Return the places of access codes that are filed under some keys."""
        wanted = {*asked}
        return [place for place, key in enumerate(self.keys) if key in wanted and self.things[place] == CODE]


def needle(key: object, value: str, thing: str = CODE, article: str = THE) -> str:
    """Return the line that states a value."""
    return NEEDLE.format(article=article, thing=thing, key=key, value=value)


def head(haystack: str, form: str) -> str:
    """Return what stands before the text."""
    return f"{HAYSTACKS[haystack]} You will be asked for {WANTED[form]}.\n\n{START}"


def tail(form: str, question: str) -> str:
    """Return what stands behind the text."""
    return f"{END} {REPLIES[form]}\n\nQuestion: {question}\nAnswer:"


def asking(form: str, keys: Sequence[str]) -> str:
    """Return the question for the values of some keys."""
    *most, last = keys
    return QUESTIONS[form].format(keys=f"{', '.join(most)} and {last}" if most else last)


def read_needles(text: str) -> list[Needle]:
    """Return every needle of a text, in order."""
    found = columns(text)
    edges = zip(*map(found.span, range(len(found))), strict=True) if len(found) else ((), ())
    return list(map(Needle, found.things, found.keys, found.values, *edges))


@PROMPT.of
def columns(text: str) -> Needles:
    """Return the needles of a prompt."""
    lines = Lines(text)
    said = _said(lines.texts)
    if not any(said):
        return Needles(lines)
    return Needles(lines, list(compress(count(), said)), *zip(*filter(None, said), strict=True))


@LINES.of_each
def _said(line: str) -> tuple[str, ...]:
    """Return what a line without its newline says is filed, under which key, and the value; of no needle nothing."""
    found = STATED.match(f"{line}\n")
    return found.groups() if found else ()


def parse_question(text: str) -> list[str]:
    """Return the keys that are asked for, in the order of the question.

    Raises:
        ValueError: if not just one question is asked.
    """
    return re.split(", | and ", _asked(text)[0])


def is_ordered(text: str) -> bool:
    """Tell whether values are asked for in the order of the text.

    Raises:
        ValueError: if not just one question is asked.
    """
    return bool(_asked(text)[1])


@PROMPT.of
def _asked(text: str) -> tuple[str, str]:
    asked = [found.groups("") for found in whole_lines(ASKED, "Question: ", text)]
    if len(asked) != 1:
        raise ValueError(f"{len(asked)} questions are asked")
    keys, ordered = asked[0]
    return keys, ordered
