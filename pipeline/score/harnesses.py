"""The output of harnesses that rows are exported to, beside those of ``shapes``: objects of JSON, one a prediction.

======================  ===================================================================
RULER                   ``others`` with ``id``, ``pred`` (``pred/call_api.py``)
EvalScope               ``metadata`` with ``id``, ``model_output`` (a line of ``predictions``)
EvalScope's reviews     ``sample_score`` with ``sample_metadata`` (a line of ``reviews``)
verifiers               ``traces`` (a line of ``traces.jsonl``)
lighteval               ``doc`` with ``specific``, ``model_response`` (a row of its details)
HELMET                  ``id`` or ``qid``, ``output`` (an item of the ``data`` of its results)
LongBio-Benchmark       ``datapoint`` with ``context_idx``, ``pred`` (an item of its results)
======================  ===================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pipeline.score.shapes import (
    SHAPES,
    Body,
    Entry,
    Shape,
    chosen,
    digest_of,
    finish_of,
    finished,
    number,
    said_of,
    usage_of,
)
from pipeline.store.refusals import FULL, is_final


def _ruler(where: str, body: Body) -> Entry:
    """Read a prediction; `input` is the prompt and `answer_prefix`, which is empty."""
    return Entry(where, body["others"].get("id"), body["pred"], digest=digest_of(body.get("input")))


def _evalscope(where: str, body: Body) -> Entry:
    output = _of(body, "model_output")
    error, finish, digest = said_of(output.get("error")), finish_of(output), _only(body.get("messages"))
    if error or finish in FULL:
        said = error or finish
        return Entry(where, body["metadata"].get("id"), None, said, finish in FULL or is_final(0, said), digest=digest)
    tokens, seconds = usage_of(output, "output_tokens"), number(output.get("time"), float)
    text = chosen(output)
    return Entry(where, body["metadata"].get("id"), text, "", False, False, finish, digest, tokens, seconds)


def _review(where: str, body: Body) -> Entry:
    score = _of(body, "sample_score")
    text = _of(score, "score").get("prediction")
    return Entry(where, _of(score, "sample_metadata").get("id"), text, digest=_only(body.get("messages")))


def _verifiers(where: str, body: Body) -> Entry:
    """Read the first trace of a rollout: its key is the row's id, its last message the reply."""
    trace = body["traces"][0]
    nodes = [_of(node, "message") for node in _list_of(trace, "nodes")]
    replies = [node for node in nodes if node.get("role") == "assistant"]
    row_id, digest = _of(trace, "task").get("key"), _only(nodes)
    error = next(map(said_of, _list_of(trace, "errors")), "")
    if error and not trace.get("ok"):
        return Entry(where, row_id, None, error, is_final(0, error), digest=digest)
    # A conversation of real turns ends with the reply; one without a reply ends with the question.
    last = replies[-1] if replies and nodes[-1] is replies[-1] else {}
    call = next((each for each in reversed(_list_of(trace, "calls")) if isinstance(each, Mapping)), {})
    text = chosen({"choices": [{"message": last}]}) if last else None
    finish, tokens = finished(call.get("finish_reason")), usage_of(call, "completion_tokens")
    return Entry(where, row_id, text, finish=finish, digest=digest, tokens=tokens)


def _lighteval(where: str, body: Body) -> Entry:
    doc, response = _of(body, "doc"), _of(body, "model_response")
    texts = response.get("text")
    text = texts[0] if isinstance(texts, list) and texts else None
    return Entry(where, _of(doc, "specific").get("id"), text, digest=digest_of(doc.get("query")))


def _helmet(where: str, body: Body) -> Entry:
    """Read a result; of a ranking HELMET keeps no id, but what the export calls its query."""
    return Entry(where, body.get("id") or body.get("qid"), body.get("output"))


def _longbio(where: str, body: Body) -> Entry:
    return Entry(where, body.get("id"), body.get("pred"))


def _of(body: Any, name: str) -> Mapping[str, Any]:
    """Return what is nested under a name, if it is an object."""
    found = body.get(name) if isinstance(body, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _list_of(body: Mapping[str, Any], name: str) -> list[Any]:
    """Return what is listed under a name, if it is a list."""
    found = body.get(name)
    return found if isinstance(found, list) else []


def _only(messages: object) -> str:
    """Return the digest of a conversation that is one user turn before its reply; of real turns nothing."""
    turns = [turn for turn in messages if isinstance(turn, Mapping)] if isinstance(messages, list) else []
    asked = [turn for at, turn in enumerate(turns) if not (at == len(turns) - 1 and turn.get("role") == "assistant")]
    if len(asked) != 1 or asked[0].get("role") != "user":
        return ""
    text = chosen({"choices": [{"message": asked[0]}]})
    return digest_of(text)


def _has_id(body: Body, name: str) -> bool:
    return isinstance(_of(body, name).get("id"), str)


RULER = Shape("RULER", lambda body: _has_id(body, "others") and "pred" in body, _ruler)
EVALSCOPE = Shape("EvalScope", lambda body: _has_id(body, "metadata") and "model_output" in body, _evalscope)
REVIEW = Shape("EvalScope's reviews", lambda body: _has_id(_of(body, "sample_score"), "sample_metadata"), _review)
VERIFIERS = Shape(
    "verifiers",
    lambda body: isinstance(body.get("traces"), list) and bool(_of(next(iter(body["traces"]), None), "task")),
    _verifiers,
)
LIGHTEVAL = Shape("lighteval", lambda body: bool(_of(body, "doc")) and bool(_of(body, "model_response")), _lighteval)
HELMET = Shape("HELMET", lambda body: "output" in body and ("id" in body or "qid" in body), _helmet)
LONGBIO = Shape("LongBio-Benchmark", lambda body: "pred" in body and "id" in body, _longbio)

KNOWN = (RULER, EVALSCOPE, REVIEW, VERIFIERS, *SHAPES)
"""Formats of lines, in the order in which they are tried."""


def shape_of(body: object) -> Shape | None:
    """Return the format of a line, or None if it is unknown."""
    return next((shape for shape in KNOWN if shape.fits(body)), None) if isinstance(body, Mapping) else None
