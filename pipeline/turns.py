"""The turns of a conversation, including tool calls and their results, and the messages that are sent for them.

A turn is a role and a text. Roles are ``system``, ``user``, ``assistant``, ``call`` for a tool call (the tool's name, a
space and its arguments as JSON), and ``tool`` for its result. As in OpenAI's API, a call is an assistant message
without content, followed by a message with its result.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Turn = tuple[str, str]
Message = dict[str, Any]
CALL, RESULT = "call", "tool"


def has_calls(turns: Iterable[Turn]) -> bool:
    """Return whether a conversation contains tool calls."""
    return any(role in (CALL, RESULT) for role, _ in turns)


def call_id(name: str, number: int) -> str:
    """Return the id of a call as Kimi K2 numbers calls: its templates send ids, or make them from the calls' order.

    >>> call_id("note", 7)
    'functions.note:7'
    """
    return f"functions.{name}:{number}"


def messages_of(turns: Sequence[Turn]) -> list[Message]:
    """Return turns as a row's messages; if any is a call, each has ``tool_calls`` (JSON) and ``tool_call_id``."""
    if not has_calls(turns):
        return [{"role": role, "content": text} for role, text in turns]
    messages, calls, called = list[Message](), 0, ""
    for role, text in turns:
        message: Message = {"role": role, "content": text, "tool_calls": None, "tool_call_id": None}
        if role == CALL:
            name, _, arguments = text.partition(" ")
            called, calls = call_id(name, calls), calls + 1
            call = {"id": called, "type": "function", "function": {"name": name, "arguments": arguments}}
            message |= {"role": "assistant", "content": "", "tool_calls": json.dumps([call])}
        elif role == RESULT:
            message["tool_call_id"] = called
        messages.append(message)
    return messages


def turns_of(messages: Sequence[Mapping[str, Any]]) -> tuple[Turn, ...]:
    """Return the turns of a row's messages.

    Raises:
        ValueError: if calls are not written as by `messages_of`.
    """
    turns, with_calls = list[Turn](), False
    for message in messages:
        role, text = message["role"], message["content"]
        if called := message.get("tool_calls"):
            role, text = CALL, _call_text(called)
        with_calls = with_calls or role in (CALL, RESULT)
        turns.append((role, text))
    if with_calls and messages_of(turns) != [{**message} for message in messages]:
        raise ValueError("its tool calls are not one a message with a result behind each, numbered in order")
    return tuple(turns)


def _call_text(called: str) -> str:
    try:
        return " ".join(json.loads(called)[0]["function"][name] for name in ("name", "arguments"))
    except (LookupError, TypeError, ValueError, RecursionError):
        raise ValueError(f"{called[:80]!r} is not a tool call") from None


def tools_of(metadata: str) -> str:
    """Return the tools that a row with this metadata declares, as JSON; "" if it declares none."""
    return str(json.loads(metadata).get("tools", ""))


def declared(metadata: str) -> dict[str, Any]:
    """Return the fields of a request that declare a row's tools to the model; it is to call none of them."""
    tools = tools_of(metadata)
    return {"tools": json.loads(tools), "tool_choice": "none"} if tools else {}


def sent(messages: Sequence[Mapping[str, Any]]) -> list[Message]:
    """Return a row's messages as they are sent: with calls as lists, and without nulls."""
    return [
        {
            name: json.loads(value) if name == "tool_calls" else value
            for name, value in message.items()
            if value is not None
        }
        for message in messages
    ]
