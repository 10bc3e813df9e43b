"""What must hold of a prompt of `longqa`, judged from the published row alone."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import pairwise

from pipeline.tasks.annals import solve as annals
from pipeline.tasks.annals.solve import (
    DATE,
    ESTATE,
    Event,
    Line,
    about,
    day_of,
    follow,
    happening_asked,
    happening_kinds,
    history,
    owner_asked,
    spans,
    standing,
    stated_in,
    steps_of,
    whose,
)
from pipeline.tasks.base import Published, Turns
from pipeline.tasks.solving import ReadError

FAMILIES = 2
"""Other families whose lines are told."""


def body_faults(row: Published, found: Sequence[Line]) -> Iterator[str]:
    """Hold entries to be in order of date and all different, and the question to be the row's."""
    if any(one.day > other.day for one, other in pairwise(found)):
        yield "the entries are not in order of date"
    if len({(one.day, one.text) for one in found}) != len(found):
        yield "two entries are equal"
    question, options = annals.parse_question(row.text)
    if question != row.question:
        yield f"the prompt asks {question!r}"
    if list(options.values()) != list(row.key.choices or ()):
        yield "the options are not those of the row"


def state_faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row that asks for an owner."""
    found = annals.read(row.text)
    prop, day = owner_asked(row.question)
    told = stated_in(row.text, prop)
    steps = [event for event in told if event.kind in ESTATE]
    yield from body_faults(row, found)
    yield from _twin_faults(row, found, told, prop)
    earlier = [event for event in steps if event.line.day <= day]
    right = whose(earlier)
    needed = [event for at, event in enumerate(earlier) if _matters(earlier, at, right)]
    if len(needed) != row.stratum.complexity:
        yield f"{len(needed)} entries decide whose {prop} was, not {row.stratum.complexity}"
    if row.spans("relevant") != spans([event.line for event in needed]):
        yield "the entries marked as relevant are not those that decide"
    yield from name_faults(found, [event for event in steps if event.kind == "sale"])
    buyers = {event.values["buyer"] for event in steps if event.kind == "sale"}
    if not buyers.issuperset(row.key.choices or ()):
        yield "an option never bought the property"


def pair_faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row of a pair that asks for an owner."""
    found = annals.read(row.text)
    prop, day = owner_asked(row.question)
    told = stated_in(row.text, prop)
    yield from body_faults(row, found)
    yield from _twin_faults(row, found, told, prop)
    sales = [event for event in told if event.kind in ESTATE]
    earlier = [event for event in sales if event.line.day <= day]
    stand = standing(earlier)
    if len(stand) != row.stratum.complexity:
        yield f"{len(stand)} sales of {prop} stand on the day, not {row.stratum.complexity}"
    undone = [event.kind for event in earlier if event not in stand]
    if undone != ["sale", "undo"] * int(row.metadata["latent"]["undone"]) or (stand and earlier[-1] is not stand[0]):
        yield f"sales of {prop} are not set aside one by one before the one that tells"
    if any(event.kind != "sale" for event in sales[len(earlier) :]) or len(sales) == len(earlier):
        yield f"no sale of {prop} comes after the day, or something else befalls its title"
    relevant = row.spans("relevant")
    if stand and relevant != spans([event.line for event in stand]):
        yield "the entry marked as relevant is not the sale"
    if len(relevant) != 1 or not set(relevant) <= set(spans([event.line for event in told])):
        yield "the entry marked as relevant is not about the property"
    yield from name_faults(found, [event for event in sales if event.kind == "sale"])


def when_faults(row: Published) -> Iterator[str]:
    """Yield what is wrong with a row that asks for a year."""
    found = annals.read(row.text)
    prop, kind = happening_asked(row.question)
    told, twin = stated_in(row.text, prop), history(found, str(row.metadata["latent"]["twin"]))
    yield from body_faults(row, found)
    right = [event.line for event in told if event.kind == kind]
    if len(right) != 1 or row.spans("relevant") != spans(right):
        yield "the entry marked as relevant is not the one asked for"
    others = [event.line for event in told if event.kind != kind]
    if len({_year(line) for line in (*right, *others)} - {row.key.target}) < 1 or any(
        _year(line) == row.key.target for line in others
    ):
        yield "something else befell the property in the year asked for, or nothing at any other time"
    if len(twin) != len(told) or kind not in {event.kind for event in twin}:
        yield "the other property is not mentioned as often, or not for the same"
    near = set(row.spans("decoy"))
    if not near.issuperset(spans([*others, *(event.line for event in twin)])):
        yield "what befell the two properties is not marked"
    if not any(_year(line) == row.key.target for line in found if line not in right):
        yield f"no other entry is of {row.key.target}"


def _year(line: Line) -> str:
    return str(date.fromordinal(line.day).year)


def kin_faults(row: Published) -> Iterator[str]:
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


def _matters(steps: Sequence[Event], without: int, right: Event | None) -> bool:
    """Return whether the owner is another, or there is none, without one of the steps."""
    try:
        left = whose([*steps[:without], *steps[without + 1 :]])
    except ValueError:
        return True
    return (left and left.values["buyer"]) != (right and right.values["buyer"])


