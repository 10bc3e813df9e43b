"""Checks of a server before a long run: token counts, the chat template, BOS, thinking, the window.

Servers report these in different ways, and all ways are tried: ``usage`` of a reply, ``/tokenize`` (llama.cpp, vLLM,
SGLang, TGI), ``/apply-template`` (llama.cpp), ``/detokenize`` (vLLM), ``/v1/models``, ``/props``, ``/info`` and
``/get_server_info`` for the window, and the messages of refusals.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipeline.errors import ProfileError, RequestError
from pipeline.inference.endpoint import Endpoint, content_of
from pipeline.inference.run import count_of, messages_of, reply_to
from pipeline.metrics.reply import OPENED
from pipeline.profiles import Profile
from pipeline.rows import Row
from pipeline.turns import declared, tools_of, turns_of

NOT_REPORTED = "not reported"
ROOM = 8
"""Tokens of a reply for the check of thinking; a model that thinks does so first."""
THINKING = 4096
"""Room for a reply from which on a model can reason first; replies without reasoning have at most 1,024 tokens."""
SHOWN = 40
"""Characters of a template that are shown where it differs."""
WINDOWS = (
    ("/v1/models", ("data", 0, "max_model_len")),
    ("/props", ("default_generation_settings", "n_ctx")),
    ("/v1/models", ("data", 0, "meta", "n_ctx")),
    ("/info", ("max_total_tokens",)),
    ("/get_server_info", ("context_length",)),
    ("/get_server_info", ("max_req_input_len",)),
)
"""Where servers report their window: vLLM and SGLang, llama.cpp (for one slot), TGI, SGLang."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check: how it was made, what was expected and found, and what is wrong."""

    check: str
    means: str
    expected: str
    found: str
    fault: str = ""

    @property
    def verdict(self) -> str:
        """The word in the table: right, wrong, or - for not reported."""
        return "wrong" if self.fault else ("-" if self.found == NOT_REPORTED else "right")


def check_server(endpoint: Endpoint, rows: Sequence[Row], profile: Profile | None, window: int) -> Iterator[Finding]:
    """Yield the findings of all checks of a server.

    Args:
        endpoint: the server.
        rows: a few rows, with the columns that a run reads; the last one may be the longest.
        profile: the profile that they are cut for; without it, the template is not compared.
        window: the largest window of a row, in tokens.

    Raises:
        EndpointError: if the server would refuse any request.
    """
    reported = window_of(endpoint)
    yield _check_window(reported, window)
    small = [row for row in rows if reported is None or row["context_tokens"] <= reported[1]]
    counts, refused = _send_rows(endpoint, small)
    yield _check_bare_prompts(endpoint, small)
    yield from _check_counts(counts, refused, len(small))
    if small and small[0]["frame"] == "chat":
        text, means = _render_there(endpoint, small[0])
        yield _check_template(small[0], profile, text, means)
        yield _check_first_token(endpoint, small[0], counts, profile)
        yield _check_thinking(endpoint, text, room=min(row["max_new_tokens"] for row in small) >= THINKING)
    elif small:
        yield _check_first_token(endpoint, small[0], counts, profile)


def window_of(endpoint: Endpoint) -> tuple[str, int] | None:
    """Return the path at which a server reports its window, and the window; None if it does not."""
    for path, keys in WINDOWS:
        value = endpoint.look(path)
        for key in keys:
            try:
                value = value[key]
            except (LookupError, TypeError):
                value = None
        if type(value) is int and value > 0:
            return path, value
    return None


def _check_window(reported: tuple[str, int] | None, window: int) -> Finding:
    if reported is None:
        return Finding("window", "-", f"at least {window:,}", NOT_REPORTED)
    path, served = reported
    small = (
        f"the server's window is {served:,} tokens: serve the model with {window:,}, or run with --max-length {served}"
    )
    return Finding("window", path, f"at least {window:,}", f"{served:,}", small if served < window else "")


def _send_rows(endpoint: Endpoint, rows: Sequence[Row]) -> tuple[list[int], list[str]]:
    """Return how many more tokens than expected the server counts for each row, and its errors for refused rows."""
    off, refused = list[int](), list[str]()
    for row in rows:
        try:
            body = reply_to(endpoint, row, {"max_tokens": 1}, lambda: False)
        except RequestError as fault:
            refused.append(str(fault))
            continue
        if (sent := count_of(body, "prompt_tokens")) is not None:
            off.append(sent - row["prompt_tokens"] - row["template_tokens"])
    return off, refused


def _check_counts(off: Sequence[int], refused: Sequence[str], rows: int) -> Iterator[Finding]:
    what = "tokens as sent", "usage", "as the split counts"
    if refused:
        yield Finding(
            "rows", "refusals", "none", f"{len(refused)} of {rows}", f"the server rejected a row: {refused[0]}"
        )
    if not off:
        yield Finding(*what, NOT_REPORTED)
    elif any(off):
        least, most = min(off), max(off)
        by = f"{least:+,}" if least == most else f"{least:+,} to {most:+,}"
        yield Finding(
            *what,
            f"{by} in {sum(map(bool, off))} of {len(off)} rows",
            f"the server's counts differ from the split's ({by})",
        )
    else:
        yield Finding(*what, f"the same in {len(off)} of {len(off)} rows")


