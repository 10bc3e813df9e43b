r"""Scores of replies. Standard library alone: this file is published beside the data as it is.

``score(row, prediction)`` takes a row (or its key) and a model's reply, and returns a number from 0 to 1.

How the answer is taken from a reply, for every scorer:

1. reasoning is dropped: all up to the last ``</think>``; an open ``<think>`` without an end leaves nothing;
2. a marked final answer wins, the last one: ``Final answer: …``, ``Answer: …``, ``Output: …`` or ``\boxed{…}``;
3. else the scorer's own rule, stated with it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

Row = Mapping[str, Any]
Scorer = Callable[[Row, str], float]

LONGEST = 200_000
"""Characters of a reply that are looked at, from its end: what a reply says last is its answer."""

MARK = re.compile(
    r"(?:^|[\n*_ ])(?:final answer|answer|output)\s{0,3}[*_]{0,3}\s{0,3}[:=]\s{0,3}[*_]{0,3}", re.IGNORECASE
)
BOXED = re.compile(r"\\boxed\{([^{}\n]{0,2000})\}")
INTEGER = re.compile(r"(?<![\d.])[-+]?\d{1,30}(?![\d.]*\d)")
GROUPING = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
PRINTED = re.compile(r"\[[^\[\]\n]{0,5000}\]")
WORD = re.compile(r"[a-z0-9]+(?:[-'][a-z0-9]+)*")
JOINTS = re.compile(r"[,;/|+&]|\band\b")
WRAPPING = " \t\r\n`*_\"'"

FUNCTION_WORDS = frozenset(
    re.findall(
        "[a-z]+",
        "a an and answer are as at by for from had has have he her his i in is it its known name named of on s she "
        "the their they this to was were which who with",
    )
)
"""Words that name nothing, so that an answer in a sentence is as good as the bare one."""

DENIALS = frozenset({"or", "not", "never", "isn't", "wasn't", "doesn't", "didn't"})
SLACK = 3
"""Further words that an exact answer may bring along."""


def score(row: Row, prediction: object) -> float:
    """Return the score of a reply to a row, from 0 to 1; anything that is no text scores 0.

    Raises:
        KeyError: if the row names a scorer that this version does not know.
    """
    scorer = SCORERS[row["scorer"]]
    return scorer(row, prediction) if isinstance(prediction, str) else 0.0


def spoken(prediction: str) -> str:
    """Return a reply without reasoning and code fences, from its end no longer than LONGEST characters."""
    text = prediction[-LONGEST:]
    head, end, tail = text.rpartition("</think>")
    if end:
        text = tail
    elif "<think>" in head + tail:
        text = text.partition("<think>")[0]
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("```")]
    return "\n".join(lines).strip()


def marked(text: str) -> str | None:
    """Return the last marked final answer: the rest of its line, or the next line that is not empty."""
    boxed = list(BOXED.finditer(text))
    marks = list(MARK.finditer(text))
    if boxed and (not marks or boxed[-1].start() > marks[-1].start()):
        return boxed[-1][1].strip(WRAPPING)
    if not marks:
        return None
    lines = [line.strip(WRAPPING) for line in text[marks[-1].end() :].splitlines()]
    return next((line for line in lines if line), "")


def last_line(text: str) -> str:
    """Return the last line that is not empty."""
    lines = [line.strip(WRAPPING) for line in text.splitlines()]
    return next((line for line in reversed(lines) if line), "")


def latent_list(row: Row, prediction: str) -> float:
    """Score a view of a latent list (Michelangelo, section 2.1).

    ``print``: the last ``[...]`` of the reply must be the target, character for character. Other views: the last
    integer of the final answer g against the target t, as ``1 - min(1, |t - g| / (1e-10 + |t|))``.
    """
    text = spoken(prediction)
    if row["subtask"] == "print":
        printed = PRINTED.findall(marked(text) or "") or PRINTED.findall(text)
        return float(bool(printed) and printed[-1] == row["target"])
    final = last_line(text) if (found := marked(text)) is None else found
    numbers = INTEGER.findall(GROUPING.sub("", final.replace("\u2212", "-")))
    if not numbers:
        return 0.0
    return closeness(int(row["target"]), int(numbers[-1]))


def closeness(target: int, given: int) -> float:
    """Return 1 less the error relative to the target, and no less than 0."""
    return 1.0 - min(1.0, abs(target - given) / (1e-10 + abs(target)))


def exact(row: Row, prediction: str) -> float:
    """Score one value: an accepted answer, as whole words, and nothing beside it that could be another.

    Own rule: the last line. Without the accepted answer, the question's words and function words no more than three
    words may remain, and none of them as a value of its own beside ``and``, ``or`` or a comma: listing scores 0.
    """
    text = spoken(prediction)
    final = last_line(text) if (found := marked(text)) is None else found
    if len(final) > 2000:
        return 0.0
    words = WORD.findall(final.lower())
    asked = FUNCTION_WORDS.union(WORD.findall(str(row.get("question") or "").lower()))
    return float(any(_says_only(words, final, answer, asked) for answer in row["answers"]))


def _says_only(words: list[str], final: str, answer: str, asked: frozenset[str]) -> bool:
    wanted = WORD.findall(answer.lower())
    at = next((i for i in range(len(words) - len(wanted) + 1) if words[i : i + len(wanted)] == wanted), None)
    if at is None:
        return False
    rest = words[:at] + words[at + len(wanted) :]
    others = [word for word in rest if word not in asked]
    return (
        len(others) <= SLACK
        and not DENIALS.intersection(rest)
        and not _names_rival(final.lower(), answer.lower(), asked)
    )


def _names_rival(final: str, answer: str, asked: frozenset[str]) -> bool:
    """Tell whether a reply sets another bare value beside the answer: ``golf and chess``, ``Oslo, Lima``."""
    parts = [WORD.findall(part) for part in JOINTS.split(final.replace(answer, " "))]
    return len(parts) > 1 and any(part and not asked.intersection(part) for part in parts)


SCORERS: dict[str, Scorer] = {"latent_list": latent_list, "exact": exact}
