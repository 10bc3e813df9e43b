"""A run: sends rows to an OpenAI-compatible server, and writes each reply as a line of a prediction file."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from typing import Any

from pipeline.artifacts.journal import UNREADABLE, Journal
from pipeline.artifacts.refusals import CUT
from pipeline.errors import EndpointError, PredictionsError, RefusedError, RequestError
from pipeline.inference.endpoint import Endpoint, content_of, run_concurrently
from pipeline.metrics import facts, stops_of
from pipeline.rows import Row, sha256_text
from pipeline.turns import Message, declared, sent


class Predictions(Journal):
    """An open prediction file of one model on one split.

    A row is in at most one of three sets: `answered` with a reply, `empty` with a reply without text, or `refused` for
    good by the server. A failed try counts as none of these. Replies in `cut` ended at their token limit. Those in
    `called` have no text, since they call a tool instead of answering; they are in `answered`, too.

    Args:
        path: the file; it is created if it is missing.
        model: the model that made the predictions.
        tags: the tags that ids may end in.
        again: whether rows that were refused, or have an empty reply, are asked again.
    """

    def __init__(self, path: Path, model: str, tags: frozenset[str], *, again: bool = False) -> None:
        super().__init__(path, "give another --out")
        self._model, self._tags, self._again = model, tags, again
        self.answered: set[str] = set()
        self.cut: set[str] = set()
        self.called: set[str] = set()
        self.empty: set[str] = set()
        self.refused: dict[str, str] = {}
        self._owed: set[str] = set()

    def is_done(self, row_id: str) -> bool:
        """Return whether a row needs no request."""
        known = row_id in self.answered or row_id in self.empty or row_id in self.refused
        return known and row_id not in self._owed

    def _note(self, number: int, line: bytes) -> None:
        try:
            stored = json.loads(line)
            row_id, model, text = str(stored["id"]), str(stored["model"]), stored["prediction"]
        except UNREADABLE:
            raise PredictionsError(
                f"{str(self.path)!r}, line {number} is not a prediction by carrara run: give another --out, or "
                "fix the line"
            ) from None
        if model != self._model:
            raise PredictionsError(
                f"{str(self.path)!r} has predictions of {model!r}, not {self._model!r}: give another --out"
            )
        if row_id.rpartition("-")[2] not in self._tags:
            own = " and ".join(sorted(self._tags))
            raise PredictionsError(
                f"{str(self.path)!r} has predictions for another split: the tag of {row_id!r} is not {own}: give "
                "another --out"
            )
        if stored.get("refused"):
            self._take_refusal(row_id, str(stored["refused"]))
        elif not stored.get("error"):
            self._take(row_id, text, stored.get("finish_reason"), called=bool(stored.get("called")))
        if self._again and row_id not in self.answered:
            self._owed.add(row_id)

    def _take(self, row_id: str, text: object, reason: object, *, called: bool) -> None:
        if row_id in self.answered:
            return
        self.refused.pop(row_id, None)
        if called or (isinstance(text, str) and text.strip()):
            self.answered.add(row_id)
            self.empty.discard(row_id)
            self._owed.discard(row_id)
        else:
            self.empty.add(row_id)
        if called:
            self.called.add(row_id)
        is_cut = isinstance(reason, str) and reason.lower() in CUT
        (self.cut.add if is_cut else self.cut.discard)(row_id)

    def _take_refusal(self, row_id: str, error: str) -> None:
        if row_id not in self.answered and row_id not in self.empty:
            self.refused[row_id] = error

    def keep(self, row_id: str, prediction: str | None, more: Mapping[str, Any]) -> None:
        """Record a reply; None stands for one without text."""
        self._append({"id": row_id, "prediction": prediction, "model": self._model, **more})
        self._owed.discard(row_id)
        self._take(row_id, prediction, more.get("finish_reason"), called=bool(more.get("called")))

    def keep_refusal(self, row_id: str, error: str) -> None:
        """Record that the server will never answer a row, so that the next run does not send it."""
        self._append({"id": row_id, "prediction": None, "model": self._model, "refused": error})
        self._owed.discard(row_id)
        self._take_refusal(row_id, error)

    def keep_failure(self, row_id: str, error: str) -> None:
        """Record why a row has no reply, which the next run asks for again."""
        self._append({"id": row_id, "prediction": None, "model": self._model, "error": error})


COLUMNS = [
    *("id", "length", "frame", "scorer", "context_tokens", "prompt_tokens", "template_tokens", "max_new_tokens"),
    *("metadata", "messages", "prompt"),
]
"""The columns that a run reads."""
MOST = 1 << 40
"""Token counts from here on are not plausible and are ignored."""
IN_A_ROW = 8
"""Consecutive failures, in addition to requests in flight, after which a run gives up."""


@dataclass(slots=True)
class Outcome:
    """The result of a run.

    Of `replies`, `empty` have no text and call no tool. `failed` has the error of each failed row. `off` counts rows by
    the difference between the server's count of prompt tokens and the row's, which should be 0.
    """

    replies: int = 0
    empty: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    off: Counter[int] = field(default_factory=Counter)


def run_rows(
    endpoint: Endpoint,
    rows: Iterable[Row],
    kept: Predictions,
    *,
    workers: int,
    limit_name: str = "max_tokens",
    on_done: Callable[[Row, bool], None] = lambda row, answered: None,
    on_count: Callable[[int], None] = lambda off: None,
) -> Outcome:
    """Send rows, `workers` at a time, and record each reply at once; only rows in flight are in memory.

    If the server refuses a row for good, such as one that does not fit its window, this is recorded, too.

    Args:
        endpoint: the server.
        rows: rows with COLUMNS.
        kept: the open prediction file; rows that are done there are skipped.
        workers: requests at a time.
        limit_name: the server's name for the token limit of a reply.
        on_done: called for each row that is answered, skipped, refused or failed, and told whether it is answered now.
        on_count: called for each count of prompt tokens by the server, with its difference from the row's.

    Raises:
        EndpointError: if the server would refuse every row, or too many rows fail in succession; all replies are kept.
    """
    outcome, lost, stop = Outcome(), 0, Event()
    owed = _owed(rows, kept, on_done)

    def ask(row: Row) -> tuple[dict[str, Any], float]:
        start = time.monotonic()
        body = reply_to(endpoint, row, {limit_name: row["max_new_tokens"]}, stop.is_set)
        return body, time.monotonic() - start

    for row, result in run_concurrently(lambda: next(owed, None), ask, workers, stop):
        if isinstance(result, RefusedError):
            lost = 0
            kept.keep_refusal(row["id"], str(result))
        elif isinstance(result, RequestError):
            lost += 1
            outcome.failed[row["id"]] = str(result)
            kept.keep_failure(row["id"], str(result))
        elif isinstance(result, Exception):
            raise EndpointError(
                f"{result} [{outcome.replies} replies are kept; run the same command again to continue]"
            ) from result
        else:
            lost = 0
            off = _keep(row, *result, kept, outcome)
            if off is not None:
                on_count(off)
        on_done(row, not isinstance(result, Exception))
        if lost >= IN_A_ROW + workers:
            raise EndpointError(
                f"{lost} consecutive rows without a reply, the last: {result}; earlier replies are kept"
            )
    return outcome


def _owed(rows: Iterable[Row], kept: Predictions, on_done: Callable[[Row, bool], None]) -> Iterator[Row]:
    for row in rows:
        if kept.is_done(row["id"]):
            on_done(row, False)
        else:
            yield row


def reply_to(endpoint: Endpoint, row: Row, more: Mapping[str, Any], given_up: Callable[[], bool]) -> dict[str, Any]:
    """Send a row, as chat or as a bare string by its frame, and return the body of the reply."""
    if row["frame"] == "raw":
        stops = stops_of(row["prompt"]) if facts(row["scorer"]).stops else []
        return endpoint.complete(row["prompt"], more={**more, "stop": stops or None}, given_up=given_up)
    return endpoint.ask(messages_of(row), more={**more, **declared(row["metadata"])}, given_up=given_up)


def messages_of(row: Row) -> list[Message]:
    """Return the messages that are sent for a row: its own, or its prompt as one user message."""
    return sent(row["messages"] or [{"role": "user", "content": row["prompt"]}])


CALLED = re.compile(
    r"<tool_call>|<function=|<\|tool_call>|<\|tool_calls?_(?:section_)?begin\|>|<\uff5ctool\u2581calls?\u2581begin\uff5c>"
    r"|\bto=functions\."
)
"""How models write a tool call that the server does not parse, since it was told of no tools, or to call none."""


def call_in(row: Row, body: Mapping[str, Any]) -> str:
    """Return the tool call in a reply to a row with tool calls, which asks for text; "" if there is none."""
    if not any(message.get("tool_calls") for message in row["messages"] or ()):
        return ""
    calls = body["choices"][0].get("message", {}).get("tool_calls")
    text = content_of(body).rpartition("</think>")[2]
    return json.dumps(calls) if calls else text.strip() if CALLED.search(text) else ""


def _keep(row: Row, body: Mapping[str, Any], seconds: float, kept: Predictions, outcome: Outcome) -> int | None:
    """Record a reply; return the server's count of prompt tokens minus the row's, or None without a count."""
    choice, sent = body["choices"][0], count_of(body, "prompt_tokens")
    refusal = choice["message"].get("refusal") if "message" in choice else None
    reason = choice.get("finish_reason")
    more = {
        "finish_reason": reason if isinstance(reason, str) else None,
        "prompt_tokens": sent,
        "completion_tokens": count_of(body, "completion_tokens"),
        "seconds": round(seconds, 3),
        "prompt_sha256": sha256_text(row["prompt"]),
    }
    if isinstance(refusal, str) and refusal:
        more |= {"finish_reason": "refusal", "refusal": refusal[:1000]}
    text = content_of(body)
    if called := call_in(row, body):
        more |= {"finish_reason": "tool_calls", "called": called[:1000]}
        text = ""
    kept.keep(row["id"], text or None, more)
    outcome.replies += 1
    outcome.empty += not (text.strip() or called)
    if sent is None:
        return None
    off: int = sent - row["prompt_tokens"] - row["template_tokens"]
    outcome.off[off] += 1
    return off


def count_of(body: Mapping[str, Any], name: str) -> int | None:
    """Return a token count from a reply's usage, if there is a plausible one."""
    usage = body.get("usage")
    counted = usage.get(name) if isinstance(usage, Mapping) else None
    return counted if type(counted) is int and 0 <= counted < MOST else None
