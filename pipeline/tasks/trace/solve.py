"""Reads a trace call by call from a prompt's text alone, and answers the question behind it.

What calls amount to is worked out here by code of its own: nothing is shared with the simulator of `desk`, nor with
what writes results, of which only the code and the outcome are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from pipeline.tasks.base import Published
from pipeline.tasks.solving import LINES, PROMPT, ReadError

START, END = "\nTrace:\n", "This is the end of the trace."
ASKS = re.compile(r"\nQuestion: (.+)\nAnswer:\Z", re.DOTALL)
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
    """A call as read: the tool, its arguments and its result, the code of that, and whether it did what it asked.

    `staged` is the batch that it waits in; `user` is what the user says behind the result.
    """

    tool: str
    args: Mapping[str, Any]
    result: str
    ref: str
    done: bool
    staged: str
    user: str
    raw: str

    @property
    def action(self) -> str:
        """What the tool was asked to do."""
        return str(self.args.get("action", ""))


@dataclass(frozen=True, slots=True)
class Log:
    """All calls of a prompt, where each starts, and the question."""

    calls: Sequence[Call]
    starts: Sequence[int]
    opening: str
    question: str


@PROMPT.of
def read(text: str) -> Log:
    """Read a prompt."""
    start, end = text.find(START) + len(START), text.rfind(END)
    asked = ASKS.search(text, max(0, text.rfind("\nQuestion: ")))
    if not len(START) <= start < end or not asked:
        raise ReadError("the prompt does not hold a trace and a question behind it")
    opening, *chunks = f"\n{text[start : end - 1]}".split("\n> ")
    if not chunks or not (opening == "" or opening.startswith("\n[user] ")):
        raise ReadError("the trace does not begin with a call, or with what the user says")
    starts = [*accumulate((len(chunk) + 3 for chunk in chunks), initial=start + len(opening))]
    return Log(_calls(chunks), starts[:-1], opening, asked[1])


@LINES.of_each
def _calls(chunk: str) -> Call:
    """Return a call from its text behind the mark."""
    head, mark, rest = chunk.partition("\n< ")
    tool, _, told = head.partition(" ")
    result, _, user = rest.partition("\n[user] ")
    if not mark or "\n" in head or any(not line.startswith("  ") for line in result.split("\n")[1:]) or "\n" in user:
        raise ReadError(f"no call with its result: {chunk[:80]!r}")
    codes = CODE.findall(result)
    if len(codes) != 1:
        raise ReadError(f"a result has the codes {codes}")
    args = json.loads(told)
    if [*args] != sorted(args) or json.dumps(args) != told:
        raise ReadError(f"arguments are not in order: {told!r}")
    done, staged = True, ""
    if args.get("action", "") in CHANGING.get(tool, ()):
        failed, left = FAILED.search(result), NOT_DONE.search(result)
        done = not failed and not left
        if done and not DONE.search(result):
            raise ReadError(f"what came of a call cannot be read: {result!r}")
        if left and not failed and args.get("mode") == "stage":
            staged = str(args["batch"])
    return Call(tool, args, result, codes[0], done, staged, user, chunk)


def about(calls: Sequence[Call], names: Sequence[str]) -> list[Call]:
    """Return the calls that name some things, and those that undo or commit one of them."""
    named = re.compile("|".join(rf"{re.escape(name)}(?![\w-])" for name in names))
    found = {at for at, call in enumerate(calls) if any(name in call.raw for name in names) and named.search(call.raw)}
    marks = {calls[at].ref for at in found} | {calls[at].staged for at in found}
    found |= {
        at
        for at, call in enumerate(calls)
        if call.tool in ("undo", "commit") and (call.args.get("target") or call.args.get("batch")) in marks
    }
    return [calls[at] for at in sorted(found)]


def answers(text: str) -> tuple[str, ...]:
    """Return the accepted answers to the question of a prompt."""
    log = read(text)
    solver, names = solver_of(log.question)
    return solver(about(log.calls, names))


Solver = Callable[[Sequence[Call]], tuple[str, ...]]


def solver_of(question: str) -> tuple[Solver, Sequence[str]]:
    """Return what answers a question from the calls about some things, and the names of those."""
    for pattern, solver in ASKED.items():
        if found := pattern.fullmatch(question):
            return solver(found)
    raise ReadError(f"no question of a trace: {question!r}")


OPENING = re.compile(r"opening_qty\W+(\d+)|OPENING_QTY\n.* (\d+)\n")


def _amount(found: re.Match[str]) -> tuple[Solver, Sequence[str]]:
    item = found["item"]

    def solve(calls: Sequence[Call]) -> tuple[str, ...]:
        opening, changes = list[int](), dict[str, int]()
        waiting = dict[str, dict[str, int]]()
        for call in calls:
            if call.tool == "stock" and call.args["item"] == item:
                if call.action == "record":
                    told = OPENING.search(call.result)
                    opening += [int(told[1] or told[2])] if told else []
                    continue
                change = int(call.args["qty"]) * (1 if call.action in ("receive", "return") else -1)
                if call.done:
                    changes[call.ref] = change
                elif call.staged:
                    waiting.setdefault(call.staged, {})[call.ref] = change
            elif call.tool == "commit" and call.done:
                changes |= waiting.pop(_known(call.args["batch"], waiting))
            elif call.tool == "undo" and call.done:
                changes.pop(_known(call.args["target"], changes))
        if len({*opening}) != 1:
            raise ReadError(f"the opening amount of {item} is told as {opening}")
        return (str(opening[0] + sum(changes.values())),)

    return solve, [item]


def _known(name: str, known: Mapping[str, object]) -> str:
    if name not in known:
        raise ReadError(f"{name} is undone or committed, but nothing has that name")
    return name


def _holder(found: re.Match[str]) -> tuple[Solver, Sequence[str]]:
    ticket = found["ticket"]

    def solve(calls: Sequence[Call]) -> tuple[str, ...]:
        given, top, height = list[str](), 0, 0
        for call in calls:
            if not call.done or call.args.get("action") not in ("assign", "undo", "redo"):
                continue
            if call.action == "assign":
                given[height:] = [str(call.args["to"])]
                height = top = height + 1
            else:
                height += 1 if call.action == "redo" else -1
            if not 0 <= height <= top:
                raise ReadError(f"there is nothing to {call.action} of {ticket}")
        if not height:
            raise ReadError(f"{ticket} is with nobody")
        return (given[height - 1],)

    return solve, [ticket]


ASKED: Mapping[re.Pattern[str], Callable[[re.Match[str]], tuple[Solver, Sequence[str]]]] = {
    re.compile(
        r"(?:How many of|What is the amount of) (?P<item>[A-Z]{3}-\d{4}) "
        r"(?:are there after everything in|at the end of) the trace\?"
    ): _amount,
    re.compile(
        r"(?:With whom|Whose) is ticket (?P<ticket>TK-\d{5}) (?:after everything in|at the end of) the trace\?"
    ): _holder,
}


def faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row: marks, codes, what else names things that are asked about, and what is needed."""
    log = read(row.text)
    if len({call.ref for call in log.calls}) != len(log.calls):
        yield "two results have the same code"
    if log.question != row.question:
        yield f"the prompt asks {log.question!r}"
    solver, asked = solver_of(row.question)
    names = [*dict.fromkeys([*asked, *map(str, row.metadata["latent"]["names"])])]
    named, place = about(log.calls, names), dict(zip(map(id, log.calls), log.starts, strict=True))
    spans = sorted((start, end, role) for role in ("relevant", "decoy") for start, end in row.spans(role))
    owner = [_span_of(place[id(call)], spans) for call in named]
    if None in owner:
        yield f"a job that is not marked is about what is asked: {named[owner.index(None)].raw[:80]!r}"
    for start, end, _ in spans:
        if (
            row.prompt[start - 1] != "\n"
            or row.prompt[end - 1] != "\n"
            or not row.prompt.startswith(("> ", "[user] "), start)
        ):
            yield f"no job is marked at {start}"
    used = [(call, _span_of(place[id(call)], spans)) for call in about(named, asked)]
    right = _told(solver, [call for call, _ in used])
    for number, (start, end, role) in enumerate(spans):
        if number not in owner:
            yield f"a marked job is about nothing that is asked: {row.prompt[start:end][:80]!r}"
            continue
        left = _told(solver, [call for call, own in used if own != number])
        if (left == right) == (role == "relevant"):
            yield f"{row.prompt[start:end][:80]!r} is marked as {role}, but the answer without it is " + (
                "another" if role == "decoy" else "the same"
            )


def _span_of(start: int, spans: Sequence[tuple[int, int, str]]) -> int | None:
    """Return the number of the marked job that a call stands in."""
    return next((number for number, (first, end, _) in enumerate(spans) if first <= start < end), None)


def _told(solver: Solver, calls: Sequence[Call]) -> tuple[str, ...]:
    try:
        return solver(calls)
    except ReadError:
        return ()
