"""What a reply scores that is one of the conversation's, but chosen without telling the n-th from the others.

Michelangelo (appendix B.1.1) guesses any reply, and any that shares format or topic with what is asked. Beside them
stand any of the matching replies, and the last of them. Scores are those of the `mrcr` scorer with its default
``autojunk``, and as if the code stood in front of the reply.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum

from pipeline.metrics import similarity

DRAWN = 2
"""How many replies of a kind stand for all of them: rows are many."""
GUESSES = ("any_reply", "related_reply", "any_match", "last_match")


def guesses(
    replies: Sequence[str], place: int, one: int, hard: Sequence[str], easy: Sequence[str], turns: int, crowd: int
) -> dict[str, float]:
    """Return the expected score of each guess.

    The reply at `place` is asked, the one at `one` stands for all others that match. `hard` and `easy` are drawn from
    the rest, of which about `turns` stand in the conversation, `crowd` of them hard.
    """
    target, last = replies[place], len(replies) - 1
    matching = 1.0 + last * similarity(target, replies[one])
    hard_sum, easy_sum = crowd * _mean(target, hard), (turns - crowd) * _mean(target, easy)
    found = (
        (matching + hard_sum + easy_sum) / (len(replies) + turns),
        (matching + hard_sum) / (len(replies) + crowd),
        matching / len(replies),
        1.0 if place == last else similarity(target, replies[last]),
    )
    return {name: round(value, 4) for name, value in zip(GUESSES, found, strict=True)}


def _mean(target: str, texts: Sequence[str]) -> float:
    return fsum(similarity(target, text) for text in texts) / max(1, len(texts))
