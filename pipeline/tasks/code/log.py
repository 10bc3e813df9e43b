"""Reads the log of a repository from a prompt's text alone, and answers by replaying its commits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.code.reading import ASKS
from pipeline.tasks.solving import LINES, PROMPT, ReadError, count_words

COMMITS, END = "\nCommits:\n", "This is the end of the log."
COMMIT = re.compile(r"commit ([0-9a-f]{10})\nAuthor: [^\n]+\n\n((?:    [^\n]+\n|\n)+)--- a/(\S+)\n\+\+\+ b/(\S+)\n")
HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")
REVERTS = re.compile(r"    This reverts commit ([0-9a-f]{10})\.\n")
SETS = re.compile(r"^-([A-Z_]+) = (\d+)\n\+\1 = (\d+)$", re.MULTILINE)
ASKED = re.compile(r"Which commit gave ([A-Z_]+) in (\S+) the value that it has at the end of the log\?")


class Commit(NamedTuple):
    """A commit as read: its code, the commit it reverts, and the change of a constant in a file, each if any."""

    code: str
    reverts: str
    path: str
    name: str
    old: str
    new: str
    text: str


@dataclass(frozen=True, slots=True)
class Log:
    """All commits of a prompt in order, their starts, and the question."""

    commits: Sequence[Commit]
    starts: Sequence[int]
    question: str


@PROMPT.cached
def read_log(text: str) -> Log:
    """Read a prompt.

    Raises:
        ReadError: if it does not contain commits followed by a question.
    """
    start, end = text.find(COMMITS) + len(COMMITS), text.rfind(f"\n{END}") + 1
    asked = ASKS.search(text, max(0, text.rfind("\nQuestion: ")))
    if not len(COMMITS) <= start < end or not asked or not text.startswith("commit ", start):
        raise ReadError("the prompt does not hold commits and a question behind them")
    chunks = [f"commit {chunk}" for chunk in f"\n{text[start:end]}".split("\ncommit ")[1:]]
    chunks = [*(f"{chunk}\n" for chunk in chunks[:-1]), *chunks[-1:]]
    starts = [start]
    for chunk in chunks[:-1]:
        starts.append(starts[-1] + len(chunk))
    return Log(_commits(chunks), starts, asked[1])


def read_commit(text: str) -> Commit:
    """Read one commit.

    Raises:
        ReadError: if it is not a commit of this form, or the line numbers of its hunk are wrong.
    """
    head = COMMIT.match(text)
    hunk = HUNK.match(text, head.end()) if head else None
    if not head or not hunk or head[3] != head[4]:
        raise ReadError(f"no commit: {text[:80]!r}")
    lines = text[hunk.end() :].split("\n")[:-1]
    old, new = (sum(line[0] in f" {mark}" for line in lines) for mark in "-+")
    if (str(old), str(new)) != (hunk[2] or "1", hunk[4] or "1") or any(line[0] not in " +-" for line in lines):
        raise ReadError(f"the hunk of commit {head[1]} has {old} and {new} lines")
    sets = SETS.findall(text, hunk.end())
    if len(sets) > 1:
        raise ReadError(f"commit {head[1]} sets several constants")
    name, was, now = sets[0] if sets else ("", "", "")
    reverts = REVERTS.search(head[2])
    return Commit(head[1], reverts[1] if reverts else "", head[3], name, was, now, text)


_commits = LINES.cached_map(read_commit)


def answers(log: Log, left_out: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the commit whose change of a constant is in effect at the end; some commits may be left out.

    Raises:
        ReadError: if there is none, or a commit reverts one that is not in effect.
    """
    asked = ASKED.fullmatch(log.question)
    if not asked:
        raise ReadError(f"no question about a constant: {log.question!r}")
    own = [one for one in log.commits if (one.name, one.path) == asked.groups() and one.code not in left_out]
    return (commits_in_effect(own)[-1],)


def commits_in_effect(commits: Sequence[Commit]) -> Sequence[str]:
    """Return the stack of commits in effect after all commits about a constant, the last one on top.

    A revert of the top commit removes it; a revert of that revert restores it.
    """
    found, gone, back = list[str](), dict[str, str](), dict[str, str]()
    for commit in commits:
        target = back.get(commit.reverts, commit.reverts)
        if not commit.reverts:
            found.append(commit.code)
        elif found and found[-1] == target:
            gone[commit.code] = found.pop()
        elif target in gone:
            back[commit.code] = gone.pop(target)
            found.append(back[commit.code])
        else:
            raise ReadError(f"commit {commit.code} reverts {commit.reverts}, which does not stand")
    if not found:
        raise ReadError("no commit stands")
    return found


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row: its question, duplicate codes, inconsistent values, and wrong marks."""
    log = read_log(row.text)
    if log.question != row.question:
        yield f"the prompt asks {log.question!r}"
    if len({one.code for one in log.commits}) != len(log.commits):
        yield "two commits have the same code"
    values = dict[tuple[str, str], str]()
    for one in log.commits:
        if one.name and values.get((one.path, one.name), one.old) != one.old:
            yield f"commit {one.code} changes {one.name} from {one.old}, which it is not"
        if one.name:
            values[one.path, one.name] = one.new
    right, name = answers(log), (ASKED.fullmatch(log.question) or [""])[1]
    at, marked = dict(zip(log.starts, log.commits, strict=True)), set[str]()
    for role in ("relevant", "decoy"):
        for start, end in row.spans(role):
            some = [one for place, one in at.items() if start <= place < end]
            if "".join(one.text for one in some) != row.prompt[start:end]:
                yield f"no commit is marked at {start}"
            codes = frozenset(one.code for one in some)
            marked |= codes
            try:
                without = answers(log, codes)
            except ReadError:
                without = ()
            if (without == right) == (role == "relevant"):
                yield f"{sorted(codes)} are marked as {role}, but the answer without them is " + (
                    "another" if role == "decoy" else "the same"
                )
    for one in log.commits:
        if count_words(name, one.text) and one.code not in marked:
            yield f"commit {one.code} is not marked, but names {name}"
