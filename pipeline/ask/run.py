"""A run: rows are sent to an OpenAI-compatible server, and each reply becomes a line in a file of predictions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event
from typing import Any

from pipeline.ask.endpoint import Endpoint, content_of
from pipeline.ask.predictions import Predictions
from pipeline.ask.threads import asked
from pipeline.errors import EndpointError, RequestError
from pipeline.rows import Row

COLUMNS = ["id", "frame", "prompt_tokens", "template_tokens", "max_new_tokens", "messages", "prompt"]
"""What is read of a row that is to be sent."""
MOST = 1 << 40
"""Tokens that no prompt has: a count of more is none."""
IN_A_ROW = 8
"""Failures in a row, beside the requests under way, after which the run gives up on the server."""


@dataclass(slots=True)
class Outcome:
    """What a run brought: how many replies, and how far the server's count of prompt tokens is from the row's.

    `failed` names rows with the server's words, `off` counts rows by that difference; 0 is as it should be.
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

    Args:
        endpoint: whom to ask.
        rows: rows with COLUMNS.
        kept: the open file of predictions; rows that it has an answer to are passed over.
        workers: requests at a time.
        limit_name: what the server calls the most tokens of a reply.
        on_done: called for each row that is done, passed over or failed.

    Raises:
        EndpointError: if the server would refuse every row, or nothing comes any more; what came is kept.
    """
    outcome, lost, stop = Outcome(), 0, Event()
    owed = _owed(rows, kept, on_done)

    def ask(row: Row) -> dict[str, Any]:
        return _reply(endpoint, row, {limit_name: row["max_new_tokens"]}, stop.is_set)

    for row, came in asked(lambda: next(owed, None), ask, workers, stop):
        if isinstance(came, RequestError):
            lost += 1
            outcome.failed[row["id"]] = str(came)
            kept.keep_failure(row["id"], str(came))
        elif isinstance(came, Exception):
            raise EndpointError(
                f"{came} [{outcome.replies} replies are kept; run the same command again to continue]"
            ) from came
        else:
            lost = 0
            _keep(row, came, kept, outcome)
        on_done(row)
        if lost >= IN_A_ROW + workers:
            raise EndpointError(
                f"{lost} consecutive rows without a reply, the last: {came} [run the same command again to continue]"
            )
    return outcome


def _owed(rows: Iterable[Row], kept: Predictions, on_done: Callable[[Row], None]) -> Iterator[Row]:
    for row in rows:
        if row["id"] in kept.answered:
            on_done(row)
        else:
            yield row


def _reply(endpoint: Endpoint, row: Row, more: Mapping[str, Any], given_up: Callable[[], bool]) -> dict[str, Any]:
    if row["frame"] == "raw":
        return endpoint.complete(row["prompt"], more=more, given_up=given_up)
    messages = row["messages"] or [{"role": "user", "content": row["prompt"]}]
    return endpoint.ask(messages, more=more, given_up=given_up)


def _keep(row: Row, body: Mapping[str, Any], kept: Predictions, outcome: Outcome) -> None:
    usage = body.get("usage")
    counted = usage.get("prompt_tokens") if isinstance(usage, Mapping) else None
    counted = counted if type(counted) is int and 0 <= counted < MOST else None
    reason = body["choices"][0].get("finish_reason")
    kept.keep(row["id"], content_of(body), {"finish_reason": reason, "prompt_tokens": counted})
    outcome.replies += 1
    if counted is not None:
        outcome.off[counted - row["prompt_tokens"] - row["template_tokens"]] += 1
