"""A corpus asked of a language model: every reply is kept as it came, and a run goes on where the last one stopped.

Beside the corpus lies a file of replies, one JSON object a line: what was asked, of whom, and the whole body of the
answer. The corpus is made of the replies that passed, so it can be made again from them without asking anybody.
"""

from __future__ import annotations

import fcntl
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from errno import ENOSPC
from pathlib import Path
from queue import SimpleQueue
from threading import Event, Thread
from typing import Any

from pipeline.endpoint import Endpoint, content_of, unfinished
from pipeline.errors import BuildError, EndpointError
from pipeline.shards import written_aside
from pipeline.worlds.writing.corpus import Writing, near_doubles, text_fault

ATTEMPTS = 3
"""How often a text is asked for anew in a run where a reply cannot be used."""
SHORTEST = 200
"""Characters of a text: what is shorter is mostly a refusal."""
NAMED = 8
"""Texts that are named where some could not be had."""
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

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)

Place = tuple[str, str, str, int]


@dataclass(frozen=True, slots=True)
class Wish:
    """A text that is wanted: the `number`-th of its format, topic and tone, for which the request is `request`."""

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


Reply = tuple[Wish, int, int, dict[str, Any] | Exception]
"""A wish, its turn in this run, its attempt in all runs, and what came of it."""


def replies_path(corpus: Path) -> Path:
    """Return the file of replies beside a corpus."""
    return corpus.with_name(corpus.name + ".replies")


def ask_corpus(
    endpoint: Endpoint, wishes: Sequence[Wish], corpus: Path, *, workers: int, told: Callable[[], None]
) -> int:
    """Ask for every text that this model has not given yet, keep each reply, and write the corpus.

    `told` is called for every text that is there. Returns how many were not there before.

    Raises:
        EndpointError: if the endpoint refuses or stays silent, or gives texts that cannot be used; what came is kept.
        BuildError: if the file of replies cannot be read or written.
    """
    with Kept(replies_path(corpus), endpoint.model) as kept:
        owed = [wish for wish in wishes if wish.place not in kept.used]
        for _ in range(len(wishes) - len(owed)):
            told()
        _ask_all(endpoint, owed, kept, workers, told)
        texts = [kept.used[wish.place] for wish in wishes if wish.place in kept.used]
        write_corpus(corpus, texts)
    if len(texts) < len(wishes):
        raise EndpointError(
            f"{len(wishes) - len(texts)} of {len(wishes)} texts could not be used: {_lacking(owed, kept)}; the others "
            f"are in {str(corpus)!r}, the replies beside it: run it again to ask anew"
        )
    return len(owed)


def _lacking(owed: Sequence[Wish], kept: Kept) -> str:
    lacking = [wish for wish in owed if wish.place not in kept.used]
    named = [f"{wish.request} ({wish.number + 1}): {kept.faults[wish.place]}" for wish in lacking[:NAMED]]
    return "; ".join(named) + (f" (and {len(lacking) - NAMED} more)" if len(lacking) > NAMED else "")


def _ask_all(endpoint: Endpoint, owed: Sequence[Wish], kept: Kept, workers: int, told: Callable[[], None]) -> None:
    """Keep `workers` requests under way; after a fatal one wait for those that are out, and keep what they bring."""
    waiting, running, fault = [(wish, 1) for wish in reversed(owed)], 0, None
    replies: SimpleQueue[Reply] = SimpleQueue()
    stop = Event()
    while running or (waiting and not fault):
        while waiting and running < workers and not fault:
            wish, turn = waiting.pop()
            _send(endpoint, wish, turn, kept.attempts[wish.place] + 1, replies, stop)
            running += 1
        wish, turn, attempt, brought = replies.get()
        running -= 1
        if isinstance(brought, EndpointError):
            fault = fault or brought
            stop.set()
        elif isinstance(brought, Exception):
            raise brought
        elif kept.keep(endpoint, wish, attempt, brought):
            told()
        elif turn < ATTEMPTS:
            waiting.append((wish, turn + 1))
    if fault:
        raise EndpointError(f"{fault} [{len(kept.used)} texts are kept, the same command goes on]")


