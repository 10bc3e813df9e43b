"""A reader of annals, from a prompt's text alone: entries by their dates, sentences by a grammar of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from itertools import accumulate
from typing import NamedTuple

from pipeline.tasks.finding import is_letter
from pipeline.tasks.line_cache import LINES, PROMPT
from pipeline.worlds.chronicle.wording import ASKED, lines, words_of

BODY, END = "\nAnnals:\n", "\nThis is the end of the annals."
MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
DATE = rf"(\d{{1,2}}) ({'|'.join(MONTHS)}) (\d{{4}})"
LINE = re.compile(rf"{DATE}\. (.+)")
ASKS = re.compile(r"\nQuestion: ([^\n]+)((?:\n\([A-D]\) [^\n]+)*)\nAnswer:\Z")
OPTION = re.compile(r"\n\(([A-D])\) ([^\n]+)")
OWNER = re.compile(
    rf"(?:Who owned|To whom did|Who was the owner of|Whose property was) (the \w+ \w+)(?: belong)? "
    rf"(?:on {DATE}|at the end of (\d{{4}}))\?"
)
SENTENCE = re.compile(r"(?<=[.?!]) (?=[A-Z])")
NAME = r"[A-Z][a-z]+ [A-Z][a-z]+"
SLOT = re.compile(r"\\\{(\w+)\\\}")
CHOICE = re.compile(r"\\\[(.*?)\\\]")
OPEN = re.compile(r"\{\w+\}|\[.*?\]")
"""Where a wording is open: a slot, or words of which one is chosen."""
KEPT = 1024
"""Sentences of which the meaning is kept: a row's own are read again and again."""


class Line(NamedTuple):
    """An entry as read: where it stands, its day and its text behind the date."""

    start: int
    end: int
    day: int
    text: str


@dataclass(frozen=True, slots=True)
class Event:
    """What a sentence tells: its kind and the values of its slots, and the entry that it stands in."""

    line: Line
    kind: str
    values: dict[str, str]


@PROMPT.of
def read(text: str) -> Sequence[Line]:
    """Return every entry of a prompt.

    Raises:
        ValueError: if there are none, or anything else stands between them.
    """
    start, end = text.find(BODY) + len(BODY), text.rfind(END) + 1
    if start < len(BODY) or end <= start:
        raise ValueError("the prompt has no annals")
    lines = text[start : end - 1].split("\n")
    edges = list(accumulate(map(len, lines), lambda edge, size: edge + size + 1, initial=start))
    return list(map(Line, edges, edges[1:], *zip(*_entries(lines), strict=True)))


@LINES.of_each
def _entries(line: str) -> tuple[int, str]:
    """Return the day of an entry, and what stands behind the date."""
    found = LINE.fullmatch(line)
    if not found:
        raise ValueError(f"no entry: {line[:80]!r}")
    return day_of(found[1], found[2], found[3]), found[4]


@cache
def _month(year: str, month: str) -> int:
    return date(int(year), MONTHS.index(month) + 1, 1).toordinal() - 1


def day_of(day: str, month: str, year: str) -> int:
    """Return a day from its written form."""
    return _month(year, month) + int(day)


def asked(text: str) -> tuple[str, dict[str, str]]:
    """Return the question that a prompt ends in, and its options by their letters.

    Raises:
        ValueError: if it ends in none.
    """
    found = ASKS.search(text, max(0, text.rfind("\nQuestion: ")))
    if not found:
        raise ValueError("the prompt does not end in a question")
    return found[1], dict(OPTION.findall(found[2]))


def owner_asked(question: str) -> tuple[str, int]:
    """Return the property that is asked about, and the last day that counts.

    Raises:
        ValueError: if the question is another.
    """
    found = OWNER.fullmatch(question)
    if not found:
        raise ValueError(f"no question about an owner: {question!r}")
    prop, day, month, year, end = found.groups()
    return prop, day_of(day, month, year) if day else day_of("31", "December", end)


