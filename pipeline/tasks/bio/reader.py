"""A reader of biographies and of the questions behind them, from a prompt's text alone.

It shares no code with the world or the renderer: sentences are taken apart at their fixed words, and every sentence
must name the person whom its paragraph begins with. A paragraph may state the six attributes, or an age, may name
another person in place of an attribute, and may carry a label in front: what a task allows is for its proof to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import accumulate
from sys import intern
from types import MappingProxyType
from typing import NamedTuple

from pipeline.tasks.line_cache import LINES, PROMPT

START = "\nBiographies:\n"
END = "This is the end of the biographies."
FINAL = "\nFinal answer: "

NAME = "[A-Z][A-Za-z]+ [A-Z][A-Za-z]+ [A-Z][A-Za-z]+"
NAMED = re.compile(NAME)
LABEL = re.compile(r"\[([\d.]+)\] ")
UNLINKED: Mapping[str, str] = MappingProxyType({})
"""What is told of people in whose biography nobody else is named."""
LINKING = "the same "
LINK = re.compile(rf"{LINKING}(?:date as|as that of|university as|city as) ({NAME})")
AGE, YEARS = "age", re.compile(r"(\d+) years old")

ATTRIBUTES = ("birthdate", "birthplace", "hobby", "university", "major", "city")
FIXED_WORDS = (
    ("birthdate", "", " was born on "),
    (AGE, "", " is "),
    ("birthplace", "The birthplace of ", " is "),
    ("hobby", "The favourite hobby of ", " is "),
    ("university", "", " graduated from "),
    ("major", "The university major of ", " was "),
    ("city", "", " now lives and works in "),
)
KINDS = tuple(kind for kind, _, _ in FIXED_WORDS)
REGULAR = re.compile(
    rf"(?:{LABEL.pattern})?(?=(?:{'|'.join(before for _, before, _ in FIXED_WORDS if before)})?({NAME}) )"
    + "".join(rf"(?:{before}\2{after}([^.]+)\.(?: |\Z))?" for _, before, after in FIXED_WORDS)
)
"""A paragraph without stops in its values, which most are: taken apart at once, in a third of the time."""
ASKED = (
    ("birthdate", re.compile(r"On what date was (.+) born\?")),
    ("birthplace", re.compile(r"What is the birthplace of (.+)\?")),
    ("hobby", re.compile(r"What is the favourite hobby of (.+)\?")),
    ("university", re.compile(r"Which university did (.+) graduate from\?")),
    ("major", re.compile(r"What was the university major of (.+)\?")),
    ("city", re.compile(r"In which city does (.+) now live and work\?")),
)
BLOCKS = re.compile(r"\nQuestions?:\s")
ANSWERS = re.compile(r"\nAnswers?:")

KEPT = 256
"""Questions of which the meaning is kept: a row's own are read again and again."""
Said = tuple[str, Mapping[str, str], Mapping[str, str], str]
"""Name, what is stated, whom attributes are linked to, and the label (empty: none)."""


class Entry(NamedTuple):
    """A paragraph as read: where it stands, whom it names, what it states, and for what it names somebody else."""

    start: int
    end: int
    name: str
    stated: Mapping[str, str]
    linked: Mapping[str, str] = MappingProxyType({})
    label: str = ""


@dataclass(frozen=True)
class Asked:
    """One or several questions as they stand, and the reply to them; the last of a prompt has none."""

    question: str
    reply: str

    @cached_property
    def about(self) -> tuple[tuple[str, str], ...]:
        """Attribute and name of each question.

        Raises:
            ValueError: if it is none about a biography.
        """
        return tuple(map(understood, _parts(self.question)))

    @cached_property
    def names(self) -> list[str]:
        """The people asked about, in order."""
        return [name for _, name in self.about]

    @property
    def reasoning(self) -> str:
        """What a reply says before its final answer."""
        return self.reply.partition(FINAL)[0]

    @property
    def final(self) -> str:
        """The final answer of a reply that reasons."""
        return self.reply.partition(FINAL)[2]


@PROMPT.of
def read_biographies(text: str) -> tuple[Entry, ...]:
    """Return every biography of a prompt in order; remembers the last prompt it read.

    Raises:
        ValueError: if there is no body, a line of it is no biography, or some have labels and some have none.
    """
    found = tuple(entries(text, take_each_apart))
    labels = sum(map(bool, (entry[-1] for entry in found)))
    if labels not in (0, len(found)):
        raise ValueError(f"{len(found)} biographies have {labels} labels")
    return found


