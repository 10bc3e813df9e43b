"""Long texts, given back."""

from __future__ import annotations

from difflib import SequenceMatcher

from pipeline.metrics.reply import thought
from pipeline.metrics.scorer import Row, Scorer


def mrcr(row: Row, prediction: str, *, anywhere: bool = True, autojunk: bool = True) -> float | None:
    """Score a reply that gives a text back behind a code (Michelangelo, section 2.2).

    The difflib ratio of the text behind the last code in the reply to the text behind it in the target, 0 without the
    code (as MRCR v2 has it). With `anywhere` off the very first characters must be the code, and difflib gets both
    texts the other way round, which may move the ratio a little (as openai/mrcr has it). `autojunk` is difflib's own
    default, as in both published metrics; without it chance is ten times as high. Unlike both, reasoning is dropped.

    Judged is a reply that holds the code (with `anywhere` off, one that begins with it).
    """
    reply = thought(prediction)
    code = str(row["random_string_to_prepend"])
    wanted = str(row["target"]).removeprefix(code)
    if not anywhere:
        return similarity(reply.removeprefix(code), wanted, autojunk=autojunk) if reply.startswith(code) else None
    _, found, given = reply.rpartition(code)
    return similarity(wanted.strip(), given.strip(), autojunk=autojunk) if found else None


def similarity(one: str, other: str, *, autojunk: bool = True) -> float:
    """Return difflib's ratio of two texts; what is junk is told from the second."""
    return SequenceMatcher(None, one, other, autojunk=autojunk).ratio()


MRCR_SCORER = Scorer(
    mrcr,
    1,
    "text",
    quirks={"anywhere": {"anywhere": True}, "starts": {"anywhere": False}, "no-autojunk": {"autojunk": False}},
    ungraded="the score is the likeness of two texts",
    stops=False,
)