def _send(endpoint: Endpoint, wish: Wish, turn: int, attempt: int, replies: SimpleQueue[Reply], stop: Event) -> None:
    """Ask in a thread that holds up nobody who wants to leave."""

    def run() -> None:
        messages = [{"role": "user", "content": wish.prompt(attempt)}]
        try:
            replies.put((wish, turn, attempt, endpoint.ask(messages, given_up=stop.is_set)))
        except Exception as fault:
            replies.put((wish, turn, attempt, fault))

    Thread(target=run, daemon=True).start()


class Kept:
    """The file of replies: read once, then appended to line by line. One process at a time has it.

    `used` are the answers of one model that passed, `faults` why the last one that did not was refused.
    """

    def __init__(self, path: Path, model: str) -> None:
        self._path, self._model = path, model
        self.used: dict[Place, Answer] = {}
        self.faults: dict[Place, str] = {}
        self.attempts: Counter[Place] = Counter()
        self._cells: dict[tuple[str, str], list[str]] = {}
        self._texts: set[str] = set()

    def __enter__(self) -> Kept:
        """Read the file, and open it for what is to come.

        Raises:
            BuildError: if it cannot be read or written, or another process has it.
        """
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("a+b", buffering=0)
        except OSError as fault:
            raise self._unwritten(fault) from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._read()
        except OSError as fault:
            self._file.close()
            raise self._unwritten(fault) from None
        except BuildError:
            self._file.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def _read(self) -> None:
        """Read all answers; half a last line, which a crash has left, is cut off."""
        self._file.seek(0)
        *lines, last = self._file.read().split(b"\n")
        if last and _is_whole(last):
            self._file.write(b"\n")
            lines.append(last)
        elif last:
            self._file.truncate(self._file.tell() - len(last))
        for number, line in enumerate(lines, start=1):
            try:
                self._note(Answer(**json.loads(line)))
            except UNREADABLE as fault:
                said = f"{str(self._path)!r}, line {number} is no reply that was kept ({fault}): mend or remove it"
                raise BuildError(said) from None

    def keep(self, endpoint: Endpoint, wish: Wish, attempt: int, body: dict[str, Any]) -> bool:
        """Write a reply down; tell whether its text can be used."""
        text, asked = plain(content_of(body)), wish.prompt(attempt)
        answer = Answer(*wish.place, attempt, endpoint.address, endpoint.model, asked, "", text, body)
        answer = replace(answer, fault=self._fault(answer))
        line = json.dumps(asdict(answer)).encode() + b"\n"
        try:
            if self._file.write(line) != len(line):
                raise OSError(ENOSPC, "No space left on device")
        except OSError as fault:
            raise self._unwritten(fault) from None
        self._note(answer)
        return not answer.fault

    def _unwritten(self, fault: OSError) -> BuildError:
        if isinstance(fault, BlockingIOError):
            return BuildError(f"{str(self._path)!r} is at work in another run: wait for it, or name another corpus")
        return BuildError(f"{str(self._path)!r} cannot be written: {fault.strerror}; the same command goes on")

    def _note(self, answer: Answer) -> None:
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
            return "the same text has come before"
        if any(near_doubles([*self._cells.get((answer.format, answer.topic), ()), text])):
            return "nearly the same text has come before"
        return text_fault(text)


def _is_whole(line: bytes) -> bool:
    try:
        return bool(json.loads(line))
    except UNREADABLE:
        return False


def plain(content: str) -> str:
    """Return the text of a reply without what models put around it."""
    text = unicodedata.normalize("NFC", content.replace("\r\n", "\n")).strip()
    for around in AROUND:
        text = around.sub("", text).strip()
    return text


def write_corpus(path: Path, answers: Sequence[Answer]) -> None:
    """Write the texts with their provenance, as a corpus that a build can read."""
    with written_aside(path) as aside, aside.open("w", encoding="utf-8") as file:
        for answer in answers:
            writing = Writing(answer.format, answer.topic, answer.tone, answer.text)
            file.write(json.dumps({**asdict(writing), **_provenance(answer)}) + "\n")


def _provenance(answer: Answer) -> Mapping[str, str]:
    reply = str(answer.body.get("id") or "")
    return {"model": answer.model, "endpoint": answer.endpoint, "reply": reply}