def entries(text: str, taken_apart: Callable[[Sequence[str]], Sequence[Said]]) -> Iterator[Entry]:
    """Yield the biographies of a prompt, each a line, by what `taken_apart` makes of them.

    Raises:
        ValueError: if there is no body.
    """
    start = text.find(START) + len(START)
    end = text.rfind("\n" + END) + 1
    if start < len(START) or end <= start:
        raise ValueError("the prompt has no body of biographies")
    lines = text[start : end - 1].split("\n")
    edges = list(accumulate(map(len, lines), lambda edge, size: edge + size + 1, initial=start))
    return map(Entry, edges, edges[1:], *zip(*taken_apart(lines), strict=True))


def take_apart(line: str) -> Said:
    """Read a paragraph: sentences may be wanting, those there are keep their order."""
    regular = REGULAR.fullmatch(line)
    if regular is None or line.endswith(" "):
        return _taken_apart(line)
    label, name, *told = regular.groups()
    values = {kind: intern(value) for kind, value in zip(KINDS, told, strict=True) if value is not None}
    if line.count(name) != len(values):
        return _taken_apart(line)
    return name, *_sorted_out(values), label or ""


def _taken_apart(line: str) -> Said:
    """Read a paragraph, whatever stops stand in its values, and tell what is wrong with one that is none."""
    label, named = LABEL.match(line), NAMED.search(line)
    at, name = label.end() if label else 0, named[0] if named else ""
    found = []
    for kind, before, after in FIXED_WORDS:
        opening = f"{before}{name}{after}"
        place = at if line.startswith(opening, at) else line.find(f". {opening}", at) + 2
        if place != 1:
            found.append((place, place + len(opening), kind))
    if not name or not found or found != sorted(found) or found[0][0] != at or not line.endswith("."):
        raise ValueError(f"no biography: {line[:80]!r}")
    ends = [place - 2 for place, _, _ in found[1:]] + [len(line) - 1]
    values = {kind: line[start:end] for (_, start, kind), end in zip(found, ends, strict=True)}
    if any(not value or name in value or ". " in value for value in values.values()):
        raise ValueError(f"no biography, for words that are no attribute: {line[:80]!r}")
    return name, *_sorted_out(values), label[1] if label else ""


take_each_apart = LINES.of_each(take_apart)
"""The same of many paragraphs, most of which were read before."""


def _sorted_out(values: dict[str, str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Part what a paragraph states from those whom it names in place of it."""
    if AGE in values:
        if not (years := YEARS.fullmatch(values[AGE])):
            raise ValueError(f"no biography, for {values[AGE]!r} is no age")
        values[AGE] = years[1]
    named = [kind for kind, value in values.items() if value.startswith(LINKING)]
    if not named:
        return values, UNLINKED
    linked = {kind: found[1] for kind in named if (found := LINK.fullmatch(values[kind]))}
    return {kind: value for kind, value in values.items() if kind not in linked}, linked


@PROMPT.of
def read_asked(text: str) -> Sequence[Asked]:
    """Return each question or list of questions behind the biographies, the one to be answered last.

    Raises:
        ValueError: if nothing is asked, or the last question has a reply.
    """
    blocks = [ANSWERS.split(block, maxsplit=1) for block in BLOCKS.split(text[text.rfind(END) :])[1:]]
    if not blocks or blocks[-1][1:] != [""]:
        raise ValueError("the prompt asks nothing, or does not end in what it asks")
    return [Asked(question, reply[0].strip() if reply else "") for question, *reply in blocks]


def _parts(question: str) -> Iterator[str]:
    """Yield the questions of a numbered list, or of one line."""
    lines = question.split("\n")
    if not lines[0].startswith("1. "):
        yield from re.split(r"(?<=\?) ", question)
        return
    for number, line in enumerate(lines, start=1):
        if not line.startswith(f"{number}. "):
            raise ValueError(f"questions are not numbered one by one: {question[:80]!r}")
        yield line.removeprefix(f"{number}. ")


@lru_cache(maxsize=KEPT)
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
