"""Published rules: Michelangelo's for long texts, and HELMET's, which reward a reply that lists everything."""

from __future__ import annotations

import re
from collections import Counter
from difflib import SequenceMatcher

from pipeline.metrics.reply import without_reasoning
from pipeline.metrics.scorer import Row, Scorer
from pipeline.metrics.text import f1, normalised

FURTHER_TURN = "\nUser:"


def mrcr(
    row: Row, prediction: str, *, anywhere: bool = True, autojunk: bool = True, published: bool = False
) -> float | None:
    """Score how well a reply reproduces a text after a code (Michelangelo, section 2.2).

    The score is difflib's ratio of the text after the last code in the reply and the text after the code in the target;
    without the code it is 0 (as in MRCR v2). With the quirk `starts`, the reply must begin with the code, and difflib
    gets the two texts in the other order, which can change the ratio slightly (as in openai/mrcr). Both published
    metrics use difflib's default, `autojunk`; with the quirk `no-autojunk`, chance is ten times as high. Unlike both,
    this removes reasoning and, without `starts` or `anywhere`, any further ``User:`` turn of a base model.

    A reply can be judged if it contains the code; otherwise it is ``unparsed``.
    """
    reply = without_reasoning(prediction)
    code = str(row["random_string_to_prepend"])
    wanted = str(row["target"]).removeprefix(code)
    if not published and FURTHER_TURN not in wanted:
        reply = reply.partition(FURTHER_TURN)[0]
    if not anywhere:
        return similarity(reply.removeprefix(code), wanted, autojunk=autojunk) if reply.startswith(code) else None
    _, found, given = reply.rpartition(code)
    return similarity(wanted.strip(), given.strip(), autojunk=autojunk) if found else None


def similarity(one: str, other: str, *, autojunk: bool = True) -> float:
    """Return difflib's ratio of two texts; it determines junk from the second."""
    return SequenceMatcher(None, one, other, autojunk=autojunk).ratio()


MRCR_SCORER = Scorer(
    mrcr,
    2,
    "text",
    quirks={
        "anywhere": {"published": True},
        "starts": {"anywhere": False, "published": True},
        "no-autojunk": {"autojunk": False},
    },
    ungraded="the score is the likeness of two texts",
    stops=False,
)


def substring(row: Row, prediction: str) -> float:
    """Score as HELMET's substring exact match: the normalised reply contains a normalised answer."""
    replies = list(map(normalised, parsed(without_reasoning(prediction))))
    return float(any(normalised(str(answer)) in reply for answer in row["answers"] for reply in replies))


def labelled(row: Row, prediction: str) -> float:
    """Score as HELMET's ICL: what follows ``label:`` in its line, or the first line, equals the normalised label."""
    _, given = parsed(without_reasoning(prediction), "label:")
    return float(any(normalised(str(answer)) == normalised(given) for answer in row["answers"]))


def token_f1(row: Row, prediction: str) -> float:
    """Score as HELMET's F1 of words, normalised: the best over all answers."""
    return max(
        _overlap(normalised(reply), normalised(str(answer)))
        for reply in parsed(without_reasoning(prediction))
        for answer in row["answers"]
    )


CLOSED = frozenset({"yes", "no", "noanswer"})
"""Normalised texts that HELMET's F1 compares only as a whole."""


def parsed(reply: str, cue: str = "answer:") -> tuple[str, str]:
    """Return a reply, and the rest of the first line that contains a cue like ``Answer:``, or else the first line."""
    found = re.search(rf"{cue}(.*)(?:\n|$)", reply, re.IGNORECASE) or re.match(r"(.*)(?:\n|$)", reply)
    line = found[1].strip() if found else ""
    return reply, line[len(cue) :].strip() if line.lower().startswith(cue) else line


def _overlap(reply: str, answer: str) -> float:
    if reply != answer and not CLOSED.isdisjoint((reply, answer)):
        return 0.0
    given, wanted = Counter(reply.split()), Counter(answer.split())
    return f1((given & wanted).total(), wanted.total(), given.total())
