"""Replies of a language model, stored unchanged, one JSON object per line. One process at a time uses the file."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from pipeline.ask.endpoint import Endpoint, content_of, unfinished
from pipeline.errors import BuildError
from pipeline.store.journal import UNREADABLE, Journal
from pipeline.worlds.writing.checks import near_doubles, text_fault

SHORTEST = 200
"""Characters of a text: what is shorter is mostly a refusal."""
PROMPT = (
    "{request} Use 80 to 220 words. Give the text alone, in plain characters without Markdown, without a remark before "
    "or after it. This is number {number} of several on the same subject: make it unlike the others in plan and words."
)
AROUND = (
    re.compile(r"\A<think>.*?</think>", re.DOTALL),
    re.compile(r"\A(?:Sure|Certainly|Of course|Here(?:'s| is| are))\b[^\n]{0,120}:\n\s*\n"),
    re.compile(r"\A```[^\n]*\n|\n```\Z"),
)
"""What models put around a text: thoughts, a remark, a fence."""
REFUSAL = re.compile(
    r"(?:I'm sorry|I am sorry|Sorry|I apologi[sz]e),? but I\b|As an AI\b|I(?:'m| am) (?:unable|not able) to\b"
    r"|I (?:can't|cannot|can not) (?:help|assist|write|provide|comply|fulfil)"
)

Place = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class Wish:
    """A text to ask for: the `number`-th of its format, topic and tone; `request` is the request for it."""

    format: str
    topic: str
    tone: str
    number: int
    request: str

    @property
    def place(self) -> Place:
        """What tells one wish from another."""
        return self.format, self.topic, self.tone, self.number

    def prompt(self, attempt: int) -> str:
        """Return what is sent; another attempt has another number, so that no cache answers it."""
        return PROMPT.format(request=self.request, number=self.number + 1 + 1000 * (attempt - 1))


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply as it is kept: the wish, who gave it, and its body; `fault` says why it is not used."""

    format: str
    topic: str
    tone: str
    number: int
    attempt: int
    endpoint: str
    model: str
    prompt: str
    fault: str
    text: str
    body: dict[str, Any]

    @property
    def place(self) -> Place:
        """The place of the wish."""
        return self.format, self.topic, self.tone, self.number


class ReplyJournal(Journal):
    """The file of replies: read once, then appended to line by line. One process at a time has it.

    `used` are the answers of one model that passed, `faults` why the last one that did not was refused.
    """

    def __init__(self, path: Path, model: str) -> None:
        super().__init__(path, "name another corpus")
        self._model = model
        self.used: dict[Place, Answer] = {}
        self.faults: dict[Place, str] = {}
        self.attempts: Counter[Place] = Counter()
        self._cells: dict[tuple[str, str], list[str]] = {}
        self._texts: set[str] = set()

    def _note(self, number: int, line: bytes) -> None:
        try:
            self._use(Answer(**json.loads(line)))
        except UNREADABLE as fault:
            said = f"{str(self.path)!r}, line {number} is not a stored reply ({fault}): fix or remove it"
            raise BuildError(said) from None

    def keep(self, endpoint: Endpoint, wish: Wish, attempt: int, body: dict[str, Any]) -> bool:
        """Write a reply down; tell whether its text can be used."""
        text, asked = plain(content_of(body)), wish.prompt(attempt)
        answer = Answer(*wish.place, attempt, endpoint.address, endpoint.model, asked, "", text, body)
        answer = replace(answer, fault=self._fault(answer))
        self._append(asdict(answer))
        self._use(answer)
        return not answer.fault

    def _use(self, answer: Answer) -> None:
        """Use an answer if it holds today, whatever was thought of it when it came."""
        if answer.model != self._model or answer.place in self.used:
            return
        self.attempts[answer.place] = max(self.attempts[answer.place], answer.attempt)
        fault = self._fault(answer)
        if fault:
            self.faults[answer.place] = fault
            return
        self.used[answer.place] = answer
        self._texts.add(answer.text)
        self._cells.setdefault((answer.format, answer.topic), []).append(answer.text)

    def _fault(self, answer: Answer) -> str:
        text = answer.text
        if fault := unfinished(answer.body):
            return fault
        if len(text) < SHORTEST:
            return f"it has {len(text)} characters, fewer than {SHORTEST}"
        if REFUSAL.match(text):
            return "it reads like a refusal"
        if text in self._texts:
            return "it repeats an earlier text"
        if any(near_doubles([*self._cells.get((answer.format, answer.topic), ()), text])):
            return "it is nearly the same as an earlier text"
        return text_fault(text)


def plain(content: str) -> str:
    """Return the text of a reply without what models put around it."""
    text = unicodedata.normalize("NFC", content.replace("\r\n", "\n")).strip()
    for around in AROUND:
        text = around.sub("", text).strip()
    return text
