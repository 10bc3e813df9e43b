"""Reads the lines of a prompt and answers the question after them, by the grammar of the messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import NamedTuple

from pipeline.caches import cache
from pipeline.tasks.base import PublishedRow
from pipeline.tasks.messages import intent_of
from pipeline.tasks.solving import LINES, PROMPT, ReadError
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
    "most": re.compile(r"Which of these requests is made most often in all the messages: (?P<options>.+)\?"),
    "compare": re.compile(
        r"Which of these two pairs of requests is made more often in all the messages, counting both requests of a "
        r"pair together: (?P<options>.+)\?"
    ),
}
Intent = tuple[str, str]
DOMAIN = "contract"
"""The grammar of the messages."""


class Entry(NamedTuple):
    """A line as read: its day and month, clerk, message, the intent that it states, if any, and what it means.

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
class Question:
    """A question: its subtask, and what it names."""

    subtask: str
    named: Mapping[str, str]

    @cached_property
    def kinds(self) -> tuple[Intent, ...]:
        """The kinds of messages that are named."""
        return tuple(phrases()[self.named[name]] for name in ("kind", "other") if name in self.named)

    @cached_property
    def options(self) -> tuple[tuple[str, ...], ...]:
        """The acts that are offered, one by one or in pairs."""
        offered = re.split(", or |, | or ", self.named["options"])
        return tuple(tuple(acts()[word] for word in option.split(" and ")) for option in offered)


@dataclass(frozen=True, slots=True)
class Book:
    """All lines of a prompt, as read and as written, and the question."""

    entries: Sequence[Entry]
    asked: Question
    lines: Sequence[str]


@cache
def _kinds(what: str) -> list[list[str]]:
    """Return the name, word and phrase of every act, or of every thing."""
    section = "\n".join(pool("utterances/kinds")).partition(f"[{what}]\n")[2].partition("\n[")[0]
    return [line.split(": ") for line in section.splitlines()]


@cache
def phrases() -> Mapping[str, Intent]:
    """Return the kind of message that each phrase of questions means."""
    pairs = product(_kinds("act"), _kinds("thing"))
    return {act[2].replace("{it}", thing[2]): (act[0], thing[0]) for act, thing in pairs}


@cache
def acts() -> Mapping[str, str]:
    """Return the act of each word that questions offer."""
    return {word: name for name, word, _ in _kinds("act")}


@cache
def _words() -> Mapping[str, str]:
    return {name: word for word, name in acts().items()}


@PROMPT.cached
def read(text: str) -> Book:
    """Read a prompt."""
    begin, end = text.find(START) + len(START), text.rfind(END)
    question = text[end:].rpartition("Question: ")[2].removesuffix("\nAnswer:")
    if not len(START) <= begin <= end or not question:
        raise ReadError("the prompt does not hold messages and a question behind them")
    return Book(entries_of(text[begin:end]), question_of(question), text[begin:end].split("\n")[:-1])


def entries_of(body: str) -> list[Entry]:
    """Read some lines."""
    *lines, end = body.split("\n")
    if end:
        raise ReadError(f"line {body[-80:]!r} is no message")
    return _entries(lines)


@LINES.cached_map
def _entries(line: str) -> Entry:
    match = LINE.fullmatch(f"{line}\n")
    if not match:
        raise ReadError(f"line {line[:80]!r} is no message")
    day, month, clerk, message, stated = match.groups("")
    intent, date = intent_of(message.rstrip(), DOMAIN), (MONTHS.index(month), int(day))
    return Entry(day, month, clerk, message, stated, intent, date)


def question_of(question: str) -> Question:
    """Read a question."""
    for subtask, form in ASKED.items():
        match = form.fullmatch(question)
        if match:
            return Question(subtask, match.groupdict())
    raise ReadError(f"no question about messages: {question!r}")


def solve(text: str) -> str:
    """Return the answer of a prompt."""
    book = read(text)
    return answer(book.entries, book.asked)


def answer(entries: Sequence[Entry], asked: Question) -> str:
    """Answer a question from some lines."""
    if asked.subtask in ("most", "compare"):
        return " and ".join(_words()[act] for act in leading(times_of(entries), asked.options)[0])
    if asked.subtask == "users":
        first, second = ({entry.clerk for entry in entries if entry.intent == kind} for kind in asked.kinds)
        if not first & second:
            raise ReadError("no clerk received both")
        return ", ".join(sorted(first & second))
    counted = counted_of(entries, asked)
    if asked.subtask == "count":
        return str(len(counted))
    if len(counted) < int(asked.named["nth"]):
        raise ReadError(f"there are {len(counted)} messages, expected {asked.named['nth']}")
    return counted[int(asked.named["nth"]) - 1].month


def accepted(right: str) -> tuple[str, ...]:
    """Return all forms of an answer: for a pair of acts both orders."""
    return tuple(dict.fromkeys((right, " and ".join(right.split(" and ")[::-1]))))


def times_of(entries: Sequence[Entry]) -> Counter[str]:
    """Return how many messages ask for each act."""
    return Counter(entry.intent[0] for entry in entries)


def counted_of(entries: Sequence[Entry], asked: Question) -> list[Entry]:
    """Return the asked clerk's lines of the asked kind, by date."""
    mine = [entry for entry in entries if entry.clerk == asked.named["clerk"] and entry.intent == asked.kinds[0]]
    return sorted(mine, key=lambda entry: entry.date)