def about(found: Sequence[Line], name: str) -> list[Line]:
    """Return the entries that name somebody or something."""
    rest = name[1:]
    return [one for one in found if rest in one.text and _names(one.text, name)]


def _names(text: str, name: str) -> bool:
    """Tell whether a text names somebody or something, with a capital in front or as it is given."""
    first, rest, at = {name[0], name[0].upper()}, name[1:], 0
    while (at := text.find(rest, at + 1)) > 0:
        end = at + len(rest)
        if (
            text[at - 1] in first
            and not is_letter(text[max(at - 2, 0) : at - 1])
            and not is_letter(text[end : end + 1])
        ):
            return True
    return False


def events(line: Line, name: str, kinds: Sequence[str]) -> Iterator[Event]:
    """Yield what the sentences of an entry tell that name something; each must be of one of some kinds.

    Raises:
        ValueError: if one cannot be read.
    """
    for sentence in SENTENCE.split(line.text):
        if name[1:] in sentence:
            told = _told(sentence, tuple(kinds))
            if told is None:
                raise ValueError(f"what is said of {name} cannot be read: {sentence!r}")
            yield Event(line, *told)


@lru_cache(maxsize=KEPT)
def _told(sentence: str, kinds: tuple[str, ...]) -> tuple[str, dict[str, str]] | None:
    """Return of which of some kinds a sentence is, and the values of its slots; None if it is of none."""
    for kind, core, pattern in _patterns():
        if core in sentence and kind in kinds and (match := pattern.fullmatch(sentence)):
            return kind, {slot.lower(): value for slot, value in match.groupdict().items()}
    return None


@cache
def happening_kinds() -> tuple[str, ...]:
    """Return the kinds of happenings, which change no owner."""
    return tuple(lines("happenings"))


@cache
def _patterns() -> list[tuple[str, str, re.Pattern[str]]]:
    """Return every wording with its kind, the longest of its fixed parts, and as a pattern."""
    said = [*lines("events").items(), *lines("happenings").items(), *lines("deeds").items()]
    return [
        (kind, max(OPEN.split(one), key=len), _pattern(one))
        for kind, some in said
        for one in some
        if not one.startswith(ASKED)
    ]


def _pattern(said: str) -> re.Pattern[str]:
    """Return a pattern of a sentence: alternatives as a group, and slots as what they may hold."""
    escaped = CHOICE.sub(lambda choice: f"(?:{choice[1].replace(chr(92) + '|', '|')})", re.escape(said))
    seen: set[str] = set()

    def slot(match: re.Match[str]) -> str:
        name = match[1]
        form = _form(name)
        if name in seen:
            return f"(?:{form})"
        seen.add(name)
        return f"(?P<{name}>{form})"

    return re.compile(SLOT.sub(slot, escaped))


def _form(slot: str) -> str:
    if slot in ("prop", "Prop"):
        return rf"[Tt]he \w+ (?:{'|'.join(words_of('kinds'))})"
    if slot in ("sum", "price", "goods", "Goods", "street", "street2", "num"):
        return r"[\w ]+?"
    if slot == "names":
        return ".+"
    return "son|daughter" if slot == "son" else NAME


@cache
def _happened() -> list[tuple[str, re.Pattern[str]]]:
    """Return every question about a happening as a pattern."""
    found = []
    for kind, some in lines("happenings").items():
        for one in (each.removeprefix(ASKED) for each in some if each.startswith(ASKED)):
            form = re.escape(one).replace(r"\{prop\}", r"(the \w+ \w+)")
            found.append((kind, re.compile(rf"In which year {form}\?")))
    return found


def happening_asked(question: str) -> tuple[str, str]:
    """Return the property and the kind of happening that are asked about.

    Raises:
        ValueError: if the question is another.
    """
    for kind, pattern in _happened():
        if found := pattern.fullmatch(question):
            return found[1], kind
    raise ValueError(f"no question about a year: {question!r}")
