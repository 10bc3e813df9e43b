"""Whose a property is, from a prompt's text alone: sales in their order, as they are set aside and restored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from pipeline.tasks.line_cache import PROMPT
from pipeline.tasks.longqa.reader import (
    Event,
    Line,
    about,
    asked,
    events,
    happening_asked,
    happening_kinds,
    owner_asked,
    read,
)

ESTATE = ("sale", "undo", "undo2", "redo")
"""Kinds of sentences that tell whose a property is."""


@dataclass(slots=True)
class Sale:
    """A sale as read; `out` is when it was set aside, by the count of steps, or nothing while it stands."""

    event: Event
    out: int = 0


def whose(told: Sequence[Event]) -> Event | None:
    """Return the latest sale that stands after some events, in their order.

    Raises:
        ValueError: if one of them sets aside or restores a sale that there is not.
    """
    left = standing(told)
    return left[-1] if left else None


def standing(told: Sequence[Event]) -> list[Event]:
    """Return all sales that stand after some events, in their order.

    Raises:
        ValueError: if one of them sets aside or restores a sale that there is not.
    """
    sales: list[Sale] = []
    since: list[Sale] = []
    for step, event in enumerate(told, start=1):
        good = [one for one in sales if not one.out]
        if event.kind == "sale":
            sales.append(Sale(event))
            since = []
        elif event.kind in ("undo", "undo2"):
            count = 1 if event.kind == "undo" else 2
            if len(good) < count:
                raise ValueError("a sale is set aside, and none stands")
            for one in good[-count:]:
                one.out = step
            since = [*since, good[-1]] if count == 1 else []
        elif event.kind == "redo":
            if not since:
                raise ValueError("a sale is restored, and none was set aside since the last")
            since.pop().out = 0
            sales.sort(key=lambda one: one.event.line.start)
    return [one.event for one in sales if not one.out]


def history(found: Sequence[Line], prop: str, kinds: Sequence[str] = ()) -> list[Event]:
    """Return all that is told of a property, in sentences of some kinds: sales and happenings, unless others are given.

    Raises:
        ValueError: if something cannot be read.
    """
    kinds = kinds or (*ESTATE, *happening_kinds())
    return [event for line in about(found, prop) for event in events(line, prop, kinds)]


@PROMPT.of
def told_in(text: str, prop: str) -> list[Event]:
    """Return all that a prompt tells of a property: sales and happenings; remembers the last prompt and property.

    Raises:
        ValueError: if something cannot be read.
    """
    return history(read(text), prop)


def owned(text: str, *, known: bool = True) -> str:
    """Return who owned the property that a prompt asks about; nobody where that is not `known`.

    Raises:
        ValueError: if the text cannot be read, or it is nobody's where it should be known.
    """
    prop, day = owner_asked(asked(text)[0])
    sale = whose([event for event in told_in(text, prop) if event.line.day <= day])
    if sale is None and known:
        raise ValueError(f"nobody owns {prop}")
    return sale.values["buyer"] if sale else ""


def year_of(text: str) -> str:
    """Return the year that a prompt asks for.

    Raises:
        ValueError: if the text cannot be read, or there is not just one.
    """
    prop, kind = happening_asked(asked(text)[0])
    found = [event.line for event in told_in(text, prop) if event.kind == kind]
    if len(found) != 1:
        raise ValueError(f"{len(found)} times is told of {prop} what is asked")
    return str(date.fromordinal(found[0].day).year)


def lettered(text: str) -> tuple[str, str]:
    """Return the letter of the option that is the owner, and the owner.

    Raises:
        ValueError: if the text cannot be read, or no option is.
    """
    name = owned(text)
    found = [letter for letter, option in asked(text)[1].items() if option == name]
    if len(found) != 1:
        raise ValueError(f"{name} is {len(found)} of the options")
    return found[0], name
