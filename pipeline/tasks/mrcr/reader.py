"""A reader of conversations: finds requests, replies and what is asked for, in a transcript or in real turns.

It shares no code with the writer of prompts: a request is taken apart at its fixed words, a transcript at its labels.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from pipeline.tasks.base import Turns
from pipeline.tasks.line_cache import PROMPT

START = "\n======== CONVERSATION ========\n"
SPEAKER = re.compile(r"\n(User|Model): ")
REQUEST = re.compile(r"Write (?:a|an) (?P<key>[^\n]+ about [^\n]+)\.")
ASKED = re.compile(
    r"Repeat the (?P<ordinal>\w+) (?P<key>[^\n]+ about [^\n]+) in this conversation word for word\. "
    r"Start your reply with (?P<code>[A-Za-z0-9]{12}), put the text directly behind it, and add nothing else\."
)
TONE = re.compile(r"(?P<rest>.+) in (?:a|an) (?P<tone>[\w-]+) tone")
PLACES = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")


@dataclass(frozen=True, slots=True)
class Asked:
    """What the last turn asks for: the `place`-th reply (from 1) to the request for `key`, after `code`."""

    key: str
    place: int
    code: str


class Reply(NamedTuple):
    """A reply, the request and what it is for, and where the reply stands in the text that was read (-1: in turns)."""

    request: str
    key: str
    text: str
    start: int = -1
    end: int = -1


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation as read."""

    replies: tuple[Reply, ...]
    asked: Asked

    def matching(self) -> list[Reply]:
        """Return the replies to the asked request, in order."""
        return [reply for reply in self.replies if reply.key == self.asked.key]


@PROMPT.of
def read_conversation(turns: Turns) -> Conversation:
    """Return a conversation; remembers the last one it read.

    Raises:
        ValueError: if a turn is neither a request nor the last question, or requests and replies do not alternate.
    """
    if len(turns) == 1:
        return _read_transcript(turns[0][1])
    roles = [role for role, _ in turns]
    if roles != ["user", "assistant"] * (len(turns) // 2) + ["user"]:
        raise ValueError("users' turns and replies do not alternate")
    contents = [content for _, content in turns]
    asked = contents[:-1:2]
    return Conversation(tuple(map(Reply, asked, map(_requested, asked), contents[1::2])), _understood(contents[-1]))


def _read_transcript(text: str) -> Conversation:
    start = text.rfind(START) + len(START)
    if start < len(START):
        raise ValueError("the prompt has no conversation")
    before, *told = SPEAKER.split(text[start - 1 : -len("\nModel:")])
    labels, said = told[::2], told[1::2]
    if not text.endswith("\nModel:") or labels != ["User", "Model"] * (len(labels) // 2) + ["User"]:
        raise ValueError("labels of user and model do not alternate up to the last reply")
    sizes = (len("\n: ") + len(label) + len(each) for label, each in zip(labels, said, strict=True))
    edges = list(accumulate(sizes, initial=start + len(before)))
    asked = said[:-1:2]
    replies = map(Reply, asked, map(_requested, asked), said[1::2], edges[1::2], edges[2::2])
    return Conversation(tuple(replies), _understood(said[-1]))


@lru_cache(maxsize=1 << 16)
def _requested(said: str) -> str:
    found = REQUEST.fullmatch(said)
    if not found:
        raise ValueError(f"no request: {said[:80]!r}")
    return found["key"]


def _understood(said: str) -> Asked:
    found = ASKED.fullmatch(said)
    if not found or found["ordinal"] not in PLACES:
        raise ValueError(f"no question: {said[:80]!r}")
    return Asked(found["key"], PLACES.index(found["ordinal"]) + 1, found["code"])


@lru_cache(maxsize=1 << 16)
def parts(key: str) -> tuple[str, str, str]:
    """Return format, topic and tone of what is requested; no tone is empty."""
    found = TONE.fullmatch(key)
    rest, tone = (found["rest"], found["tone"]) if found else (key, "")
    form, _, topic = rest.partition(" about ")
    return form, topic, tone


def near_doubles(texts: Sequence[str], run: int, most: float) -> Iterator[tuple[int, int]]:
    """Yield the places of texts of which one holds more than the share `most` of the other's runs of `run` words."""
    bags = [_runs(text, run) for text in texts]
    for later in range(len(bags)):
        for earlier in range(later):
            smaller = min(len(bags[earlier]), len(bags[later])) or 1
            if texts[earlier] == texts[later] or len(bags[earlier] & bags[later]) > most * smaller:
                yield earlier, later


def _runs(text: str, run: int) -> set[tuple[str, ...]]:
    words = re.findall(r"[^\W_]+", text.lower())
    return set(zip(*(words[at:] for at in range(run)), strict=False))
