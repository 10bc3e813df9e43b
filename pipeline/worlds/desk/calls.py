"""Calls and their results: requests to a tool, and the forms in which they are done, refused, tried or staged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import NamedTuple

from pipeline.worlds.desk.lexicon import Refs, SentenceWriter

Field = tuple[str, str | int]
INDENT = "\n  "
DEBUG = 14
"""Debug lines that a verbose tool adds to each result: some 500 tokens."""


@dataclass(frozen=True, slots=True)
class Act:
    """What a call asks, with all that its result can say; `word` is the status once it is done.

    `fields` are shown as data; `summary` is the same as a clause, and `request` describes what was asked.
    """

    tool: str
    args: Mapping[str, str | int]
    word: str
    fields: Sequence[Field]
    summary: str
    request: str
    subject: str

    def with_args(self, args: Mapping[str, str | int]) -> Act:
        """Return the same act with other arguments."""
        return replace(self, args=args)


@dataclass(frozen=True, slots=True)
class Pair:
    """A call and its result as text, the code of the result, and whether the call did what it asked."""

    text: str
    ref: str
    done: bool


def call_line(tool: str, args: Mapping[str, str | int]) -> str:
    """Return a call as prompts have it: flat arguments in alphabetical order."""
    return f"> {tool} {json.dumps(dict(sorted(args.items())))}\n"


def result_lines(text: str) -> str:
    """Return a result as prompts have it: further lines are indented."""
    return f"< {INDENT.join(text.splitlines())}\n"


class CallWriter:
    """Writes pairs: draws the form of each result, and gives it its own code.

    `batches` are the names of batches that a row has drawn; all writers of a row share them, like `refs`.
    """

    def __init__(
        self, sentences: SentenceWriter, refs: Refs, batches: set[str] | None = None, *, verbose: bool = False
    ) -> None:
        self.sentences, self.rng, self.refs, self._verbose = sentences, sentences.rng, refs, verbose
        self.batches = set[str]() if batches is None else batches

    def _pair(self, tool: str, args: Mapping[str, str | int], result: str, ref: str, *, done: bool) -> Pair:
        if self._verbose:
            lines = [f"+{at * 7 + self.rng.randrange(7):03}ms {self.sentences.pick('debug')}" for at in range(DEBUG)]
            result = "\n".join([result, "-- debug --", *lines])
        return Pair(call_line(tool, args) + result_lines(result), ref, done)

    def _form(self, tool: str) -> Form:
        """Return one of the forms in which a tool of the firm answers: which one has nothing to do with the call."""
        return FORMS[self.sentences.form(tool, len(FORMS))]

    def read(self, tool: str, args: Mapping[str, str | int], result: Callable[[str], str]) -> Pair:
        """Return a call that reads something, with the result that `result` writes for a code."""
        ref = self.refs.new()
        return self._pair(tool, args, result(ref), ref, done=True)

    def done(self, act: Act) -> Pair:
        """Return a call that did what it asked."""
        ref = self.refs.new()
        text = self._form(act.tool).done(self.rng, ref, act.word, act.fields, act.summary)
        return self._pair(act.tool, act.args, text, ref, done=True)

    def failed(self, act: Act, kind: str = "", *, retried: bool = False) -> Pair:
        """Return a call that changed nothing because of some kind of error: one that may pass if it is `retried`."""
        ref, rng = self.refs.new(), self.rng
        kind = kind or rng.choice(PASSING if retried or act.tool == "undo" else KINDS)
        status, title, wordings = ERRORS[kind]
        words = self.sentences.fill(rng.choice(wordings))
        message = words.replace("<subject>", act.subject).replace("<request>", act.request)
        text = self._form(act.tool).failed(ref, kind, status, title, message)
        return self._pair(act.tool, act.args, text, ref, done=False)

    def tried(self, act: Act) -> Pair:
        """Return a dry run: the result says what would have been done."""
        ref = self.refs.new()
        fields = [(f"would_{name}" if isinstance(value, int) else name, value) for name, value in act.fields]
        summary = f"would be {act.word}: {act.summary}"
        text = self._form(act.tool).done(self.rng, ref, "dry-run", fields, summary)
        return self._pair(act.tool, {**act.args, "mode": "dry-run"}, text, ref, done=False)

    def staged(self, act: Act, batch: str) -> Pair:
        """Return a call that is put into a batch, and changes nothing until the batch is committed."""
        ref = self.refs.new()
        summary = f"in {batch} until commit: {act.summary}"
        fields = [*act.fields, ("batch", batch)]
        text = self._form(act.tool).done(self.rng, ref, "staged", fields, summary)
        return self._pair(act.tool, {**act.args, "batch": batch, "mode": "stage"}, text, ref, done=False)


def _one_line(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    return json.dumps({"ref": ref, "status": word, **dict(fields)})


def _nested(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    return json.dumps({"status": word, "data": dict(fields), "meta": {"ms": rng.randrange(12, 900), "ref": ref}})


def _pretty(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    return json.dumps({"ref": ref, "status": word, **dict(fields)}, indent=1)


def _pairs(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    pairs = " ".join(f"{name}={json.dumps(value) if ' ' in str(value) else value}" for name, value in fields)
    return f"ref={ref} status={word} {pairs}"


def _bracketed(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    return f"[{ref}] 200 {word}: {summary}"


def _yaml(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    return "\n".join([f"ref: {ref}", f"status: {word}", *(f"{name}: {value}" for name, value in fields)])


def _expanded(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    wide = max(len(name) for name, _ in fields)
    return "\n".join([f"-[ {ref} {word} ]{'-' * (wide + 2)}", *(f"{name:<{wide}} | {value}" for name, value in fields)])


def _spoken(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    return f"{word[0].upper()}{word[1:]}: {summary}. Ref {ref}."


def _xml(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    tags = "".join(f"<{name}>{value}</{name}>" for name, value in fields)
    return f'<response ref="{ref}" status="{word}">{tags}</response>'


def _logged(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    return f"INFO deskd {ref} {word} | {summary}"


def _http(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    body = json.dumps({"status": word, **dict(fields)})
    return _response("200 OK", ref, body)


def _response(status: str, ref: str, body: str) -> str:
    """Return a response as ``curl -i`` prints it."""
    return f"HTTP/1.1 {status}\nX-Request-Ref: {ref}\nContent-Length: {len(body)}\n\n{body}"


def _terminal(rng: Random, ref: str, word: str, fields: Sequence[Field], summary: str) -> str:
    return f"{word} ({ref})\n" + "\n".join(f"- {name}: {value}" for name, value in fields)


NUMBER = re.compile(r"[\d.]+[G%]?")


def aligned(head: Sequence[Sequence[str]], rows: Sequence[Sequence[str | int]]) -> str:
    """Return a table with aligned columns, numbers, sizes and percentages to the right.

    >>> print(aligned([("ITEM", "QTY")], [("a", 5), ("bcdefg", 12)]))
    ITEM    QTY
    a         5
    bcdefg   12
    """
    cells = [[*map(str, row)] for row in (*head, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    right = [all(NUMBER.fullmatch(str(value)) for value in column) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if numeric else cell.ljust(width)
            for cell, width, numeric in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in cells
    )


ERRORS: Mapping[str, tuple[int, str, Sequence[str]]] = {
    "locked": (423, "Locked", ("<subject> is locked by {login} until {time}; <request> not carried out",)),
    "timeout": (504, "Gateway Timeout", ("no answer within {n2} s; <request> was rolled back",)),
    "not_found": (404, "Not Found", ("work order {n5} not found; <request> not carried out",)),
    "reset": (502, "Bad Gateway", ("connection reset after {n2} s; <request> was rolled back",)),
    "rate_limited": (429, "Too Many Requests", ("retry after {n2} s; <request> dropped",)),
    "conflict": (409, "Conflict", ("revision {hex} expected, {hex} found on <subject>; <request> not carried out",)),
    "invalid": (422, "Unprocessable Entity", ("form {n4} is missing for <subject>; <request> rejected",)),
    "unavailable": (503, "Service Unavailable", ("upstream {stem}-{d} is down; <request> not carried out",)),
    "maintenance": (503, "Service Unavailable", ("maintenance window until {time}; <request> not carried out",)),
    "expired": (401, "Unauthorized", ("the token of this call expired; <request> not carried out",)),
    "read_only": (403, "Forbidden", ("replica {n2} is read-only; <request> refused",)),
    "checksum": (412, "Precondition Failed", ("checksum {hex} does not match; <request> rolled back",)),
    "disk_full": (507, "Insufficient Storage", ("no space left on volume {n2}; <request> rolled back",)),
    "approval": (403, "Forbidden", ("{person} has to approve it first; <request> refused",)),
}
"""Kinds of errors: status, title, and what the message says."""
KINDS = tuple(ERRORS)
PASSING = ("timeout", "reset", "rate_limited", "unavailable")
"""Errors after which the same call may work at once: none of them lasts until a time that it tells."""


def _error_object(ref: str, kind: str, status: int, title: str, message: str) -> str:
    return json.dumps({"error": {"code": kind, "message": message}, "ref": ref})


def _problem(ref: str, kind: str, status: int, title: str, message: str) -> str:
    return json.dumps({"ref": ref, "status": status, "title": title, "detail": message}, indent=1)


def _http_error(ref: str, kind: str, status: int, title: str, message: str) -> str:
    return _response(f"{status} {title}", ref, message)


def _stderr(ref: str, kind: str, status: int, title: str, message: str) -> str:
    return f"error: {message} [{ref}]"


def _error_pairs(ref: str, kind: str, status: int, title: str, message: str) -> str:
    return f'ref={ref} level=error code={kind} msg="{message}"'


def _error_yaml(ref: str, kind: str, status: int, title: str, message: str) -> str:
    return f"ref: {ref}\nerror: {kind}\ndetail: {message}"


def _error_log(ref: str, kind: str, status: int, title: str, message: str) -> str:
    return f"ERROR deskd {ref} {status} {title} | {message}"


def _fault(ref: str, kind: str, status: int, title: str, message: str) -> str:
    return f'<fault ref="{ref}" status="{status}"><reason>{message}</reason></fault>'


def _spoken_error(ref: str, kind: str, status: int, title: str, message: str) -> str:
    return f"Error {status}, {title.lower()}: {message}. Ref {ref}."


class Form(NamedTuple):
    """How a tool answers: when it did something, or would, and when it failed."""

    done: Callable[[Random, str, str, Sequence[Field], str], str]
    failed: Callable[[str, str, int, str, str], str]


FORMS = (
    *(Form(_one_line, _error_object), Form(_nested, _error_object), Form(_pretty, _problem)),
    *(Form(_pairs, _error_pairs), Form(_bracketed, _stderr), Form(_yaml, _error_yaml), Form(_expanded, _stderr)),
    *(Form(_spoken, _spoken_error), Form(_xml, _fault), Form(_logged, _error_log), Form(_http, _http_error)),
    Form(_terminal, _stderr),
)
