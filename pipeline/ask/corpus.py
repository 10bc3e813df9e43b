"""A corpus written by a language model: every reply is kept verbatim, and a run resumes where the last one stopped.

Beside the corpus lies a file of replies, one JSON object a line: what was asked, of whom, and the whole body of the
answer. The corpus is made of the replies that passed, so it can be made again from them without asking anybody.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from threading import Event
from typing import Any

from pipeline.ask.endpoint import Endpoint
from pipeline.ask.replies import Answer, ReplyJournal, Wish
from pipeline.ask.threads import asked
from pipeline.errors import EndpointError
from pipeline.store.files import written_aside
from pipeline.worlds.writing.checks import Writing

ATTEMPTS = 3
"""How often a text is asked for anew in a run where a reply cannot be used."""
NAMED = 8
"""Texts that are named where some could not be had."""
Turn = tuple[Wish, int, int]
"""A wish, its turn in this run, and its attempt in all runs."""


def replies_path(corpus: Path) -> Path:
    """Return the file of replies beside a corpus."""
    return corpus.with_name(corpus.name + ".replies")


def ask_corpus(
    endpoint: Endpoint, wishes: Sequence[Wish], corpus: Path, *, workers: int, on_done: Callable[[], None]
) -> int:
    """Ask for every text that this model has not given yet, keep each reply, and write the corpus.

    `on_done` is called for every text that is there. Returns how many were not there before.

    Raises:
        EndpointError: if the endpoint refuses or stays silent, or gives texts that cannot be used; what came is kept.
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


def _lacking(owed: Sequence[Wish], journal: ReplyJournal) -> str:
    lacking = [wish for wish in owed if wish.place not in journal.used]
    named = [f"{wish.request} ({wish.number + 1}): {journal.faults[wish.place]}" for wish in lacking[:NAMED]]
    return "; ".join(named) + (f" (and {len(lacking) - NAMED} more)" if len(lacking) > NAMED else "")


def _ask_all(
    endpoint: Endpoint, owed: Sequence[Wish], journal: ReplyJournal, workers: int, on_done: Callable[[], None]
) -> None:
    """Keep `workers` requests in flight; after a fatal error wait for those in flight, and keep their replies."""
    waiting, stop, fault = [(wish, 1) for wish in reversed(owed)], Event(), None

    def take() -> Turn | None:
        if stop.is_set() or not waiting:
            return None
        wish, turn = waiting.pop()
        return wish, turn, journal.attempts[wish.place] + 1

    def ask(turn: Turn) -> dict[str, Any]:
        wish, _, attempt = turn
        return endpoint.ask([{"role": "user", "content": wish.prompt(attempt)}], given_up=stop.is_set)

    for (wish, turn, attempt), brought in asked(take, ask, workers, stop):
        if isinstance(brought, EndpointError):
            fault = fault or brought
            stop.set()
        elif isinstance(brought, Exception):
            raise brought
        elif journal.keep(endpoint, wish, attempt, brought):
            on_done()
        elif turn < ATTEMPTS:
            waiting.append((wish, turn + 1))
    if fault:
        raise EndpointError(f"{fault} [{len(journal.used)} texts are kept; run the same command again to continue]")


def write_corpus(path: Path, answers: Sequence[Answer]) -> None:
    """Write the texts with their provenance, as a corpus that a build can read."""
    with written_aside(path) as aside, aside.open("w", encoding="utf-8") as file:
        for answer in answers:
            writing = Writing(answer.format, answer.topic, answer.tone, answer.text)
            file.write(json.dumps({**asdict(writing), **_provenance(answer)}) + "\n")


def _provenance(answer: Answer) -> Mapping[str, str]:
    reply = str(answer.body.get("id") or "")
    return {"model": answer.model, "endpoint": answer.endpoint, "reply": reply}
