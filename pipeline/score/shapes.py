"""The formats of predictions: each is one JSON object, recognised by its keys.

======================  ===================================================================
plain                   ``id`` and ``prediction``, as `carrara run` writes it and Parquet has it
lm-evaluation-harness   ``doc`` with ``id``, ``filtered_resps`` or ``resps`` (``--log_samples``)
Inspect                 ``id``, ``epoch`` and ``output`` (a sample of a log)
batch                   ``custom_id`` with ``response`` or ``error`` (OpenAI Batch, vLLM run-batch)
======================  ===================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Body = Mapping[str, Any]
SAID = (None, "text", "output_text")
"""Types of the parts of a content that are said, not thought."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One prediction as it was read: `where` names file and line; `error` says why there is no reply, if one failed.

    `id` and `text` are whatever stood there; `again` is a further answer to the same prompt that does not count.
    """

    where: str
    id: object
    text: object
    error: str = ""
    again: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """A format: its name, how to recognise it, and how to read a prediction from it."""

    name: str
    fits: Callable[[Body], bool]
    read: Callable[[str, Body], Entry]


def shape_of(body: object) -> Shape | None:
    """Return the format of an object, or None if it is unknown."""
    return next((shape for shape in SHAPES if shape.fits(body)), None) if isinstance(body, Mapping) else None


def _plain(where: str, body: Body) -> Entry:
    return Entry(where, body["id"], body.get("prediction"), _said(body.get("error")))


def _lm_eval(where: str, body: Body) -> Entry:
    """Read a logged sample: what the filter left, else the first response."""
    found: Any = body.get("filtered_resps") or body.get("resps")
    while isinstance(found, list) and found:
        found = found[0]
    return Entry(where, body["doc"].get("id"), found if found != [] else None)


def _inspect(where: str, body: Body) -> Entry:
    """Read a sample: its id, or that in its metadata where the log counts from 1."""
    row_id, metadata = body["id"], body.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("id"), str):
        row_id = metadata["id"]
    again = isinstance(body["epoch"], int) and body["epoch"] > 1
    error = body.get("error")
    if error:
        return Entry(where, row_id, None, _said(error), again)
    return Entry(where, row_id, _chosen(body["output"]), again=again)


def _batch(where: str, body: Body) -> Entry:
    """Read a line of a batch's output, or of its errors."""
    response, error = body.get("response"), body.get("error")
    answer = response.get("body") if isinstance(response, Mapping) else None
    status = response.get("status_code", 200) if isinstance(response, Mapping) else None
    if error or status != 200:
        inner = answer.get("error") if isinstance(answer, Mapping) else None
        return Entry(where, body["custom_id"], None, _said(error or inner or f"HTTP {status}"))
    return Entry(where, body["custom_id"], _chosen(answer))


def _chosen(answer: object) -> object:
    """Return the text of the first choice of a completion or a chat; what is thought aloud is no part of it."""
    try:
        choice = answer["choices"][0]  # type: ignore[index]
        content = choice["message"]["content"] if "message" in choice else choice.get("text")
    except (LookupError, TypeError, AttributeError):
        return None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") in SAID]
        return "".join(part for part in parts if isinstance(part, str))
    return content


def _said(error: object) -> str:
    """Return what an error says, in one line."""
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("code") or "no reason given"
    return " ".join(str(error).split())[:200] if error else ""


SHAPES = (
    Shape("batch", lambda body: "custom_id" in body and ("response" in body or "error" in body), _batch),
    Shape(
        "lm-evaluation-harness",
        lambda body: isinstance(body.get("doc"), Mapping) and ("filtered_resps" in body or "resps" in body),
        _lm_eval,
    ),
    Shape("Inspect", lambda body: {"id", "epoch", "output"} <= body.keys(), _inspect),
    Shape("plain", lambda body: "id" in body and ("prediction" in body or "error" in body), _plain),
)
