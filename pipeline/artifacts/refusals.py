"""What servers send when they refuse a request, such as one that does not fit, and why replies end."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

CUT = frozenset({"length", "max_tokens", "max_length"})
"""Finish reasons of a reply that was cut at its token limit."""
FULL = frozenset(
    {"model_length", "model_context_window_exceeded", "context_length_exceeded", "exceed_context_size_error"}
)
"""Finish reasons and error codes for a request that does not fit the model's window."""
HELD = frozenset({"content_filter", "refusal", "safety"})
"""Finish reasons of a reply that was filtered or refused."""
LONGEST_MESSAGE = 200
"""Characters of a server's message that are kept."""

FITS_NOT = re.compile(
    r"context[ _-]?(?:length|window|size|limit)"
    r"|(?:prompt|input|request|messages?|entity|payload)\b.{0,60}?\b(?:too (?:long|large)|too many tokens)"
    r"|too (?:long|large) for (?:the |this |requested )*model|request_too_large"
    r"|longer than the (?:model|maximum)|maximum (?:model|context|input|prompt|sequence|allowed) length|max_model_len"
    r"|(?:input|prompt|token count|tokens?)\b.{0,80}?\bexceeds?\b.{0,60}?\b(?:maximum|length|tokens|limit)"
    r"|`inputs`.{0,60}?must (?:be <=|have less than)|maximum allowed number of bytes"
    r"|too many tokens|reduce the length of the (?:messages|prompt|input)",
    re.IGNORECASE | re.DOTALL,
)
"""Messages of vLLM, OpenAI, llama.cpp, TGI, SGLang, Anthropic, TensorRT-LLM, Gemini, Mistral and others."""
RATE = re.compile(r"\brate[ _-]?limit|per (?:minute|min|day|hour)\b|quota", re.IGNORECASE)
"""Words of a rate limit, which passes with time, whatever else the message says."""
NEVER = re.compile(r"\brequest too large\b", re.IGNORECASE)
"""Words for a request that by itself exceeds a rate limit, so that it will never be answered."""
FORBIDDEN = re.compile(r"\bcontent[ _-]?(?:filter|policy|management)|\binvalid_prompt\b|\busage policy", re.IGNORECASE)


def is_final(status: int, words: str) -> bool:
    """Return whether asking again is useless, because a request does not fit or is not allowed.

    Args:
        status: HTTP status; 0 if it is not known.
        words: the error message, with its code and type.
    """
    if status == 413 or NEVER.search(words):
        return True
    if status in (401, 403, 404, 408, 409, 425, 429, 502, 503, 504) or RATE.search(words):
        return False
    return bool(FITS_NOT.search(words) or FORBIDDEN.search(words))


def error_words(raw: str) -> tuple[str, str]:
    """Return the message of a server's error in one line, and the same with code and type; "" if the form is unknown.

    Forms: ``{"error": {"message", "code", "type"}}`` (OpenAI, llama.cpp, Anthropic, vLLM), ``{"error": "words"}`` (TGI,
    Ollama), ``{"message", "code", "type"}`` (vLLM before 0.11, SGLang, Mistral), ``{"detail": ...}``, a list of one.
    """
    try:
        body = json.loads(raw)
    except (ValueError, RecursionError):
        return "", ""
    body = body[0] if isinstance(body, list) and body else body
    if not isinstance(body, Mapping):
        return "", ""
    error = next((body[name] for name in ("error", "message", "detail") if body.get(name)), None)
    source = error if isinstance(error, Mapping) else body
    words = error.get("message") or error.get("code") if isinstance(error, Mapping) else error
    if not words:
        return "", ""
    more = [str(source[name]) for name in ("code", "type", "error_type") if isinstance(source.get(name), str | int)]
    return _line(words), " ".join([_line(words), *more])


def _line(words: Any) -> str:
    """Return a message as one line, shortened."""
    text = words if isinstance(words, str) else json.dumps(words)
    return " ".join(text.split())[:LONGEST_MESSAGE]
