"""Rewards: the answer by the row's own scorer, and the evidence by F over distinct ids or characters.

The default is LongRLVR's reward (section 3: answer + 0.1 F2 + 0.9 answer F2), halved to be between 0 and 1. An answer
without evidence earns half, and evidence without an answer at most 0.05.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from pipeline.errors import RecipeError, unknown
from pipeline.metrics import END, score, without_reasoning

BETA = 2
"""The beta of F in the default reward, where recall weighs more than precision; ``gated`` uses F1."""
LONGEST = 20_000
"""The most characters of a reply that can earn a reward; no expected reply has a tenth as many."""
TAGS = re.compile(r"</?(?:evidence|answer)\b[^>]*>", re.IGNORECASE)
ORDER = ["<evidence>", "</evidence>", "<answer>", "</answer>"]
SPAN = re.compile(r"(\d{1,9})\s*-\s*(\d{1,9})")
MODES: dict[str, Callable[[float, float, float], float]] = {
    "longrlvr": lambda answer, f2, f1: (answer + 0.1 * f2 + 0.9 * answer * f2) / 2,
    "gated": lambda answer, f2, f1: answer * f1,
    "answer": lambda answer, f2, f1: answer,
}
"""How answer, F2 and F1 combine to a score."""


def reward(row: Mapping[str, Any], reply: str, mode: str | None = None) -> dict[str, float]:
    """Return a reply's ``score``, ``answer``, ``evidence`` and ``format``, each from 0 to 1.

    Marked reasoning is dropped first. If the row asks for evidence, the rest must have one pair of tags for evidence
    and one for the answer, or it earns nothing; ``format`` is 1 if there is nothing outside the tags. Evidence consists
    of ids if the row asks for these, and otherwise of passages quoted verbatim or positions such as ``120-184``.
    Evidence in tags also counts if the row asks for none.

    Args:
        row: a row of a training set; with ids, `prompt` is not needed.
        reply: the model's reply.
        mode: ``longrlvr`` (the default if the row asks for evidence), ``gated`` (answer times F1) or ``answer`` (the
            default otherwise).

    Raises:
        RecipeError: for an unknown mode.
    """
    asked = asked_form(row)
    mode = mode or ("longrlvr" if asked else "answer")
    if mode not in MODES:
        raise RecipeError(unknown("mode of reward", mode, MODES))
    nothing = {"score": 0.0, "answer": 0.0, "evidence": 0.0, "format": 0.0}
    text = END.split(without_reasoning(reply), maxsplit=1)[0]
    if len(text) > LONGEST:
        return nothing
    tags = list(TAGS.finditer(text))
    tagged = [tag[0].lower() for tag in tags] == ORDER
    if not tagged and (asked or tags):
        return nothing
    cited_text, answer_text = (text[tags[at].end() : tags[at + 1].start()] if tagged else "" for at in (0, 2))
    answer = score(row, answer_text if tagged else text)
    hit, cited, wanted = _ids(row, cited_text) if asked == "ids" else _characters(row, cited_text)
    f1, f2 = (_f(hit, cited, wanted, beta) for beta in (1, BETA))
    kept = (
        not tagged
        or not "".join((text[: tags[0].start()], text[tags[1].end() : tags[2].start()], text[tags[3].end() :])).strip()
    )
    return {"score": MODES[mode](answer, f2, f1), "answer": answer, "evidence": f2, "format": float(kept)}


def asked_form(row: Mapping[str, Any]) -> str:
    """Return the form of evidence that a row asks for: ``ids``, ``quotes``, or "" as in rows of an evaluation."""
    return str(row.get("evidence_form", ""))


def _f(hit: int, cited: int, wanted: int, beta: float) -> float:
    """Return F for `hit` of `cited` and `wanted`; if nothing is wanted, citing nothing scores 1."""
    if not wanted or not cited:
        return float(wanted == cited)
    return (1 + beta**2) * hit / (cited + beta**2 * wanted)


def _ids(row: Mapping[str, Any], cited_text: str) -> tuple[int, int, int]:
    """Return how many distinct ids are right, how many were given, and how many were wanted.

    Any other word counts as a wrong id.
    """
    cited, wanted = {*re.findall(r"[^\s,;\[\]()\"'`]+", cited_text)}, {*row["evidence"]}
    return len(cited & wanted), len(cited), len(wanted)


def _characters(row: Mapping[str, Any], cited_text: str) -> tuple[int, int, int]:
    """Return the same in characters of the prompt; a passage that is not in it counts as wrong with its length."""
    wanted, cited, strange = _covered(map(_span, row.get("evidence", ()))), [], 0
    for line in filter(None, map(str.strip, cited_text.splitlines())):
        places = SPAN.findall(line) if not re.search(r"[A-Za-z]", line) else []
        cited += [(int(start), int(end)) for start, end in places]
        if not places:
            at = row["prompt"].find(line)
            cited += [(at, at + len(line))] if at >= 0 else []
            strange += len(line) if at < 0 else 0
    covered = _covered((start, min(end, len(row["prompt"]))) for start, end in cited)
    return _size(_common(covered, wanted)), _size(covered) + strange, _size(wanted)


def _span(place: str) -> tuple[int, int]:
    start, end = place.split("-")
    return int(start), int(end)


def _covered(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the union of some spans, sorted and without overlaps."""
    union: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if union and start <= union[-1][1]:
            union[-1] = union[-1][0], max(union[-1][1], end)
        elif start < end:
            union.append((start, end))
    return union


def _common(some: list[tuple[int, int]], others: list[tuple[int, int]]) -> list[tuple[int, int]]:
    both = ((max(a, c), min(b, d)) for a, b in some for c, d in others)
    return [(start, end) for start, end in both if start < end]


def _size(spans: Iterable[tuple[int, int]]) -> int:
    return sum(end - start for start, end in spans)
