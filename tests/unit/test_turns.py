"""Turns with tool calls become messages and turns again, and what is not as rows have it is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pipeline.turns import call_id, has_calls, messages_of, sent, turns_of

TALK = (
    ("user", "Go."),
    ("call", 'stock {"item": "LBX-4417", "qty": 3}'),
    ("tool", "posted"),
    ("call", 'note {"text": "done: 3"}'),
    ("tool", "kept\n  as 7"),
    ("user", "Well?"),
)


def test_turns_become_messages_and_turns_again() -> None:
    messages = messages_of(TALK)
    assert turns_of(messages) == TALK
    assert [message["role"] for message in messages] == ["user", *["assistant", "tool"] * 2, "user"]
    assert messages[3] == {
        "role": "assistant",
        "content": "",
        "tool_calls": json.dumps(
            [
                {
                    "id": "functions.note:1",
                    "type": "function",
                    "function": {"name": "note", "arguments": '{"text": "done: 3"}'},
                }
            ]
        ),
        "tool_call_id": None,
    }
    assert messages[4]["tool_call_id"] == call_id("note", 1)
    assert has_calls(TALK)


def test_turns_without_calls_have_two_fields() -> None:
    talk = (("user", "Go."), ("assistant", "Gone."), ("user", "Well?"))
    assert not has_calls(talk)
    assert messages_of(talk) == [{"role": role, "content": text} for role, text in talk]
    assert turns_of(messages_of(talk)) == talk
    wider = [{**message, "tool_calls": None, "tool_call_id": None} for message in messages_of(talk)]
    assert turns_of(wider) == talk
    assert sent(wider) == messages_of(talk)


def test_what_is_sent_has_calls_as_lists_and_no_nulls() -> None:
    call, result = sent(messages_of(TALK))[1:3]
    assert call["tool_calls"][0]["function"]["arguments"] == '{"item": "LBX-4417", "qty": 3}'
    assert "tool_call_id" not in call
    assert result == {"role": "tool", "content": "posted", "tool_call_id": "functions.stock:0"}


@pytest.mark.parametrize(
    ("at", "changed"),
    [
        (1, {"content": "I call."}),
        (1, {"tool_calls": json.dumps(2 * json.loads(messages_of(TALK)[1]["tool_calls"]))}),
        (1, {"tool_calls": messages_of(TALK)[3]["tool_calls"]}),
        (1, {"tool_calls": "[]"}),
        (1, {"tool_calls": "{"}),
        (1, {"tool_calls": '[{"function": {"name": 7}}]'}),
        (2, {"tool_call_id": "functions.stock:1"}),
        (2, {"tool_call_id": None}),
        (0, {"tool_call_id": "functions.stock:0"}),
    ],
)
def test_calls_of_another_form_are_refused(at: int, changed: dict[str, Any]) -> None:
    messages = messages_of(TALK)
    messages[at] |= changed
    with pytest.raises(ValueError, match=r"numbered in order|is not a tool call"):
        turns_of(messages)
