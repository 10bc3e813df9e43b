"""What must be true of a prompt of `trace`, judged from the published row alone."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterator, Sequence

from pipeline.tasks.base import PublishedRow
from pipeline.tasks.trace.log import Call, calls_naming, read
from pipeline.tasks.trace.replay import Answers, Asked, asked_of

Marked = tuple[int, int, str]
"""Start, end and role of a marked job."""


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row: marks, codes, unmarked jobs about what is asked, and what is needed."""
    log = read(row.text)
    if len({call.ref for call in log.calls}) != len(log.calls):
        yield "two results have the same code"
    if log.question != row.question:
        yield f"the prompt asks {log.question!r}"
    asked = asked_of(row.question, log.report)
    marked = sorted((start, end, role) for role in ("relevant", "decoy") for start, end in row.spans(role))
    job_of = {id(call): _job_of(start, marked) for call, start in zip(log.calls, log.starts, strict=True)}
    for start, end, _ in marked:
        if not (
            row.prompt[start - 1 : start] == row.prompt[end - 1 : end] == "\n"
            and row.prompt.startswith(("> ", "[user] "), start)
        ):
            yield f"no job is marked at {start}"
    named = calls_naming(log.calls, [*dict.fromkeys([*asked.names, *map(str, row.metadata["latent"]["names"])])])
    for call in named:
        if job_of[id(call)] is None:
            yield f"a job that is not marked is about what is asked: {call.raw[:80]!r}"
    for number in {*range(len(marked))} - {job_of[id(call)] for call in named}:
        yield f"a marked job is about nothing that is asked: {row.prompt[slice(*marked[number][:2])][:80]!r}"
    used = [(call, job_of[id(call)]) for call in asked.select(log.calls)]
    right = _answers(asked, [call for call, _ in used])
    for number, (start, end, role) in enumerate(marked):
        without = _answers(asked, [call for call, job in used if job != number])
        if (without == right) == (role == "relevant"):
            yield f"{row.prompt[start:end][:80]!r} is marked as {role}, but the answer without it is " + (
                "another" if role == "decoy" else "the same"
            )


def _job_of(start: int, marked: Sequence[Marked]) -> int | None:
    """Return the number of the marked job that a call belongs to."""
    number = bisect(marked, start, key=lambda job: job[0]) - 1
    return number if number >= 0 and start < marked[number][1] else None


def _answers(asked: Asked, calls: Sequence[Call]) -> Answers:
    try:
        return asked.solve(calls)
    except (KeyError, ValueError):
        return ()
