"""A run: rows are sent to an OpenAI-compatible server, and each reply becomes a line in a file of predictions."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from pipeline.ask.endpoint import Endpoint, content_of
from pipeline.ask.predictions import Predictions
from pipeline.ask.threads import asked
from pipeline.errors import EndpointError, RefusedError, RequestError
from pipeline.rows import Row, sha256_text

COLUMNS = [
    *("id", "length", "frame", "context_tokens", "prompt_tokens", "template_tokens", "max_new_tokens"),
    *("messages", "prompt"),
]
"""What is read of a row that is to be sent."""
MOST = 1 << 40
"""Tokens that no prompt has: a count of more is none."""
IN_A_ROW = 8
"""Failures in a row, beside the requests under way, after which the run gives up on the server."""


@dataclass(slots=True)
class Outcome:
    """What a run brought: how many replies, and how far the server's count of prompt tokens is from the row's.

    `failed` names rows with the server's words; `off` counts rows by that difference, 0 is as it should be.
    """

    replies: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    off: Counter[int] = field(default_factory=Counter)


def run_rows(
    endpoint: Endpoint,
    rows: Iterable[Row],
    kept: Predictions,
    *,
    workers: int,
    limit_name: str = "max_tokens",
    on_done: Callable[[Row], None] = lambda row: None,
) -> Outcome:
    """Send rows, `workers` at a time, and keep each reply as it comes; memory holds the rows under way.

    A row that does not fit the server's window is refused for good: that is kept too, and the others are asked on.

    Args:
        endpoint: whom to ask.
        rows: rows with COLUMNS.
        kept: the open file of predictions; rows that it is done with are passed over.
        workers: requests at a time.
        limit_name: what the server calls the most tokens of a reply.
        on_done: called for each row that is done, passed over, refused or failed.

    Raises:
        EndpointError: if the server would refuse every row, or nothing comes any more; what came is kept.
    """
    outcome, lost, stop = Outcome(), 0, Event()
    owed = _owed(rows, kept, on_done)

    def ask(row: Row) -> tuple[dict[str, Any], float]:
        start = time.monotonic()
        body = _reply(endpoint, row, {limit_name: row["max_new_tokens"]}, stop.is_set)
        return body, time.monotonic() - start

    for row, came in asked(lambda: next(owed, None), ask, workers, stop):
        if isinstance(came, RefusedError):
            lost = 0
            kept.keep_refusal(row["id"], str(came))
        elif isinstance(came, RequestError):
            lost += 1
            outcome.failed[row["id"]] = str(came)
            kept.keep_failure(row["id"], str(came))
        elif isinstance(came, Exception):
            raise EndpointError(
                f"{came} [{outcome.replies} replies are kept; run the same command again to continue]"
            ) from came
        else:
            lost = 0
            _keep(row, *came, kept, outcome)
        on_done(row)
        if lost >= IN_A_ROW + workers:
            raise EndpointError(
                f"{lost} consecutive rows without a reply, the last: {came} [run the same command again to continue]"
            )
    return outcome


def _owed(rows: Iterable[Row], kept: Predictions, on_done: Callable[[Row], None]) -> Iterator[Row]:
    for row in rows:
        if kept.is_done(row["id"]):
            on_done(row)
        else:
            yield row


def _reply(endpoint: Endpoint, row: Row, more: Mapping[str, Any], given_up: Callable[[], bool]) -> dict[str, Any]:
    if row["frame"] == "raw":
        return endpoint.complete(row["prompt"], more=more, given_up=given_up)
    messages = row["messages"] or [{"role": "user", "content": row["prompt"]}]
    return endpoint.ask(messages, more=more, given_up=given_up)


def _keep(row: Row, body: Mapping[str, Any], seconds: float, kept: Predictions, outcome: Outcome) -> None:
    """Write a reply down; one without text is null, with what the server says of it."""
    choice, sent = body["choices"][0], _count(body, "prompt_tokens")
    refusal = choice["message"].get("refusal") if "message" in choice else None
    reason = choice.get("finish_reason")
    more = {
        "finish_reason": reason if isinstance(reason, str) else None,
        "prompt_tokens": sent,
        "completion_tokens": _count(body, "completion_tokens"),
        "seconds": round(seconds, 3),
        "prompt_sha256": sha256_text(row["prompt"]),
    }
    if isinstance(refusal, str) and refusal:
        more |= {"finish_reason": "refusal", "refusal": refusal[:1000]}
    kept.keep(row["id"], content_of(body) or None, more)
    outcome.replies += 1
    if sent is not None:
        outcome.off[sent - row["prompt_tokens"] - row["template_tokens"]] += 1


def _count(body: Mapping[str, Any], name: str) -> int | None:
    """Return a count of tokens, if the server gives one that can be."""
    usage = body.get("usage")
    counted = usage.get(name) if isinstance(usage, Mapping) else None
    return counted if type(counted) is int and 0 <= counted < MOST else None
