"""A reader of biographies in many wordings, with or without the name in every sentence.

It shares the wordings and the values of attributes with the writer, as data, and no code: a sentence counts as read
only if one wording alone fits it, around a value that the attribute can have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain

from pipeline.tasks.bio.reader import Entry, Said, entries
from pipeline.tasks.line_cache import LINES, PROMPT
from pipeline.worlds.wordings import wordings
from pipeline.worlds.words import pool

NAME = re.compile(r"(?=\b([A-Z][a-z]+ [A-Z][a-z]+ [A-Z][a-z]+)\b)")
DATE = re.compile(r"[1-9]\d? (?:January|February|March|April|May|June|July|August|September|October|November|December) "
                  r"(?:19[5-9]\d|200[01])")  # fmt: skip
POOLS = {"birthplace": "cities", "hobby": "hobbies", "university": "universities", "major": "majors", "city": "cities"}
EDGE = 10
"""Characters at the beginning or end of a sentence by which wordings are found before they are compared."""
OPENING = "name"
"""What the first sentence states where it is the only one that holds the name."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A wording as a reader sees it: what is stated, and the words around it, ``{name}`` in place of the name."""

    kind: str
    before: str
    after: str

    def inside(self, sentence: str) -> str:
        """Return what a sentence has in place of the value, or nothing where the wording is another."""
        if not sentence.startswith(self.before) or not sentence.endswith(self.after):
            return ""
        return sentence[len(self.before) : len(sentence) - len(self.after)]


def read_styled(style: str) -> Callable[[str], tuple[Entry, ...]]:
    """Return a reader of all biographies of a prompt in one style; it raises ValueError for what it cannot read."""
    return partial(_read, style)


@PROMPT.of
def _read(style: str, text: str) -> tuple[Entry, ...]:
    return tuple(entries(text, _take_each_apart(style)))


@cache
def _take_each_apart(style: str) -> Callable[[Sequence[str]], list[Said]]:
    return LINES.of_each(partial(take_apart, style))


def take_apart(style: str, line: str) -> Said:
    """Return the name and the attributes of a biography.

    Raises:
        ValueError: if a sentence fits no wording or two, or something is stated twice.
    """
    if not line.endswith("."):
        raise ValueError(f"no biography: {line[:80]!r}")
    sentences = [f"{sentence}." for sentence in line[:-1].split(". ")]
    if OPENING in wordings(style):
        name, sentences = _opened(style, sentences[0]), sentences[1:]
        if any(name in sentence for sentence in sentences):
            raise ValueError(f"{name} is named twice")
    else:
        name = _shared(line, sentences)
        sentences = [sentence.replace(name, "{name}") for sentence in sentences]
    stated = dict(_stated(style, sentence) for sentence in sentences)
    if len(stated) != len(sentences) or list(stated) != [kind for kind in wordings(style) if kind in stated]:
        raise ValueError(f"the biography of {name} states something twice or in another order")
    return name, stated, {}, ""


def _opened(style: str, sentence: str) -> str:
    """Return the name in an opening sentence."""
    found = {frame.inside(sentence) for frame in _near(style, sentence) if frame.kind == OPENING}
    names = [name for name in found if (match := NAME.match(name)) and match[1] == name]
    if len(names) != 1:
        raise ValueError(f"not an opening with one name: {sentence[:80]!r}")
    return names[0]


def _shared(line: str, sentences: list[str]) -> str:
    """Return the one full name that every sentence of a line holds once."""
    names = [name for name in NAME.findall(sentences[0]) if line.count(name) == len(sentences)]
    names = [name for name in names if all(name in said for said in sentences)]
    if len(names) != 1:
        raise ValueError(f"{len(names)} names stand in every sentence of {sentences[0][:80]!r} and those behind it")
    return str(names[0])


@LINES.of
def _stated(style: str, sentence: str) -> tuple[str, str]:
    """Return what a sentence states, without the name: people share most of these sentences."""
    found = {
        (frame.kind, inside)
        for frame in _near(style, sentence)
        if frame.kind != OPENING and (inside := frame.inside(sentence)) and _possible(frame.kind, inside)
    }
    if len(found) != 1:
        raise ValueError(f"{len(found)} wordings fit {sentence[:80]!r}")
    return found.pop()


def _near(style: str, sentence: str) -> Iterable[Frame]:
    """Return the wordings that begin, or end, like a sentence."""
    by_start, by_end = _frames(style)
    return chain(by_start.get(sentence[:EDGE], ()), by_end.get(sentence[-EDGE:], ()))


def _possible(kind: str, value: str) -> bool:
    return bool(DATE.fullmatch(value)) if kind == "birthdate" else value in _values(kind)


@cache
def _values(kind: str) -> frozenset[str]:
    return frozenset(pool(POOLS[kind]))


@cache
def _all_frames(style: str) -> tuple[Frame, ...]:
    """Return the wordings of a style, cut at what they state."""
    slots = {kind: "{name}" if kind == OPENING else "{value}" for kind in wordings(style)}
    return tuple(Frame(kind, *said.split(slots[kind])) for kind, told in wordings(style).items() for said in told)


@cache
def _frames(style: str) -> tuple[Mapping[str, list[Frame]], Mapping[str, list[Frame]]]:
    """Return the wordings of a style by their first characters, and those that begin with what they state by the last.

    Raises:
        ValueError: if a wording has too few words on either side to be found.
    """
    by_start: dict[str, list[Frame]] = {}
    by_end: dict[str, list[Frame]] = {}
    for frame in _all_frames(style):
        if len(frame.before) >= EDGE:
            by_start.setdefault(frame.before[:EDGE], []).append(frame)
        elif len(frame.after) >= EDGE:
            by_end.setdefault(frame.after[-EDGE:], []).append(frame)
        else:
            raise ValueError(f"the wording {frame} has fewer than {EDGE} characters on either side")
    return by_start, by_end
