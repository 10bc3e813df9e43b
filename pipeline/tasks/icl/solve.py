"""Reads a prompt of examples, answers it by the intents of its messages, and checks rows."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, repeat

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.messages import intent_of, intents_of
from pipeline.tasks.solving import PROMPT, ReadError

BODY = re.compile(
    r"\nExamples:\n(.*\n)This is the end of the examples\..*\n\nLast (?:question|message|text):\n", re.DOTALL
)
LAST = re.compile(r"(.+)\nlabel:")
STATED = re.compile(r"There are (\d+) labels, (the whole numbers from 0 to (\d+)|all of them (?:in )?words)")
START, END, CUE = "\nExamples:\n", "This is the end of the examples.", "label: "
ACTS_ALONE, SLACK = 6, 3
"""The number of labels that stand for acts alone; the most by which labels' numbers of examples differ."""

Intent = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Examples:
    """A prompt as read: messages with their labels, the last message and its start, and the stated number of labels."""

    messages: Sequence[str]
    labels: Sequence[str]
    last: str
    last_start: int
    count: int
    numbered: bool

    def labelled_part(self, intent: Intent) -> Intent:
        """Return the part of an intent that labels distinguish."""
        return (intent[0], "") if self.count == ACTS_ALONE else intent


@PROMPT.cached
def read(text: str) -> Examples:
    """Read a prompt."""
    body, stated = BODY.search(text), STATED.search(text)
    last = LAST.fullmatch(text, body.end()) if body else None
    if not body or not stated or not last:
        raise ReadError("the prompt does not hold examples and a last message behind them")
    lines = body[1].split("\n")[:-1]
    labels = [line[len(CUE) :] for line in lines[1::2]]
    if len(lines) % 2 or not all(map(str.startswith, lines[1::2], repeat(CUE))):
        raise ReadError("an example is not a message and a label")
    count = int(stated[1])
    if stated[3] and int(stated[3]) != count - 1:
        raise ReadError(f"{count} labels do not end in {stated[3]}")
    return Examples(lines[::2], labels, last[1], last.start(1), count, bool(stated[3]))


def solve(text: str) -> str:
    """Return the label of the last message."""
    shown = read(text)
    found = _labels(text).get(shown.labelled_part(intent_of(shown.last)), set())
    if len(found) != 1:
        raise ReadError(f"the examples tell {len(found)} labels of messages like {shown.last!r}")
    return next(iter(found))


@PROMPT.cached
def _labels(text: str) -> Mapping[Intent, set[str]]:
    """Return the labels of the messages of each intent."""
    shown, found = read(text), dict[Intent, set[str]]()
    for intent, label in sorted({*zip(intents_of(shown.messages), shown.labels, strict=True)}):
        found.setdefault(shown.labelled_part(intent), set()).add(label)
    return found


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row, from its text and its marks."""
    shown, found = read(row.text), _labels(row.text)
    if shown.count != row.stratum.complexity:
        yield f"the prompt says that there are {shown.count} labels"
    if solve(row.text) != row.key.target or row.key.answers != (row.key.target,):
        yield f"the examples tell label {solve(row.text)}, the key {row.key.target!r}"
    several = [labels for labels in found.values() if len(labels) > 1]
    if several:
        yield f"messages of one intent have the labels {sorted(several[0])}"
    if len({label for labels in found.values() for label in labels}) != len(found):
        yield "one label stands for two intents"
    yield from _unbalanced(shown)
    if len({*shown.messages, shown.last}) <= len(shown.messages):
        yield "a message comes twice"
    marks = [(needle.role, needle.char_start, needle.char_end) for needle in row.needles]
    if row.question != shown.last or marks != [("relevant", shown.last_start, shown.last_start + len(shown.last) + 1)]:
        yield "the marked message is not the last one"
    if row.stratum.knob("rounds", "") == "blocked" and len(list(groupby(shown.labels))) != shown.count:
        yield "examples of a label do not stand side by side"


def _unbalanced(shown: Examples) -> Iterator[str]:
    times = Counter(shown.labels)
    if len(times) != shown.count or (shown.numbered and {*times} != {*map(str, range(shown.count))}):
        yield f"{len(times)} labels have examples, expected {shown.count}"
    elif max(times.values()) - min(times.values()) > SLACK:
        yield f"a label has {max(times.values())} examples and another {min(times.values())}"
