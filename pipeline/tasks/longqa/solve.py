"""Reads chats and checks rows of `longqa`, from the published row alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

from pipeline.tasks.annals import solve as annals
from pipeline.tasks.annals.solve import (
    DATE,
    NAME,
    OWNERSHIP_KINDS,
    SALES,
    Event,
    Line,
    about,
    day_of,
    follow,
    happening_asked,
    history,
    last_valid_sale,
    owner_asked,
    spans,
    stated_in,
    steps_of,
)
from pipeline.tasks.base import PublishedRow, Turns
from pipeline.tasks.solving import ReadError

UNNAMED = "unnamed"
"""The kind of a sale whose buyer is not named."""
FAMILIES = 2
"""The number of other families."""


def body_faults(row: PublishedRow, found: Sequence[Line]) -> Iterator[str]:
    """Check that entries are in order of date and different, and that question and options are the row's."""
    if any(one.day > other.day for one, other in pairwise(found)):
        yield "the entries are not in order of date"
    if len({(one.day, one.text) for one in found}) != len(found):
        yield "two entries are equal"
    question, options = annals.parse_question(row.text)
    if question != row.question:
        yield f"the prompt asks {question!r}"
    if list(options.values()) != list(row.key.choices or ()):
        yield "the options are not those of the row"


NEEDED_ENTRIES = {1: range(1, 2), 5: range(3, 10), 20: range(17, 24)}
"""The number of needed entries, by complexity."""


def state_faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row that asks for an owner."""
    found = annals.read(row.text)
    prop, day = owner_asked(row.question)
    statements = stated_in(row.text, prop)
    yield from body_faults(row, found)
    yield from _title_faults(row, found, statements, day, NEEDED_ENTRIES[row.stratum.complexity])
    if any(event.kind == UNNAMED for event in statements):
        yield f"a buyer of {prop} is not named"
    buyers = {event.values["buyer"] for event in statements if event.kind == "sale"}
    if not buyers.issuperset(row.key.choices or ()):
        yield "an option never bought the property"


def pair_faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row of a pair that asks for an owner."""
    found = annals.read(row.text)
    prop, day = owner_asked(row.question)
    statements = stated_in(row.text, prop)
    yield from body_faults(row, found)
    yield from _title_faults(row, found, statements, day, NEEDED_ENTRIES[5])
    yield from name_known_faults(row, statements, day)


def name_known_faults(row: PublishedRow, statements: Sequence[Event], day: int) -> Iterator[str]:
    """Check that one sale does not name its buyer, which is the valid one only in form b."""
    right = last_valid_sale([event for event in statements if event.line.day <= day])
    if right is None or (right.kind == UNNAMED) == (row.stratum.complexity == 1):
        yield "the sale that stands names its buyer in form b, or does not in form a"
    if sum(event.kind == UNNAMED for event in statements) != 1:
        yield "there is not just one sale without its buyer"


def _title_faults(
    row: PublishedRow, found: Sequence[Line], statements: Sequence[Event], day: int, promised: range
) -> Iterator[str]:
    """Check the number and marks of the entries that decide a property's owner on a day, and those of its twin."""
    steps = [event for event in statements if event.kind in OWNERSHIP_KINDS]
    earlier = [event for event in steps if event.line.day <= day]
    needed = deciding(earlier)
    if len(needed) not in promised:
        yield f"{len(needed)} entries decide whose the property was"
    if row.spans("relevant") != spans([event.line for event in needed]):
        yield "the entries marked as relevant are not those that decide"
    if len(earlier) == len(steps):
        yield "nothing befalls the title after the day"
    yield from twin_faults(row, found, statements)
    near = history(found, str(row.metadata["latent"]["twin"]))
    if row.spans("relevant", "decoy") != spans([event.line for event in (*statements, *near)]):
        yield "the marks are not the entries about the two properties"
    yield from name_faults(found, [event for event in steps if event.kind == "sale"])


def deciding(steps: Sequence[Event]) -> list[Event]:
    """Return the steps without which another sale is valid in the end.

    From the valid sale on, those without which a later step is impossible count too; before it they change nothing.
    """
    right = last_valid_sale(steps)
    first = steps.index(right) if right else 0
    return [event for at, event in enumerate(steps) if _matters(steps, at, right, impossible=at >= first)]


