"""The formats of predictions: each is a JSON object, recognised by its keys. Harnesses have further ones (see below).

======================  ===================================================================
plain                   ``id`` and ``prediction``, as `carrara run` writes it and Parquet has it
lm-evaluation-harness   ``doc`` with ``id``, ``filtered_resps`` or ``resps`` (``--log_samples``)
Inspect                 ``id``, ``epoch`` and ``output`` (a sample of a log)
batch                   ``custom_id`` with ``response`` or ``error`` (OpenAI Batch, vLLM run-batch)
======================  ===================================================================
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pipeline.artifacts.refusals import CUT, FULL, LONGEST_MESSAGE, error_words, is_final
from pipeline.rows import sha256_text

Body = Mapping[str, Any]
TOLD = (None, "text", "output_text")
"""Types of content parts that belong to the reply, not to the reasoning."""
MAX_COUNT = 1 << 40
"""More tokens or seconds than any reply takes."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One prediction as it was read.

    Attributes:
        where: file and line.
        id, text: the values in the file, of any type.
        error: why the request failed, if it did; `final` if another try would not help.
        again: whether it is a further answer to the same prompt, which does not count.
        finish: why the reply ended; ``length``, whatever the server calls it, if it reached its limit of tokens.
        digest: the SHA-256 of the prompt that was sent, if the file has the prompt or its digest.
        tokens, seconds: tokens of the reply and the time it took, if the file has them.
    """

    where: str
    id: object
    text: object
    error: str = ""
    final: bool = False
    again: bool = False
    finish: str = ""
    digest: str = ""
    tokens: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Shape:
    """A format: its name, how to recognise it, and how to read a prediction from it."""

    name: str
    fits: Callable[[Body], bool]
    read: Callable[[str, Body], Entry]


def _plain(where: str, body: Body) -> Entry:
    error = problem_of(body.get("refused") or body.get("error"))
    return Entry(
        where,
        body["id"],
        body.get("prediction"),
        error,
        final=bool(body.get("refused")) or is_final(0, error),
        finish=finished(body.get("finish_reason")),
        digest=_text(body.get("prompt_sha256")),
        tokens=number(body.get("completion_tokens"), int),
        seconds=number(body.get("seconds"), float),
    )


def _lm_eval(where: str, body: Body) -> Entry:
    """Read a logged sample: the filtered response, else the first response."""
    found: Any = body.get("filtered_resps") or body.get("resps")
    while isinstance(found, list) and found:
        found = found[0]
    digest = digest_of(body["doc"].get("prompt"))
    return Entry(where, body["doc"].get("id"), found if found != [] else None, digest=digest)


def _inspect(where: str, body: Body) -> Entry:
    """Read a sample; its metadata has the row's id if the log numbers samples from 1."""
    row_id, metadata = body["id"], body.get("metadata")
    if isinstance(metadata, Mapping) and isinstance(metadata.get("id"), str):
        row_id = metadata["id"]
    again = isinstance(body["epoch"], int) and body["epoch"] > 1
    error, output = body.get("error"), body["output"]
    finish, digest = finish_of(output), digest_of(body.get("input"))
    if error or finish in FULL:
        problem = problem_of(error) or _text(chosen(output)) or finish
        final = finish in FULL or is_final(0, problem)
        return Entry(where, row_id, None, problem[:LONGEST_MESSAGE], final, again, finish, digest)
    tokens = usage_of(output, "output_tokens")
    seconds = number(output.get("time"), float) if isinstance(output, Mapping) else None
    return Entry(where, row_id, chosen(output), "", False, again, finish, digest, tokens, seconds)


def _batch(where: str, body: Body) -> Entry:
    """Read a line of a batch's output or error file."""
    response, error = body.get("response"), body.get("error")
    answer = response.get("body") if isinstance(response, Mapping) else None
    status = response.get("status_code", 200) if isinstance(response, Mapping) else None
    if error or status != 200:
        inner = answer.get("error") if isinstance(answer, Mapping) else None
        words = error_words(json.dumps({"error": error or inner})) if error or inner else ("", "")
        problem = words[0] or f"HTTP {status}"
        final = is_final(status if isinstance(status, int) else 0, words[1] or problem)
        return Entry(where, body["custom_id"], None, problem, final)
    tokens = usage_of(answer, "completion_tokens")
    return Entry(where, body["custom_id"], chosen(answer), finish=finish_of(answer), tokens=tokens)


def digest_of(text: object) -> str:
    """Return the SHA-256 of a prompt, with lone surrogates as question marks; empty if it is not one text."""
    return sha256_text(text.encode("utf-8", "replace").decode()) if isinstance(text, str) and text else ""


def finished(reason: object) -> str:
    """Return why a reply ended: ``length`` for any server's word for it; empty if the reason is not given."""
    word = reason.lower()[:40] if isinstance(reason, str) else ""
    return "length" if word in CUT else word


