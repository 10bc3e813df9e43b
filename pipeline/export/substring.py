"""What rules that look for strings in a reply can grade, as those of RULER and HELMET; the rest by its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.metrics import MEMBERS, NO_MEMBERS, NUMBER, PART, facts
from pipeline.rows import Row


@dataclass(frozen=True, slots=True)
class Strings:
    """What is looked for in a reply: one of the strings, or each of them."""

    wanted: tuple[str, ...]
    each: bool = False


ORDER = "the question asks for names in an order, which the rule cannot see"


def strings(row: Row) -> Strings | str:
    """Return what a reply to a row has to contain, or why that does not tell a right reply."""
    scorer = facts(row["scorer"])
    return scorer.ungraded or SHAPES[scorer.shape](row)


def parts(row: Row) -> tuple[str, ...]:
    """Return the parts of an answer that has several, worded as in the text."""
    return tuple(row["target"].split(PART))


def _one(row: Row) -> Strings | str:
    return Strings(tuple(row["answers"]))


def _several(row: Row) -> Strings | str:
    wanted = parts(row)
    return ORDER if all(part in row["question"] for part in wanted) else Strings(wanted, each=True)


def _sourced(row: Row) -> Strings | str:
    halves = [part.rpartition(" [") for part in parts(row)]
    return Strings(tuple(text for value, _, label in halves for text in (value, f"[{label}")), each=True)


def _pair(row: Row) -> Strings | str:
    free = "any pair of people whose ages differ as asked is right, but the rule does not know ages"
    return Strings(tuple(row["answers"])) if len(row["answers"]) == 2 else free


def _members(row: Row) -> Strings | str:
    none = "the set asked for is empty, and a rule that looks for strings has none to look for"
    return none if row["target"] == NO_MEMBERS else Strings(tuple(row["target"].split(MEMBERS)), each=True)


def _view(row: Row) -> Strings | str:
    return Strings(tuple(row["answers"])) if row["subtask"] == "print" else NUMBER


SHAPES: dict[str, Callable[[Row], Strings | str]] = {
    "parts": _several,
    "cited": _sourced,
    "value": _one,
    "view": _view,
    "pair": _pair,
    "members": _members,
}
