"""Rules of HELMET, which judge a reply without its reasoning, and reward one that lists all that was read."""

from __future__ import annotations

import re
from collections import Counter

from pipeline.metrics.reply import thought
from pipeline.metrics.scorer import Row
from pipeline.metrics.text import f1, normalised


def substring(row: Row, prediction: str) -> float:
    """Score as HELMET's substring exact match: a normalised answer is held by the normalised reply."""
    replies = list(map(normalised, parsed(thought(prediction))))
    return float(any(normalised(str(answer)) in reply for answer in row["answers"] for reply in replies))


def labelled(row: Row, prediction: str) -> float:
    """Score as HELMET's ICL: what follows ``label:`` in its line, or the first line, is the label once normalised."""
    _, given = parsed(thought(prediction), "label:")
    return float(any(normalised(str(answer)) == normalised(given) for answer in row["answers"]))


def token_f1(row: Row, prediction: str) -> float:
    """Score as HELMET's F1: that of the words of the normalised reply and an answer, the best of several."""
    return max(
        _overlap(normalised(reply), normalised(str(answer)))
        for reply in parsed(thought(prediction))
        for answer in row["answers"]
    )


CLOSED = frozenset({"yes", "no", "noanswer"})
"""Normalised texts that HELMET's F1 compares as wholes alone."""


def parsed(reply: str, cue: str = "answer:") -> tuple[str, str]:
    """Return a reply, and the rest of the first line with a cue like ``Answer:`` in it, or else the first line."""
    found = re.search(rf"{cue}(.*)(?:\n|$)", reply, re.IGNORECASE) or re.match(r"(.*)(?:\n|$)", reply)
    line = found[1].strip() if found else ""
    return reply, line[len(cue) :].strip() if line.lower().startswith(cue) else line


def _overlap(reply: str, answer: str) -> float:
    if reply != answer and not CLOSED.isdisjoint((reply, answer)):
        return 0.0
    given, wanted = Counter(reply.split()), Counter(answer.split())
    return f1((given & wanted).total(), wanted.total(), given.total())