def finish_of(answer: object) -> str:
    """Return why the first choice of a completion ended."""
    try:
        choice = answer["choices"][0]  # type: ignore[index]
        return finished(choice.get("finish_reason") or choice.get("stop_reason"))
    except (LookupError, TypeError, AttributeError):
        return ""


def number(value: object, kind: type[Any]) -> Any:
    """Return a valid count or time as `kind`, else None."""
    fits = isinstance(value, int if kind is int else int | float) and not isinstance(value, bool)
    return kind(value) if fits and 0 <= value < MAX_COUNT else None  # type: ignore[operator]


def usage_of(answer: object, name: str) -> int | None:
    """Return a count of tokens from a completion's usage, or None."""
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    found: int | None = number(usage.get(name), int) if isinstance(usage, Mapping) else None
    return found


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def chosen(answer: object) -> object:
    """Return the text of the first choice of a completion or a chat, without reasoning parts."""
    try:
        choice = answer["choices"][0]  # type: ignore[index]
        content = choice["message"]["content"] if "message" in choice else choice.get("text")
    except (LookupError, TypeError, AttributeError):
        return None
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping) and part.get("type") in TOLD]
        return "".join(part for part in parts if isinstance(part, str))
    return content


def problem_of(error: object) -> str:
    """Return an error's message in one line."""
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("code") or "no reason given"
    return " ".join(str(error).split())[:LONGEST_MESSAGE] if error else ""


SHAPES = (
    Shape("batch", lambda body: "custom_id" in body and ("response" in body or "error" in body), _batch),
    Shape(
        "lm-evaluation-harness",
        lambda body: isinstance(body.get("doc"), Mapping) and ("filtered_resps" in body or "resps" in body),
        _lm_eval,
    ),
    Shape("Inspect", lambda body: {"id", "epoch", "output"} <= body.keys(), _inspect),
    Shape(
        "plain",
        lambda body: "id" in body and any(name in body for name in ("prediction", "error", "refused")),
        _plain,
    ),
)


def _ruler(where: str, body: Body) -> Entry:
    """Read a prediction; its `input` is the prompt, since Carrara's `answer_prefix` is empty."""
    return Entry(where, body["others"].get("id"), body["pred"], digest=digest_of(body.get("input")))


def _evalscope(where: str, body: Body) -> Entry:
    output = _of(body, "model_output")
    error, finish, digest = problem_of(output.get("error")), finish_of(output), _only(body.get("messages"))
    if error or finish in FULL:
        problem = error or finish
        final = finish in FULL or is_final(0, problem)
        return Entry(where, body["metadata"].get("id"), None, problem, final, digest=digest)
    tokens, seconds = usage_of(output, "output_tokens"), number(output.get("time"), float)
    text = chosen(output)
    return Entry(where, body["metadata"].get("id"), text, "", False, False, finish, digest, tokens, seconds)


def _review(where: str, body: Body) -> Entry:
    score = _of(body, "sample_score")
    text = _of(score, "score").get("prediction")
    return Entry(where, _of(score, "sample_metadata").get("id"), text, digest=_only(body.get("messages")))


def _verifiers(where: str, body: Body) -> Entry:
    """Read the first trace of a rollout: its task's key is the row's id, its last message the reply."""
    trace = body["traces"][0]
    nodes = [_of(node, "message") for node in _list_of(trace, "nodes")]
    replies = [node for node in nodes if node.get("role") == "assistant"]
    row_id, digest = _of(trace, "task").get("key"), _only(nodes)
    error = next(map(problem_of, _list_of(trace, "errors")), "")
    if error and not trace.get("ok"):
        return Entry(where, row_id, None, error, is_final(0, error), digest=digest)
    # A conversation ends with the reply, or with the question if there is no reply.
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
    """Read a result; for a ranking HELMET keeps no id, only the query's, which is the row's id in the export."""
    return Entry(where, body.get("id") or body.get("qid"), body.get("output"))


def _longbio(where: str, body: Body) -> Entry:
    return Entry(where, body.get("id"), body.get("pred"))


def _of(body: Any, name: str) -> Mapping[str, Any]:
    """Return the object under a name, or an empty one."""
    found = body.get(name) if isinstance(body, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _list_of(body: Mapping[str, Any], name: str) -> list[Any]:
    """Return the list under a name, or an empty one."""
    found = body.get(name)
    return found if isinstance(found, list) else []


def _only(messages: object) -> str:
    """Return the digest of the only user turn before a reply; empty for a conversation of several turns."""
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
"""Formats of JSON Lines, in the order in which they are tried."""


def shape_of(body: object) -> Shape | None:
    """Return the format of a line, or None if it is unknown."""
    return next((shape for shape in KNOWN if shape.fits(body)), None) if isinstance(body, Mapping) else None
