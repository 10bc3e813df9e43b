"""Reads biographies and the questions after them, from a prompt's text alone.

Plain sentences are split at the fixed words listed here, and all must name the person whom their paragraph begins with.
The patterns of styles come from the writer's own list of wordings (`wordings`), so that this reader cannot find errors
in that list. A paragraph may state the six attributes or an age, may name another person instead of an attribute, and
may begin with a label; each task's own checks decide which it allows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, chain, zip_longest
from math import sqrt
from sys import intern
from types import MappingProxyType
from typing import NamedTuple

from pipeline.caches import cache, lru_cache
from pipeline.recipe import Stratum
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.bio.forms import accepted
from pipeline.tasks.bio.haystack import density
from pipeline.tasks.solving import LINES, PROMPT, ReadError
from pipeline.worlds.people import wordings
from pipeline.worlds.words import pool

START = "\nBiographies:\n"
END = "This is the end of the biographies."
FINAL = "\nFinal answer: "
PLAIN = "standard"
"""The style with one wording for each attribute."""

NAME = "[A-Z][A-Za-z]+ [A-Z][A-Za-z]+ [A-Z][A-Za-z]+"
NAMED = re.compile(NAME)
LABEL = re.compile(r"\[([\d.]+)\] ")
UNLINKED: Mapping[str, str] = MappingProxyType({})
"""The links of a biography that names nobody else."""
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
"""A paragraph without full stops in its values. Most are, and are read with one match, in a third of the time."""
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

CACHED_QUESTIONS = 256
"""Questions whose meaning is cached, as a row's own are read again and again."""
ParsedBiography = tuple[str, Mapping[str, str], Mapping[str, str], str]
"""The name, the stated attributes, the names that attributes are linked to, and the label or ""."""


class Entry(NamedTuple):
    """A paragraph as read: its span, its person, the attributes that it states, and those it links to somebody else."""

    start: int
    end: int
    name: str
    stated: Mapping[str, str]
    linked: Mapping[str, str] = MappingProxyType({})
    label: str = ""


@dataclass(frozen=True)
class Question:
    """One or more questions as written, and the reply to them, "" for those at the end of a prompt."""

    question: str
    reply: str

    @cached_property
    def about(self) -> tuple[tuple[str, str], ...]:
        """Attribute and name of each question."""
        return tuple(map(understand, _parts(self.question)))

    @cached_property
    def names(self) -> list[str]:
        """The people asked about, in order."""
        return [name for _, name in self.about]

    @property
    def reasoning(self) -> str:
        """The part of a reply before its final answer."""
        return self.reply.partition(FINAL)[0]

    @property
    def final(self) -> str:
        """The final answer of a reply with reasoning."""
        return self.reply.partition(FINAL)[2]


@PROMPT.cached
def parse_biographies(text: str) -> tuple[Entry, ...]:
    """Return every biography of a prompt, in order."""
    found = tuple(entries(text, take_each_apart))
    labels = sum(map(bool, (entry[-1] for entry in found)))
    if labels not in (0, len(found)):
        raise ReadError(f"{len(found)} biographies have {labels} labels")
    return found


def entries(text: str, taken_apart: Callable[[Sequence[str]], Sequence[ParsedBiography]]) -> Iterator[Entry]:
    """Yield the biographies of a prompt, each of which is a line that `taken_apart` reads."""
    start = text.find(START) + len(START)
    end = text.rfind("\n" + END) + 1
    if start < len(START) or end <= start:
        raise ReadError("the prompt has no body of biographies")
    lines = text[start : end - 1].split("\n")
    edges = list(accumulate(map(len, lines), lambda edge, size: edge + size + 1, initial=start))
    return map(Entry, edges, edges[1:], *zip(*taken_apart(lines), strict=True))


def parse_biography(line: str) -> ParsedBiography:
    """Read a paragraph. Sentences may be missing, but are in order."""
    regular = REGULAR.fullmatch(line)
    if regular is None or line.endswith(" "):
        return _taken_apart(line)
    label, name, *stated = regular.groups()
    values = {kind: intern(value) for kind, value in zip(KINDS, stated, strict=True) if value is not None}
    if line.count(name) != len(values):
        return _taken_apart(line)
    return name, *_sorted_out(values), label or ""


def _taken_apart(line: str) -> ParsedBiography:
    """Read a paragraph whose values may contain full stops, or raise an error that explains what is wrong."""
    label, named = LABEL.match(line), NAMED.search(line)
    at, name = label.end() if label else 0, named[0] if named else ""
    found = []
    for kind, before, after in FIXED_WORDS:
        opening = f"{before}{name}{after}"
        place = at if line.startswith(opening, at) else line.find(f". {opening}", at) + 2
        if place != 1:
            found.append((place, place + len(opening), kind))
    if not name or not found or found != sorted(found) or found[0][0] != at or not line.endswith("."):
        raise ReadError(f"no biography: {line[:80]!r}")
    ends = [place - 2 for place, _, _ in found[1:]] + [len(line) - 1]
    values = {kind: line[start:end] for (_, start, kind), end in zip(found, ends, strict=True)}
    if any(not value or name in value or ". " in value for value in values.values()):
        raise ReadError(f"no biography, for words that are not an attribute: {line[:80]!r}")
    return name, *_sorted_out(values), label[1] if label else ""