def when_faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row that asks for a year."""
    found = annals.read(row.text)
    prop, kind = happening_asked(row.question)
    statements, twin = stated_in(row.text, prop), history(found, str(row.metadata["latent"]["twin"]))
    yield from body_faults(row, found)
    right = [event.line for event in statements if event.kind == kind]
    if len(right) != 1 or row.spans("relevant") != spans(right):
        yield "the entry marked as relevant is not the one asked for"
    others = [event.line for event in statements if event.kind != kind]
    if len({_year(line) for line in (*right, *others)} - {row.key.target}) < 1 or any(
        _year(line) == row.key.target for line in others
    ):
        yield "something else befell the property in the year asked for, or nothing at any other time"
    if len(twin) != len(statements) or kind not in {event.kind for event in twin}:
        yield "the other property is not mentioned as often, or not for the same"
    near = set(row.spans("decoy"))
    if not near.issuperset(spans([*others, *(event.line for event in twin)])):
        yield "what befell the two properties is not marked"


def _year(line: Line) -> str:
    return str(date.fromordinal(line.day).year)


def kin_faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row that asks for a relative."""
    found = annals.read(row.text)
    first, steps = steps_of(row.question)
    name, used = follow(found, first, steps)
    yield from body_faults(row, found)
    if len(used) != row.stratum.complexity or row.spans("relevant") != spans(used):
        yield "the entries marked as relevant are not those that the answer needs"
    for line in used:
        try:
            if follow([one for one in found if one is not line], first, steps)[0] == name:
                yield "the answer is the same without an entry marked as relevant"
        except ValueError:
            continue
    if all(one in used for one in about(found, name)):
        yield f"{name} is named nowhere else"
    if len(row.spans("decoy")) != FAMILIES * len(used):
        yield "there are not as many entries about other families as promised"


def _matters(steps: Sequence[Event], without: int, right: Event | None, *, impossible: bool) -> bool:
    """Return whether the valid sale changes without one of the steps, or `impossible` if a later one is then."""
    try:
        return last_valid_sale([*steps[:without], *steps[without + 1 :]]) != right
    except ValueError:
        return impossible


def twin_faults(row: PublishedRow, found: Sequence[Line], statements: Sequence[Event]) -> Iterator[str]:
    """Check that the twin shares a word of the property's name, and has as many entries, steps and offers."""
    prop, twin = (str(row.metadata["latent"][one]) for one in ("property", "twin"))
    near = history(found, twin)
    if not set(prop.split(" ")[1:]) & set(twin.split(" ")[1:]):
        yield f"{twin} shares no word with {prop}"
    sorts = [
        (len(some), sum(event.kind in OWNERSHIP_KINDS for event in some), _vain(some)) for some in (statements, near)
    ]
    if sorts[0] != sorts[1]:
        yield f"{prop} has {sorts[0]} entries, steps and offers, {twin} {sorts[1]}"


def _vain(statements: Sequence[Event]) -> int:
    return sum(event.kind == "bid" for event in statements)


def name_faults(found: Sequence[Line], sales: Sequence[Event]) -> Iterator[str]:
    """Check that buyers are different people, who are named in other entries too."""
    buyers = [event.values["buyer"] for event in sales]
    if len(set(buyers)) != len(buyers):
        yield "somebody bought the property twice"
    for sale in sales:
        if all(one is sale.line for one in about(found, sale.values["buyer"])):
            yield f"{sale.values['buyer']} is named nowhere else"