def _twin_faults(row: Published, found: Sequence[Line], told: Sequence[Event], prop: str) -> Iterator[str]:
    """Hold the other property to share a word of the name, and to be mentioned as often; all of it is marked."""
    twin = str(row.metadata["latent"]["twin"])
    near = history(found, twin)
    if not set(prop.split(" ")[1:]) & set(twin.split(" ")[1:]):
        yield f"{twin} shares no word with {prop}"
    if len(near) != len(told):
        yield f"{prop} is mentioned {len(told)} times, {twin} {len(near)} times"
    if sum(event.kind in ESTATE for event in near) != 1 or any(
        event.kind not in (*ESTATE, *happening_kinds()) for event in near
    ):
        yield f"{twin} did not change hands once"
    if row.spans("relevant", "decoy") != spans([event.line for event in (*told, *near)]):
        yield "the marks are not the entries about the two properties"


def name_faults(found: Sequence[Line], sales: Sequence[Event]) -> Iterator[str]:
    """Hold every buyer to be one person, who is named in other entries too."""
    buyers = [event.values["buyer"] for event in sales]
    if len(set(buyers)) != len(buyers):
        yield "somebody bought the property twice"
    for sale in sales:
        if all(one is sale.line for one in about(found, sale.values["buyer"])):
            yield f"{sale.values['buyer']} is named nowhere else"


ENTRY = re.compile(rf"^{DATE}\. (.+)$", re.MULTILINE)
USER, MODEL = "User: ", "Model: "
QUESTIONS = {
    "information": r"(?:Who bought|Whom did I name as the buyer of) (the \w+ \w+)\?",
    "update": r"(?:Who owns|To whom does) (the \w+ \w+)(?: belong)? now, after all that I have told you\?",
    "temporal": rf"(?:Who owned|Whose property was) (the \w+ \w+) on {DATE}\?",
    "sessions": r"(?:Who is the wife of the man|Whom did the man marry) who bought (the \w+ \w+)\?",
}


def read(turns: Turns) -> list[Line]:
    """Return every entry of a chat, each with the place in `prompt` of the message that it stands in."""
    if [role for role, _ in turns] != ["user", "assistant"] * (len(turns) // 2) + ["user"]:
        raise ReadError("users' turns and replies do not alternate")
    found, at = [], len(USER) + len(turns[0][1]) + 2 + len(MODEL) + len(turns[1][1]) + 2
    for (_, said), (_, reply) in zip(turns[2:-1:2], turns[3:-1:2], strict=True):
        start = at + len(USER)
        dated = list(ENTRY.finditer(said))
        if not dated or dated[0].start() or said.count("\n") != len(dated) - 1:
            raise ReadError(f"no session: {said[:80]!r}")
        found += [Line(start, start + len(said), day_of(one[1], one[2], one[3]), one[4]) for one in dated[1:]]
        at = start + len(said) + 2 + len(MODEL) + len(reply) + 2
    return found


def chat_question(said: str) -> tuple[str, str, int]:
    """Return which kind of question is asked, about which property, and up to which day."""
    for kind, form in QUESTIONS.items():
        if found := re.fullmatch(form, said.partition("\n")[0]):
            day = day_of(*found.groups()[1:4]) if kind == "temporal" else day_of("31", "December", "9999")
            return kind, found[1], day
    raise ReadError(f"no question: {said[:80]!r}")


def answer(turns: Turns) -> tuple[str, list[Line]]:
    """Return what is asked for, empty where it was not told, and the entries that tell."""
    kind, prop, day = chat_question(turns[-1][1])
    return _answered(read(turns), kind, prop, day)


def _answered(found: Sequence[Line], kind: str, prop: str, day: int) -> tuple[str, list[Line]]:
    told = sorted(history(found, prop), key=lambda event: event.line.day)
    sale = whose([event for event in told if event.line.day <= day])
    if sale is None:
        return "", []
    buyer = sale.values["buyer"]
    if kind != "sessions":
        return buyer, [sale.line]
    try:
        name, used = follow(found, buyer, ("spouse",))
    except ValueError:
        return "", []
    return name, [sale.line, *used]


def faults(row: Published, sales: int, mentions: int) -> Iterator[str]:
    """Yield what is wrong with a row."""
    found = read(row.turns)
    kind, prop, day = chat_question(row.turns[-1][1])
    twin = str(row.metadata["latent"]["twin"])
    if row.question != row.turns[-1][1].partition("\n")[0]:
        yield "the last turn does not ask the question"
    opened = [match for _, said in row.turns[2:-1:2] if (match := ENTRY.match(said))]
    days = [day_of(one[1], one[2], one[3]) for one in opened]
    if days != sorted(days):
        yield "the sessions are not in order of date"
    if len({(one.day, one.text) for one in found}) != len(found):
        yield "two entries are equal"
    name, used = _answered(found, kind, prop, day)
    if bool(name) != (row.stratum.complexity == 1):
        yield f"what is asked was {'told' if name else 'not told'}"
    relevant = row.spans("relevant")
    if (name and relevant != spans(used)) or len(relevant) != 1 + (kind == "sessions"):
        yield "the sessions marked as relevant are not those that tell"
    for line in used:
        if _answered([one for one in found if one is not line], kind, prop, day)[0] == name:
            yield "the answer is the same without a session marked as relevant"
    told, near = history(found, prop), history(found, twin)
    if len(told) != mentions or len(near) != mentions:
        yield f"{prop} is mentioned {len(told)} times, {twin} {len(near)} times"
    if not set(row.spans("relevant", "decoy")).issuperset(spans([event.line for event in (*told, *near)])):
        yield "the marks are not the sessions about the two properties"
    if sum(event.kind == "sale" for event in near) != (1 if kind in ("update", "temporal") else sales):
        yield f"{twin} does not change hands as often as it should"
    yield from name_faults(found, [event for event in told if event.kind == "sale"])
    if name and all(one in used for one in about(found, name)):
        yield f"{name} is named nowhere else"