take_each_apart = LINES.cached_map(parse_biography)
"""The same for many paragraphs, most of which were read before."""


def _sorted_out(values: dict[str, str]) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """Separate the stated attributes from those linked to another person, and read an age."""
    if AGE in values:
        if not (years := YEARS.fullmatch(values[AGE])):
            raise ReadError(f"no biography, for {values[AGE]!r} is not an age")
        values[AGE] = years[1]
    named = [kind for kind, value in values.items() if value.startswith(LINKING)]
    if not named:
        return values, UNLINKED
    linked = {kind: found[1] for kind in named if (found := LINK.fullmatch(values[kind]))}
    return {kind: value for kind, value in values.items() if kind not in linked}, linked


@PROMPT.cached
def parse_question(text: str) -> Sequence[Question]:
    """Return each question or list of questions after the biographies; the last is to be answered."""
    blocks = [ANSWERS.split(block, maxsplit=1) for block in BLOCKS.split(text[text.rfind(END) :])[1:]]
    if not blocks or blocks[-1][1:] != [""]:
        raise ReadError("the prompt asks nothing, or does not end in what it asks")
    return [Question(question, reply[0].strip() if reply else "") for question, *reply in blocks]


def _parts(question: str) -> Iterator[str]:
    """Yield the questions in a numbered list, or in one line."""
    lines = question.split("\n")
    if not lines[0].startswith("1. "):
        yield from re.split(r"(?<=\?) ", question)
        return
    for number, line in enumerate(lines, start=1):
        if not line.startswith(f"{number}. "):
            raise ReadError(f"questions are not numbered one by one: {question[:80]!r}")
        yield line.removeprefix(f"{number}. ")


@lru_cache(maxsize=CACHED_QUESTIONS)
def understand(line: str) -> tuple[str, str]:
    """Return the attribute and the name that a question asks for."""
    for attribute, pattern in ASKED:
        match = pattern.fullmatch(line)
        if match:
            return attribute, match[1]
    raise ReadError(f"no question: {line[:80]!r}")


STYLED_NAME = re.compile(r"(?=\b([A-Z][a-z]+ [A-Z][a-z]+ [A-Z][a-z]+)\b)")
DATE = re.compile(r"[1-9]\d? (?:January|February|March|April|May|June|July|August|September|October|November|December) "
                  r"(?:19[5-9]\d|200[01])")  # fmt: skip
POOLS = {"birthplace": "cities", "hobby": "hobbies", "university": "universities", "major": "majors", "city": "cities"}
EDGE_CHARACTERS = 10
"""Characters at the start or end of a sentence that select the wordings to compare."""
OPENING = "name"
"""What the first sentence states if only it contains the name."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A wording as the reader sees it: what it states, and the words around that, with ``{name}`` for the name."""

    kind: str
    before: str
    after: str

    def inside(self, sentence: str) -> str:
        """Return the value in a sentence of this wording, or "" for another wording."""
        if not sentence.startswith(self.before) or not sentence.endswith(self.after):
            return ""
        return sentence[len(self.before) : len(sentence) - len(self.after)]


@PROMPT.cached
def read_in(style: str, text: str) -> tuple[Entry, ...]:
    """Return every biography of a prompt in one style, in order."""
    return parse_biographies(text) if style == PLAIN else tuple(entries(text, _take_each_apart(style)))


@cache
def _take_each_apart(style: str) -> Callable[[Sequence[str]], list[ParsedBiography]]:
    return LINES.cached_map(partial(parse_styled, style))


def parse_styled(style: str, line: str) -> ParsedBiography:
    """Return the name and the attributes of a biography."""
    if not line.endswith("."):
        raise ReadError(f"no biography: {line[:80]!r}")
    sentences = [f"{sentence}." for sentence in line[:-1].split(". ")]
    if OPENING in wordings(style):
        name, sentences = _opened(style, sentences[0]), sentences[1:]
        if any(name in sentence for sentence in sentences):
            raise ReadError(f"{name} is named twice")
    else:
        name = _shared(line, sentences)
        sentences = [sentence.replace(name, "{name}") for sentence in sentences]
    stated = dict(_stated(style, sentence) for sentence in sentences)
    if len(stated) != len(sentences) or list(stated) != [kind for kind in wordings(style) if kind in stated]:
        raise ReadError(f"the biography of {name} states something twice or in another order")
    return name, stated, {}, ""


