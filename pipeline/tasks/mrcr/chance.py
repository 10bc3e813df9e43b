"""What a reply scores that is one of the conversation's, but drawn without reading (Michelangelo, appendix B.1.1).

Both guesses of the paper: any reply, and any that shares format or topic with what is asked. Scores are those of the
`mrcr` scorer with its default ``autojunk``, and as if the code stood in front of the reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from pipeline.metrics import similarity

DRAWN = 4
"""How many hard and how many easy replies stand for all of them: rows are many."""


def guesses(
    target: str, others: Sequence[str], hard: Sequence[str], easy: Sequence[str], turns: int, cap: int
) -> dict[str, float]:
    """Return the expected scores of both guesses.

    `others` are the other matching replies; `hard` and `easy` are drawn from the rest, of which about `turns` stand in
    the conversation, half of them hard up to `cap`.
    """
    matching = 1.0 + fsum(similarity(target, text) for text in others)
    crowd = min(cap, turns // 2)
    related = (matching + crowd * _mean(target, hard)) / (1 + len(others) + crowd)
    everything = 1 + len(others) + turns
    any_reply = (matching + crowd * _mean(target, hard) + (turns - crowd) * _mean(target, easy)) / everything
    return {"any_reply": round(any_reply, 4), "related_reply": round(related, 4)}


def _mean(target: str, texts: Sequence[str]) -> float:
    return fsum(similarity(target, text) for text in texts) / max(1, len(texts))
