"""A corpus asked of a language model: every reply is kept as it came, and a run goes on where the last one stopped.

Beside the corpus lies a file of replies, one JSON object a line: what was asked, of whom, and the whole body of the
answer. The corpus is made of the replies that passed, so it can be made again from them without asking anybody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pipeline.endpoint import Endpoint, content_of
from pipeline.errors import BuildError, EndpointError
from pipeline.shards import written_aside
from pipeline.worlds.writing.corpus import Writing, text_fault

ATTEMPTS = 3
"""How often a text is asked for anew where a reply cannot be used."""
SHORTEST = 200
"""Characters of a text: what is shorter is mostly a refusal."""
PROMPT = (
    "{request} Use 80 to 220 words. Give the text alone, in plain characters without Markdown, without a remark before "
    "or after it. This is number {number} of several on the same subject: make it unlike the others in plan and words."
)


@dataclass(frozen=True, slots=True)
class Wish:
    """A text that is wanted: the `number`-th of its format, topic and tone, for which the request is `request`."""

    format: str
    topic: str
    tone: str
    number: int
    request: str

    @property
    def place(self) -> tuple[str, str, str, int]:
        """What tells one wish from another."""
        return self.format, self.topic, self.tone, self.number


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
    def place(self) -> tuple[str, str, str, int]:
        """The place of the wish."""
        return self.format, self.topic, self.tone, self.number


def replies_path(corpus: Path) -> Path:
    """Return the file of replies beside a corpus."""
    return corpus.with_name(corpus.name + ".replies")


def ask_corpus(
    endpoint: Endpoint, wishes: Sequence[Wish], corpus: Path, *, workers: int, told: Callable[[int], None]
) -> int:
    """Ask for every text that is not there yet, keep each reply, and write the corpus; return how many were asked.

    `told` is called with the number of new texts whenever some have come.

    Raises:
        EndpointError: if the endpoint refuses or stays silent; what has come is kept.
        BuildError: if the file of replies cannot be read or written.
    """
    kept = Kept(replies_path(corpus))
    owed = [wish for wish in wishes if wish.place not in kept.used]
    with kept, ThreadPoolExecutor(workers) as pool:
        _ask_all(pool, workers, endpoint, owed, kept, told)
    texts = [kept.used[wish.place] for wish in wishes if wish.place in kept.used]
    write_corpus(corpus, texts)
    if len(texts) < len(wishes):
        raise EndpointError(
            f"{len(wishes) - len(texts)} of {len(wishes)} texts could not be used after {ATTEMPTS} attempts: the other "
            f"{len(texts)} are in {str(corpus)!r}, the replies beside it; run it again to ask anew"
        )
    return len(owed)


def _ask_all(
    pool: ThreadPoolExecutor,
    workers: int,
    endpoint: Endpoint,
    owed: Sequence[Wish],
    kept: Kept,
    told: Callable[[int], None],
) -> None:
    """Keep `workers` requests under way; after a fatal one wait for those that are out, and keep what they bring."""
    waiting, fault = list(reversed([(wish, 1) for wish in owed])), None
    running: dict[Future[dict[str, Any]], tuple[Wish, int]] = {}
    while running or (waiting and not fault):
        while waiting and len(running) < workers and not fault:
            wish, attempt = waiting.pop()
            running[pool.submit(_asked, endpoint, wish, attempt)] = (wish, attempt)
        done, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in done:
            wish, attempt = running.pop(future)
            try:
                body = future.result()
            except EndpointError as failed:
                fault = failed
                continue
            passed = kept.keep(endpoint, wish, attempt, body)
            told(int(passed))
            if not passed and attempt < ATTEMPTS:
                waiting.append((wish, attempt + 1))
    if fault:
        raise EndpointError(f"{fault} [{len(kept.used)} texts are kept, the same command goes on]")


def _prompt(wish: Wish, attempt: int) -> str:
    number = wish.number + 1 + 1000 * (attempt - 1)
    return PROMPT.format(request=wish.request, number=number)


def _asked(endpoint: Endpoint, wish: Wish, attempt: int) -> dict[str, Any]:
    return endpoint.ask([{"role": "user", "content": _prompt(wish, attempt)}], max_tokens=640)


class Kept:
    """The file of replies: read once, then appended to line by line."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.used: dict[tuple[str, str, str, int], Answer] = {}
        self._texts: set[str] = set()
        for answer in _read(path):
            self._note(answer)

    def __enter__(self) -> Kept:
        """Open the file for what is to come; half a line that a crash has left is cut off."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self._path.open("ab")
            self._file.truncate(_whole_bytes(self._path))
        except OSError as fault:
            raise BuildError(f"{str(self._path)!r} cannot be written: {fault.strerror}") from None
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def keep(self, endpoint: Endpoint, wish: Wish, attempt: int, body: dict[str, Any]) -> bool:
        """Write a reply down; tell whether its text can be used."""
        text = content_of(body).replace("\r\n", "\n").strip()
        prompt, fault = _prompt(wish, attempt), self._fault(text)
        answer = Answer(*wish.place, attempt, endpoint.address, endpoint.model, prompt, fault, text, body)
        try:
            self._file.write(json.dumps(asdict(answer)).encode() + b"\n")
            self._file.flush()
        except OSError as failed:
            raise BuildError(f"{str(self._path)!r} cannot be written: {failed.strerror}") from None
        self._note(answer)
        return not fault

    def _note(self, answer: Answer) -> None:
        if not answer.fault and answer.place not in self.used:
            self.used[answer.place] = answer
            self._texts.add(answer.text)

    def _fault(self, text: str) -> str:
        if len(text) < SHORTEST:
            return f"it has {len(text)} characters, fewer than {SHORTEST}"
        return "the same text has come before" if text in self._texts else text_fault(text)


def _whole_bytes(path: Path) -> int:
    return path.read_bytes().rfind(b"\n") + 1


def _read(path: Path) -> Iterator[Answer]:
    if not path.is_file():
        return
    raw = path.read_bytes()
    for number, line in enumerate(raw[: _whole_bytes(path)].splitlines(), start=1):
        try:
            yield Answer(**json.loads(line))
        except (ValueError, TypeError) as fault:
            raise BuildError(
                f"{str(path)!r}, line {number} is no reply that was kept ({fault}): mend or remove it"
            ) from None


def write_corpus(path: Path, answers: Sequence[Answer]) -> None:
    """Write the texts with their provenance, as a corpus that a build can read."""
    with written_aside(path) as aside, aside.open("w", encoding="utf-8") as file:
        for answer in answers:
            writing = Writing(answer.format, answer.topic, answer.tone, answer.text)
            source = {"model": answer.model, "endpoint": answer.endpoint, "reply": str(answer.body.get("id", ""))}
            file.write(json.dumps({**asdict(writing), **source}) + "\n")