def _opened(style: str, sentence: str) -> str:
    """Return the name in an opening sentence."""
    found = {frame.inside(sentence) for frame in _near(style, sentence) if frame.kind == OPENING}
    names = [name for name in found if (match := STYLED_NAME.match(name)) and match[1] == name]
    if len(names) != 1:
        raise ReadError(f"not an opening with one name: {sentence[:80]!r}")
    return names[0]


def _shared(line: str, sentences: list[str]) -> str:
    """Return the one full name that every sentence of a line contains once."""
    names = [name for name in STYLED_NAME.findall(sentences[0]) if line.count(name) == len(sentences)]
    names = [name for name in names if all(name in sentence for sentence in sentences)]
    if len(names) != 1:
        raise ReadError(f"{len(names)} names stand in every sentence of {sentences[0][:80]!r} and those behind it")
    return str(names[0])


@LINES.cached
def _stated(style: str, sentence: str) -> tuple[str, str]:
    """Return the attribute and value in a sentence without its name; most such sentences recur, and are cached."""
    found = {
        (frame.kind, inside)
        for frame in _near(style, sentence)
        if frame.kind != OPENING and (inside := frame.inside(sentence)) and _possible(frame.kind, inside)
    }
    if len(found) != 1:
        raise ReadError(f"{len(found)} wordings fit {sentence[:80]!r}")
    return found.pop()


def _near(style: str, sentence: str) -> Iterable[Frame]:
    """Return the wordings that begin or end like a sentence."""
    by_start, by_end = _frames(style)
    return chain(by_start.get(sentence[:EDGE_CHARACTERS], ()), by_end.get(sentence[-EDGE_CHARACTERS:], ()))


def _possible(kind: str, value: str) -> bool:
    return bool(DATE.fullmatch(value)) if kind == "birthdate" else value in _values(kind)


@cache
def _values(kind: str) -> frozenset[str]:
    return frozenset(pool(POOLS[kind]))


@cache
def _all_frames(style: str) -> tuple[Frame, ...]:
    """Return the wordings of a style, split at the value."""
    slots = {kind: "{name}" if kind == OPENING else "{value}" for kind in wordings(style)}
    return tuple(Frame(kind, *wording.split(slots[kind])) for kind, some in wordings(style).items() for wording in some)


@cache
def _frames(style: str) -> tuple[Mapping[str, list[Frame]], Mapping[str, list[Frame]]]:
    """Return the wordings of a style by their first characters, or by their last if too few precede the value."""
    by_start: dict[str, list[Frame]] = {}
    by_end: dict[str, list[Frame]] = {}
    for frame in _all_frames(style):
        if len(frame.before) >= EDGE_CHARACTERS:
            by_start.setdefault(frame.before[:EDGE_CHARACTERS], []).append(frame)
        elif len(frame.after) >= EDGE_CHARACTERS:
            by_end.setdefault(frame.after[-EDGE_CHARACTERS:], []).append(frame)
        else:
            raise ValueError(f"the wording {frame} has fewer than {EDGE_CHARACTERS} characters on either side")
    return by_start, by_end


Answers = Callable[[Question, Sequence[Entry]], tuple[str, ...]]
"""A function that answers a question from a prompt's biographies, in every accepted form."""
FIVE_DIGITS = re.compile(r"[1-9]\d{4}")


def only(entries: Sequence[Entry], name: str) -> Entry:
    """Return the one biography of a person."""
    found = [entry for entry in entries if entry.name == name]
    if len(found) != 1:
        raise ReadError(f"{name} has {len(found)} biographies")
    return found[0]