def _check_bare_prompts(endpoint: Endpoint, rows: Sequence[Row]) -> Finding:
    """Compare the tokens of bare prompts, to distinguish a wrong vocabulary from a wrong template."""
    off = list[int]()
    for row in rows:
        ids = None if row["messages"] else _tokens_there(endpoint, {"prompt": row["prompt"]}, special=False)
        if ids is not None:
            off.append(len(ids) - row["prompt_tokens"])
    what = "tokens of bare prompts", "/tokenize", "as the split counts"
    if not off:
        return Finding(*what, NOT_REPORTED)
    if not any(off):
        return Finding(*what, f"the same in {len(off)} of {len(off)} rows")
    fault = "the model has another vocabulary than the split: build rows for its own tokenizer"
    if set(off) == {1}:
        return Finding(*what, "+1 in each row, a token in front")
    return Finding(*what, f"{min(off):+} to {max(off):+}", fault)


def _tokens_there(endpoint: Endpoint, what: Mapping[str, Any], *, special: bool) -> list[Any] | None:
    """Return the tokens of a text or of messages, with or without added special tokens; None if not reported."""
    names = {"content": what["prompt"], "inputs": what["prompt"]} if "prompt" in what else {}
    more = {"model": endpoint.model, "add_special": special, "add_special_tokens": special, **names}
    reply = endpoint.look("/tokenize", {**what, **more})
    ids = reply.get("tokens") if isinstance(reply, Mapping) else reply
    if not isinstance(ids, list) or not ids:
        return None
    return [each.get("id") if isinstance(each, Mapping) else each for each in ids]


def _render_there(endpoint: Endpoint, row: Row) -> tuple[str | None, str]:
    """Return the text that the server's template makes of a row's messages (or None), and the path that reported it."""
    what = {"messages": messages_of(row), **declared(row["metadata"])}
    reply = endpoint.look("/apply-template", what)
    if isinstance(reply, Mapping) and isinstance(reply.get("prompt"), str):
        return str(reply["prompt"]), "/apply-template"
    ids = _tokens_there(endpoint, {**what, "add_generation_prompt": True}, special=False)
    back = endpoint.look("/detokenize", {"model": endpoint.model, "tokens": ids}) if ids else None
    if isinstance(back, Mapping) and isinstance(back.get("prompt"), str):
        return str(back["prompt"]), "/detokenize"
    return None, "-"


def _check_template(row: Row, profile: Profile | None, text: str | None, means: str) -> Finding:
    what = "chat template", means
    wanted = _render_here(row, profile)
    if text is None or wanted is None or profile is None:
        return Finding(*what, "that of the profile", NOT_REPORTED)
    bos = profile.template.bos
    own, other = (each.removeprefix(bos) if bos else each for each in (wanted, text))
    # llama.cpp leaves out a first token that it adds itself; if it did not add it, the counts would differ.
    if own == other or (own.endswith(other) and own.removesuffix(other) in dict(profile.template.special)):
        return Finding(*what, f"that of {profile.name}", "the same")
    at = next(
        (at for at, (one, two) in enumerate(zip(own, other, strict=False)) if one != two), min(map(len, (own, other)))
    )
    shown = [ascii(each[max(0, at - 8) : at + SHOWN]) for each in (own, other)]
    return Finding(*what, shown[0], shown[1], f"the server applies another template than {profile.name} has")


def _render_here(row: Row, profile: Profile | None) -> str | None:
    if profile is None:
        return None
    try:
        turns = turns_of(row["messages"]) if row["messages"] else [("user", row["prompt"])]
        return profile.render(turns, row["frame"], tools_of(row["metadata"]))
    except (ProfileError, ValueError):
        return None


def _check_first_token(endpoint: Endpoint, row: Row, off: Sequence[int], profile: Profile | None) -> Finding:
    """Check for a repeated first token; without token ids, one extra token in every row shows it."""
    what = {"prompt": row["prompt"]}
    if row["frame"] == "chat":
        what = {"messages": messages_of(row), **declared(row["metadata"])}
    ids = _tokens_there(endpoint, what, special=row["frame"] != "chat")
    twice = "the token that begins a text stands twice: let either the template or the tokenizer add it"
    if ids and len(ids) > 1 and row["frame"] == "chat":
        return Finding("BOS", "/tokenize", "once", "twice", twice) if ids[0] == ids[1] else _once("/tokenize")
    if off and set(off) == {1}:
        return Finding("BOS", "usage", "once", "one token more in each row", twice)
    if off and not any(off):
        return _once("usage")
    return Finding("BOS", "-", "once", NOT_REPORTED)


def _once(means: str) -> Finding:
    return Finding("BOS", means, "once", "once, or none")


def _check_thinking(endpoint: Endpoint, text: str | None, *, room: bool) -> Finding:
    """Check whether replies begin with reasoning, for which rows may have no room."""
    body = endpoint.ask([{"role": "user", "content": "Reply with the word yes."}], more={"max_tokens": ROOM})
    message = body["choices"][0]["message"]
    fields = any(message.get(name) for name in ("reasoning_content", "reasoning"))
    opened = text is not None and OPENED.search(text[-SHOWN:]) is not None
    on = fields or opened or OPENED.match(content_of(body).lstrip()) is not None
    fault = "replies begin with reasoning, and rows keep no room for it: switch it off, or build a -thinking recipe"
    expected = "on or off, there is room" if room else "off"
    return Finding("thinking", "a reply", expected, "on" if on else "off", fault if on and not room else "")
