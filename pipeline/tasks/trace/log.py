"""Reads a trace from a prompt's text alone: call by call, with the outcome of each, and the question after it.

It shares nothing with the writer of calls and results, and reads only the code and the outcome of a result. If the
question is in another language, it knows none of its words: a blank line precedes the trace, and a line of dashes
follows it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pipeline.tasks.registers import COLON
from pipeline.tasks.solving import LINES, PROMPT, ReadError, Span

START, END, REPORT = "\nTrace:\n", "This is the end of the trace.", "\nReport:\n"
ASKS = re.compile(r"\nQuestion: (.+)\nAnswer:\Z", re.DOTALL)
ASKS_IN_LANGUAGE = re.compile(rf"\n[^\n:\uff1a]+?{COLON}([^\n]+)\Z")
CODE = re.compile(r"\b[bcdfghj-np-tv-z][2-9][bcdfghj-np-tv-z][2-9][bcdfghj-np-tv-z]\b")
FAILED = re.compile(r'"error"|\berror[:=]|=error\b|\bERROR \w|\bError \d|HTTP/1\.1 [45]|"status": [45]\d\d|<fault ')
NOT_DONE = re.compile(r"\bdry-run\b|\bwould_|\bstaged\b", re.IGNORECASE)
DONE = re.compile(
    r"\b(?:posted|assigned|reverted|restored|saved|copied|completed|committed|booked|kept|sent)\b", re.IGNORECASE
)
CHANGING = {
    "stock": ("receive", "return", "issue", "scrap"),
    "tickets": ("assign",),
    "undo": ("undo", "redo"),
    "commit": ("",),
    "settings": ("set", "copy"),
    "hosts": ("reinstall", "rollback"),
    "bookings": ("book",),
    "mail": ("send",),
    "note": ("",),
}
"""The calls that change something, by tool."""


class Call(NamedTuple):
    """A call as read: tool, arguments, result, the result's code, and whether it did what it asked.

    `staged` is the batch that it waits in; `before` is what the user says before it.
    """

    tool: str
    args: Mapping[str, Any]
    result: str
    ref: str
    done: bool
    staged: str
    before: str
    raw: str

    @property
    def action(self) -> str:
        """What the tool was asked to do."""
        return str(self.args.get("action", ""))


@dataclass(frozen=True, slots=True)
class Log:
    """All calls of a prompt, where each starts, the question, and the lines of a report, if any."""

    calls: Sequence[Call]
    starts: Sequence[int]
    question: str
    report: Sequence[str]


def body_of(text: str) -> Span:
    """Return the span of the trace in a prompt, whatever language it is asked in."""
    if START in text:
        return text.find(START) + len(START), text.rfind(END)
    return text.find("\n\n") + 2, text.rfind("\n--- ") + 1


@PROMPT.cached
def read(text: str) -> Log:
    """Read a prompt."""
    start, end = body_of(text)
    asked = ASKS.search(text, max(0, text.rfind("\nQuestion: ")))
    asked = asked or ASKS_IN_LANGUAGE.search(text, max(0, text.rfind("\n")))
    if not 2 <= start < end or not asked:
        raise ReadError("the prompt does not hold a trace and a question behind it")
    marked = f"\n{text[start : end - 1]}".replace("\n> ", "\n\0> ").replace("\n[user] ", "\n\0[user] ")
    before, chunks, starts, at = "", list[str](), list[int](), start
    for chunk in marked.split("\n\0")[1:]:
        if chunk.startswith("[user] ") and not before:
            before = f"{chunk}\n"
            continue
        chunks.append(before + chunk)
        starts.append(at)
        at += len(before) + len(chunk) + 1
        before = ""
    if before or not chunks or not marked.startswith("\n\0"):
        raise ReadError("the trace does not consist of calls with their results")
    report = text[end : text.rfind("\nQuestion: ")].partition(REPORT)[2]
    return Log(_calls(chunks), starts, asked[1], report.strip().split("\n") if report else [])


@LINES.cached_map
def _calls(chunk: str) -> Call:
    """Return a call from its text, with what the user says before it."""
    user_line, _, call = chunk.partition("\n") if chunk.startswith("[user] ") else ("", "", chunk)
    head, mark, result = call.partition("\n< ")
    tool, _, args_text = head.removeprefix("> ").partition(" ")
    if not (mark and head.startswith("> ")) or any(not line.startswith("  ") for line in result.split("\n")[1:]):
        raise ReadError(f"no call with its result: {chunk[:80]!r}")
    codes = CODE.findall(result)
    if len(codes) != 1:
        raise ReadError(f"a result has the codes {codes}")
    args = json.loads(args_text)
    if [*args] != sorted(args) or json.dumps(args) != args_text:
        raise ReadError(f"arguments are not in order: {args_text!r}")
    done, staged = True, ""
    if args.get("action", "") in CHANGING.get(tool, ()):
        failed, left = FAILED.search(result), NOT_DONE.search(result)
        done = not failed and not left
        if done and not DONE.search(result):
            raise ReadError(f"what came of a call cannot be read: {result!r}")
        if left and not failed and args.get("mode") == "stage":
            staged = str(args["batch"])
    return Call(tool, args, result, codes[0], done, staged, user_line.removeprefix("[user] "), chunk)


def calls_naming(calls: Sequence[Call], names: Sequence[str]) -> list[Call]:
    """Return the calls that name some things, and those that undo one of these or commit its batch."""
    named = re.compile(rf"(?<![\w-])(?:{'|'.join(map(re.escape, names))})(?![\w-])")
    places = {at for at, call in enumerate(calls) if any(name in call.raw for name in names) and named.search(call.raw)}
    marks = {calls[at].ref for at in places} | {calls[at].staged for at in places}
    places |= {
        at
        for at, call in enumerate(calls)
        if call.tool in ("undo", "commit") and (call.args.get("target") or call.args.get("batch")) in marks
    }
    return [calls[at] for at in sorted(places)]
