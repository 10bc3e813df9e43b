"""The strings that a right reply contains, for harnesses that grade replies themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pipeline.metrics import EMPTY_LIST, MEMBERS, NO_MEMBERS, NUMBER, PART, facts
from pipeline.rows import Row


@dataclass(frozen=True, slots=True)
class Strings:
    """The strings that a right reply contains: any one of them, or all."""

    wanted: tuple[str, ...]
    all_required: bool = False


ORDER = "the question asks for names in an order, which the rule cannot see"


def wanted_strings(row: Row) -> Strings | str:
    """Return the strings that a right reply contains, or the reason why strings cannot grade it."""
    scorer = facts(row["scorer"])
    return scorer.ungraded or SHAPES[scorer.shape](row)


def parts(row: Row) -> tuple[str, ...]:
    """Return the parts of a row's target, worded as in the text."""
    return tuple(row["target"].split(PART))


def _one(row: Row) -> Strings | str:
    return Strings(tuple(row["answers"]))


def _several(row: Row) -> Strings | str:
    wanted = parts(row)
    return ORDER if all(part in row["question"] for part in wanted) else Strings(wanted, all_required=True)


def _sourced(row: Row) -> Strings | str:
    halves = [part.rpartition(" [") for part in parts(row)]
    return Strings(tuple(text for value, _, label in halves for text in (value, f"[{label}")), all_required=True)


def _pair(row: Row) -> Strings | str:
    free = "any pair of people whose ages differ as asked is right, but the rule does not know ages"
    return Strings(tuple(row["answers"])) if len(row["answers"]) == 2 else free


def _members(row: Row) -> Strings | str:
    if row["target"] in (NO_MEMBERS, EMPTY_LIST):
        return "the set asked for is empty, and a rule that looks for strings has none to look for"
    return Strings(tuple(row["target"].split(MEMBERS)), all_required=True)


def _view(row: Row) -> Strings | str:
    return Strings(tuple(row["answers"])) if row["subtask"].partition("-")[0] == "print" else NUMBER


SHAPES: dict[str, Callable[[Row], Strings | str]] = {
    "parts": _several,
    "cited": _sourced,
    "value": _one,
    "view": _view,
    "pair": _pair,
    "members": _members,
}