def leading(times: Counter[str], options: Sequence[tuple[str, ...]]) -> tuple[tuple[str, ...], int, int]:
    """Return the most frequent option, how often it comes, and how often the next one does."""
    counted = ((one, sum(times[act] for act in one)) for one in options)
    (first, most), (_, next_most), *_ = sorted(counted, key=lambda each: -each[1])
    if most == next_most:
        raise ReadError("two are asked for equally often")
    return first, most, next_most


GAP = 0.1
"""By what share of its own number the act that is the answer leads in a packed prompt, at least."""
OWN, OTHERS = {5: 4, 20: 12, 80: 48}, {5: 3, 20: 10, 80: 30}
"""The fewest other messages of the asked clerk, and messages of the kind to other clerks, by complexity."""


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row."""
    book = read(row.text)
    if book.asked.subtask != row.stratum.subtask or not row.text.endswith(f"\nQuestion: {row.question}\nAnswer:"):
        yield f"{row.question!r} is not the question of the text"
    if row.key.answers != accepted(row.key.target):
        yield "the key accepts another answer than its target"
    if len({*book.lines}) < len(book.lines):
        yield "a line is there twice"
    if any(entry.month in re.findall(r"\w+", entry.message) for entry in book.entries):
        yield "a message names its own month as if it were another one"
    yield from _stated(row, book)
    marked = {role: list(_marked(row, role)) for role in ("relevant", "decoy")}
    if sum(map(len, marked.values())) != len(row.needles):
        yield "a mark is no line"
    if row.stratum.subtask in ("most", "compare"):
        yield from _shares(book, marked["relevant"])
    else:
        yield from _needed(row, book, marked["relevant"])
        yield from _misses(row, book)


def _marked(row: PublishedRow, role: str) -> Iterator[Entry]:
    """Yield the lines of a row that are marked as a whole."""
    for needle in row.needles:
        marked = row.prompt[needle.char_start - 1 : needle.char_end]
        if needle.role == role and marked.startswith("\n") and marked.find("\n", 1) == len(marked) - 1:
            yield from entries_of(marked[1:])


def _stated(row: PublishedRow, book: Book) -> Iterator[str]:
    """Check that lines state what their messages ask, or nothing."""
    stated = bool(row.stratum.knob("stated", False))
    if any(bool(entry.stated) != stated for entry in book.entries):
        yield "a line states what it asks, or does not, as the knob has it"
    elif stated and any(phrases()[entry.stated] != entry.intent for entry in book.entries):
        yield "a line states something else than its message asks"


def _shares(book: Book, relevant: Sequence[Entry]) -> Iterator[str]:
    """Check that the answer leads by the gap in the whole text."""
    times = times_of(book.entries)
    first, most, following = leading(times, book.asked.options)
    if most - following < GAP * most:
        yield f"the answer is asked for {most} times and another {following} times: they are too near"
    marked = [entry.intent[0] in first for entry in relevant]
    if sorted(marked) != [False, True]:
        yield "the marked lines are not one of the answer and one of another act"


def _needed(row: PublishedRow, book: Book, relevant: Sequence[Entry]) -> Iterator[str]:
    """Take away each line that could matter: without a relevant one the answer must change, without others not."""
    asked, right = book.asked, row.key.target
    could = list(_that_could_matter(book))
    if answer(could, asked) != right:
        yield "lines that cannot matter change the answer"
    marked = {*relevant}
    for at, entry in enumerate(could):
        same = _answered([*could[:at], *could[at + 1 :]], asked) == right
        if same == (entry in marked):
            yield f"without line {entry.message[:40]!r} the answer is {'the same' if same else 'another'}"
    if len(marked) != len(relevant) or not marked <= {*could}:
        yield "a marked line does not matter"
    wanted = {"count": len(counted_of(could, asked)) if "clerk" in asked.named else 0, "when": row.stratum.complexity}
    if len(relevant) != wanted.get(asked.subtask, 2 * row.stratum.complexity):
        yield f"{len(relevant)} lines are marked"


def _that_could_matter(book: Book) -> Iterator[Entry]:
    """Yield the lines of the asked kinds, and of one clerk if one is asked about."""
    clerk, kinds = book.asked.named.get("clerk"), book.asked.kinds
    mine = [entry for entry in book.entries if entry.clerk == clerk] if clerk else book.entries
    return (entry for entry in mine if entry.intent in kinds)


def _answered(entries: Sequence[Entry], asked: Question) -> str:
    try:
        return answer(entries, asked)
    except ValueError:
        return ""


def _misses(row: PublishedRow, book: Book) -> Iterator[str]:
    """Check that the decoys of every prompt are there."""
    asked, size = book.asked, row.stratum.complexity
    kind = asked.kinds[0]
    if clerk := asked.named.get("clerk"):
        mine = [entry.intent for entry in book.entries if entry.clerk == clerk and entry.intent != kind]
        others = sum(entry.clerk != clerk for entry in book.entries if entry.intent == kind)
        if len(mine) < OWN[size] or others < OTHERS[size]:
            yield f"{len(mine)} other messages of the clerk and {others} of other clerks are too few"
        if not any(one[0] == kind[0] for one in mine) or not any(one[1] == kind[1] for one in mine):
            yield "no other message of the clerk shares the act, or none the thing"
        return
    whose: dict[str, list[Intent]] = {}
    for entry in book.entries:
        if entry.intent in asked.kinds:
            whose.setdefault(entry.clerk, []).append(entry.intent)
    half = [clerk for clerk, intents in whose.items() if len({*intents}) == 1]
    if len(half) < 2 * size:
        yield f"{len(half)} clerks received messages of one kind alone, where {2 * size} should have"