def looked_up(asked: Question, entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return the accepted answers: the n-th joins the n-th form of each value, followed by the biography's label."""
    found = [(only(entries, name), kind) for kind, name in asked.about]
    for entry, kind in found:
        if kind not in entry.stated:
            raise ReadError(f"the biography of {entry.name} states no {kind}")
    forms = [accepted(entry.stated[kind], kind) for entry, kind in found]
    marks = [f" [{entry.label}]" if entry.label else "" for entry, _ in found]
    rows = ([one or form[0] for one, form in zip(row, forms, strict=True)] for row in zip_longest(*forms))
    return tuple("; ".join(map("".join, zip(row, marks, strict=True))) for row in rows)


def faults(
    row: PublishedRow, entries: Sequence[Entry], answers: Answers = looked_up, *, count: int = 1
) -> Iterator[str]:
    """Yield what is wrong with a row that asks about `count` biographies, and with its demonstrations."""
    *shown, asked = parse_question(row.text)
    yield from question_faults(row, "Questions:\n" if "\n" in row.question else "Question: ")
    yield from key_faults(row, asked, entries, answers)
    yield from people_faults(entries)
    if len(set(asked.names)) != count or len(asked.names) != count:
        yield f"expected {count} people asked about, found {len(asked.names)} questions about {len(set(asked.names))}"
    names = {*asked.names}
    yield from mark_faults(row, "relevant", [entry for entry in entries if entry.name in names], "people asked")
    firsts = {example.names[0] for example in shown}
    yield from mark_faults(row, "demo", [entry for entry in entries if entry.name in firsts], "demonstrations")
    named = [name for example in (*shown, asked) for name in example.names]
    if len(set(named)) != len(named):
        yield "a demonstration asks about somebody who is asked about elsewhere"
    for example in shown:
        if example.reply != answers(example, entries)[0]:
            yield f"the demonstration about {example.names[0]} is wrong"


def stated_faults(row: PublishedRow, entries: Sequence[Entry]) -> Iterator[str]:
    """Check that biographies state all six attributes, or at a density below 1 all but the asked one."""
    asked = parse_question(row.text)
    named, kind = {name for each in asked for name in each.names}, asked[-1].about[0][0]
    yield from whole_faults(entries, ATTRIBUTES, kind if density(row.stratum) < 1 else "")
    apart = set(row.spans("decoy"))
    others = [entry for entry in entries if entry.name not in named and (entry.start, entry.end) not in apart]
    yield from share_faults(row.stratum, (kind in entry.stated for entry in others))


def key_faults(row: PublishedRow, asked: Question, entries: Sequence[Entry], answers: Answers) -> Iterator[str]:
    """Check the key against the biographies."""
    try:
        stated = answers(asked, entries)
    except ValueError as error:
        yield f"the key {row.key.target!r} is not stated: {error}"
        return
    if row.key.target != stated[0] or row.key.answers != stated:
        yield f"the prompt states {stated[0]!r}, the key {row.key.target!r}"


def question_faults(row: PublishedRow, asks: str = "Question: ") -> Iterator[str]:
    """Check that a prompt ends in the row's question."""
    answer = asks.split(":")[0].replace("Question", "Answer")
    if not row.text.endswith(f"\n{asks}{row.question}\n{answer}:"):
        yield f"the prompt does not end in the question {row.question[:80]!r}"


def whole_faults(entries: Sequence[Entry], kinds: Iterable[str], lacking: str = "") -> Iterator[str]:
    """Check that biographies state or link all `kinds` of facts, of which one may be `lacking`, and no others."""
    every, stated = set(kinds), [(*entry.stated, *entry.linked) for entry in entries]
    few = {one for one in {*stated} if every - {lacking, *one}}
    many = {one for one in {*stated} if {*one} - every}
    short = [entry for entry, one in zip(entries, stated, strict=True) if one in few]
    if short:
        yield f"{len(short)} biographies state fewer than {len(every - {lacking})} attributes, {short[0].name}'s first"
    strange = [entry for entry, one in zip(entries, stated, strict=True) if one in many]
    if strange:
        yield f"{len(strange)} biographies tell what they should not, {strange[0].name}'s first"


def mark_faults(row: PublishedRow, role: str, entries: Iterable[Entry], whose: str) -> Iterator[str]:
    """Check that the needles of a role are exactly some biographies."""
    if row.spans(role) != sorted((entry.start, entry.end) for entry in entries):
        yield f"the needles of {whose} are not their paragraphs"


def people_faults(entries: Sequence[Entry]) -> Iterator[str]:
    """Check that no full name occurs twice."""
    if len({entry.name for entry in entries}) != len(entries):
        yield "two biographies have the same full name"


def share_faults(stratum: Stratum, stating: Iterable[bool]) -> Iterator[str]:
    """Check that the share of filler that states what is asked is the stratum's density within 3 standard deviations.

    `stating` has a value for each filler biography. Strictly between 0 and 1, one biography more or less is allowed.
    """
    stated, wanted = list(stating), density(stratum)
    slack = 3 * sqrt(wanted * (1 - wanted) * len(stated)) + (0 < wanted < 1)
    if abs(sum(stated) - wanted * len(stated)) > slack:
        yield f"{sum(stated)} of {len(stated)} other people state what is asked: a share of {wanted} was promised"


def label_faults(labels: Sequence[str], *, running: bool) -> Iterator[str]:
    """Check that labels are distinct and have five digits, or that they number the biographies in order."""
    if not running and len(set(labels)) != len(labels):
        yield "two biographies have the same label"
    if not running and (wrong := [label for label in labels if not FIVE_DIGITS.fullmatch(label)]):
        yield f"{wrong[0]!r} is not a label of five digits"
    if running and [label.replace(".", "") for label in labels] != _counted(labels):
        yield "the biographies are not numbered in order"


def _counted(labels: Sequence[str]) -> list[str]:
    width = len(labels[0].replace(".", ""))
    return [f"{number:0{width}}" for number in range(1, len(labels) + 1)]
