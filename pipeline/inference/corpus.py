"""A corpus written by a language model: every reply is kept verbatim, and a run resumes where the last one stopped.

Beside the corpus is a file of replies in JSON Lines, each with its request, the model, and the whole body. The corpus
consists of the replies that passed all checks, so it can be made again from this file without new requests.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from threading import Event
from typing import Any

from pipeline.artifacts.files import atomic_write
from pipeline.artifacts.journal import UNREADABLE, Journal
from pipeline.errors import BuildError, EndpointError
from pipeline.inference.endpoint import Endpoint, content_of, run_concurrently, unfinished
from pipeline.worlds.writing.corpus import Writing, near_doubles, text_fault

SHORTEST = 200
"""The fewest characters of a text: shorter ones are mostly refusals."""
PROMPT = (
    "{request} Use 80 to 220 words. Give the text alone, in plain characters without Markdown, without a remark before "
    "or after it. This is number {number} of several on the same subject: make it unlike the others in plan and words."
)
AROUND = (
    re.compile(r"\A<think>.*?</think>", re.DOTALL),
    re.compile(r"\A(?:Sure|Certainly|Of course|Here(?:'s| is| are))\b[^\n]{0,120}:\n\s*\n"),
    re.compile(r"\A```[^\n]*\n|\n```\Z"),
)
"""What models put around a text: reasoning, a remark, a code fence."""
REFUSAL = re.compile(
    r"(?:I'm sorry|I am sorry|Sorry|I apologi[sz]e),? but I\b|As an AI\b|I(?:'m| am) (?:unable|not able) to\b"
    r"|I (?:can't|cannot|can not) (?:help|assist|write|provide|comply|fulfil)"
)

Place = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class TextRequest:
    """A text to ask for: number `number` of its format, topic and tone; `request` describes it."""

    format: str
    topic: str
    tone: str
    number: int
    request: str

    @property
    def place(self) -> Place:
        """The fields that identify a request."""
        return self.format, self.topic, self.tone, self.number

    def prompt(self, attempt: int) -> str:
        """Return the prompt; each attempt has its own number, so that no cache answers it."""
        return PROMPT.format(request=self.request, number=self.number + 1 + 1000 * (attempt - 1))


@dataclass(frozen=True, slots=True)
class ReplyRecord:
    """A stored reply: the request, endpoint and model, and its body; `fault` is why it is not used."""

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
        """The fields that identify the request."""
        return self.format, self.topic, self.tone, self.number


class ReplyJournal(Journal):
    """The file of replies: read once, then appended to line by line, by one process at a time.

    `used` has the replies of one model that passed; `faults` has why the last other reply to a request was not used.
    """

    def __init__(self, path: Path, model: str) -> None:
        super().__init__(path, "name another corpus")
        self._model = model
        self.used: dict[Place, ReplyRecord] = {}
        self.faults: dict[Place, str] = {}
        self.attempts: Counter[Place] = Counter()
        self._cells: dict[tuple[str, str], list[str]] = {}
        self._texts: set[str] = set()

    def _note(self, number: int, line: bytes) -> None:
        try:
            self._use(ReplyRecord(**json.loads(line)))
        except UNREADABLE as fault:
            why = f"{str(self.path)!r}, line {number} is not a stored reply ({fault}): fix or remove it"
            raise BuildError(why) from None

    def keep(self, endpoint: Endpoint, wish: TextRequest, attempt: int, body: dict[str, Any]) -> bool:
        """Store a reply; return whether its text can be used."""
        text, prompt = plain(content_of(body)), wish.prompt(attempt)
        answer = ReplyRecord(*wish.place, attempt, endpoint.address, endpoint.model, prompt, "", text, body)
        answer = replace(answer, fault=self._fault(answer))
        self._append(asdict(answer))
        self._use(answer)
        return not answer.fault

    def _use(self, answer: ReplyRecord) -> None:
        """Use a reply if it passes the present checks, whatever fault was stored with it."""
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

    def _fault(self, answer: ReplyRecord) -> str:
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
    """Return the text of a reply without what models put around it (AROUND)."""
    text = unicodedata.normalize("NFC", content.replace("\r\n", "\n")).strip()
    for around in AROUND:
        text = around.sub("", text).strip()
    return text


ATTEMPTS = 3
"""How often a text is asked for in a run, until a reply can be used."""
NAMED = 8
"""The most texts that the message about failed texts names."""
Turn = tuple[TextRequest, int, int]
"""A request, its attempt in this run, and its attempt over all runs."""


def replies_path(corpus: Path) -> Path:
    """Return the file of replies beside a corpus."""
    return corpus.with_name(corpus.name + ".replies")


def ask_corpus(
    endpoint: Endpoint, wishes: Sequence[TextRequest], corpus: Path, *, workers: int, on_done: Callable[[], None]
) -> int:
    """Ask for every text that this model has not written yet, store each reply, and write the corpus.

    `on_done` is called for every finished text, old or new. Returns how many were new.

    Raises:
        EndpointError: if the endpoint refuses or stays silent, or some texts cannot be used; all replies are kept.
        BuildError: if the file of replies cannot be read or written.
    """
    with ReplyJournal(replies_path(corpus), endpoint.model) as journal:
        owed = [wish for wish in wishes if wish.place not in journal.used]
        for _ in range(len(wishes) - len(owed)):
            on_done()
        _ask_all(endpoint, owed, journal, workers, on_done)
        texts = [journal.used[wish.place] for wish in wishes if wish.place in journal.used]
        write_corpus(corpus, texts)
    if len(texts) < len(wishes):
        raise EndpointError(
            f"{len(wishes) - len(texts)} of {len(wishes)} texts could not be used: {_lacking(owed, journal)}; the "
            f"others are in {str(corpus)!r}, with all replies beside it: run the command again to retry"
        )
    return len(owed)


def _lacking(owed: Sequence[TextRequest], journal: ReplyJournal) -> str:
    lacking = [wish for wish in owed if wish.place not in journal.used]
    named = [f"{wish.request} ({wish.number + 1}): {journal.faults[wish.place]}" for wish in lacking[:NAMED]]
    return "; ".join(named) + (f" (and {len(lacking) - NAMED} more)" if len(lacking) > NAMED else "")


def _ask_all(
    endpoint: Endpoint, owed: Sequence[TextRequest], journal: ReplyJournal, workers: int, on_done: Callable[[], None]
) -> None:
    """Keep `workers` requests in flight; after a fatal error, wait for the rest and store their replies."""
    waiting, stop, fault = [(wish, 1) for wish in reversed(owed)], Event(), None

    def take() -> Turn | None:
        if stop.is_set() or not waiting:
            return None
        wish, turn = waiting.pop()
        return wish, turn, journal.attempts[wish.place] + 1

    def ask(turn: Turn) -> dict[str, Any]:
        wish, _, attempt = turn
        return endpoint.ask([{"role": "user", "content": wish.prompt(attempt)}], given_up=stop.is_set)

    for (wish, turn, attempt), outcome in run_concurrently(take, ask, workers, stop):
        if isinstance(outcome, EndpointError):
            fault = fault or outcome
            stop.set()
        elif isinstance(outcome, Exception):
            raise outcome
        elif journal.keep(endpoint, wish, attempt, outcome):
            on_done()
        elif turn < ATTEMPTS:
            waiting.append((wish, turn + 1))
    if fault:
        raise EndpointError(f"{fault} [{len(journal.used)} texts are kept; run the same command again to continue]")


def write_corpus(path: Path, answers: Sequence[ReplyRecord]) -> None:
    """Write texts with their provenance as a corpus that a build can read."""
    with atomic_write(path) as aside, aside.open("w", encoding="utf-8") as file:
        for answer in answers:
            writing = Writing(answer.format, answer.topic, answer.tone, answer.text)
            file.write(json.dumps({**asdict(writing), **_provenance(answer)}) + "\n")


def _provenance(answer: ReplyRecord) -> Mapping[str, str]:
    reply = str(answer.body.get("id") or "")
    return {"model": answer.model, "endpoint": answer.endpoint, "reply": reply}