ENTRY = re.compile(rf"^{DATE}\. (.+)$", re.MULTILINE)
USER, MODEL = "User: ", "Model: "
QUESTIONS = {
    "information": (
        rf"Who (?:was the next to buy|made the next purchase of) (?P<prop>the \w+ \w+) after "
        rf"(?:that of )?(?P<name>{NAME})\?"
    ),
    "update": r"(?:Who owns|To whom does) (?P<prop>the \w+ \w+)(?: belong)? now, after all that I have told you\?",
    "temporal": (
        r"(?:Who owned|Whose property was) (?P<prop>the \w+ \w+) on (?P<day>\d+) (?P<month>\w+) (?P<year>\d{4})\?"
    ),
    "sessions": r"Who is (?:the wife of|married to) the man who owns (?P<prop>the \w+ \w+) now\?",
}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of a chat: its kind, the property, the last day that counts, and the buyer that it names."""

    kind: str
    prop: str
    day: int
    name: str


def read(turns: Turns) -> list[Line]:
    """Return every entry of a chat, each with the span in `prompt` of its message."""
    if [role for role, _ in turns] != ["user", "assistant"] * (len(turns) // 2) + ["user"]:
        raise ReadError("users' turns and replies do not alternate")
    found, at = [], len(USER) + len(turns[0][1]) + 2 + len(MODEL) + len(turns[1][1]) + 2
    for (_, message), (_, reply) in zip(turns[2:-1:2], turns[3:-1:2], strict=True):
        start = at + len(USER)
        dated = list(ENTRY.finditer(message))
        if not dated or dated[0].start() or message.count("\n") != len(dated) - 1:
            raise ReadError(f"no session: {message[:80]!r}")
        found += [Line(start, start + len(message), day_of(one[1], one[2], one[3]), one[4]) for one in dated[1:]]
        at = start + len(message) + 2 + len(MODEL) + len(reply) + 2
    return found


def chat_question(message: str) -> Asked:
    """Return what a question asks."""
    for kind, form in QUESTIONS.items():
        if found := re.fullmatch(form, message.partition("\n")[0]):
            got = found.groupdict()
            day = (
                day_of(got["day"], got["month"], got["year"])
                if kind == "temporal"
                else day_of("31", "December", "9999")
            )
            return Asked(kind, got["prop"], day, got.get("name", ""))
    raise ReadError(f"no question: {message[:80]!r}")


def answer(turns: Turns) -> tuple[str, list[Line]]:
    """Return the answer, "" if it was not told, and the needed entries."""
    return _answered(read(turns), chat_question(turns[-1][1]))


def _answered(found: Sequence[Line], what: Asked) -> tuple[str, list[Line]]:
    statements = [event for event in history(found, what.prop) if event.kind in OWNERSHIP_KINDS]
    if what.kind == "information":
        return _next_buyer(statements, what.name)
    earlier = [event for event in statements if event.line.day <= what.day]
    sale = last_valid_sale(earlier)
    if sale is None:
        raise ReadError(f"no sale of {what.prop} stands")
    name, needed = sale.values.get("buyer", ""), [event.line for event in deciding(earlier)]
    if what.kind != "sessions":
        return name, needed
    try:
        wife, used = follow(found, name, ("spouse",))
    except ValueError:
        return "", needed
    return wife, [*needed, *used]


def _next_buyer(statements: Sequence[Event], name: str) -> tuple[str, list[Line]]:
    """Return the next buyer of a property after a person, and the entries of the two sales."""
    sales = [event for event in statements if event.kind in SALES]
    place = next((at for at, sale in enumerate(sales) if sale.values.get("buyer") == name), len(sales))
    if place + 1 >= len(sales):
        raise ReadError(f"nobody bought it after {name}")
    return sales[place + 1].values.get("buyer", ""), [one.line for one in sales[place : place + 2]]


def faults(row: PublishedRow) -> Iterator[str]:
    """Yield what is wrong with a row."""
    found = read(row.turns)
    what = chat_question(row.turns[-1][1])
    if row.question != row.turns[-1][1].partition("\n")[0]:
        yield "the last turn does not ask the question"
    opened = [match for _, message in row.turns[2:-1:2] if (match := ENTRY.match(message))]
    days = [day_of(one[1], one[2], one[3]) for one in opened]
    if days != sorted(days):
        yield "the sessions are not in order of date"
    if len({(one.day, one.text) for one in found}) != len(found):
        yield "two entries are equal"
    statements, near = history(found, what.prop), history(found, str(row.metadata["latent"]["twin"]))
    yield from twin_faults(row, found, statements)
    if not set(row.spans("relevant", "decoy")).issuperset(spans([event.line for event in (*statements, *near)])):
        yield "the marks are not the sessions about the two properties"
    yield from name_faults(found, [event for event in statements if event.kind == "sale"])
    yield from _told_faults(row, found, statements, what)


def _told_faults(row: PublishedRow, found: Sequence[Line], statements: Sequence[Event], what: Asked) -> Iterator[str]:
    """Check that the answer was told only in form a, in sessions that are all needed."""
    name, used = _answered(found, what)
    if bool(name) != (row.stratum.complexity == 1):
        yield f"what is asked was {'told' if name else 'not told'}"
    if not set(spans(used)) <= set(row.spans("relevant")):
        yield "the sessions marked as relevant are not those that decide"
    if len(used) < 2:
        yield "what is asked is told in one session"
    for line in used if name else ():
        try:
            if _answered([one for one in found if one is not line], what)[0] == name:
                yield "the answer is the same without a session marked as relevant"
        except ValueError:
            continue
    nameless = sum(event.kind == UNNAMED for event in statements)
    if nameless != (what.kind != "sessions"):
        yield f"{nameless} sales are told without their buyers"
    if name and all(one in used for one in about(found, name)):
        yield f"{name} is named nowhere else"
